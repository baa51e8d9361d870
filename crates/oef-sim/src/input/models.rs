//! Which model a job trains, where the trace does not say, and whether the profiles know those it names.

use super::nearest;
use super::profile::{ProfileRow, ProfileTable};
use super::read::{BadRow, InputError, Source};
use super::trace::{Trace, TraceJob};
use crate::generate::Random;
use std::collections::BTreeMap;

/// Gives every job without a model one of the table's. A tenant keeps its model: that of its first job that
/// names one, else one that is drawn from the seed and the tenant's name, so that neither the order of the
/// rows nor other tenants change it. Gives the number of jobs that got one.
pub fn assign_models(trace: &mut Trace, profiles: &ProfileTable, seed: u64) -> usize {
    let kinds = kinds(profiles);
    if kinds.is_empty() {
        return 0;
    }
    let mut chosen: BTreeMap<String, (String, Option<u32>)> = BTreeMap::new();
    for job in &trace.jobs {
        if let Some(model) = &job.model {
            chosen.entry(job.tenant.clone()).or_insert_with(|| (model.clone(), job.batch_size));
        }
    }
    let mut assigned = 0;
    for job in trace.jobs.iter_mut().filter(|j| j.model.is_none()) {
        let (model, batch_size) = chosen.entry(job.tenant.clone()).or_insert_with(|| {
            let mut random = Random::named(seed, &job.tenant);
            let row = kinds[random.below(kinds.len())];
            (row.model.clone(), row.batch_size)
        });
        job.model = Some(model.clone());
        job.batch_size = *batch_size;
        assigned += 1;
    }
    assigned
}

/// The different models and batch sizes that run anywhere, in the order of the table.
fn kinds(profiles: &ProfileTable) -> Vec<&ProfileRow> {
    let mut seen = std::collections::BTreeSet::new();
    let runs = profiles.rows.iter().filter(|row| row.fastest().is_some());
    runs.filter(|row| seen.insert((row.model.to_lowercase(), row.batch_size))).collect()
}

/// Checks that the profiles know every model that a job names, and that it runs anywhere; what is wrong is
/// told once per model. `file` is the name of the trace.
pub fn check_models(trace: &Trace, profiles: &ProfileTable, file: &str) -> Result<(), InputError> {
    let source = Source::new(file, "");
    let mut known: BTreeMap<(&str, Option<u32>), bool> = BTreeMap::new();
    let mut problems = Vec::new();
    for job in &trace.jobs {
        let Some(model) = job.model.as_deref() else { continue };
        let runs = || profiles.rows_of(model, job.batch_size).any(|r| r.fastest().is_some());
        if known.contains_key(&(model, job.batch_size)) {
            continue;
        }
        let runs = runs();
        known.insert((model, job.batch_size), runs);
        if !runs {
            problems.push(unknown(source, job, model, profiles));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(InputError { problems, is_limit: false }) }
}

fn unknown(source: Source<'_>, job: &TraceJob, model: &str, profiles: &ProfileTable) -> BadRow {
    let same = |row: &&ProfileRow| row.model.eq_ignore_ascii_case(model);
    let sizes: Vec<String> = {
        let of_model = profiles.rows.iter().filter(same).filter_map(|r| r.batch_size);
        let unique: std::collections::BTreeSet<u32> = of_model.collect();
        unique.iter().map(u32::to_string).collect()
    };
    if profiles.rows_of(model, job.batch_size).next().is_some() {
        let bad = source.at(job.line, "model", format!("`{model}` runs on no type of the cluster"));
        return bad.hint("its cells in the profile table are empty");
    }
    if let (Some(size), false) = (job.batch_size, sizes.is_empty()) {
        let message = format!("the profiles have no batch size {size} of `{model}`");
        return source
            .at(job.line, "batch_size", message)
            .hint(format!("it has {}", sizes.join(", ")));
    }
    if profiles.rows.iter().any(|row| same(&row)) {
        let message = format!("the profiles have no batch sizes of `{model}`");
        return source.at(job.line, "batch_size", message).hint("leave the cell empty");
    }
    let mut models: Vec<&str> = profiles.rows.iter().map(|r| r.model.as_str()).collect();
    models.dedup();
    let bad = source.at(job.line, "model", format!("the profiles have no model `{model}`"));
    bad.hint(nearest::hint("models", model, models))
}
