//! `oef whatif` without a problem file: what changes would do on the live cluster.

use crate::args::problem::WhatifArgs;
use crate::commands::client::round::certificate;
use crate::commands::client::submit;
use crate::input::parse_counts;
use jiff::Timestamp;
use oef_api::client::Client;
use oef_api::types::{ExpectedStart, JobSubmit, WhatIf, WhatIfAnswer, WhatIfChange};
use oef_terminal::names::{safe, short};
use oef_terminal::numbers::{difference, fixed};
use oef_terminal::table::{Cell, Table};
use oef_terminal::times::{moment, relative};
use oef_terminal::{Complaint, Exit, Failure, Printer};
use owo_colors::OwoColorize as _;
use std::fmt::Write as _;

pub fn run(args: &WhatifArgs, printer: &Printer) -> Result<Exit, Failure> {
    let changes = changes(args)?;
    let answer = Client::find()?.whatif(&WhatIf { changes })?;
    printer.show(args.json, || &answer, || render(&answer, Timestamp::now()))
}

/// All changes, in the order in which they are made: who leaves, what is bought, what is set, what is submitted.
fn changes(args: &WhatifArgs) -> Result<Vec<WhatIfChange>, Failure> {
    let mut changes = Vec::new();
    let mut complaints = Vec::new();
    for tenant in &args.remove {
        changes.push(WhatIfChange::RemoveTenant { tenant: tenant.clone() });
    }
    for (list, flag) in [(&args.add_gpu, "--add-gpu"), (&args.remove_gpu, "--remove-gpu")] {
        for count in parse_counts(list, flag).map_err(Failure::input)? {
            let (gpu_type, number) = (count.gpu, whole(count.count, flag)?);
            changes.push(match flag {
                "--add-gpu" => WhatIfChange::AddGpus { gpu_type, count: number },
                _ => WhatIfChange::RemoveGpus { gpu_type, count: number },
            });
        }
    }
    for text in &args.set {
        match assignment(text) {
            Ok(change) => changes.push(change),
            Err(complaint) => complaints.push(complaint.at(format!("--set {text}"))),
        }
    }
    if let Some(mechanism) = args.mechanism {
        changes.push(WhatIfChange::Mechanism { mechanism: mechanism.name().into() });
    }
    if let Some(job) = submitted(args)? {
        changes.push(WhatIfChange::Submit { job: Box::new(job) });
    }
    if complaints.is_empty() && changes.is_empty() {
        let hint = "use --set, --add-gpu, --remove, --mechanism or --submit; or name a problem file to ask about that";
        complaints.push(Complaint::new("no change was given").hint(hint));
    }
    if complaints.is_empty() { Ok(changes) } else { Err(Failure::input(complaints)) }
}

/// `TENANT.weight=2`: the one field that a live tenant has.
fn assignment(text: &str) -> Result<WhatIfChange, Complaint> {
    let wrong = |message: String| Complaint::new(message).hint("write --set TENANT.weight=2");
    let (path, value) = text.rsplit_once('=').ok_or_else(|| wrong("there is no `=`".into()))?;
    let (tenant, field) = path.trim().rsplit_once('.').unwrap_or((path, ""));
    if field != "weight" || tenant.is_empty() {
        return Err(wrong(format!(
            "on the live cluster a tenant's weight can be set, not `{path}`"
        )));
    }
    let weight = value.trim().parse().map_err(wrong)?;
    Ok(WhatIfChange::Weight { tenant: tenant.into(), weight })
}

fn whole(count: f64, flag: &str) -> Result<u32, Failure> {
    let rounded = count.round();
    if rounded != count || !(1.0..=1e6).contains(&count) {
        let complaint = Complaint::new(format!("{count} is not a whole number of GPUs")).at(flag);
        return Err(complaint.hint("write TYPE=8, for example").into());
    }
    // Between 1 and a million, and whole.
    Ok(rounded as u32)
}

/// The job of `--submit`, or one made up from `--submit-workers` and its like.
fn submitted(args: &WhatifArgs) -> Result<Option<JobSubmit>, Failure> {
    let mut job = match &args.submit {
        Some(path) => {
            let file = submit::read_job_file(path)?;
            if !file.axes.is_empty() {
                let complaint = Complaint::new("a sweep is many jobs, and this is about one");
                let place = path.display().to_string();
                return Err(complaint.at(place).hint("leave [sweep] out").into());
            }
            file.job
        }
        None if args.submit_workers.is_some() || args.submit_tenant.is_some() => {
            JobSubmit { command: vec!["true".into()], ..JobSubmit::default() }
        }
        None => return Ok(None),
    };
    job.workers = args.submit_workers.unwrap_or(job.workers);
    job.tenant = args.submit_tenant.clone().or(job.tenant);
    job.workload = args.submit_workload.clone().or(job.workload);
    Ok(Some(job))
}

fn render(answer: &WhatIfAnswer, now: Timestamp) -> String {
    let mut table = Table::headed(["tenant", "before>", "after>", "difference>", ">"]);
    let mut row = |name: String, before: f64, after: f64| {
        let percent = format!("{:+.0} %", (after / before - 1.0) * 100.0);
        // Nothing to compare with, or nothing that would be seen.
        let is_small = ["+0 %", "-0 %"].contains(&&*percent);
        let part = if before > 0.0 && !is_small { percent } else { String::new() };
        table.row(vec![
            Cell::text(name),
            Cell::number(fixed(before)),
            Cell::number(fixed(after)),
            Cell::number(difference(after - before)),
            Cell::number(part),
        ]);
    };
    for tenant in &answer.tenants {
        row(short(&tenant.tenant), tenant.before, tenant.after);
    }
    row("total".into(), answer.total_before, answer.total_after);
    let mut out = table.fitted();
    for start in &answer.starts {
        let _ = writeln!(out, "\n{}", expected(start, now));
    }
    // The start of the job is shown above, with the time.
    let is_start = |sentence: &&String| {
        let mut starts = answer.starts.iter().filter(|start| !start.reason.is_empty());
        starts.any(|start| sentence.starts_with("the job ") && sentence.ends_with(&start.reason))
    };
    if !answer.sentences.is_empty() {
        out.push('\n');
    }
    for sentence in answer.sentences.iter().filter(|sentence| !is_start(sentence)) {
        let _ = writeln!(out, "{}", safe(sentence));
    }
    if let Some(audit) = &answer.audit {
        let _ = writeln!(out, "\n{}", "Certificate after it".bold());
        out.push_str(&certificate(audit));
    }
    out
}

fn expected(start: &ExpectedStart, now: Timestamp) -> String {
    let reason = safe(&start.reason);
    match (start.at, start.round) {
        (Some(at), Some(round)) if at <= now => {
            format!("the job would start at once (round {round}): {reason}")
        }
        (Some(at), Some(round)) => {
            format!(
                "the job would start {}, at {} (round {round}): {reason}",
                relative(at, now),
                moment(at, now)
            )
        }
        (Some(at), None) => format!("the job would start {}: {reason}", relative(at, now)),
        (None, Some(round)) => format!("the job would start in round {round}: {reason}"),
        (None, None) => format!("when the job would start is unknown: {reason}"),
    }
}
