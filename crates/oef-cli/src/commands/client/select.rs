//! `oef cancel`, `oef hold`, `oef release`: one thing done to many jobs.

use super::pages;
use super::submit::own_tenant;
use crate::args::select::SelectArgs;
use crate::output::jobs::state_word;
use oef_api::client::{Client, ClientError};
use oef_api::types::{Job, JobPatch, JobState, JobsQuery, Role};
use oef_terminal::names::safe;
use oef_terminal::numbers::counted;
use oef_terminal::{Complaint, Exit, Failure, Printer, exit_of};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// End them.
    Cancel,
    /// Keep them from starting.
    Hold,
    /// Let them start again.
    Release,
}

impl Deed {
    fn done(self) -> &'static str {
        match self {
            Deed::Cancel => "cancelled",
            Deed::Hold => "held",
            Deed::Release => "released",
        }
    }

    fn perform(self, client: &Client, id: u64) -> Result<Job, ClientError> {
        let held = |held: bool| JobPatch { held: Some(held), ..JobPatch::default() };
        match self {
            Deed::Cancel => client.cancel(id),
            Deed::Hold => client.patch_job(id, &held(true)),
            Deed::Release => client.patch_job(id, &held(false)),
        }
    }
}

/// Runs the command. Every job is tried, also behind one that is refused.
pub fn run(
    deed: Deed,
    args: &SelectArgs,
    client: &Client,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let listed = args.ids.is_empty();
    let ids = if listed { select(deed, args, client)? } else { args.ids.clone() };
    let (mut jobs, mut complaints, mut exit) = (Vec::new(), Vec::new(), Exit::Server);
    for id in ids {
        match deed.perform(client, id) {
            Ok(job) => jobs.push(job),
            // Between the list and now it ended by itself.
            Err(ClientError::Refused(problem)) if listed && problem.kind == "conflict" => {}
            Err(ClientError::Refused(problem)) => {
                exit = exit_of(&problem);
                let (detail, place) = (problem.detail.clone(), format!("job {id}"));
                let complaint = match detail.contains(&place) {
                    true => Complaint::new(detail),
                    false => Complaint::new(detail).at(place),
                };
                complaints.push(Complaint { hint: problem.hint.clone(), ..complaint });
            }
            Err(error) => return Err(error.into()),
        }
    }
    if args.json {
        printer.json(&BTreeMap::from([("jobs", jobs)]))?;
    } else {
        // The reason of a job that is being stopped is that it was held.
        for job in jobs.iter_mut().filter(|job| job.state == JobState::Stopping) {
            if matches!(deed, Deed::Release) {
                job.reason = "released; it waits for GPUs again once it has stopped".into();
            }
        }
        printer.result(&lines(&jobs))?;
        if listed {
            printer.note(&format!("{} {}", counted(jobs.len(), "job"), deed.done()));
        }
    }
    if complaints.is_empty() {
        return Ok(Exit::Done);
    }
    Err(Failure::Said { exit, complaints })
}

/// A job in a line.
pub fn lines(jobs: &[Job]) -> String {
    let mut out = String::new();
    for job in jobs {
        let (id, name, reason) = (job.id, safe(&job.name), safe(&job.reason));
        let _ = match (state_word(job).as_str(), job.state.phrase()) {
            (state, _) if reason.starts_with(state) => {
                writeln!(out, "job {id} ({name}): {reason}")
            }
            (state, phrase) if phrase.ends_with(state) => {
                writeln!(out, "job {id} ({name}) {phrase}: {reason}")
            }
            (state, _) => writeln!(out, "job {id} ({name}) is {state}: {reason}"),
        };
    }
    out
}

/// The jobs that have not ended and have all of that in common. An admin says whose, where it could be anybody's:
/// nobody stops everybody's work by leaving out a word.
fn select(deed: Deed, args: &SelectArgs, client: &Client) -> Result<Vec<u64>, Failure> {
    let tenant = match (&args.tenant, args.mine) {
        (Some(tenant), _) => Some(tenant.clone()),
        (None, true) => Some(own_tenant(&client.info()?)),
        (None, false) if args.sweep.is_some() => None,
        (None, false) => {
            let info = client.info()?;
            if info.role != Role::Tenant {
                let at = if args.all { "--all" } else { "--label" };
                let complaint = Complaint::new("this could be the jobs of all tenants").at(at);
                return Err(complaint.hint("add --tenant TENANT, or --mine").into());
            }
            info.tenant
        }
    };
    let query =
        JobsQuery { tenant, label: args.label.clone(), sweep: args.sweep, ..JobsQuery::default() };
    let is_held = |job: &Job| job.blocked == Some(oef_api::types::Blocked::Held);
    let wanted = |job: &&Job| match deed {
        Deed::Cancel => true,
        Deed::Hold => !is_held(job),
        Deed::Release => is_held(job),
    };
    let jobs = pages::jobs(client, &query, u32::MAX)?.jobs;
    Ok(jobs.iter().filter(wanted).map(|job| job.id).collect())
}
