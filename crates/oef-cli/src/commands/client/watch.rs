//! `--watch`: shows something again whenever something happens. Nothing is polled: events say when.

use oef_api::client::{Client, ClientError, EventStream, Incoming};
use oef_api::types::{Event, EventTopic};
use oef_terminal::{Exit, Failure, Printer};
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
        printer.again(&text)?;
        if watching == Watching::Over {
            return Ok(Exit::Done);
        }
        next(&events, &matters)?;
    }
}

/// Events on a channel, so that they can be waited for with an end.
pub fn listen(stream: EventStream) -> Receiver<Result<Incoming, ClientError>> {
    let (sender, receiver) = mpsc::channel();
    // Where no thread can be had the channel closes at once, and `next` says so.
    let _ = thread::Builder::new().name("events".into()).spawn(move || {
        for incoming in stream {
            if sender.send(incoming).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Waits for something that matters, and for what comes with it.
fn next(
    events: &Receiver<Result<Incoming, ClientError>>,
    matters: &impl Fn(&Event) -> bool,
) -> Result<(), Failure> {
    let is_it = |incoming: &Incoming| match incoming {
        Incoming::Event(event) => matters(event),
        Incoming::Reset => true,
    };
    loop {
        let Ok(incoming) = events.recv() else {
            return Err(std::io::Error::other("no thread could be started").into());
        };
        if is_it(&incoming?) {
            break;
        }
    }
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
