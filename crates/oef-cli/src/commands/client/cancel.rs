//! `oef cancel`.

use super::pages;
use crate::args::jobs::CancelArgs;
use oef_api::client::{Client, ClientError};
use oef_api::types::{Job, Role};
use oef_terminal::names::safe;
use oef_terminal::numbers::counted;
use oef_terminal::{Complaint, Exit, Failure, Printer, exit_of};
use serde::Serialize;
use std::fmt::Write as _;

#[derive(Serialize)]
struct Document {
    jobs: Vec<Job>,
}

/// Runs the command. Every job is tried, also behind one that cannot be cancelled.
pub fn run(args: &CancelArgs, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    let ids = if args.all { all(args, client)? } else { args.ids.clone() };
    let (mut jobs, mut complaints, mut exit) = (Vec::new(), Vec::new(), Exit::Server);
    for id in ids {
        match client.cancel(id) {
            Ok(job) => jobs.push(job),
            // Between the list and now it ended by itself.
            Err(ClientError::Refused(problem)) if args.all && problem.kind == "conflict" => {}
            Err(ClientError::Refused(problem)) => {
                exit = exit_of(&problem);
                let complaint = Complaint::new(problem.detail.clone()).at(format!("job {id}"));
                complaints.push(Complaint { hint: problem.hint.clone(), ..complaint });
            }
            Err(error) => return Err(error.into()),
        }
    }
    if args.json {
        printer.json(&Document { jobs })?;
    } else {
        let mut out = String::new();
        for job in &jobs {
            let (id, state) = (job.id, job.state.name());
            let _ =
                writeln!(out, "job {id} ({}) is {state}: {}", safe(&job.name), safe(&job.reason));
        }
        printer.result(&out)?;
        if args.all {
            printer.note(&format!("{} cancelled", counted(jobs.len(), "job")));
        }
    }
    if complaints.is_empty() {
        return Ok(Exit::Done);
    }
    Err(Failure::Said { exit, complaints })
}

/// The jobs of a tenant that have not ended. An admin says whose: nobody ends everybody's work by leaving
/// out a word.
fn all(args: &CancelArgs, client: &Client) -> Result<Vec<u64>, Failure> {
    let tenant = match &args.tenant {
        Some(tenant) => Some(tenant.clone()),
        None => {
            let info = client.info()?;
            if info.role != Role::Tenant {
                let complaint = Complaint::new("this token could cancel the jobs of all tenants");
                return Err(complaint.at("--all").hint("name whose: --all --tenant TENANT").into());
            }
            info.tenant
        }
    };
    Ok(pages::live_jobs(client, tenant.as_deref())?.iter().map(|job| job.id).collect())
}
