//! `oef jobs`: what they do, and why.

use super::pages;
use super::watch::{self, jobs_or_rounds};
use crate::args::jobs::JobsArgs;
use crate::output::jobs::{gpus, state_cell, steps, time};
use jiff::Timestamp;
use oef_api::client::Client;
use oef_api::types::{Job, Jobs, JobsQuery};
use oef_terminal::names::{cut, safe};
use oef_terminal::table::Table;
use oef_terminal::{Exit, Failure, Printer};
use owo_colors::OwoColorize as _;
use std::fmt::Write as _;

/// A name tells a job from its neighbours; more belongs into `oef job`.
const NAME_WIDTH: usize = 28;

/// What stands before the name of a profile run.
const PROFILE: &str = "profile: ";

pub fn run(args: &JobsArgs, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    let which = query(args);
    let fetch = || pages::jobs(client, &which, args.limit);
    let draw = |jobs: &Jobs| render(jobs, args, Timestamp::now());
    watch::show((args.watch, args.json), client, printer, jobs_or_rounds, fetch, draw)
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

fn render(jobs: &Jobs, args: &JobsArgs, now: Timestamp) -> String {
    if jobs.jobs.is_empty() {
        let others = if args.all { "" } else { " (`oef jobs --all` shows those that have ended)" };
        return format!("no jobs{others}\n");
    }
    let mut out = table(jobs, now).fitted();
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
    Table::each(&jobs.jobs)
        .column("id>", |job| job.id.to_string())
        .column("name", name)
        .column("tenant", |job| cut(&job.tenant, NAME_WIDTH))
        .column("state!", state_cell)
        .column("gpus", gpus)
        .column("steps>", steps)
        .column("time>", |job| time(job, now))
        .column("reason", |job| safe(&job.reason))
        .table()
}
