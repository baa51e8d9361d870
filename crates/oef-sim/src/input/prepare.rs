//! From what was read to what a simulation starts from.

use super::cluster::ClusterSpec;
use super::load::{resolve_types, scale_to_load};
use super::matching::{Matched, match_types};
use super::models::{assign_models, check_models};
use super::profile::ProfileTable;
use super::read::InputError;
use super::trace::{Trace, TraceJob, Work};

/// A cluster, profiles and a trace that fit together.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// The cluster as it was.
    pub cluster: ClusterSpec,
    /// One column per type of the cluster, in its order.
    pub profiles: ProfileTable,
    /// Every job has a model that the profiles know and that runs somewhere; its work is steps or a duration on
    /// the fastest type of the cluster that the model runs on.
    pub trace: Trace,
    /// What the user should know, in sentences.
    pub notes: Vec<String>,
}

/// What the user may say about how they fit together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PrepareOptions {
    /// Models of jobs that name none are drawn from this.
    pub seed: u64,
    /// Scale the work to this load.
    pub load: Option<f64>,
    /// The time over which the load is reckoned, otherwise from the first to the last submission.
    pub span_s: Option<f64>,
}

/// Brings them together; `file` is the name of the trace.
pub fn prepare(
    cluster: ClusterSpec,
    profiles: &ProfileTable,
    mut trace: Trace,
    file: &str,
    options: &PrepareOptions,
) -> Result<Prepared, InputError> {
    let Matched { profiles: matched, unmeasured, unused: _ } = match_types(&cluster, profiles)?;
    let mut notes = Vec::new();
    if !unmeasured.is_empty() {
        notes.push(format!(
            "gpu types without profiles, where nothing can run: {}",
            unmeasured.join(", ")
        ));
    }
    let assigned = assign_models(&mut trace, &matched, options.seed);
    if assigned > 0 {
        notes.push(format!("jobs that name no model and got one of the profiles: {assigned}"));
    }
    check_models(&trace, &matched, file)?;
    // A job may have run on a type that this cluster does not have: all profiles tell what that was worth.
    notes.extend(resolve_types(&mut trace, profiles));
    let mut unknown = 0;
    for job in &mut trace.jobs {
        unknown += usize::from(!settle(job, profiles, &matched));
    }
    if unknown > 0 {
        let what = "jobs whose model has no profile where they ran, whose time counts as on the fastest type";
        notes.push(format!("{what}: {unknown}"));
    }
    let too_large = trace.jobs.iter().filter(|j| u64::from(j.gpus) > cluster.gpus()).count();
    if too_large > 0 {
        notes
            .push(format!("jobs that ask for more GPUs than there are and never run: {too_large}"));
    }
    if let Some(load) = options.load {
        let factor = scale_to_load(&mut trace, &matched, cluster.gpus(), options.span_s, load)?;
        notes.push(format!("the work of every job is scaled by {factor:.4} for a load of {load}"));
    }
    Ok(Prepared { cluster, profiles: matched, trace, notes })
}

/// Turns time on a type into time on the fastest type of the cluster. Whether the profiles had what it takes.
fn settle(job: &mut TraceJob, all: &ProfileTable, matched: &ProfileTable) -> bool {
    let Work::DurationOn { seconds, .. } = job.work else { return true };
    let model = job.model.as_deref().unwrap_or_default();
    let row = |table: &ProfileTable| table.nearest_scale(model, job.batch_size, job.gpus).cloned();
    let done = row(all).and_then(|row| row.units_of(&job.work, &all.types));
    let fastest = row(matched).and_then(|row| row.fastest());
    let settled = done.zip(fastest).map(|(units, rate)| units / rate);
    job.work = Work::DurationOnFastest(settled.unwrap_or(seconds));
    settled.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::{Source, TraceOptions, read_cluster, read_profiles, read_trace};

    #[test]
    fn accounting_from_an_old_cluster_runs_on_a_new_one() {
        let cluster = "[[gpu]]\ntype = 'H100'\ncount = 8\n[[gpu]]\ntype = 'new'\ncount = 8\n";
        let profiles = "model,thr_k80,thr_v100,thr_h100\nm,1,4,10\n";
        let accounting = "JobID|Account|Submit|ElapsedRaw|AllocTRES\n\
                          1|a|2024-05-01T08:00:00|1000|gres/gpu:k80=2\n\
                          2|a|2024-05-01T08:10:00|1000|gres/gpu:tesla_v100=2\n\
                          3|b|2024-05-01T08:20:00|1000|gres/gpu:p4=99\n";
        let cluster = read_cluster(Source::new("c", cluster), None, false).unwrap().value;
        let profiles = read_profiles(Source::new("p", profiles), None, false).unwrap().value;
        let trace = read_trace(Source::new("s", accounting), None, &TraceOptions::default());
        let options = PrepareOptions { seed: 1, ..PrepareOptions::default() };
        let inputs = prepare(cluster, &profiles, trace.unwrap().value, "s", &options).unwrap();
        let work: Vec<&Work> = inputs.trace.jobs.iter().map(|j| &j.work).collect();
        let on = Work::DurationOnFastest;
        assert_eq!(work, [&on(100.0), &on(400.0), &on(1000.0)]);
        assert_eq!(
            inputs.notes,
            [
                "gpu types without profiles, where nothing can run: new",
                "jobs that name no model and got one of the profiles: 3",
                "jobs on `p4`, which has no profiles and counts as the fastest type: 1",
                "jobs that ask for more GPUs than there are and never run: 1",
            ]
        );
    }
}
