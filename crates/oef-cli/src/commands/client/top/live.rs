//! The view in a terminal: keys in, frames out, everything slow on other threads.

use super::draw::draw;
use super::screen::{Deed, Screen};
use super::snapshot::Snapshot;
use crate::commands::client::watch::listen;
use crossterm::event::{self, Event, KeyEventKind};
use jiff::Timestamp;
use oef_api::client::{Client, ClientError, Incoming};
use oef_api::types::Job;
use oef_terminal::Failure;
use ratatui::DefaultTerminal;
use std::io;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

/// A key is answered within this time.
const KEYS: Duration = Duration::from_millis(50);
/// Events come in swarms; the daemon is not asked more often than this.
const REFRESH_PAUSE: Duration = Duration::from_millis(300);

/// What the thread that asks the daemon is told.
enum Request {
    Refresh,
    Cancel(u64),
}

/// What it found.
enum Answer {
    Snapshot(Result<Box<Snapshot>, Failure>),
    Cancelled(Result<Box<Job>, ClientError>),
}

/// Shows the view until the user leaves. The terminal is restored whatever happens.
pub fn show(client: &Client, first: Snapshot) -> Result<(), Failure> {
    let events = listen(client.events(None)?);
    let (requests, answers) = ask_aside(client.clone())?;
    // Also sets a panic hook that restores the terminal first.
    let terminal = ratatui::try_init()?;
    let ended = View { screen: Screen::new(first), events, requests, answers }.run(terminal);
    ratatui::restore();
    ended
}

fn ask_aside(client: Client) -> io::Result<(Sender<Request>, Receiver<Answer>)> {
    let (requests, asked) = mpsc::channel();
    let (answer, answers) = mpsc::channel();
    thread::Builder::new().name("asks".into()).spawn(move || {
        for request in asked {
            let answered = match request {
                Request::Refresh => {
                    answer.send(Answer::Snapshot(Snapshot::fetch(&client).map(Box::new)))
                }
                Request::Cancel(job) => {
                    answer.send(Answer::Cancelled(client.cancel(job).map(Box::new)))
                }
            };
            if answered.is_err() {
                return;
            }
        }
    })?;
    Ok((requests, answers))
}

struct View {
    screen: Screen,
    events: Receiver<Result<Incoming, ClientError>>,
    requests: Sender<Request>,
    answers: Receiver<Answer>,
}

impl View {
    fn run(mut self, mut terminal: DefaultTerminal) -> Result<(), Failure> {
        let (mut is_stale, mut is_asking, mut asked) = (false, false, Instant::now());
        loop {
            terminal.draw(|frame| draw(frame, &self.screen, Timestamp::now()))?;
            if let Some(deed) = self.keys()? {
                match deed {
                    Deed::Quit => return Ok(()),
                    Deed::Refresh => is_stale = true,
                    Deed::Cancel(job) => self.ask(Request::Cancel(job))?,
                }
            }
            is_stale |= self.something_happened()?;
            while let Ok(answer) = self.answers.try_recv() {
                match answer {
                    Answer::Snapshot(snapshot) => {
                        is_asking = false;
                        self.screen.snapshot = *snapshot?;
                    }
                    Answer::Cancelled(result) => {
                        is_stale = true;
                        self.screen.message = Some(match result {
                            Ok(job) => {
                                format!("job {} {}: {}", job.id, job.state.phrase(), job.reason)
                            }
                            Err(error) => error.to_string(),
                        });
                    }
                }
            }
            if is_stale && !is_asking && !self.screen.paused && asked.elapsed() >= REFRESH_PAUSE {
                self.ask(Request::Refresh)?;
                (is_stale, is_asking, asked) = (false, true, Instant::now());
            }
        }
    }

    /// Waits a moment for a key.
    fn keys(&mut self) -> Result<Option<Deed>, Failure> {
        if !event::poll(KEYS)? {
            return Ok(None);
        }
        match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => Ok(self.screen.key(key)),
            _ => Ok(None),
        }
    }

    /// Whether anything came since the last time.
    fn something_happened(&self) -> Result<bool, Failure> {
        let mut happened = false;
        loop {
            match self.events.try_recv() {
                Ok(incoming) => {
                    incoming?;
                    happened = true;
                }
                Err(TryRecvError::Empty) => return Ok(happened),
                Err(TryRecvError::Disconnected) => {
                    return Err(io::Error::other("no thread could be started").into());
                }
            }
        }
    }

    fn ask(&self, request: Request) -> Result<(), Failure> {
        let gone = |_| io::Error::other("the thread that asks the daemon is gone");
        Ok(self.requests.send(request).map_err(gone)?)
    }
}
