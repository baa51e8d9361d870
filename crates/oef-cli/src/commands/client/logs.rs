//! `oef logs`: what a job wrote.

use super::wait::{say, say_on_interrupt};
use super::watch::{listen, receive};
use crate::args::jobs::LogsArgs;
use crate::output::logs::{Unmarked, for_terminal};
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

pub fn run(args: &LogsArgs, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    let query = LogQuery {
        generation: args.run,
        rank: args.rank.unwrap_or(0),
        stream: match (args.stderr, args.stdout || args.rank.is_some()) {
            (true, _) => LogStream::Err,
            (false, true) => LogStream::Out,
            (false, false) => LogStream::All,
        },
        offset: None,
        tail: args.tail,
        limit: Some(CHUNK_BYTES),
    };
    if args.json {
        return printer.json(&client.logs(args.id, &query)?);
    }
    let mut reader = Reader::new(client, args.id, printer, query.stream);
    if args.follow {
        let job = reader.follow(query)?;
        return Ok(if job.state.is_failure() { Exit::DoesNotHold } else { Exit::Done });
    }
    match args.run.is_some() || args.tail.is_some() {
        true => reader.read_out(query)?,
        false => reader.all_runs(query)?,
    }
    Ok(Exit::Done)
}

/// Shows what a job writes until it has ended.
pub fn follow(client: &Client, id: u64, printer: &Printer) -> Result<Job, Failure> {
    let stream = LogStream::All;
    let query = LogQuery { stream, limit: Some(CHUNK_BYTES), ..LogQuery::default() };
    Reader::new(client, id, printer, stream).follow(query)
}

/// What there is of a log.
enum Part {
    Text(LogChunk),
    /// Nothing yet; the job as it stands.
    NotYet(Box<Job>),
}

/// What follows a part of a log.
fn behind(chunk: &LogChunk, query: LogQuery) -> LogQuery {
    let (generation, offset) = (Some(chunk.generation), Some(chunk.next_offset));
    LogQuery { generation, offset, tail: None, ..query }
}

/// The runs of a job, the oldest first.
fn runs(job: &Job) -> Vec<u64> {
    let mut runs: Vec<u64> = job.runs.iter().flatten().map(|run| run.generation).collect();
    runs.sort_unstable();
    runs
}

/// The first run after this one.
fn run_after(job: &Job, done: Option<u64>) -> Option<u64> {
    runs(job).into_iter().find(|run| Some(*run) > done)
}

/// The generation of the newest run.
fn newest_run(job: &Job) -> Option<u64> {
    runs(job).last().copied()
}

struct Reader<'a> {
    client: &'a Client,
    id: u64,
    printer: &'a Printer,
    /// Takes the marks off where there is one worker; `None`: it is not known yet, or there are none.
    marks: Option<Unmarked>,
    is_marked: bool,
}

impl<'a> Reader<'a> {
    fn new(client: &'a Client, id: u64, printer: &'a Printer, stream: LogStream) -> Reader<'a> {
        Reader { client, id, printer, marks: None, is_marked: stream == LogStream::All }
    }

    /// What there is of every run, the oldest first.
    fn all_runs(&mut self, query: LogQuery) -> Result<(), Failure> {
        let runs = runs(&self.client.job(self.id)?);
        if runs.len() < 2 {
            return self.read_out(query);
        }
        for run in runs {
            self.printer.note(&format!("run {run}"));
            let query = LogQuery { generation: Some(run), ..query.clone() };
            // The output of old runs is removed.
            if let Part::Text(_) = self.part(&query, false)? {
                self.read_out(query)?;
            }
        }
        Ok(())
    }

    /// All of one run that is there now.
    fn read_out(&mut self, mut query: LogQuery) -> Result<(), Failure> {
        loop {
            let chunk = self.client.logs(self.id, &query)?;
            self.show(&chunk)?;
            let is_last = chunk.complete || chunk.text.is_empty();
            query = behind(&chunk, query);
            if is_last {
                return Ok(());
            }
        }
    }

    /// Run after run, until the job has ended, or the run that was asked for.
    fn follow(&mut self, mut query: LogQuery) -> Result<Job, Failure> {
        say_on_interrupt(&[self.id]);
        let one_run = query.generation.is_some();
        if !one_run && query.tail.is_none() {
            query.generation = run_after(&self.client.job(self.id)?, None);
        }
        let mut state = None;
        loop {
            // The run whose log is over: the next one is waited for below.
            let done = match self.part(&query, one_run)? {
                Part::Text(chunk) => {
                    self.show(&chunk)?;
                    query = behind(&chunk, query);
                    if !chunk.complete {
                        if chunk.text.is_empty() {
                            thread::sleep(PAUSE);
                        }
                        continue;
                    }
                    query.generation
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
            let Some(next) = run_after(&job, done) else { return Ok(job) };
            query = LogQuery { generation: Some(next), offset: None, ..query };
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
            let is_other = |incoming: Incoming| match incoming {
                Incoming::Event(event) => event.job != Some(self.id),
                Incoming::Reset => false,
            };
            while is_other(receive(&events)?) {}
        }
    }

    fn show(&mut self, chunk: &LogChunk) -> Result<Exit, Failure> {
        if self.is_marked && self.marks.is_none() {
            self.is_marked = self.client.job(self.id)?.workers == 1;
            self.marks = self.is_marked.then(Unmarked::default);
        }
        let text = match &mut self.marks {
            Some(marks) => marks.take(&chunk.text, chunk.complete),
            None => chunk.text.clone(),
        };
        match stdout().is_terminal() {
            true => self.printer.raw(for_terminal(&text).as_bytes()),
            false => self.printer.raw(text.as_bytes()),
        }
    }
}
