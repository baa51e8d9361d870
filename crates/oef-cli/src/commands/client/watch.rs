//! `--watch`: shows something again whenever something happens. Nothing is polled: events say when.

use oef_api::client::{Client, ClientError, EventStream, Incoming};
use oef_api::types::{Event, EventTopic};
use oef_terminal::{Exit, Failure, Printer};
use serde::Serialize;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// Events come in swarms when a round begins: so long is waited for the rest of the swarm.
const GATHER: Duration = Duration::from_millis(200);

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watching {
    /// More may happen.
    GoOn,
    /// Nothing more will.
    Over,
}

/// Shows what is fetched; with `--watch` also after every event that matters.
pub fn show<T: Serialize>(
    (watched, json): (bool, bool),
    client: &Client,
    printer: &Printer,
    matters: impl Fn(&Event) -> bool,
    fetch: impl Fn() -> Result<T, Failure>,
    draw: impl Fn(&T) -> String,
) -> Result<Exit, Failure> {
    if watched {
        return watch(client, printer, matters, || Ok((draw(&fetch()?), Watching::GoOn)));
    }
    let found = fetch()?;
    printer.show(json, || &found, || draw(&found))
}

/// Shows what `draw` gives now and after every event that matters, until it says that it is over, or Ctrl-C.
pub fn watch(
    client: &Client,
    printer: &Printer,
    matters: impl Fn(&Event) -> bool,
    mut draw: impl FnMut() -> Result<(String, Watching), Failure>,
) -> Result<Exit, Failure> {
    // Listening begins before the first look, so that nothing falls between the two.
    let events = listen(client.events(None)?);
    printer.clear()?;
    loop {
        let (text, watching) = draw()?;
        printer.redraw(&text)?;
        if watching == Watching::Over {
            return Ok(Exit::Done);
        }
        next(&events, &matters)?;
    }
}

/// What comes on a channel.
pub type Incomings = Receiver<Result<Incoming, ClientError>>;

/// Events on a channel, so that they can be waited for with an end.
pub fn listen(stream: EventStream) -> Incomings {
    let (sender, receiver) = mpsc::channel();
    // Where no thread can be had the channel closes at once, and `receive` says so.
    let _ = thread::Builder::new().name("events".into()).spawn(move || {
        for incoming in stream {
            if sender.send(incoming).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Waits for the next event.
pub fn receive(events: &Incomings) -> Result<Incoming, Failure> {
    match events.recv() {
        Ok(incoming) => Ok(incoming?),
        Err(_) => Err(std::io::Error::other("no thread could be started").into()),
    }
}

/// Waits for something that matters, and for what comes with it.
fn next(events: &Incomings, matters: &impl Fn(&Event) -> bool) -> Result<(), Failure> {
    let is_it = |incoming: &Incoming| match incoming {
        Incoming::Event(event) => matters(event),
        Incoming::Reset => true,
    };
    while !is_it(&receive(events)?) {}
    let until = Instant::now() + GATHER;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match events.recv_timeout(left) {
            Ok(Err(error)) => return Err(error.into()),
            Ok(Ok(_)) if !left.is_zero() => {}
            Ok(Ok(_)) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                return Ok(());
            }
        }
    }
}

/// Whether it is about jobs or a new round.
pub fn jobs_or_rounds(event: &Event) -> bool {
    matches!(event.topic, EventTopic::Job | EventTopic::Round)
}

/// Everything.
pub fn anything(_: &Event) -> bool {
    true
}
