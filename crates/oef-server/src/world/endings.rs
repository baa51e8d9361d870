//! What becomes of a job when a run of it has ended.

use super::job::is_none;
use super::{JobEntry, Reason, Rejection, RunEnd, RunEnding, World};
use oef_api::types::JobState;
use oef_sched::{EventKind, Generation, JobId, Span, Time};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The first wait before another try; each further one is twice as long...
const BACK_OFF_FIRST: Span = Span(5_000);
/// ... up to this, so that somebody who mends the cause need not wait for long.
const BACK_OFF_MAX: Span = Span(600_000);
/// A job that stops by itself sooner than this, without a step, would do nothing else for ever.
const SHORT_RUN: Span = Span(10_000);
/// So many losses without any progress are no bad luck: something about the job ends its runner.
const LOSSES_MAX: u32 = 10;
/// Of the last line of output, so much goes into the reason.
const LAST_LINE_MAX: usize = 200;

/// What was decided about a job after a run of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOutcome {
    next: NextState,
    /// The job's failures, this one included.
    failures: u32,
    /// How often in a row its processes were gone without progress.
    losses: u32,
    /// How often in a row it could not run, which was not its fault.
    #[serde(default, skip_serializing_if = "is_none")]
    hindrances: u32,
}

impl RunOutcome {
    /// What was decided before a time limit was a state of its own.
    fn of_version_1(self) -> RunOutcome {
        match self.next {
            NextState::TimedOut => RunOutcome { next: NextState::Failed, ..self },
            NextState::LostAgain { .. } => RunOutcome { next: NextState::Lost, ..self },
            _ => self,
        }
    }
}

/// What follows for the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum NextState {
    Finished,
    Cancelled,
    /// It was told to stop, and waits again (or goes on elsewhere).
    Requeued,
    /// Its processes are gone; it waits again at once.
    Lost,
    /// They are gone again, or it could not run; it waits again after a while.
    LostAgain {
        wait_ms: u64,
    },
    /// It failed, and is tried again after a while.
    Retry {
        wait_ms: u64,
    },
    Failed,
    TimedOut,
}

impl World {
    pub(super) fn run_ended(&mut self, end: &RunEnd) -> Result<(), Rejection> {
        let id = end.job;
        let job = self.jobs.get(&id).ok_or(Rejection::UnknownJob(id))?;
        if job.state.is_final() {
            return Err(Rejection::JobEnded(id));
        }
        let run = job.run().filter(|run| run.generation == end.generation);
        let run = run.ok_or(Rejection::WrongState(id))?;
        let (began, rate, why_stopped) = (run.began, run.rate, run.stop.clone());
        let held = run.gpus.clone();
        let ended = Time(end.at_ms.unwrap_or(self.at.0)).clamp(began, self.at);
        let decided = || decide(job, end, self.at).of_version_1();
        let outcome = end.outcome.unwrap_or_else(decided);
        let next = outcome.next;
        let mut after = JobEntry::clone(job);
        (after.failures, after.losses) = (outcome.failures, outcome.losses);
        after.hindrances = outcome.hindrances;
        let is_told = matches!(next, NextState::Cancelled | NextState::Requeued);
        if matches!(end.ending, RunEnding::Lost | RunEnding::Hindered) && !is_told {
            after.steps_at_loss = after.telemetry.steps;
        }
        let actions = self.step(event(next, id, end.generation))?;
        let reason = reason(next, &after, end, why_stopped);
        let wasted_ms = wasted(&after, end.ending, ended).0;
        self.totals.wasted_ms += wasted_ms;
        self.use_run(&after.spec, &held, began, wasted_ms);
        if next == NextState::Requeued {
            self.stopped(&after, ended);
        }
        close_run(&mut after, end, ended);
        let tenant = after.tenant().to_string();
        if let NextState::Retry { wait_ms } | NextState::LostAgain { wait_ms } = next {
            let due = self.at + Span(wait_ms);
            after.retry_at = Some(due);
            self.index.wakeups.insert((due, id));
        }
        let longer = (next == NextState::Requeued).then(|| self.longer_turn(id, &after)).flatten();
        self.jobs.insert(id, Arc::new(after));
        self.deliver(&tenant, rate, &held, -1.0);
        let state = match next {
            NextState::Finished => JobState::Finished,
            NextState::Cancelled => JobState::Cancelled,
            NextState::Failed => JobState::Failed,
            NextState::TimedOut => JobState::TimedOut,
            NextState::Requeued
            | NextState::Lost
            | NextState::LostAgain { .. }
            | NextState::Retry { .. } => JobState::Queued,
        };
        self.set_state(id, state, reason);
        self.follow(actions);
        if let Some(turn) = longer {
            self.lengthen_turn(id, turn)?;
        }
        self.probed(id, end)
    }
}

/// Decides what follows for a job.
pub(super) fn decide(job: &JobEntry, end: &RunEnd, at: Time) -> RunOutcome {
    let run = job.run();
    let (began, steps_before) = run.map_or((at, 0.0), |run| (run.began, run.steps_before));
    let ended = Time(end.at_ms.unwrap_or(at.0)).clamp(began, at.max(began));
    let progressed = job.telemetry.steps > steps_before;
    let is_stopping = job.state == JobState::Stopping;
    let is_probe = job.spec.probe.is_some();
    let is_unmeasured = is_probe && job.telemetry.measured.is_none();
    let (failures, losses, hindrances) = (job.failures, job.losses, job.hindrances);
    let plain = |next: NextState| RunOutcome { next, failures, losses, hindrances };
    match end.ending {
        RunEnding::Finished if !is_unmeasured => plain(NextState::Finished),
        // Before anything that would try again: the scheduler forgets a cancelled job however its run ends.
        _ if job.cancelled_by.is_some() => plain(NextState::Cancelled),
        RunEnding::TimedOut => plain(NextState::TimedOut),
        RunEnding::Impossible | RunEnding::Unmeasured => plain(NextState::Failed),
        RunEnding::Finished | RunEnding::Failed => failed(job, losses),
        _ if is_stopping => plain(NextState::Requeued),
        // Told by nobody: it would do the same again and again.
        RunEnding::Checkpointed if is_probe => failed(job, losses),
        RunEnding::Checkpointed | RunEnding::Stopped => {
            match progressed || ended.since(began) >= SHORT_RUN {
                true => plain(NextState::Lost),
                false => failed(job, losses),
            }
        }
        RunEnding::Lost => {
            let moved_on = progressed || job.telemetry.steps > job.steps_at_loss;
            let (losses, hindrances) = if moved_on { (1, 0) } else { (losses + 1, hindrances) };
            let next = match losses {
                1 => NextState::Lost,
                2..LOSSES_MAX => NextState::LostAgain { wait_ms: back_off(losses - 1) },
                _ => return failed(job, 0),
            };
            RunOutcome { next, failures, losses, hindrances }
        }
        // However often: somebody has to look after the machine, and the job goes on when they have.
        RunEnding::Hindered => {
            let moved_on = progressed || job.telemetry.steps > job.steps_at_loss;
            let (losses, hindrances) = if moved_on { (0, 1) } else { (losses, hindrances + 1) };
            let next = NextState::LostAgain { wait_ms: back_off(hindrances) };
            RunOutcome { next, failures, losses, hindrances }
        }
    }
}

fn failed(job: &JobEntry, losses: u32) -> RunOutcome {
    let failures = job.failures + 1;
    if failures > job.spec.retries {
        return RunOutcome { next: NextState::Failed, failures, losses, hindrances: 0 };
    }
    let next = NextState::Retry { wait_ms: back_off(failures) };
    RunOutcome { next, failures, losses, hindrances: 0 }
}

/// The wait before the next try, after so many that went wrong.
fn back_off(times: u32) -> u64 {
    let doubled = 1u64.checked_shl(times.saturating_sub(1)).unwrap_or(u64::MAX);
    BACK_OFF_FIRST.times(doubled).min(BACK_OFF_MAX).0
}

fn event(next: NextState, job: JobId, generation: Generation) -> EventKind {
    match next {
        NextState::Finished => EventKind::Finished { job, generation },
        NextState::Cancelled | NextState::Requeued => EventKind::Preempted { job, generation },
        NextState::Lost => EventKind::Lost { job, generation },
        NextState::Retry { .. } | NextState::LostAgain { .. } => {
            EventKind::Failed { job, generation, retry: true }
        }
        NextState::Failed | NextState::TimedOut => {
            EventKind::Failed { job, generation, retry: false }
        }
    }
}

fn reason(next: NextState, job: &JobEntry, end: &RunEnd, stop: Option<Reason>) -> Reason {
    let detail = match end.ending {
        RunEnding::Finished => "it ended before it was measured".into(),
        _ => end.detail.clone(),
    };
    match next {
        NextState::Finished => match job.telemetry.measured.filter(|_| job.spec.probe.is_some()) {
            Some(measured) => Reason::Measured { batch_seconds: measured.batch_seconds },
            None => Reason::Finished,
        },
        NextState::Cancelled => {
            Reason::Cancelled { by: job.cancelled_by.clone().unwrap_or("its owner".into()) }
        }
        NextState::Requeued => Reason::Requeued { why: stop.map(Box::new), ending: end.ending },
        NextState::TimedOut => match job.spec.max_run_s {
            Some(limit_s) => Reason::TimeLimit { limit_s },
            None => Reason::Text(detail),
        },
        NextState::Lost => Reason::Lost { detail, wait_ms: None },
        NextState::LostAgain { wait_ms } => Reason::Lost { detail, wait_ms: Some(wait_ms) },
        NextState::Retry { wait_ms } => {
            Reason::Retry { detail, wait_ms, retry: job.failures, retries: job.spec.retries }
        }
        NextState::Failed => {
            let last_line =
                end.last_lines.as_deref().and_then(|lines| lines.trim_end().lines().last());
            let last_line = last_line.map(cut);
            Reason::Failed { detail, failures: job.failures, exit: end.exit, last_line }
        }
    }
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(LAST_LINE_MAX) {
        None => line.into(),
        Some((end, _)) => format!("{}...", &line[..end]),
    }
}

/// Work of all workers since the last checkpoint that has to be done again.
fn wasted(job: &JobEntry, ending: RunEnding, ended: Time) -> Span {
    let saved = matches!(
        ending,
        RunEnding::Finished | RunEnding::Checkpointed | RunEnding::TimedOut | RunEnding::Impossible
    ) || job.spec.probe.is_some();
    let Some(started) = job.run().and_then(|run| run.started).filter(|_| !saved) else {
        return Span(0);
    };
    let since = job.checkpoint_at.map_or(started, |checkpoint| checkpoint.max(started));
    ended.since(since).times(u64::from(*job.spec.workers))
}

fn close_run(job: &mut JobEntry, end: &RunEnd, ended: Time) {
    let Some(run) = job.run_mut() else { return };
    // A job that waited for its checkpoint has not run.
    let has_run = run.started.is_some() || run.detail.is_none();
    run.ended = Some(ended);
    (run.ending, run.exit) = (Some(end.ending), end.exit);
    let lines = end.last_lines.as_deref().map(str::trim_end).filter(|lines| !lines.is_empty());
    run.detail = Some(match lines {
        Some(lines) => format!("{}\n{lines}", end.detail),
        None => end.detail.clone(),
    });
    let ran = ended.since(run.started.unwrap_or(run.began));
    job.ran_ms += if has_run { ran.0 } else { 0 };
}
