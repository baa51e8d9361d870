//! From the arguments to numbers of jobs.

use super::{EXAMPLE, Here, build};
use crate::args::jobs::SubmitArgs;
use crate::commands::client::{logs, wait};
use oef_api::client::Client;
use oef_api::parsed::TenantName;
use oef_api::types::{Info, JobBatch, JobState, Role, SubmitQuery, Submitted};
use oef_terminal::document::Document;
use oef_terminal::numbers::counted;
use oef_terminal::{Complaint, Exit, Failure, Printer};
use std::fmt::Write as _;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};

/// Whose jobs they are where nobody says, and the user has no name.
const DEFAULT_TENANT: &str = "default";
/// Names the tenant of whoever works with an admin's token.
const TENANT_VARIABLE: &str = "OEF_TENANT";

pub fn run(args: &SubmitArgs, printer: &Printer) -> Result<Exit, Failure> {
    if args.example_file {
        return printer.result(EXAMPLE);
    }
    let mut batch = build(args, &here()?)?;
    if args.follow && batch.jobs.len() > 1 {
        let complaint =
            Complaint::new(format!("--follow shows one job, and this is {}", batch.jobs.len()));
        return Err(complaint
            .hint("use --wait, and `oef logs ID --follow` for one of them")
            .into());
    }
    let client = Client::find()?;
    let is_own = fill_tenant(&mut batch, &client, printer)?;
    let how = SubmitQuery { create_tenant: args.create_tenant || is_own };
    let submitted = client.submit(&batch, Some(&new_key()), how)?;
    for note in &submitted.notes {
        printer.note(note);
    }
    if !args.json {
        told(&submitted, &batch, args, printer)?;
    }
    finish(args, &client, &submitted, printer)
}

/// Where the command runs.
pub fn here() -> Result<Here<'static>, Failure> {
    let folder = std::env::current_dir().map_err(|error| {
        let complaint = Complaint::new(format!("the current folder is unknown: {error}"));
        complaint.hint("go to a folder that exists, or name one with --workdir")
    })?;
    Ok(Here { folder, env: &|name| std::env::var(name).ok() })
}

/// A tenant's token says whose jobs they are; an admin's does not. True: they are for the admin's own tenant, which is
/// created at need.
pub fn fill_tenant(
    batch: &mut JobBatch,
    client: &Client,
    printer: &Printer,
) -> Result<bool, Failure> {
    if batch.jobs.iter().all(|job| job.tenant.is_some()) || client.info()?.role != Role::Admin {
        return Ok(false);
    }
    let tenant = own_tenant(&client.info()?).parse::<TenantName>();
    let tenant = tenant.map_err(|why| Complaint::new(why).hint("name another with --tenant"))?;
    printer.note(&format!("for tenant `{tenant}`; name another with --tenant"));
    for job in &mut batch.jobs {
        job.tenant.get_or_insert_with(|| tenant.clone());
    }
    Ok(true)
}

/// The tenant of whoever asks: their token's, or what the environment says, or that of their user name.
pub fn own_tenant(info: &Info) -> String {
    let named = |name: &&str| std::env::var(name).ok().filter(|name| !name.is_empty());
    let user = || [TENANT_VARIABLE, "USER", "LOGNAME"].iter().find_map(named);
    info.tenant.clone().or_else(user).unwrap_or_else(|| DEFAULT_TENANT.into())
}

/// Sent again with the same key, a submission is taken once. Only this invocation may know it, so it is drawn
/// from the seeds of the hash maps, which the system makes unpredictable.
pub fn new_key() -> String {
    let draw = || RandomState::new().build_hasher().finish();
    format!("oef-{:016x}{:016x}-{}", draw(), draw(), std::process::id())
}

/// The numbers to stdout, one a line; what to do with them to stderr.
fn told(
    submitted: &Submitted,
    batch: &JobBatch,
    args: &SubmitArgs,
    printer: &Printer,
) -> Result<(), Failure> {
    let mut numbers = String::new();
    for id in &submitted.ids {
        let _ = writeln!(numbers, "{id}");
    }
    if !args.follow {
        printer.result(&numbers)?;
    }
    if let ([first, .., last], Some(name)) = (submitted.ids.as_slice(), &batch.name) {
        let jobs = counted(submitted.ids.len(), "job");
        printer.note(&format!(
            "sweep {first} `{name}`: {jobs}, {first} to {last}; `oef jobs --sweep {first}` lists them"
        ));
    } else if let ([id], true) = (submitted.ids.as_slice(), printer.is_watched()) {
        printer.note(&format!("job {id} is queued; `oef why {id}`, `oef logs {id} --follow`"));
    }
    Ok(())
}

fn finish(
    args: &SubmitArgs,
    client: &Client,
    submitted: &Submitted,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let jobs = match submitted.ids.as_slice() {
        [id] if args.follow => Some(vec![logs::follow(client, *id, printer)?]),
        ids if args.wait => Some(wait::until_ended(client, ids, printer)?),
        _ => None,
    };
    if args.json {
        // With the jobs as they ended where that was waited for.
        let answer = Document::part().with("ids", &submitted.ids).with("notes", &submitted.notes);
        printer.json(&answer.maybe("jobs", jobs.as_deref()))?;
    }
    let is_done = jobs.iter().flatten().all(|job| job.state == JobState::Finished);
    Ok(if is_done { Exit::Done } else { Exit::DoesNotHold })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_differ_and_are_printable() {
        let (one, other) = (new_key(), new_key());
        assert_ne!(one, other);
        assert!(one.len() <= 200 && one.bytes().all(|b| b.is_ascii_graphic()), "{one}");
    }
}
