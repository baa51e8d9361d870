//! Gavel's throughput files: `{"v100": {"('LM (batch size 5)', 1)": {"null": 12.3, "('A3C', 1)": [4, 5]}}}`.
//! `null` is the job alone on its GPUs; pairs that share a GPU are left out. A type whose name ends in
//! `_unconsolidated` has the same jobs spread over hosts.

use super::cells::check_name;
use super::entries::malformed;
use super::gavel_names;
use super::limits;
use super::lines::Lines;
use super::profile::{Placement, ProfileRow, ProfileTable};
use super::read::{BadRow, BadRows, InputError, Read, Source};
use super::tree::{self, Table, Value};
use std::collections::{BTreeMap, BTreeSet};

const SPREAD: &str = "_unconsolidated";

/// Model, batch size, scale factor, placement.
type Key = (String, Option<u32>, u32, Placement);

/// Reads a throughput file. Types and rows come sorted by name.
pub(crate) fn read(
    source: Source<'_>,
    skip_bad_rows: bool,
) -> Result<Read<ProfileTable>, InputError> {
    source.check_size()?;
    let root = tree::json(source.text).map_err(|wrong| malformed(source, wrong))?;
    let lines = Lines::of(source.text);
    let mut file: Vec<(&str, &Table)> = Vec::new();
    for entry in &root.entries {
        let Value::Table(jobs) = &entry.node.value else {
            let message =
                format!("expected a table of jobs, found {}", entry.node.value.describe());
            let hint = "a throughput file of Gavel has gpu types, in them jobs, in them figures";
            let bad = source.at(lines.line(entry.key_at), &entry.key, message);
            return Err(InputError::one(bad.hint(hint)));
        };
        file.push((&entry.key, jobs));
    }
    let types = types(&file);
    if types.len() > limits::TYPES_MAX {
        let message = format!("there are more than {} gpu types", limits::TYPES_MAX);
        return Err(InputError::limit(source.whole(message)));
    }
    let told_apart = file.iter().any(|(name, _)| name.ends_with(SPREAD));
    let mut bad = BadRows::new(skip_bad_rows);
    let mut rows: BTreeMap<Key, Vec<Option<f64>>> = BTreeMap::new();
    for (name, jobs) in file {
        let placement = match (name.ends_with(SPREAD), told_apart) {
            (true, _) => Placement::Spread,
            (false, true) => Placement::Consolidated,
            (false, false) => Placement::Unknown,
        };
        let column = types.iter().position(|t| t == plain(name)).unwrap_or_default();
        for job in &jobs.entries {
            let line = lines.line(job.node.at);
            match figure(source, line, &job.key, &job.node.value) {
                Ok((model, batch_size, scale_factor, rate)) => {
                    let key = (model, batch_size, scale_factor, placement);
                    let cells = rows.entry(key).or_insert_with(|| vec![None; types.len()]);
                    cells[column] = rate;
                }
                Err(wrong) => bad.push(wrong)?,
            }
        }
    }
    let table = ProfileTable { types, rows: rows.into_iter().map(row).collect() };
    let read = bad.finish(table, Vec::new())?;
    if read.value.rows.is_empty() {
        return Err(InputError::one(source.whole("there is no profile in it")));
    }
    Ok(read)
}

/// One job alone on one type.
fn figure(
    source: Source<'_>,
    line: usize,
    job: &str,
    figures: &Value,
) -> Result<(String, Option<u32>, u32, Option<f64>), BadRow> {
    let (name, scale_factor) = gavel_names::key(job)
        .filter(|(name, scale)| !name.is_empty() && *scale <= limits::GPUS_PER_JOB_MAX)
        .ok_or_else(|| {
            let bad = source.at(line, job, "is not the name of a job");
            bad.hint("such as ('LM (batch size 5)', 2), with the scale factor at the end")
        })?;
    let Value::Table(figures) = figures else {
        return Err(source.at(line, job, "is not a table of figures"));
    };
    let Some(alone) = figures.get("null") else {
        let bad = source.at(line, job, "has no figure `null`");
        return Err(bad.hint("that is the job alone on its GPUs"));
    };
    let (model, batch_size) = gavel_names::job_type(name);
    let model = check_name(&model).map_err(|message| source.at(line, job, message))?;
    match alone.value {
        Value::Number(x) if x.is_finite() && x >= 0.0 => {
            Ok((model, batch_size, scale_factor, Some(x).filter(|x| *x > 0.0)))
        }
        ref other => Err(source.at(line, job, format!("{} is not a throughput", other.describe()))),
    }
}

fn row(
    ((model, batch_size, scale_factor, placement), throughput): (Key, Vec<Option<f64>>),
) -> ProfileRow {
    ProfileRow { model, batch_size, scale_factor, placement, throughput }
}

fn types(file: &[(&str, &Table)]) -> Vec<String> {
    let names: BTreeSet<&str> = file.iter().map(|(name, _)| plain(name)).collect();
    names.into_iter().map(String::from).collect()
}

fn plain(name: &str) -> &str {
    name.strip_suffix(SPREAD).unwrap_or(name)
}
