//! What the executor saw, on its way into the journal.
//!
//! Starts and endings are journalled at once, progress now and then. Nothing leaves here before it is
//! durable: a full disk only delays it.

use super::batch::Batch;
use crate::world::{Change, RunEnding, Telemetry, World};
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
    /// When a job's progress was last journalled.
    told: BTreeMap<JobId, Instant>,
    /// What is in the batch that is being committed: so many of the queue, and these jobs' progress.
    taken: (usize, Vec<JobId>),
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
            Observation::Started { at_ms, .. } => {
                Change::Started { job, generation, at_ms: Some(at_ms) }
            }
            Observation::Progress { steps, throughput, loss, checkpoint, wait, at_ms, .. } => {
                let number = |x: Option<f64>| x.filter(|x| x.is_finite());
                let telemetry = Telemetry {
                    steps,
                    checkpoint: number(checkpoint),
                    throughput: number(throughput),
                    loss: number(loss),
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
        let change =
            Change::Ended { job, generation, ending, detail, last_lines: None, at_ms: None };
        self.queue.push_back(Seen { job, generation, change, acknowledge: false });
    }

    fn progress_is_due(&self, job: JobId) -> bool {
        self.told.get(&job).is_none_or(|told| told.elapsed() >= PROGRESS_EVERY)
    }

    /// Puts what is due into a batch. [`done`](Self::done) or [`failed`](Self::failed) must follow.
    pub fn fill(&mut self, at: Time, world: &World, batch: &mut Batch) {
        let count = self.queue.len().min(AT_ONCE);
        let mut jobs: Vec<JobId> = Vec::new();
        for seen in self.queue.iter().take(count) {
            if !is_current(world, seen.job, seen.generation) {
                continue;
            }
            let last_word = self.progress.get(&seen.job).filter(|(g, _)| *g == seen.generation);
            if let (Change::Ended { .. }, Some(word)) = (&seen.change, last_word) {
                batch.push(at, progress(seen.job, word));
                jobs.push(seen.job);
            }
            batch.push(at, seen.change.clone());
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
    }

    /// What was put into the batch is durable: these endings may be acknowledged.
    pub fn done(&mut self) -> Vec<(JobId, Generation)> {
        let (count, jobs) = std::mem::take(&mut self.taken);
        for job in jobs {
            self.progress.remove(&job);
            self.told.insert(job, Instant::now());
        }
        let mut endings = Vec::new();
        for seen in self.queue.drain(..count) {
            if let Change::Ended { .. } = seen.change {
                self.told.remove(&seen.job);
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
    }
}

/// Whether a run is the one that the world knows of. Another one was over before: nobody needs to hear of it.
fn is_current(world: &World, job: JobId, generation: Generation) -> bool {
    let run = world.jobs.get(&job).and_then(|entry| entry.run());
    run.is_some_and(|run| run.generation == generation)
}

fn progress(job: JobId, (generation, telemetry): &(Generation, Telemetry)) -> Change {
    Change::Progress { job, generation: *generation, telemetry: telemetry.clone() }
}

fn ended(job: JobId, generation: Generation, ending: &Ending, at_ms: Option<u64>) -> Change {
    let detail = ending.to_string();
    let last_lines = match ending {
        Ending::Failed { last_lines, .. } => Some(tail(last_lines)),
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
            _ => RunEnding::Failed,
        },
    };
    Change::Ended { job, generation, ending, detail, last_lines, at_ms }
}

/// The end of a text, within the limit.
fn tail(text: &str) -> String {
    let mut from = text.len().saturating_sub(LAST_LINES_MAX);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    text[from..].into()
}
