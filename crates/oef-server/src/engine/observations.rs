//! What the executor saw, on its way into the journal.
//!
//! Starts and endings are journalled at once, progress now and then. Nothing leaves here before it is
//! durable: a full disk only delays it.

use super::batch::Batch;
use super::launch::Site;
use crate::world::{Change, RunEnding, Telemetry, World};
use oef_api::types::Measured;
use oef_executor::checkpoints::Transfer;
use oef_executor::{Ending, FailReason, Observation};
use oef_sched::{Generation, JobId, Time};
use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

/// How often a job's progress is journalled: seldom enough that a thousand chatty jobs do not fill the disk.
const PROGRESS_EVERY: Duration = Duration::from_secs(3);
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
    told: BTreeMap<JobId, Instant>,
    /// When it was last journalled what a job waits for.
    waits_told: BTreeMap<JobId, Instant>,
    /// What is in the batch that is being committed: so many of the queue, and these jobs' progress.
    taken: (usize, Vec<JobId>),
    /// And what these jobs wait for.
    taken_waits: Vec<JobId>,
}

struct Seen {
    job: JobId,
    generation: Generation,
    change: Change,
    /// Whether the executor waits to hear that it is durable.
    acknowledge: bool,
}

impl Observations {
    pub fn add(&mut self, observation: Observation) {
        let (job, generation) = observation.about();
        let change = match observation {
            Observation::Preparing { detail, .. } => {
                self.waits.insert(job, (generation, detail));
                return;
            }
            // A figure, which was taken before.
            Observation::Transferred { .. } => return,
            Observation::Started { at_ms, .. } => {
                // Where its checkpoints are is filled in on the way.
                Change::Started { job, generation, at_ms: Some(at_ms), host: None }
            }
            Observation::Progress {
                steps,
                throughput,
                loss,
                checkpoint,
                measured,
                wait,
                at_ms,
                ..
            } => {
                let number = |x: Option<f64>| x.filter(|x| x.is_finite());
                let telemetry = Telemetry {
                    steps,
                    checkpoint: number(checkpoint),
                    throughput: number(throughput),
                    loss: number(loss),
                    measured: measured.filter(oef_executor::Measured::is_sound).map(shown),
                    wait: number(wait),
                    clock_ms: Some(at_ms),
                };
                if telemetry.is_sound() {
                    self.progress.insert(job, (generation, telemetry));
                }
                return;
            }
            Observation::Ended { ending, at_ms, .. } => {
                ended(job, generation, &ending, Some(at_ms))
            }
        };
        let acknowledge = matches!(change, Change::Ended { .. });
        self.queue.push_back(Seen { job, generation, change, acknowledge });
    }

    /// A job could not be started.
    pub fn not_started(
        &mut self,
        job: JobId,
        generation: Generation,
        impossible: bool,
        detail: String,
    ) {
        let ending = if impossible { RunEnding::Impossible } else { RunEnding::Failed };
        let detail = format!("it was not started: {detail}");
        let change = Change::Ended {
            job,
            generation,
            ending,
            detail,
            last_lines: None,
            at_ms: None,
            outcome: None,
        };
        self.queue.push_back(Seen { job, generation, change, acknowledge: false });
    }

    fn progress_is_due(&self, job: JobId) -> bool {
        is_due(self.told.get(&job))
    }

    /// Puts what is due into a batch. [`done`](Self::done) or [`failed`](Self::failed) must follow.
    pub fn fill(&mut self, at: Time, world: &World, site: &Site, batch: &mut Batch) {
        let count = self.queue.len().min(AT_ONCE);
        let mut jobs: Vec<JobId> = Vec::new();
        let mut waits: Vec<JobId> = Vec::new();
        for seen in self.queue.iter().take(count) {
            if !is_current(world, seen.job, seen.generation) {
                continue;
            }
            let last_word = self.progress.get(&seen.job).filter(|(g, _)| *g == seen.generation);
            if let (Change::Ended { .. }, Some(word)) = (&seen.change, last_word) {
                batch.push(at, progress(seen.job, word));
                jobs.push(seen.job);
            }
            let last_wait = self.waits.get(&seen.job).filter(|(g, _)| *g == seen.generation);
            if let Some(wait) = last_wait.filter(|_| !waits.contains(&seen.job)) {
                batch.push(at, preparing(seen.job, wait));
                waits.push(seen.job);
            }
            batch.push(at, with_host(seen.change.clone(), world, site));
        }
        for (&job, wait) in &self.waits {
            let is_late = !is_due(self.waits_told.get(&job)) || batch.len() >= AT_ONCE;
            if is_late || waits.contains(&job) {
                continue;
            }
            if is_current(world, job, wait.0) {
                batch.push(at, preparing(job, wait));
            }
            waits.push(job);
        }
        for (&job, word) in &self.progress {
            if jobs.contains(&job) || !self.progress_is_due(job) || batch.len() >= AT_ONCE {
                continue;
            }
            if is_current(world, job, word.0) {
                batch.push(at, progress(job, word));
            }
            jobs.push(job);
        }
        self.taken = (count, jobs);
        self.taken_waits = waits;
    }

    /// What was put into the batch is durable: these endings may be acknowledged.
    pub fn done(&mut self) -> Vec<(JobId, Generation)> {
        let (count, jobs) = std::mem::take(&mut self.taken);
        for job in jobs {
            self.progress.remove(&job);
            self.told.insert(job, Instant::now());
        }
        for job in std::mem::take(&mut self.taken_waits) {
            self.waits.remove(&job);
            self.waits_told.insert(job, Instant::now());
        }
        let mut endings = Vec::new();
        for seen in self.queue.drain(..count) {
            if let Change::Ended { .. } = seen.change {
                self.told.remove(&seen.job);
                self.waits_told.remove(&seen.job);
                self.progress.remove(&seen.job);
            }
            if seen.acknowledge {
                endings.push((seen.job, seen.generation));
            }
        }
        endings
    }

    /// It is not: it comes again with the next batch.
    pub fn failed(&mut self) {
        self.taken = Default::default();
        self.taken_waits.clear();
    }
}

/// Whether something that was told then may be told again.
fn is_due(told: Option<&Instant>) -> bool {
    told.is_none_or(|told| told.elapsed() >= PROGRESS_EVERY)
}

/// What a transfer took that the world has not heard the end of. After a restart of the daemon all of them are told
/// again.
pub(super) fn transfer(world: &World, observation: &Observation) -> Option<Transfer> {
    let Observation::Transferred { job, generation, transfer } = observation else { return None };
    let run = world.jobs.get(job).and_then(|entry| entry.run());
    let run = run.filter(|run| run.generation == *generation && run.started.is_none());
    run.map(|_| *transfer)
}

/// Whether a run is the one that the world knows of. Another one was over before: nobody needs to hear of it.
fn is_current(world: &World, job: JobId, generation: Generation) -> bool {
    let run = world.jobs.get(&job).and_then(|entry| entry.run());
    run.is_some_and(|run| run.generation == generation)
}

fn preparing(job: JobId, (generation, detail): &(Generation, String)) -> Change {
    Change::Preparing { job, generation: *generation, detail: detail.clone() }
}

/// A start is journalled with where its checkpoints are.
fn with_host(change: Change, world: &World, site: &Site) -> Change {
    match change {
        Change::Started { job, generation, at_ms, .. } => {
            let host = site.checkpoint_host(world, job);
            Change::Started { job, generation, at_ms, host }
        }
        other => other,
    }
}

fn progress(job: JobId, (generation, telemetry): &(Generation, Telemetry)) -> Change {
    Change::Progress { job, generation: *generation, telemetry: telemetry.clone() }
}

fn ended(job: JobId, generation: Generation, ending: &Ending, at_ms: Option<u64>) -> Change {
    let detail = ending.to_string();
    let last_lines = match ending {
        // Without a worker there is no output.
        Ending::Failed { last_lines, rank: Some(_), .. } => Some(tail(last_lines)),
        _ => None,
    };
    let ending = match ending {
        Ending::Finished => RunEnding::Finished,
        Ending::Checkpointed => RunEnding::Checkpointed,
        Ending::Stopped { .. } => RunEnding::Stopped,
        Ending::TimedOut { .. } => RunEnding::TimedOut,
        Ending::Vanished { .. } | Ending::Refused { .. } => RunEnding::Lost,
        Ending::Failed { reason, .. } => match reason {
            FailReason::CommandNotFound { .. }
            | FailReason::NotExecutable { .. }
            | FailReason::WorkdirMissing { .. } => RunEnding::Impossible,
            FailReason::NotMeasured { .. } => RunEnding::Unmeasured,
            _ => RunEnding::Failed,
        },
    };
    Change::Ended { job, generation, ending, detail, last_lines, at_ms, outcome: None }
}

fn shown(measured: oef_executor::Measured) -> Measured {
    let oef_executor::Measured { batch_seconds, spread, batches, lots, wait } = measured;
    Measured { batch_seconds, spread, batches, lots, wait }
}

/// The end of a text, within the limit.
fn tail(text: &str) -> String {
    let mut from = text.len().saturating_sub(LAST_LINES_MAX);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    text[from..].into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoints::{CheckpointSettings, Places};
    use crate::world::NewJob;
    use oef_api::types::{JobSubmit, Limits};
    use oef_executor::{Device, DeviceKind};
    use oef_sched::NodeSpec;
    use std::path::Path;

    const JOB: JobId = JobId(1);

    /// One GPU, and one job that starts on it.
    fn world() -> World {
        let mut world = World::new(Default::default(), Default::default());
        let spec = JobSubmit {
            tenant: Some("ada".into()),
            workload: Some("w".into()),
            workers: 1,
            ..JobSubmit::default()
        };
        let limits = Limits::default();
        for change in [
            Change::NodeUp(NodeSpec { name: "n".into(), gpu_type: "g".into(), gpus: 1 }),
            Change::TenantCreated { name: "ada".into(), weight: 1.0, group: None, limits },
            Change::Round { kept: false },
            Change::Submitted { jobs: vec![NewJob { id: 1, spec }], key: None },
        ] {
            world.happen(Time(1), change).expect("taken");
        }
        world
    }

    fn site(lines: &str) -> Site {
        let settings: CheckpointSettings = toml::from_str(lines).expect("settings");
        let device = Device {
            host: "box".into(),
            index: 0,
            gpu_type: "g".into(),
            kind: DeviceKind::Emulated,
        };
        Site {
            dir: "/state".into(),
            env: BTreeMap::new(),
            nodes: BTreeMap::from([("n".to_string(), vec![device])]),
            places: Places::new(Path::new("/state"), &settings),
            log_limit_bytes: 1,
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
        let world = world();
        let generation = world.jobs[&JOB].run().expect("a run").generation;
        let wait =
            |detail: &str| Observation::Preparing { job: JOB, generation, detail: detail.into() };
        let site = site("place = \"node\"");
        let mut seen = Observations::default();
        seen.add(wait("one"));
        let first = Change::Preparing { job: JOB, generation, detail: "one".into() };
        assert_eq!(changes(&mut seen, &world, &site), [first]);
        seen.add(wait("two"));
        assert_eq!(changes(&mut seen, &world, &site), [], "not so soon");
        seen.add(wait("three"));
        seen.add(Observation::Started { job: JOB, generation, at_ms: 5 });
        let word = Observation::Progress {
            job: JOB,
            generation,
            steps: 4.0,
            throughput: None,
            loss: None,
            checkpoint: Some(3.0),
            measured: None,
            wait: None,
            skipped_lines: 0,
            at_ms: 6,
        };
        seen.add(word);
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

    #[test]
    fn in_a_shared_folder_no_host_has_a_jobs_checkpoints() {
        let world = world();
        let generation = world.jobs[&JOB].run().expect("a run").generation;
        let mut seen = Observations::default();
        seen.add(Observation::Started { job: JOB, generation, at_ms: 5 });
        let expected = Change::Started { job: JOB, generation, at_ms: Some(5), host: None };
        assert_eq!(changes(&mut seen, &world, &site("")), [expected]);
    }

    #[test]
    fn a_transfer_is_counted_once_however_often_it_is_told() {
        use oef_executor::checkpoints::TransferResult;
        let mut world = world();
        let Some(generation) = world.jobs[&JOB].run().map(|run| run.generation) else {
            panic!("it starts")
        };
        let told = Transfer { result: TransferResult::Brought, bytes: 7, took: oef_sched::Span(5) };
        let seen = |generation| Observation::Transferred { job: JOB, generation, transfer: told };
        assert_eq!(transfer(&world, &seen(generation)), Some(told));
        assert_eq!(transfer(&world, &seen(Generation(99))), None, "of another start");
        let started = Change::Started { job: JOB, generation, at_ms: Some(5), host: None };
        world.happen(Time(2), started).expect("taken");
        assert_eq!(transfer(&world, &seen(generation)), None, "told again after a restart");
        let mut observations = Observations::default();
        observations.add(seen(generation));
        assert!(observations.queue.is_empty(), "a figure is not journalled");
    }
}
