//! What becomes of a job when a run of it has ended.

use super::lives::shown;
use super::{Action, JobEntry, Rejection, RunEnding, World};
use oef_api::types::JobState;
use oef_sched::{EventKind, Generation, JobId, Span, Time};
use std::sync::Arc;

/// The first wait before another try; each further one is twice as long...
const BACK_OFF_FIRST: Span = Span(5_000);
/// ... up to this, so that somebody who mends the cause need not wait for long.
const BACK_OFF_MAX: Span = Span(600_000);
/// A job that stops by itself sooner than this, without a step, would do nothing else for ever.
const SHORT_RUN: Span = Span(10_000);
/// So many losses without any progress are no bad luck: something about the job ends its runner.
const LOSSES_MAX: u32 = 10;
/// What stands in a reason before the job's own output: viewers are shown what comes before it.
pub(crate) const LAST_LINE: &str = "; its last line: ";
/// Of the last line of output, so much goes into the reason.
const LAST_LINE_MAX: usize = 200;

/// A run that ended.
pub(super) struct End<'a> {
    pub job: JobId,
    pub generation: Generation,
    pub ending: RunEnding,
    pub detail: &'a str,
    pub last_lines: Option<&'a str>,
    pub at_ms: Option<u64>,
}

/// What follows for the job.
enum Verdict {
    Finished,
    Cancelled,
    /// It was told to stop, and waits again (or goes on elsewhere).
    Back,
    /// Its processes are gone; it waits again at once.
    Lost,
    /// It failed, and is tried again after a while.
    Retry(Span),
    Failed,
}

impl World {
    pub(super) fn run_ended(
        &mut self,
        at: Time,
        end: &End<'_>,
        out: &mut Vec<Action>,
    ) -> Result<(), Rejection> {
        let id = end.job;
        let job = self.jobs.get(&id).ok_or(Rejection::UnknownJob(id))?;
        if job.state.is_final() {
            return Err(Rejection::JobEnded(id));
        }
        let run = job.run().filter(|run| run.generation == end.generation);
        let run = run.ok_or(Rejection::WrongState(id))?;
        let (began, rate, why_stopped) = (run.began, run.rate, run.stop.clone());
        let held = run.gpus.clone();
        let ended = Time(end.at_ms.unwrap_or(at.0)).clamp(began, at);
        let mut after = JobEntry::clone(job);
        let verdict = decide(&mut after, end, ended);
        let actions = self.step(at, event(&verdict, id, end.generation))?;
        let reason = reason(&verdict, &after, end, why_stopped.as_deref());
        self.totals.wasted_ms += wasted(&after, end.ending, ended).0;
        close_run(&mut after, end, ended);
        let tenant = after.tenant().to_string();
        if let Verdict::Retry(wait) = verdict {
            let due = at + wait;
            after.retry_at = Some(due);
            self.index.retries.insert((due, id));
        }
        self.jobs.insert(id, Arc::new(after));
        self.deliver(at, &tenant, rate, &held, -1.0);
        let state = match verdict {
            Verdict::Finished => JobState::Finished,
            Verdict::Cancelled => JobState::Cancelled,
            Verdict::Failed => JobState::Failed,
            Verdict::Back | Verdict::Lost | Verdict::Retry(_) => JobState::Queued,
        };
        self.set_state(at, id, state, reason, out);
        self.follow(at, actions, out);
        self.probed(at, id, end, out)
    }
}

/// What follows, with the job's counts brought up to date.
fn decide(job: &mut JobEntry, end: &End<'_>, ended: Time) -> Verdict {
    let (began, steps_before) = job.run().map_or((ended, 0.0), |r| (r.began, r.steps_before));
    let progressed = job.telemetry.steps > steps_before;
    let is_stopping = job.state == JobState::Stopping;
    let is_probe = job.spec.probe.is_some();
    let is_unmeasured = is_probe && job.telemetry.measured.is_none();
    match end.ending {
        RunEnding::Finished if !is_unmeasured => Verdict::Finished,
        // Before anything that would try again: the scheduler forgets a cancelled job however its run ends.
        _ if job.cancelled_by.is_some() => Verdict::Cancelled,
        RunEnding::TimedOut | RunEnding::Impossible | RunEnding::Unmeasured => Verdict::Failed,
        RunEnding::Finished | RunEnding::Failed => failed(job),
        _ if is_stopping => Verdict::Back,
        // Told by nobody: it would do the same again and again.
        RunEnding::Checkpointed if is_probe => failed(job),
        RunEnding::Checkpointed | RunEnding::Stopped => {
            match progressed || ended.since(began) >= SHORT_RUN {
                true => Verdict::Lost,
                false => failed(job),
            }
        }
        RunEnding::Lost => {
            let moved_on = progressed || job.telemetry.steps > job.steps_at_loss;
            job.losses = if moved_on { 1 } else { job.losses + 1 };
            job.steps_at_loss = job.telemetry.steps;
            if job.losses < LOSSES_MAX {
                return Verdict::Lost;
            }
            job.losses = 0;
            failed(job)
        }
    }
}

fn failed(job: &mut JobEntry) -> Verdict {
    job.failures += 1;
    if job.failures > job.spec.retries {
        return Verdict::Failed;
    }
    let doubled = 1u64.checked_shl(job.failures - 1).unwrap_or(u64::MAX);
    Verdict::Retry(BACK_OFF_FIRST.times(doubled).min(BACK_OFF_MAX))
}

fn event(verdict: &Verdict, job: JobId, generation: Generation) -> EventKind {
    match verdict {
        Verdict::Finished => EventKind::Finished { job, generation },
        Verdict::Cancelled | Verdict::Back => EventKind::Preempted { job, generation },
        Verdict::Lost => EventKind::Lost { job, generation },
        Verdict::Retry(_) => EventKind::Failed { job, generation, retry: true },
        Verdict::Failed => EventKind::Failed { job, generation, retry: false },
    }
}

fn reason(verdict: &Verdict, job: &JobEntry, end: &End<'_>, stop: Option<&str>) -> String {
    let detail = match end.ending {
        RunEnding::Finished => "it ended before it was measured",
        _ => end.detail,
    };
    match verdict {
        Verdict::Finished => match job.telemetry.measured.filter(|_| job.spec.probe.is_some()) {
            Some(measured) => format!("measured: {:.4} s a batch", measured.batch_seconds),
            None => "all its work is done".into(),
        },
        Verdict::Cancelled => {
            format!("cancelled by {}", job.cancelled_by.as_deref().unwrap_or("its owner"))
        }
        Verdict::Back => {
            let saved = match end.ending {
                RunEnding::Checkpointed => "it saved its work",
                RunEnding::Lost => "its processes were gone before it saved its work",
                _ => "it did not say that it saved its work",
            };
            format!("was stopped: {}; {saved}", stop.unwrap_or("it was told to"))
        }
        Verdict::Lost => format!("waits again: {detail}"),
        Verdict::Retry(wait) => format!(
            "failed: {detail}; tried again in {} (retry {} of {})",
            shown(*wait),
            job.failures,
            job.spec.retries
        ),
        Verdict::Failed => {
            let tries = match job.failures {
                0 | 1 => String::new(),
                n => format!("; gave up after {n} failures"),
            };
            let last = end.last_lines.and_then(|lines| lines.trim_end().lines().last());
            let last = last.map(|line| format!("{LAST_LINE}{}", cut(line)));
            format!("failed: {detail}{tries}{}", last.unwrap_or_default())
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
    ended.since(since).times(u64::from(job.spec.workers))
}

fn close_run(job: &mut JobEntry, end: &End<'_>, ended: Time) {
    let Some(run) = job.run_mut() else { return };
    // A job that waited for its checkpoint has not run.
    let has_run = run.started.is_some() || run.detail.is_none();
    run.ended = Some(ended);
    run.ending = Some(end.ending);
    run.detail = Some(match end.last_lines.map(str::trim_end).filter(|lines| !lines.is_empty()) {
        Some(lines) => format!("{}\n{lines}", end.detail),
        None => end.detail.into(),
    });
    let ran = ended.since(run.started.unwrap_or(run.began));
    job.ran_ms += if has_run { ran.0 } else { 0 };
}
