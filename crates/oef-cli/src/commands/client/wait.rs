//! Waiting until jobs have ended.

use super::watch::listen;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;
use oef_api::client::{Client, Incoming};
use oef_api::types::{Job, JobState};
use std::collections::BTreeMap;

/// The jobs as they ended, in the order of their numbers. Says on stderr what happens meanwhile.
pub fn until_ended(client: &Client, ids: &[u64], printer: &Printer) -> Result<Vec<Job>, Failure> {
    say_on_interrupt(ids);
    // Listening begins before the first look, so that no ending falls between the two.
    let events = listen(client.events(None)?);
    let mut seen: BTreeMap<u64, Option<Job>> = ids.iter().map(|&id| (id, None)).collect();
    look(client, &mut seen, printer)?;
    while seen.values().flatten().any(|job| !job.state.is_final()) {
        let Ok(incoming) = events.recv() else {
            return Err(std::io::Error::other("no thread could be started").into());
        };
        match incoming? {
            Incoming::Reset => look(client, &mut seen, printer)?,
            Incoming::Event(event) => {
                let Some(Some(job)) = event.job.and_then(|id| seen.get_mut(&id)) else { continue };
                if event.state.is_some_and(|state| state != job.state) {
                    *job = client.job(job.id)?;
                    say(job, printer);
                }
            }
        }
    }
    Ok(seen.into_values().flatten().collect())
}

/// Looks at every job that is not known to have ended.
fn look(
    client: &Client,
    seen: &mut BTreeMap<u64, Option<Job>>,
    printer: &Printer,
) -> Result<(), Failure> {
    for (&id, known) in seen.iter_mut() {
        if known.as_ref().is_some_and(|job| job.state.is_final()) {
            continue;
        }
        let job = client.job(id)?;
        if known.as_ref().map(|job| job.state) != Some(job.state) {
            say(&job, printer);
        }
        *known = Some(job);
    }
    Ok(())
}

/// Says what a job does now.
pub fn say(job: &Job, printer: &Printer) {
    let text = format!("job {} is {}: {}", job.id, job.state.name(), job.reason);
    if job.state == JobState::Failed { printer.warn(&text) } else { printer.note(&text) }
}

/// Ctrl-C ends the waiting and not the job, and says so.
pub fn say_on_interrupt(ids: &[u64]) {
    let ids: Vec<String> = ids.iter().map(u64::to_string).collect();
    // Without a handler Ctrl-C still ends the waiting; only the words are missing.
    let _ = ctrlc::set_handler(move || {
        let what = if ids.len() == 1 { "the job goes on" } else { "the jobs go on" };
        let some = ids.iter().take(10).map(String::as_str).collect::<Vec<_>>().join(" ");
        Printer::default().note(&format!("{what}; `oef cancel {some}` would stop it"));
        std::process::exit(Exit::Interrupted as i32);
    });
}
