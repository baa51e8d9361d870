//! Waiting until jobs have ended.

use super::watch::{listen, receive};
use oef_api::client::{Client, Incoming};
use oef_api::types::Job;
use oef_terminal::{Exit, Failure, Printer};
use std::collections::BTreeMap;

/// The jobs as they ended, in the order of their numbers. Says on stderr what happens meanwhile.
pub fn until_ended(client: &Client, ids: &[u64], printer: &Printer) -> Result<Vec<Job>, Failure> {
    say_on_interrupt(ids);
    until_ended_saying(client, ids, &|job| say(job, printer))
}

/// The same with words of one's own.
pub fn until_ended_saying(
    client: &Client,
    ids: &[u64],
    say: &dyn Fn(&Job),
) -> Result<Vec<Job>, Failure> {
    // Listening begins before the first look, so that no ending falls between the two.
    let events = listen(client.events(None)?);
    let mut seen: BTreeMap<u64, Option<Job>> = ids.iter().map(|&id| (id, None)).collect();
    look(client, &mut seen, say)?;
    while seen.values().flatten().any(|job| !job.state.is_final()) {
        match receive(&events)? {
            Incoming::Reset => look(client, &mut seen, say)?,
            Incoming::Event(event) => {
                let Some(Some(job)) = event.job.and_then(|id| seen.get_mut(&id)) else { continue };
                if event.state.is_some_and(|state| state != job.state) {
                    *job = client.job(job.id)?;
                    say(job);
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
    say: &dyn Fn(&Job),
) -> Result<(), Failure> {
    for (&id, known) in seen.iter_mut() {
        if known.as_ref().is_some_and(|job| job.state.is_final()) {
            continue;
        }
        let job = client.job(id)?;
        if known.as_ref().map(|job| job.state) != Some(job.state) {
            say(&job);
        }
        *known = Some(job);
    }
    Ok(())
}

/// Says what a job does now.
pub fn say(job: &Job, printer: &Printer) {
    let text = format!("job {} {}: {}", job.id, job.state.phrase(), job.reason);
    if job.state.is_failure() { printer.warn(&text) } else { printer.note(&text) }
}

/// Ctrl-C ends the waiting and not the job, and says so.
pub fn say_on_interrupt(ids: &[u64]) {
    let what = if ids.len() == 1 { "the job keeps running" } else { "the jobs keep running" };
    let some: Vec<String> = ids.iter().take(10).map(u64::to_string).collect();
    interrupted(format!("{what}; `oef cancel {}` would stop it", some.join(" ")));
}

/// Ctrl-C ends the waiting with these words.
pub fn interrupted(words: String) {
    // Without a handler Ctrl-C still ends the waiting; only the words are missing.
    let _ = ctrlc::set_handler(move || {
        Printer::default().note(&words);
        std::process::exit(Exit::Interrupted as i32);
    });
}
