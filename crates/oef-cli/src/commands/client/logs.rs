//! `oef logs`: what a job wrote.

use super::wait::{say, say_on_interrupt};
use super::watch::listen;
use crate::args::jobs::LogsArgs;
use crate::output::logs::for_terminal;
use oef_api::client::{Client, ClientError, Incoming};
use oef_api::types::{Job, JobState, LogChunk, LogQuery, LogStream};
use oef_terminal::{Exit, Failure, Printer};
use std::io::{IsTerminal as _, stdout};
use std::thread;
use std::time::Duration;

/// A log grows without events; it is asked for more so often.
const PAUSE: Duration = Duration::from_millis(300);
/// As much at once as the daemon gives.
const CHUNK_BYTES: u32 = 1024 * 1024;

/// Runs the command.
pub fn run(args: &LogsArgs, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    let query = LogQuery {
        generation: args.run,
        rank: args.rank,
        stream: if args.stderr { LogStream::Err } else { LogStream::Out },
        offset: None,
        tail: args.tail,
        limit: Some(CHUNK_BYTES),
    };
    if args.json {
        printer.json(&client.logs(args.id, &query)?)?;
        return Ok(Exit::Done);
    }
    let reader = Reader { client, id: args.id, printer };
    if args.follow {
        let job = reader.follow(query)?;
        return Ok(if job.state.is_failure() { Exit::DoesNotHold } else { Exit::Done });
    }
    reader.to_end(query)?;
    Ok(Exit::Done)
}

/// Shows what the first worker of a job writes until the job has ended.
pub fn follow(client: &Client, id: u64, printer: &Printer) -> Result<Job, Failure> {
    let query = LogQuery { limit: Some(CHUNK_BYTES), ..LogQuery::default() };
    Reader { client, id, printer }.follow(query)
}

/// What there is of a log.
enum Part {
    /// This.
    Text(LogChunk),
    /// Nothing yet; the job as it stands.
    NotYet(Box<Job>),
}

/// The generation of the newest run.
fn newest_run(job: &Job) -> Option<u64> {
    job.runs.iter().flatten().map(|run| run.generation).max()
}

struct Reader<'a> {
    client: &'a Client,
    id: u64,
    printer: &'a Printer,
}

impl Reader<'_> {
    /// All of one run that is there now.
    fn to_end(&self, mut query: LogQuery) -> Result<LogChunk, Failure> {
        loop {
            let chunk = self.client.logs(self.id, &query)?;
            self.show(&chunk)?;
            let is_last = chunk.complete || chunk.text.is_empty();
            query = LogQuery {
                generation: Some(chunk.generation),
                offset: Some(chunk.next_offset),
                tail: None,
                ..query
            };
            if is_last {
                return Ok(chunk);
            }
        }
    }

    /// Run after run, until the job has ended, or the run that was asked for.
    fn follow(&self, mut query: LogQuery) -> Result<Job, Failure> {
        say_on_interrupt(&[self.id]);
        let one_run = query.generation.is_some();
        let mut state = None;
        loop {
            // The run whose log is over: the next one is waited for below.
            let done = match self.part(&query, one_run)? {
                Part::Text(chunk) => {
                    self.show(&chunk)?;
                    let generation = Some(chunk.generation);
                    query = LogQuery {
                        generation,
                        offset: Some(chunk.next_offset),
                        tail: None,
                        ..query
                    };
                    if !chunk.complete {
                        if chunk.text.is_empty() {
                            thread::sleep(PAUSE);
                        }
                        continue;
                    }
                    generation
                }
                // A run that is known and has written nothing is about to begin, or ended without a word.
                Part::NotYet(job) if query.generation.is_some() => {
                    if !job.state.is_final() && newest_run(&job) <= query.generation {
                        thread::sleep(PAUSE);
                        continue;
                    }
                    query.generation
                }
                Part::NotYet(_) => None,
            };
            if one_run {
                return Ok(self.client.job(self.id)?);
            }
            let job = self.next_run(done, &mut state)?;
            let newest = newest_run(&job);
            if newest <= done {
                return Ok(job);
            }
            query = LogQuery { generation: newest, offset: None, ..query };
        }
    }

    fn part(&self, query: &LogQuery, one_run: bool) -> Result<Part, Failure> {
        match self.client.logs(self.id, query) {
            Ok(chunk) => Ok(Part::Text(chunk)),
            Err(ClientError::Refused(problem)) if problem.status == 404 => {
                let job = self.client.job(self.id)?;
                if one_run || query.rank >= job.workers {
                    return Err(ClientError::Refused(problem).into());
                }
                Ok(Part::NotYet(Box::new(job)))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until the job has a newer run than this, or has ended.
    fn next_run(&self, done: Option<u64>, state: &mut Option<JobState>) -> Result<Job, Failure> {
        let events = listen(self.client.events(None)?);
        loop {
            let job = self.client.job(self.id)?;
            if *state != Some(job.state) {
                say(&job, self.printer);
                *state = Some(job.state);
            }
            if job.state.is_final() || newest_run(&job) > done {
                return Ok(job);
            }
            loop {
                let Ok(incoming) = events.recv() else {
                    return Err(std::io::Error::other("no thread could be started").into());
                };
                match incoming? {
                    Incoming::Event(event) if event.job != Some(self.id) => {}
                    _ => break,
                }
            }
        }
    }

    fn show(&self, chunk: &LogChunk) -> Result<(), Failure> {
        if stdout().is_terminal() {
            return self.printer.raw(for_terminal(&chunk.text).as_bytes());
        }
        self.printer.raw(chunk.text.as_bytes())
    }
}
