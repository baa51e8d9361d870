//! `oef run`: a job in this terminal.

use super::frames::Frame;
use crate::args::interactive::RunArgs;
use crate::commands::client::submit::{fill_tenant, new_key};
use crossterm::terminal;
use oef_api::client::Client;
use oef_api::types::{Job, JobBatch, JobState, JobSubmit, SubmitQuery};
use oef_terminal::names::safe;
use oef_terminal::{Complaint, Exit, Failure, Printer};
use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Taken from here, so that a command is found as it is found here.
const FROM_HERE: [&str; 6] = ["PATH", "TERM", "LANG", "LC_ALL", "PYTHONPATH", "VIRTUAL_ENV"];
/// How often is looked whether the job connects, and whether the terminal has another size.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How often the daemon is asked what it waits for.
const ASK_EVERY: Duration = Duration::from_secs(1);

/// Runs the command; ends the process with the command's own exit code.
pub fn run(args: &RunArgs, printer: &Printer) -> Result<Exit, Failure> {
    let client = Client::find()?;
    let meeting = Meeting::new()?;
    let in_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    let job = submit(args, &client, &meeting.socket, in_terminal, printer)?;
    cancel_when_interrupted(job)?;
    let mut said = String::new();
    loop {
        let Some(stream) = meeting.wait(&client, job, &mut said, printer)? else {
            return Ok(without_a_word(&client.job(job)?, printer));
        };
        if let Some(code) = talk(stream, in_terminal)? {
            drop(meeting);
            std::process::exit(i32::from(code));
        }
        printer.note(&format!("job {job} was stopped; it waits to start again"));
        said.clear();
    }
}

/// Where the job finds this terminal: a socket in a folder that nobody else can enter.
struct Meeting {
    dir: PathBuf,
    socket: PathBuf,
    listener: UnixListener,
}

impl Meeting {
    fn new() -> Result<Meeting, Failure> {
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let base = runtime.filter(|dir| dir.is_dir()).unwrap_or_else(std::env::temp_dir);
        let key: String = new_key().chars().skip(4).take(12).collect();
        let dir = base.join(format!("oef-run-{key}"));
        std::fs::DirBuilder::new().mode(0o700).create(&dir)?;
        let socket = dir.join("socket");
        let listener = UnixListener::bind(&socket)?;
        listener.set_nonblocking(true)?;
        Ok(Meeting { dir, socket, listener })
    }

    /// Waits until the job connects; none where it ended without.
    fn wait(
        &self,
        client: &Client,
        id: u64,
        said: &mut String,
        printer: &Printer,
    ) -> Result<Option<UnixStream>, Failure> {
        let mut asked: Option<Instant> = None;
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(false)?;
                    return Ok(Some(stream));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
            if asked.is_none_or(|asked| asked.elapsed() >= ASK_EVERY) {
                asked = Some(Instant::now());
                let job = client.job(id)?;
                if job.state.is_final() {
                    return Ok(None);
                }
                if job.state == JobState::Queued && job.reason != *said {
                    said.clone_from(&job.reason);
                    printer.note(&format!("job {id} waits: {}", safe(&job.reason)));
                }
            }
            thread::sleep(LOOK_EVERY);
        }
    }
}

impl Drop for Meeting {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.socket);
        let _ = std::fs::remove_dir(&self.dir);
    }
}

fn submit(
    args: &RunArgs,
    client: &Client,
    socket: &Path,
    in_terminal: bool,
    printer: &Printer,
) -> Result<u64, Failure> {
    let how = if in_terminal { "pty" } else { "pipes" };
    let text = |path: &Path| path.display().to_string();
    let mut command = vec![text(&std::env::current_exe()?), "run-host".into(), text(socket)];
    command.push(how.into());
    command.extend(args.command.iter().cloned());
    let named = JobSubmit { command: args.command.clone(), ..JobSubmit::default() };
    let job = JobSubmit {
        tenant: args.tenant.clone(),
        workload: Some(args.workload.clone()),
        name: Some(named.called()),
        command,
        workers: 1,
        types: args.types.clone(),
        priority: args.priority.unwrap_or(0),
        now: args.now,
        gpu_memory_gib: args.gpu_memory,
        max_run_s: args.max_run,
        workdir: Some(text(&std::env::current_dir()?)),
        env: environment(&args.env)?,
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
fn talk(stream: UnixStream, in_terminal: bool) -> Result<Option<u8>, Failure> {
    let raw = in_terminal.then(Raw::begin).transpose()?;
    if in_terminal {
        // The command begins when it knows the size.
        let mut sizes = stream.try_clone()?;
        let (columns, rows) = terminal::size().unwrap_or((80, 24));
        Frame::Size(columns, rows).write(&mut sizes)?;
        thread::spawn(move || send_sizes(sizes));
    }
    let keys = stream.try_clone()?;
    thread::spawn(move || send_input(keys));
    let (mut from, mut code) = (stream, None);
    while let Ok(Some(frame)) = Frame::read(&mut from) {
        match frame {
            Frame::Data(bytes) => {
                let mut out = io::stdout().lock();
                out.write_all(&bytes)?;
                out.flush()?;
            }
            Frame::Errors(bytes) => io::stderr().lock().write_all(&bytes)?,
            Frame::Ended(ended) => code = Some(ended),
            Frame::InputEnd | Frame::Size(..) => {}
        }
    }
    drop(raw);
    Ok(code)
}

fn send_input(mut to: UnixStream) {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let frame = match io::stdin().lock().read(&mut buffer) {
            Ok(0) | Err(_) => Frame::InputEnd,
            Ok(count) => Frame::Data(buffer[..count].to_vec()),
        };
        if frame.write(&mut to).is_err() || frame == Frame::InputEnd {
            return;
        }
    }
}

fn send_sizes(mut to: UnixStream) {
    let mut last = None;
    loop {
        let size = terminal::size().ok();
        if let Some((columns, rows)) = size.filter(|_| size != last)
            && Frame::Size(columns, rows).write(&mut to).is_err()
        {
            return;
        }
        last = size;
        thread::sleep(LOOK_EVERY);
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
