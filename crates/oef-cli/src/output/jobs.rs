//! Jobs and GPUs in words and cells.

use jiff::Timestamp;
use oef_api::types::{Blocked, GpuRef, Job, JobState};
use oef_report::format::{number, si, span};
use oef_terminal::names::safe;
use oef_terminal::table::Cell;
use oef_terminal::times::between;
use owo_colors::Style;
use std::collections::BTreeMap;

/// A state with its colour.
pub fn state(state: JobState) -> Cell {
    Cell::text(state.words()).style(state_style(state))
}

/// A job's state with its colour; one that is held says so.
pub fn state_cell(job: &Job) -> Cell {
    Cell::text(state_word(job)).style(state_style(job.state))
}

/// A job's state in words; one that is held says so.
pub fn state_word(job: &Job) -> String {
    match (job.state, job.blocked) {
        (JobState::Queued, Some(Blocked::Held)) => Blocked::Held.name().into(),
        (state, _) => state.words().into(),
    }
}

/// The colour of a state.
pub fn state_style(state: JobState) -> Style {
    match state {
        JobState::Queued => Style::new().yellow(),
        JobState::Starting | JobState::Stopping => Style::new().cyan(),
        JobState::Running => Style::new().green(),
        JobState::Finished => Style::new().dimmed(),
        JobState::Failed | JobState::TimedOut => Style::new().red(),
        JobState::Cancelled => Style::new().dimmed(),
    }
}

/// The GPUs that a job holds, by type: `2×rtx3090`; or how many it wants.
pub fn gpus(job: &Job) -> String {
    if job.gpus.is_empty() { job.workers.to_string() } else { by_type(&job.gpus) }
}

/// GPUs by type: `2×rtx3080 1×rtx3090`.
pub fn by_type(gpus: &[GpuRef]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for gpu in gpus {
        *counts.entry(&gpu.gpu_type).or_default() += 1;
    }
    let words: Vec<String> =
        counts.iter().map(|(name, count)| format!("{count}×{}", safe(name))).collect();
    words.join(" ")
}

/// GPUs one by one: `rtx3090-0:1`.
pub fn one_by_one(gpus: &[GpuRef]) -> String {
    let words: Vec<String> =
        gpus.iter().map(|gpu| format!("{}:{}", safe(&gpu.node), gpu.index)).collect();
    words.join(" ")
}

/// How long it has waited, while it waits; else how long it has run.
pub fn time(job: &Job, now: Timestamp) -> String {
    match job.state {
        JobState::Queued => span(between(job.submitted, now) - job.ran_s),
        _ => span(job.ran_s),
    }
}

/// Its steps, as far as the job tells.
pub fn steps(job: &Job) -> String {
    if job.progress.steps > 0.0 { si(job.progress.steps.round()) } else { "·".into() }
}

/// The same with their speed, while it runs.
pub fn progress(job: &Job) -> String {
    match job.progress.throughput {
        Some(speed) if job.state == JobState::Running && job.progress.steps > 0.0 => {
            format!("{} ({}/s)", steps(job), number(speed))
        }
        _ => steps(job),
    }
}
