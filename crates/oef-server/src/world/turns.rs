//! Longer turns for jobs that are stopped again and again and never save their work.
//!
//! Such a job begins anew each time. If it is longer than its turns it would never end, however often it runs. So from the
//! third fruitless stop on each turn is twice as long as the one before, which wastes at most about as much as the job takes.
//! It is a promise within its tenant's share alone: what runs on GPUs that others lent is not protected by it.

use super::{JobEntry, Rejection, RunEnding, World};
use oef_report::format::span;
use oef_sched::{EventKind, JobChange, JobId, Span};

/// Fewer stops without saved work may be bad luck.
const FRUITLESS_MIN: u32 = 3;
/// No turn is longer than a week: somebody should look at such a job.
const TURN_MAX: Span = Span(7 * 24 * 3_600_000);

/// How often a job was told to stop and ended without ever having saved its work; 0 for one that has.
pub(crate) fn fruitless_stops(job: &JobEntry) -> u32 {
    let has_told = job.telemetry.checkpoint.is_some_and(|step| step > 0.0);
    let is_kept = job.checkpoints.as_ref().is_some_and(|home| home.saved > 0.0);
    let has_saved = job.runs.iter().any(|run| run.ending == Some(RunEnding::Checkpointed));
    if has_told || is_kept || has_saved {
        return 0;
    }
    let stopped = job.runs.iter().filter(|run| run.ending == Some(RunEnding::Stopped));
    u32::try_from(stopped.count()).unwrap_or(u32::MAX)
}

impl World {
    /// How long a job that was stopped runs at least from now on; none: as long as before.
    pub(super) fn longer_turn(&self, id: JobId, job: &JobEntry) -> Option<Span> {
        let beyond = fruitless_stops(job).checked_sub(FRUITLESS_MIN)?;
        let usual = self.sched.restart_budget(id)?.turn.max(self.sched.settings().min_run);
        let doubled = 1u64.checked_shl(beyond + 1).unwrap_or(u64::MAX);
        Some(Span(usual.0.saturating_mul(doubled)).min(TURN_MAX))
    }

    /// A job has a longer turn from now on, and its owner is told why.
    pub(super) fn lengthen_turn(&mut self, id: JobId, turn: Span) -> Result<(), Rejection> {
        let change = JobChange { min_run: Some(turn), ..JobChange::default() };
        let actions = self.step(EventKind::Changed { job: id, change })?;
        let stops = self.jobs.get(&id).map_or(0, |job| fruitless_stops(job));
        let turn = span(turn.seconds());
        self.tell(
            id,
            format!("job {id} was stopped {stops} times and never saved its work: its next turn on its own share is {turn}"),
        );
        self.follow(actions);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::testing::{empty, with_jobs};
    use crate::world::{Change, TenantChange};
    use oef_sched::{NodeSpec, Time};

    const JOB: JobId = JobId(1);

    /// A job that is started, told to stop by a suspension of its tenant, and ends like this, so many times.
    fn stopped(times: u32, ending: RunEnding) -> World {
        let mut world = empty();
        let mut at = Time(1);
        let mut happen = |world: &mut World, change: Change| {
            at = at + Span(60_000);
            world.happen(at, change).expect("taken");
        };
        let up = Change::NodeUp(NodeSpec { name: "n".into(), gpu_type: "g".into(), gpus: 1 });
        for change in [up].into_iter().chain(with_jobs(1)) {
            happen(&mut world, change);
        }
        for _ in 0..times {
            let generation = world.jobs[&JOB].run().expect("a run").generation;
            let started = Change::Started { job: JOB, generation, at_ms: None, host: None };
            let suspended = |suspended| {
                Change::TenantChanged(TenantChange {
                    name: "ada".into(),
                    weight: None,
                    group: None,
                    limits: None,
                    suspended: Some(suspended),
                    order: None,
                })
            };
            let ended = Change::ended(JOB, generation, ending, "it ended");
            for change in [started, suspended(true), ended, suspended(false)] {
                happen(&mut world, change);
            }
        }
        world
    }

    #[test]
    fn a_job_that_never_saves_has_longer_and_longer_turns_and_is_told() {
        let min_run = |world: &World| world.sched.job(JOB).expect("it lives").spec().min_run;
        let twice = stopped(2, RunEnding::Stopped);
        assert_eq!(min_run(&twice), None, "bad luck");
        let turn = |times| min_run(&stopped(times, RunEnding::Stopped)).expect("a longer turn");
        let usual = twice.sched.restart_budget(JOB).expect("it lives").turn;
        let usual = usual.max(twice.sched.settings().min_run);
        assert_eq!((turn(3), turn(4), turn(5)), (usual.times(2), usual.times(4), usual.times(8)));
        assert_eq!(turn(40), TURN_MAX);
        let world = stopped(3, RunEnding::Stopped);
        let told = |text: &str| world.events.iter().any(|event| event.message.contains(text));
        assert!(told("stopped 3 times and never saved its work"), "{:?}", world.events.back());
        let saved = stopped(9, RunEnding::Checkpointed);
        assert_eq!((fruitless_stops(&saved.jobs[&JOB]), min_run(&saved)), (0, None));
    }
}
