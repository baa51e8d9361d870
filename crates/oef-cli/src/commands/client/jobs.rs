//! `oef jobs`: what they do, and why.

use super::pages;
use super::watch::{Watching, jobs_or_rounds, watch};
use crate::args::jobs::JobsArgs;
use crate::output::jobs::{gpus, state_cell, steps, time};
use jiff::Timestamp;
use oef_api::client::Client;
use oef_api::types::{Job, Jobs, JobsQuery};
use oef_terminal::names::{cut, safe};
use oef_terminal::table::{Cell, Table};
use oef_terminal::{Exit, Failure, Printer, width};
use owo_colors::OwoColorize as _;
use std::fmt::Write as _;

/// A name tells a job from its neighbours; more belongs into `oef job`.
const NAME_WIDTH: usize = 28;

/// What stands before the name of a profile run.
const PROFILE: &str = "profile: ";

/// Runs the command.
pub fn run(args: &JobsArgs, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    let which = query(args);
    if args.watch {
        return watch(client, printer, jobs_or_rounds, || {
            let jobs = pages::jobs(client, &which, args.limit)?;
            Ok((render(&jobs, args, Timestamp::now(), width::columns()), Watching::GoOn))
        });
    }
    let jobs = pages::jobs(client, &which, args.limit)?;
    printer.show(
        args.json,
        || &jobs,
        || render(&jobs, args, Timestamp::now(), width::columns()),
    )?;
    Ok(Exit::Done)
}

fn query(args: &JobsArgs) -> JobsQuery {
    let states: Vec<&str> = args.state.iter().map(|state| state.name()).collect();
    JobsQuery {
        tenant: args.tenant.clone(),
        state: (!states.is_empty()).then(|| states.join(",")),
        label: args.label.clone(),
        sweep: args.sweep,
        // Whoever asks for a state in which jobs have ended wants to see those.
        all: args.all || args.state.iter().any(|state| state.is_final()),
        limit: None,
        after: args.after.clone(),
    }
}

fn render(jobs: &Jobs, args: &JobsArgs, now: Timestamp, columns: Option<usize>) -> String {
    if jobs.jobs.is_empty() {
        let others = if args.all { "" } else { " (`oef jobs --all` shows those that have ended)" };
        return format!("no jobs{others}\n");
    }
    let mut out = table(jobs, now).render_within(columns);
    if let Some(next) = &jobs.next {
        let more = format!("more with --limit or --after {}", safe(next));
        let _ = writeln!(out, "{}", more.dimmed());
    }
    out
}

/// A job's name; a profile run is marked as one.
fn name(job: &Job) -> String {
    match &job.probe {
        Some(_) => cut(&format!("{PROFILE}{}", job.name), NAME_WIDTH),
        None => cut(&job.name, NAME_WIDTH),
    }
}

/// The jobs, a line each.
pub fn table(jobs: &Jobs, now: Timestamp) -> Table {
    let mut table =
        Table::headed(["id>", "name", "tenant", "state!", "gpus", "steps>", "time>", "reason"]);
    for job in &jobs.jobs {
        table.row(vec![
            Cell::number(job.id.to_string()),
            Cell::text(name(job)),
            Cell::text(cut(&job.tenant, NAME_WIDTH)),
            state_cell(job),
            Cell::text(gpus(job)),
            Cell::number(steps(job)),
            Cell::number(time(job, now)),
            Cell::text(safe(&job.reason)),
        ]);
    }
    table
}
