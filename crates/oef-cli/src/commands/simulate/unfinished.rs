//! Why jobs did not finish.

use super::gather::Gathered;
use oef_report::format::clock;
use oef_sim::engine::{JobRecord, RunResult, Scenario};
use oef_sim::world;
use oef_terminal::names::short;
use oef_terminal::numbers::counted;

/// A sentence per reason. What is the same for all runs is said once.
pub fn remarks(gathered: &Gathered, scenario: &Scenario, runs: &[RunResult]) -> Vec<String> {
    let mut remarks = Vec::new();
    let Some(first) = runs.first() else { return remarks };
    let too_large = |job: &&JobRecord| job.finish_s.is_none() && is_too_large(gathered, job.job);
    let large: Vec<&JobRecord> = first.jobs.iter().filter(too_large).collect();
    if let Some(one) = large.first() {
        let jobs = counted(large.len(), "job");
        let (id, wants) = (short(&gathered.trace.jobs[one.job].id), one.workers);
        remarks.push(format!(
            "{jobs} can never run: more GPUs are wanted than there are of the types that can run it ({id} wants {wants})"
        ));
    }
    for run in runs {
        let others = run.unfinished.saturating_sub(large.len());
        if others == 0 {
            continue;
        }
        let jobs = counted(others, "job");
        remarks.push(match scenario.until_s {
            Some(end) => format!("{}: {jobs} had not finished at {}", run.mechanism, clock(end)),
            None => format!("{}: {jobs} never got all the GPUs they need", run.mechanism),
        });
    }
    remarks
}

/// Whether a gang is larger than all types together on which its model runs.
fn is_too_large(gathered: &Gathered, index: usize) -> bool {
    let Some(job) = gathered.trace.jobs.get(index) else { return false };
    let model = job.model.as_deref().unwrap_or_default();
    let Some(profile) = world::profile_of(&gathered.profiles, model, job.batch_size) else {
        return false;
    };
    let types = gathered.profiles.types.iter().enumerate();
    let types = types.filter(|(j, _)| profile.of_gang(*j, job.gpus, 1) > 0.0);
    let room: u64 = types.map(|(_, name)| gathered.cluster.count(name)).sum();
    u64::from(job.gpus) > room
}
