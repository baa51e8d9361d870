//! `oef run`: a job in this terminal.

use super::frames::Frame;
use super::line::{Line, Out, Over};
use crate::args::interactive::RunArgs;
use crate::commands::client::submit::{fill_tenant, new_key};
use crossterm::terminal;
use oef_api::client::{Client, ClientError, Seat};
use oef_api::types::{Job, JobBatch, JobState, JobSubmit, SubmitQuery, Terminal};
use oef_terminal::names::safe;
use oef_terminal::{Complaint, Exit, Failure, Printer};
use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Taken from here, so that a command is found as it is found here.
const FROM_HERE: [&str; 6] = ["PATH", "TERM", "LANG", "LC_ALL", "PYTHONPATH", "VIRTUAL_ENV"];
/// How often is looked whether the terminal has another size.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How often the daemon is asked what the job waits for.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// A daemon that stays away for longer is not waited for.
pub(super) const PATIENCE: Duration = Duration::from_secs(600);

/// Runs the command; ends the process with the command's own exit code.
pub fn run(args: &RunArgs, printer: &Printer) -> Result<Exit, Failure> {
    let client = Client::find()?;
    let in_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    let made = oef_server::terminal::new_key();
    let (key, key_hash) = made.map_err(|problem| Complaint::new(problem.detail))?;
    let terminal = Terminal { pty: in_terminal, key_hash };
    let job = submit(args, &client, terminal, printer)?;
    cancel_when_interrupted(job)?;
    let (keys, mut said) = (Keys::default(), String::new());
    loop {
        let Some(run) = wait(&client, job, &key, &mut said, printer)? else {
            return Ok(without_a_word(&client.job(job)?, printer));
        };
        let seat = Seat::Client { key: key.clone(), run: Some(run), shell: None };
        let line = Line::new(client.clone(), job, seat, Some(PATIENCE));
        if let Some(code) = talk(line, &keys, in_terminal)? {
            std::process::exit(i32::from(code));
        }
        let shown = insist(|| client.job(job))?;
        if shown.state.is_final() {
            return Ok(without_a_word(&shown, printer));
        }
        printer.note(&format!("job {job} was stopped; it waits to start again"));
        said.clear();
    }
}

/// Waits until the job has come to its terminal, in which run; none where it ended without.
fn wait(
    client: &Client,
    id: u64,
    key: &str,
    said: &mut String,
    printer: &Printer,
) -> Result<Option<u64>, Failure> {
    let seat = Seat::Client { key: key.into(), run: None, shell: None };
    loop {
        if let Some(run) = insist(|| client.terminal_read(id, &seat, 0, ASK_EVERY))?.run {
            return Ok(Some(run));
        }
        let job = insist(|| client.job(id))?;
        if job.state.is_final() {
            return Ok(None);
        }
        if job.state == JobState::Queued && job.reason != *said {
            said.clone_from(&job.reason);
            printer.note(&format!("job {id} waits: {}", safe(&job.reason)));
        }
    }
}

/// Asks again where the daemon does not answer: it may be started again just now.
fn insist<T>(ask: impl Fn() -> Result<T, ClientError>) -> Result<T, Failure> {
    let began = Instant::now();
    loop {
        let again = |error: &ClientError| match error {
            ClientError::Unreachable { .. } => true,
            ClientError::Refused(problem) => matches!(problem.status, 429 | 503),
            _ => false,
        };
        match ask() {
            Err(error) if again(&error) && began.elapsed() < PATIENCE => thread::sleep(ASK_EVERY),
            done => return done.map_err(Into::into),
        }
    }
}

fn submit(
    args: &RunArgs,
    client: &Client,
    terminal: Terminal,
    printer: &Printer,
) -> Result<u64, Failure> {
    let text = |path: &Path| path.display().to_string();
    let job = JobSubmit {
        tenant: args.tenant.clone(),
        workload: Some(args.workload.clone()),
        command: args.command.clone(),
        types: args.types.clone(),
        priority: args.priority.unwrap_or(0),
        now: args.now,
        gpu_memory_gib: args.gpu_memory,
        max_run_s: args.max_run,
        workdir: Some(text(&std::env::current_dir()?)),
        env: environment(&args.env)?,
        terminal: Some(terminal),
        ..JobSubmit::default()
    };
    let mut batch = JobBatch::of(vec![job]);
    let is_own = fill_tenant(&mut batch, client, printer)?;
    let how = SubmitQuery { create_tenant: args.create_tenant || is_own };
    let submitted = client.submit(&batch, Some(&new_key()), how)?;
    for note in &submitted.notes {
        printer.note(note);
    }
    let id = submitted.ids.first().copied();
    id.ok_or_else(|| Complaint::new("the daemon took the job and gave it no number").into())
}

fn environment(named: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    let here = |name: &str| std::env::var(name).ok();
    let usual = FROM_HERE.iter().filter_map(|name| Some((name.to_string(), here(name)?)));
    let mut env: BTreeMap<String, String> = usual.collect();
    for entry in named {
        let (name, value) = match entry.split_once('=') {
            Some((name, value)) => (name, Some(value.to_string())),
            None => (entry.as_str(), here(entry)),
        };
        let Some(value) = value else {
            let complaint = Complaint::new(format!("`{}` is not set here", safe(name)));
            return Err(complaint.at("--env").hint("write NAME=VALUE").into());
        };
        env.insert(name.into(), value);
    }
    Ok(env)
}

/// Until the job runs, Ctrl-C is for us; afterwards the terminal passes it on.
fn cancel_when_interrupted(job: u64) -> Result<(), Failure> {
    let handler = move || {
        if let Ok(client) = Client::find() {
            let _ = client.cancel(job);
        }
        std::process::exit(Exit::Interrupted as i32);
    };
    ctrlc::set_handler(handler).map_err(|error| Complaint::new(error.to_string()).into())
}

/// The job ended before it could say anything.
fn without_a_word(job: &Job, printer: &Printer) -> Exit {
    printer.note(&format!("job {} {}: {}", job.id, job.state.name(), safe(&job.reason)));
    Exit::DoesNotHold
}

/// Passes everything on until the command ends; none: the job was stopped before that.
pub(super) fn talk(mut line: Line, keys: &Keys, in_terminal: bool) -> Result<Option<u8>, Failure> {
    let raw = in_terminal.then(Raw::begin).transpose()?;
    let out = line.out();
    let size = if in_terminal { terminal::size().unwrap_or((80, 24)) } else { (0, 0) };
    // The command begins when it knows the size: somebody is there.
    let _ = out.send(&Frame::Size(size.0, size.1));
    if in_terminal {
        let sizes = out.clone();
        thread::spawn(move || send_sizes(&sizes, size));
    }
    keys.go_to(out);
    let code = loop {
        match line.next() {
            Ok(Frame::Data(bytes)) => {
                let mut screen = io::stdout().lock();
                screen.write_all(&bytes)?;
                screen.flush()?;
            }
            Ok(Frame::Errors(bytes)) => io::stderr().lock().write_all(&bytes)?,
            Ok(Frame::Ended(code)) => {
                line.acknowledge();
                break Some(code);
            }
            Ok(Frame::InputEnd | Frame::Size(..)) => {}
            Err(Over::Run) => break None,
            Err(Over::Failed(why)) => {
                drop(raw);
                let hint = "the job may still run; `oef jobs` shows it";
                return Err(Complaint::new(why).hint(hint).into());
            }
        }
    };
    drop(raw);
    Ok(code)
}

/// What is typed here, or comes from a pipe: read once, for whichever run is there.
#[derive(Clone, Default)]
pub(super) struct Keys(Arc<(Mutex<Receiver>, Condvar)>);

#[derive(Default)]
struct Receiver {
    out: Option<Out>,
    is_read: bool,
    is_ended: bool,
}

impl Keys {
    /// From now on it goes there.
    fn go_to(&self, out: Out) {
        let mut receiver = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        if receiver.is_ended {
            let _ = out.send(&Frame::InputEnd);
        }
        receiver.out = Some(out);
        self.0.1.notify_all();
        if !std::mem::replace(&mut receiver.is_read, true) {
            let keys = self.clone();
            thread::spawn(move || keys.read());
        }
    }

    fn read(&self) {
        let mut buffer = vec![0; 16 * 1024];
        loop {
            let frame = match io::stdin().lock().read(&mut buffer) {
                Ok(0) | Err(_) => Frame::InputEnd,
                Ok(count) => Frame::Data(buffer[..count].to_vec()),
            };
            self.pass_on(&frame);
            if frame == Frame::InputEnd {
                return;
            }
        }
    }

    /// Passes a frame on to the run that is there, or to the next one.
    fn pass_on(&self, frame: &Frame) {
        let mut receiver = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        receiver.is_ended |= *frame == Frame::InputEnd;
        loop {
            if let Some(out) = receiver.out.clone() {
                drop(receiver);
                if out.send(frame).is_ok() {
                    return;
                }
                receiver = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
            }
            if receiver.out.as_ref().is_none_or(Out::is_over) {
                receiver = self.0.1.wait(receiver).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

fn send_sizes(to: &Out, mut last: (u16, u16)) {
    while !to.is_over() {
        thread::sleep(LOOK_EVERY);
        if let Ok((columns, rows)) = terminal::size()
            && (columns, rows) != last
        {
            last = (columns, rows);
            let _ = to.send(&Frame::Size(columns, rows));
        }
    }
}

/// The terminal passes every key on; given back at the end.
struct Raw;

impl Raw {
    fn begin() -> io::Result<Raw> {
        terminal::enable_raw_mode()?;
        Ok(Raw)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let _ = terminal::disable_raw_mode();
    }
}
