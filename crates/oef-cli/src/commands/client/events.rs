//! `oef events`: what happens.

use super::watch::listen;
use crate::args::cluster::EventsArgs;
use jiff::Timestamp;
use oef_api::client::{Client, Incoming};
use oef_api::types::{Event, EventTopic};
use oef_terminal::names::safe;
use oef_terminal::times::at;
use oef_terminal::{Exit, Failure, Printer};
use owo_colors::OwoColorize as _;
use std::collections::BTreeMap;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

/// What is remembered comes in one go; after so much silence it was all.
const SILENCE: Duration = Duration::from_millis(700);
/// And after so long in any case: the clocks of two machines may differ.
const TIME_MAX: Duration = Duration::from_secs(10);

pub fn run(args: &EventsArgs, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    if args.follow {
        return follow(args, client, printer);
    }
    let events = remembered(args, client)?;
    let text = || match events.is_empty() {
        true => "nothing has happened yet\n".into(),
        false => events.iter().map(line).collect(),
    };
    printer.show(args.json, || BTreeMap::from([("events", &events)]), text)
}

fn remembered(args: &EventsArgs, client: &Client) -> Result<Vec<Event>, Failure> {
    let asked = Timestamp::now();
    let deadline = Instant::now() + TIME_MAX;
    let incoming = listen(client.events(Some(args.after.unwrap_or(0)))?);
    let mut events = Vec::new();
    while Instant::now() < deadline {
        match incoming.recv_timeout(SILENCE) {
            // On a busy cluster there is no silence: what happened after the question is not the past.
            Ok(Ok(Incoming::Event(event))) if event.at > asked => break,
            Ok(Ok(Incoming::Event(event))) => events.push(*event),
            // Older events are forgotten; what follows is all that is remembered.
            Ok(Ok(Incoming::Reset)) => {}
            Ok(Err(error)) => return Err(error.into()),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    Ok(events)
}

fn follow(args: &EventsArgs, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    for incoming in client.events(args.after)? {
        match incoming? {
            Incoming::Event(event) => {
                printer.show(args.json, || &event, || line(&event))?;
            }
            Incoming::Reset => printer.warn("events were missed: they are no longer remembered"),
        }
    }
    Ok(Exit::Done)
}

fn line(event: &Event) -> String {
    let topic = match event.topic {
        EventTopic::Job => "job",
        EventTopic::Round => "round",
        EventTopic::Tenant => "tenant",
        EventTopic::Cluster => "cluster",
    };
    let about = match (event.job, &event.tenant, event.round) {
        (Some(job), Some(tenant), _) => format!("{job} ({})", safe(tenant)),
        (Some(job), None, _) => job.to_string(),
        (None, Some(tenant), _) => safe(tenant),
        (None, None, Some(round)) => round.to_string(),
        (None, None, None) => String::new(),
    };
    let (when, what) = (at(event.at), format!("{topic} {about}"));
    format!(
        "{:>6}  {}  {:<20}  {}\n",
        event.id.dimmed(),
        when.dimmed(),
        what.trim_end(),
        safe(&event.message)
    )
}
