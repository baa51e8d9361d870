//! What the executor told, on its way into the journal.
//!
//! Starts and endings are journalled at once, progress now and then. Nothing leaves here before it is
//! durable: a full disk only delays it.

use super::batch::Batch;
use super::launch::Site;
use crate::world::{Change, RunEnd, RunEnding, Telemetry, World, end_of};
use oef_api::types::{Exit, Measured};
use oef_executor::checkpoints::Transfer;
use oef_executor::{CheckpointLocation, Cursor, Ending, Event, FailReason, LeaseEvent};
use oef_executor::{Progress, WorkerExit};
use oef_sched::{Generation, JobId, Span, Time};
use std::collections::{BTreeMap, VecDeque};

/// How often a job's progress is journalled: seldom enough that a thousand chatty jobs do not fill the disk.
const PROGRESS_EVERY: Span = Span(3000);
/// Observations that go into one batch.
const AT_ONCE: usize = 1000;
/// Of the last lines of a failed job, so much is kept in the journal.
const LAST_LINES_MAX: usize = 4000;

/// Observations that are not yet durable.
#[derive(Default)]
pub(super) struct Observations {
    queue: VecDeque<Seen>,
    /// The latest word of each job, and of which lease.
    progress: BTreeMap<JobId, (Generation, Telemetry)>,
    /// What each job waits for that has not started, and of which lease.
    waits: BTreeMap<JobId, (Generation, String)>,
    /// When a job's progress was last journalled.
    told: BTreeMap<JobId, Time>,
    /// The last event that was heard, and the last that was acknowledged.
    heard: Cursor,
    acknowledged: Cursor,
    /// When it was last journalled what a job waits for.
    waits_told: BTreeMap<JobId, Time>,
    /// What is in the batch that is being committed: so many of the queue, and these jobs' progress.
    taken: (usize, Vec<JobId>),
    /// And what these jobs wait for.
    taken_waits: Vec<JobId>,
    /// When it was filled.
    taken_at: Time,
}

struct Seen {
    cursor: Cursor,
    what: What,
}

enum What {
    /// Something about nodes: what follows is in their list.
    Nodes,
    Lease {
        job: JobId,
        generation: Generation,
        change: Box<Change>,
    },
}

impl Observations {
    pub fn add(&mut self, cursor: Cursor, event: Event) {
        self.heard = self.heard.max(cursor);
        let what = match event {
            Event::Node(_) | Event::NodesListed => vec![What::Nodes],
            // A list of its own, which is compared with the world; and figures, which were taken before.
            Event::Others(_) | Event::Readings { .. } => Vec::new(),
            Event::Lease { job, generation, event } => {
                let changes = self.changes(job, generation, event).into_iter();
                let lease = |change| What::Lease { job, generation, change: Box::new(change) };
                changes.map(lease).collect()
            }
        };
        self.queue.extend(what.into_iter().map(|what| Seen { cursor, what }));
    }

    /// What is to be journalled at once; the rest is remembered until it is due.
    fn changes(&mut self, job: JobId, generation: Generation, event: LeaseEvent) -> Vec<Change> {
        match event {
            LeaseEvent::Preparing(detail) => {
                self.waits.insert(job, (generation, detail));
                Vec::new()
            }
            // A figure, which was taken before.
            LeaseEvent::Transferred(_) => Vec::new(),
            LeaseEvent::Started { at_ms, checkpoints } => {
                let host = match checkpoints {
                    Some(CheckpointLocation::Host(host)) => Some(host),
                    Some(CheckpointLocation::Shared) | None => None,
                };
                vec![Change::Started { job, generation, at_ms: Some(at_ms), host }]
            }
            LeaseEvent::Progress(progress) => {
                let telemetry = telemetry(&progress);
                if telemetry.is_sound() {
                    self.progress.insert(job, (generation, telemetry));
                }
                Vec::new()
            }
            LeaseEvent::Ended { ending, exits, at_ms } => {
                let finished = finished_early(job, generation, &ending, &exits);
                finished.into_iter().chain([ended(job, generation, &ending, at_ms)]).collect()
            }
        }
    }

    fn progress_is_due(&self, job: JobId, at: Time) -> bool {
        is_due(self.told.get(&job), at)
    }

    /// Puts what is due into a batch. [`done`](Self::done) or [`failed`](Self::failed) must follow.
    pub fn fill(&mut self, at: Time, world: &World, site: &Site, batch: &mut Batch) {
        let count = self.queue.len().min(AT_ONCE);
        let mut jobs: Vec<JobId> = Vec::new();
        let mut waits: Vec<JobId> = Vec::new();
        let mut has_nodes = false;
        for Seen { what, .. } in self.queue.iter().take(count) {
            let What::Lease { job, generation, change } = what else {
                has_nodes = true;
                continue;
            };
            if !is_current(world, *job, *generation) {
                continue;
            }
            let last_word = self.progress.get(job).filter(|(g, _)| g == generation);
            if let (Change::Ended(_), Some(word)) = (&**change, last_word) {
                batch.push(at, progress(*job, word));
                jobs.push(*job);
            }
            let last_wait = self.waits.get(job).filter(|(g, _)| g == generation);
            if let Some(wait) = last_wait.filter(|_| !waits.contains(job)) {
                batch.push(at, preparing(*job, wait));
                waits.push(*job);
            }
            batch.push(at, Change::clone(change));
        }
        // A machine whose old jobs have ended by now is a new node.
        if has_nodes || site.nodes.is_waiting(world) {
            batch.extend(at, site.nodes.changes(world));
        }
        for (&job, wait) in &self.waits {
            let is_late = !is_due(self.waits_told.get(&job), at) || batch.len() >= AT_ONCE;
            if is_late || waits.contains(&job) {
                continue;
            }
            if is_current(world, job, wait.0) {
                batch.push(at, preparing(job, wait));
            }
            waits.push(job);
        }
        for (&job, word) in &self.progress {
            if jobs.contains(&job) || !self.progress_is_due(job, at) || batch.len() >= AT_ONCE {
                continue;
            }
            if is_current(world, job, word.0) {
                batch.push(at, progress(job, word));
            }
            jobs.push(job);
        }
        self.taken = (count, jobs);
        self.taken_waits = waits;
        self.taken_at = at;
    }

    /// What was put into the batch is durable: events up to this one may be acknowledged, if there are new ones.
    pub fn done(&mut self) -> Option<Cursor> {
        let (count, jobs) = std::mem::take(&mut self.taken);
        for job in jobs {
            self.progress.remove(&job);
            self.told.insert(job, self.taken_at);
        }
        for job in std::mem::take(&mut self.taken_waits) {
            self.waits.remove(&job);
            self.waits_told.insert(job, self.taken_at);
        }
        for Seen { what, .. } in self.queue.drain(..count) {
            if let What::Lease { job, change, .. } = what
                && matches!(*change, Change::Ended(_))
            {
                self.told.remove(&job);
                self.waits_told.remove(&job);
                self.progress.remove(&job);
            }
        }
        let next = self.queue.front().map(|seen| Cursor(seen.cursor.0.saturating_sub(1)));
        let durable = next.unwrap_or(self.heard);
        let is_new = durable > self.acknowledged;
        self.acknowledged = self.acknowledged.max(durable);
        is_new.then_some(durable)
    }

    /// It is not: it comes again with the next batch.
    pub fn failed(&mut self) {
        self.taken = Default::default();
        self.taken_waits.clear();
    }
}

/// Whether something that was told then may be told again.
fn is_due(told: Option<&Time>, at: Time) -> bool {
    told.is_none_or(|told| at.since(*told) >= PROGRESS_EVERY)
}

/// What a transfer took that the world has not heard the end of. After a restart of the daemon all of them are told
/// again.
pub(super) fn transfer(world: &World, event: &Event) -> Option<(JobId, Transfer)> {
    let Event::Lease { job, generation, event: LeaseEvent::Transferred(transfer) } = event else {
        return None;
    };
    let run = world.jobs.get(job).and_then(|entry| entry.run());
    let run = run.filter(|run| run.generation == *generation && run.started.is_none());
    run.map(|_| (*job, *transfer))
}

/// Whether a run is the one that the world knows of. Another one was over before: nobody needs to hear of it.
pub(super) fn is_current(world: &World, job: JobId, generation: Generation) -> bool {
    let run = world.jobs.get(&job).and_then(|entry| entry.run());
    run.is_some_and(|run| run.generation == generation)
}

fn preparing(job: JobId, (generation, detail): &(Generation, String)) -> Change {
    Change::Preparing { job, generation: *generation, detail: detail.clone() }
}

fn telemetry(progress: &Progress) -> Telemetry {
    let number = |x: Option<f64>| x.filter(|x| x.is_finite());
    Telemetry {
        steps: progress.steps,
        checkpoint: number(progress.checkpoint),
        throughput: number(progress.throughput),
        loss: number(progress.loss),
        measured: progress.measured.filter(oef_executor::Timing::is_sound).map(shown),
        wait: number(progress.wait),
        clock_ms: Some(progress.at_ms),
    }
}

fn progress(job: JobId, (generation, telemetry): &(Generation, Telemetry)) -> Change {
    Change::Progress { job, generation: *generation, telemetry: telemetry.clone() }
}

/// The workers that did all their work, where the gang did not.
fn finished_early(
    job: JobId,
    generation: Generation,
    ending: &Ending,
    exits: &[WorkerExit],
) -> Option<Change> {
    let finished = exits.iter().filter(|exit| exit.is_finished());
    let ranks: Vec<u32> = finished.map(|exit| exit.rank).collect();
    let is_worth_it = *ending != Ending::Finished && !ranks.is_empty();
    is_worth_it.then_some(Change::WorkersFinished { job, generation, ranks })
}

fn ended(job: JobId, generation: Generation, ending: &Ending, at_ms: u64) -> Change {
    let detail = ending.to_string();
    let last_lines = match ending {
        // Without a worker there is no output.
        Ending::Failed { last_lines, rank: Some(_), .. } => {
            Some(end_of(last_lines, LAST_LINES_MAX).into())
        }
        _ => None,
    };
    let exit = match *ending {
        Ending::Failed { rank: Some(rank), code, signal, .. } => Some(Exit { rank, code, signal }),
        _ => None,
    };
    let ending = match ending {
        Ending::Finished => RunEnding::Finished,
        Ending::Checkpointed => RunEnding::Checkpointed,
        Ending::Stopped { .. } => RunEnding::Stopped,
        Ending::TimedOut { .. } => RunEnding::TimedOut,
        Ending::Vanished { .. } => RunEnding::Lost,
        Ending::Refused { .. } => RunEnding::Hindered,
        Ending::Impossible { .. } => RunEnding::Impossible,
        Ending::Failed { reason, .. } => match reason {
            FailReason::CommandNotFound { .. }
            | FailReason::NotExecutable { .. }
            | FailReason::WorkdirMissing { .. } => RunEnding::Impossible,
            FailReason::NotMeasured { .. } => RunEnding::Unmeasured,
            // That the system has no room says nothing of the job.
            FailReason::System { .. } => RunEnding::Hindered,
            _ => RunEnding::Failed,
        },
    };
    let at_ms = Some(at_ms);
    let outcome = None;
    Change::Ended(RunEnd { job, generation, ending, detail, last_lines, at_ms, exit, outcome })
}

fn shown(measured: oef_executor::Timing) -> Measured {
    let oef_executor::Timing { batch_seconds, spread, batches, lots, wait } = measured;
    // An executor tells nothing that it has not timed.
    Measured { batch_seconds, spread, batches, lots, wait, timed: true }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::testing::{empty, with_jobs};
    use oef_sched::NodeSpec;

    const JOB: JobId = JobId(1);

    /// One GPU, and one job that starts on it.
    fn world() -> World {
        let mut world = empty();
        let up = Change::NodeUp(NodeSpec { name: "n".into(), gpu_type: "g".into(), gpus: 1 });
        for change in [up].into_iter().chain(with_jobs(1)) {
            world.happen(Time(1), change).expect("taken");
        }
        world
    }

    fn site() -> Site {
        Site {
            env: BTreeMap::new(),
            nodes: Default::default(),
            others: Default::default(),
            log_limit_bytes: 1,
            terminal: None,
        }
    }

    /// Hears these, one after the other.
    fn hear(seen: &mut Observations, generation: Generation, events: Vec<LeaseEvent>) {
        for event in events {
            let cursor = Cursor(seen.heard.0 + 1);
            seen.add(cursor, Event::Lease { job: JOB, generation, event });
        }
    }

    fn changes(seen: &mut Observations, world: &World, site: &Site) -> Vec<Change> {
        let mut batch = Batch::default();
        seen.fill(Time(2), world, site, &mut batch);
        seen.done();
        batch.changes().cloned().collect()
    }

    #[test]
    fn what_a_job_waits_for_comes_before_its_start_and_hides_no_progress() {
        let (world, site) = (world(), site());
        let generation = world.jobs[&JOB].run().expect("a run").generation;
        let wait = |detail: &str| LeaseEvent::Preparing(detail.into());
        let mut seen = Observations::default();
        hear(&mut seen, generation, vec![wait("one")]);
        let first = Change::Preparing { job: JOB, generation, detail: "one".into() };
        assert_eq!(changes(&mut seen, &world, &site), [first]);
        hear(&mut seen, generation, vec![wait("two")]);
        assert_eq!(changes(&mut seen, &world, &site), [], "not so soon");
        let checkpoints = Some(CheckpointLocation::Host("box".into()));
        let word = Progress { steps: 4.0, checkpoint: Some(3.0), at_ms: 6, ..Progress::default() };
        let started = LeaseEvent::Started { at_ms: 5, checkpoints };
        hear(&mut seen, generation, vec![wait("three"), started, LeaseEvent::Progress(word)]);
        let telemetry = Telemetry {
            steps: 4.0,
            checkpoint: Some(3.0),
            clock_ms: Some(6),
            ..Telemetry::default()
        };
        let expected = [
            Change::Preparing { job: JOB, generation, detail: "three".into() },
            Change::Started { job: JOB, generation, at_ms: Some(5), host: Some("box".into()) },
            Change::Progress { job: JOB, generation, telemetry },
        ];
        assert_eq!(changes(&mut seen, &world, &site), expected);
    }

    /// Running out of descriptors, memory or disk is never a job's failure, nor is a start that is refused.
    #[test]
    fn what_the_machine_is_to_blame_for_is_no_loss_of_the_jobs() {
        let (detail, why) = (|| "too many open files".to_string(), || "a runner".to_string());
        let cases = [
            (Ending::failed(FailReason::System { detail: detail() }), RunEnding::Hindered),
            (Ending::Refused { why: why() }, RunEnding::Hindered),
            (Ending::Vanished { detail: detail() }, RunEnding::Lost),
            (Ending::Impossible { why: why() }, RunEnding::Impossible),
            (Ending::failed(FailReason::Exit), RunEnding::Failed),
        ];
        for (ending, expected) in cases {
            let Change::Ended(end) = ended(JOB, Generation(1), &ending, 5) else { panic!("ended") };
            assert_eq!(end.ending, expected, "{ending:?}");
        }
    }

    #[test]
    fn events_are_acknowledged_when_they_are_durable_and_not_before() {
        let (world, site) = (world(), site());
        let generation = world.jobs[&JOB].run().expect("a run").generation;
        let started = || LeaseEvent::Started { at_ms: 5, checkpoints: None };
        let mut seen = Observations::default();
        hear(&mut seen, generation, vec![started()]);
        seen.fill(Time(2), &world, &site, &mut Batch::default());
        hear(&mut seen, generation, vec![LeaseEvent::Preparing("x".into()), started()]);
        seen.failed();
        seen.fill(Time(2), &world, &site, &mut Batch::default());
        assert_eq!(seen.done(), Some(Cursor(3)), "all that was in the batch");
        assert_eq!(seen.done(), None, "nothing new");
        hear(&mut seen, generation, vec![started()]);
        seen.fill(Time(2), &world, &site, &mut Batch::default());
        hear(&mut seen, generation, vec![started()]);
        assert_eq!(seen.done(), Some(Cursor(4)), "the last one came after the batch was filled");
    }

    #[test]
    fn workers_that_finished_before_their_gang_was_stopped_are_remembered() {
        let mut world = world();
        let generation = world.jobs[&JOB].run().expect("a run").generation;
        let exit = |rank, code, after_stop| WorkerExit { rank, code, signal: None, after_stop };
        let exits = vec![exit(1, Some(0), false), exit(2, Some(0), true), exit(0, Some(75), true)];
        let ended = |ending| LeaseEvent::Ended { ending, exits: exits.clone(), at_ms: 9 };
        let mut seen = Observations::default();
        hear(&mut seen, generation, vec![ended(Ending::Finished)]);
        assert_eq!(changes(&mut seen, &world, &site()).len(), 1, "nobody starts it again");
        hear(&mut seen, generation, vec![ended(Ending::Checkpointed)]);
        let told = changes(&mut seen, &world, &site());
        let expected = Change::WorkersFinished { job: JOB, generation, ranks: vec![1] };
        assert_eq!((told.len(), &told[0]), (2, &expected));
        for change in told {
            world.happen(Time(12_000), change).expect("taken");
        }
        assert_eq!(world.jobs[&JOB].finished, [1].into());
    }

    #[test]
    fn in_a_shared_folder_no_host_has_a_jobs_checkpoints() {
        let world = world();
        let generation = world.jobs[&JOB].run().expect("a run").generation;
        let mut seen = Observations::default();
        let checkpoints = Some(CheckpointLocation::Shared);
        hear(&mut seen, generation, vec![LeaseEvent::Started { at_ms: 5, checkpoints }]);
        let expected = Change::Started { job: JOB, generation, at_ms: Some(5), host: None };
        assert_eq!(changes(&mut seen, &world, &site()), [expected]);
    }

    #[test]
    fn a_transfer_is_counted_once_however_often_it_is_told() {
        use oef_executor::checkpoints::TransferResult;
        let mut world = world();
        let Some(generation) = world.jobs[&JOB].run().map(|run| run.generation) else {
            panic!("it starts")
        };
        let told = Transfer { result: TransferResult::Brought, bytes: 7, took: Span(5) };
        let seen = |generation| Event::Lease {
            job: JOB,
            generation,
            event: LeaseEvent::Transferred(told),
        };
        assert_eq!(transfer(&world, &seen(generation)), Some((JOB, told)));
        assert_eq!(transfer(&world, &seen(Generation(99))), None, "of another start");
        let started = Change::Started { job: JOB, generation, at_ms: Some(5), host: None };
        world.happen(Time(2), started).expect("taken");
        assert_eq!(transfer(&world, &seen(generation)), None, "told again after a restart");
        let mut observations = Observations::default();
        observations.add(Cursor(1), seen(generation));
        assert!(observations.queue.is_empty(), "a figure is not journalled");
    }
}
