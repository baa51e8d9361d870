//! `oef job`: all about one.

use super::watch::{Watching, watch};
use crate::args::jobs::JobArgs;
use crate::output::jobs::{by_type, one_by_one, state, state_style, state_word};
use jiff::Timestamp;
use oef_api::client::Client;
use oef_api::memory;
use oef_api::types::{Ending, Job, JobState, JobSubmit, Run};
use oef_report::format::{number, percent, si, span};
use oef_terminal::names::{safe, safe_lines};
use oef_terminal::numbers::counted;
use oef_terminal::table::Table;
use oef_terminal::times::{at, between, moment};
use oef_terminal::{Exit, Failure, Printer};
use owo_colors::OwoColorize as _;
use std::collections::BTreeMap;
use std::fmt::Write as _;

pub fn run(args: &JobArgs, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    if args.watch {
        let mut last = None;
        watch(
            client,
            printer,
            |event| event.job == Some(args.id),
            || {
                let job = client.job(args.id)?;
                let over = if job.state.is_final() { Watching::Over } else { Watching::GoOn };
                let text = render(&job, Timestamp::now());
                last = Some(job.state);
                Ok((text, over))
            },
        )?;
        return Ok(exit(last));
    }
    let job = client.job(args.id)?;
    printer.show(args.json, || &job, || render(&job, Timestamp::now()))?;
    Ok(exit(Some(job.state)))
}

/// A job that failed is what was asked about, and does not hold.
fn exit(state: Option<JobState>) -> Exit {
    if state.is_some_and(JobState::is_failure) { Exit::DoesNotHold } else { Exit::Done }
}

fn render(job: &Job, now: Timestamp) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{} {} ({}/{}): {}",
        format!("job {}", job.id).bold(),
        safe(&job.name).bold(),
        safe(&job.tenant),
        safe(&job.workload),
        state_style(job.state).style(state_word(job)),
    );
    let _ = writeln!(out, "  {}\n", safe_lines(&job.reason));
    facts(&mut out, job, now);
    if let Some(spec) = &job.spec {
        specification(&mut out, spec);
    }
    if let Some(runs) = job.runs.as_deref().filter(|runs| !runs.is_empty()) {
        let _ = writeln!(out, "\n{}", "Runs".bold());
        out.push_str(&run_table(runs, now).fitted());
        let detail = runs.last().and_then(|run| run.detail.as_deref());
        if let Some(detail) = detail.filter(|detail| detail.contains('\n')) {
            let _ = writeln!(out, "\n{}\n{}", "How the last one ended".bold(), safe_lines(detail));
        }
    }
    if let Some(history) = &job.history {
        let _ = writeln!(out, "\n{}", "History".bold());
        let table = Table::each(history)
            .column("when", |change| at(change.at))
            .column("state!", |change| state(change.state))
            .column("why", |change| safe(&change.reason))
            .table();
        out.push_str(&table.fitted());
    }
    out
}

fn fact(out: &mut String, name: &str, value: &str) {
    if !value.is_empty() {
        let _ = writeln!(out, "  {:<12} {value}", name.dimmed());
    }
}

fn facts(out: &mut String, job: &Job, now: Timestamp) {
    let gpus = match job.gpus.as_slice() {
        [] => format!("{} wanted", job.workers),
        gpus => format!("{} ({})", by_type(gpus), one_by_one(gpus)),
    };
    fact(out, "gpus", &gpus);
    if job.priority != 0 {
        fact(out, "priority", &job.priority.to_string());
    }
    let user = job.spec.as_ref().and_then(|spec| spec.user.as_deref());
    let by = user.map(|user| format!(" by {}", safe(user))).unwrap_or_default();
    fact(
        out,
        "submitted",
        &format!("{} ({} ago){by}", at(job.submitted), span(between(job.submitted, now))),
    );
    fact(out, "started", &job.started.map_or("not yet".into(), at));
    fact(out, "ended", &job.ended.map_or(String::new(), at));
    fact(out, "ran", &span(job.ran_s));
    if let Some(probe) = &job.probe {
        let (batches, warmup) = (probe.batches, probe.warmup);
        let (least, limit) = (span(probe.least_s), span(probe.limit_s));
        let how = format!(
            "{} and {least} at least after {warmup} of warm-up, within {limit}",
            if batches == 1 { "1 batch".to_string() } else { format!("{batches} batches") }
        );
        fact(out, "profile run", &how);
    }
    fact(out, "progress", &progress(job));
    fact(out, "restarts", &restarts(job));
    fact(out, "labels", &pairs(&job.labels));
}

/// How often it had to start again, what that cost, and what it may cost.
fn restarts(job: &Job) -> String {
    let mut text = match job.restarts + job.failures {
        0 => return String::new(),
        _ => format!("{}, failures {}", job.restarts, job.failures),
    };
    if let Some(budget) = &job.restart_budget {
        let _ = write!(
            text,
            "; lost {} ({} of its time; beyond {} at most {})",
            span(budget.lost_s),
            percent(budget.lost_part),
            counted(budget.free as usize, "restart"),
            percent(budget.bound)
        );
    }
    text
}

fn progress(job: &Job) -> String {
    let progress = &job.progress;
    if progress.steps <= 0.0 {
        return "no progress reported yet".into();
    }
    let mut text = match progress.steps.round() {
        1.0 => "1 step".into(),
        steps => format!("{} steps", si(steps)),
    };
    if let Some(speed) = progress.throughput {
        let _ = write!(text, ", {} a second", number(speed));
    }
    if let Some(checkpoint) = progress.checkpoint {
        let _ = write!(text, ", last checkpoint at step {}", si(checkpoint.round()));
    }
    if let Some(loss) = progress.loss {
        let _ = write!(text, ", loss {loss:.4}");
    }
    if let Some(measured) = &progress.measured {
        let (batch, spread) = (number(measured.batch_seconds), measured.spread * 100.0);
        let _ = write!(text, ", {batch} s a batch, spread {spread:.1} %");
    }
    text
}

fn specification(out: &mut String, spec: &JobSubmit) {
    let quoted: Vec<String> = spec.command.iter().map(|word| quote(&safe(word))).collect();
    fact(out, "command", &quoted.join(" "));
    if let Some(script) = &spec.script {
        fact(out, "script", &counted(script.lines().count(), "line"));
    }
    let mut types = spec.types.iter().map(|name| safe(name)).collect::<Vec<_>>().join(", ");
    if spec.one_type {
        types = format!("one of {}", if types.is_empty() { "all" } else { &types });
    }
    fact(out, "types", &types);
    let memory = spec.gpu_memory_gib.map(|gib| memory::shown(memory::mebibytes(gib)));
    let memory = memory.map(|memory| format!("{memory} on each GPU at least"));
    fact(out, "gpu memory", &memory.unwrap_or_default());
    fact(
        out,
        "urgent",
        if spec.now { "takes GPUs of its tenant's jobs of a lower priority at once" } else { "" },
    );
    fact(out, "env", &pairs(&spec.env));
    fact(out, "workdir", &spec.workdir.as_deref().map(safe).unwrap_or_default());
    fact(out, "checkpoints", &spec.checkpoint_dir.as_deref().map(safe).unwrap_or_default());
    let limits =
        [("at most", spec.max_run_s), ("at least", spec.min_run_s), ("grace", spec.grace_s)];
    let limits =
        limits.into_iter().filter_map(|(name, time)| Some(format!("{name} {}", span(time?))));
    fact(out, "run time", &limits.collect::<Vec<_>>().join(", "));
    if spec.retries > 0 {
        fact(out, "retries", &spec.retries.to_string());
    }
}

/// A word as a shell would want it.
fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+{}".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn pairs(map: &BTreeMap<String, String>) -> String {
    let words: Vec<String> = map.iter().map(|(k, v)| format!("{}={}", safe(k), safe(v))).collect();
    words.join(" ")
}

fn run_table(runs: &[Run], now: Timestamp) -> Table {
    let detail = |run: &Run| run.detail.as_deref().and_then(|text| text.lines().next().map(safe));
    Table::each(runs)
        .column("run>", |run| run.generation.to_string())
        .column("gpus", |run| by_type(&run.gpus))
        .column("started", |run| moment(run.started, now))
        .column("ran>", |run| span(between(run.started, run.ended.unwrap_or(now))))
        .column("ending", |run| run.ending.map_or("·", ending))
        .column("how", |run| detail(run).unwrap_or_default())
        .table()
}

fn ending(ending: Ending) -> &'static str {
    match ending {
        Ending::Finished => "finished",
        Ending::Checkpointed => "checkpointed",
        Ending::Stopped => "stopped",
        Ending::Failed => "failed",
        Ending::Lost => "lost",
        Ending::TimedOut => "timed out",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        for (word, expected) in [("a", "a"), ("", "''"), ("a b", "'a b'"), ("it's", r"'it'\''s'")] {
            assert_eq!(quote(word), expected);
        }
    }
}
