//! One run of rsync, watched.

use super::outcome::{BringError, Report, progress};
use super::pulse::Pulse;
use crate::ending::length;
use crate::processes::RUN_DIR;
use crate::users::User;
use oef_sched::Span;
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

/// How often rsync and the orders are looked at: what a person does not notice.
const POLL: Duration = Duration::from_millis(50);

/// What rsync needs to put half a file where it finds it again.
const TIDY_UP: Duration = Duration::from_secs(3);

/// When rsync is gone, its pipes are empty in a moment.
const DRAIN_LIMIT: Duration = Duration::from_secs(2);

/// What is kept of each stream: the figures at the end, the complaints at the beginning.
const HEARD_MAX: usize = 16 << 10;

/// How a run of rsync ended.
pub(super) enum Carried {
    /// All is there.
    All(Report),
    /// It was not wanted any more.
    Stopped,
    /// Not all of it.
    Failed(BringError),
}

/// What makes a running rsync end early.
pub(super) enum Halt {
    /// It is not wanted any more.
    Stop,
    /// It would go on for too long.
    Over(BringError),
}

/// Runs rsync to its end, or until nothing came for `silence`. `look` is told how far it is, and may end it.
pub(super) fn carry(
    args: &[OsString],
    silence: Span,
    run: Option<&Path>,
    user: Option<&User>,
    look: &mut dyn FnMut(u64, Option<u8>) -> Option<Halt>,
) -> Carried {
    let mut child = match command(args, run, user).spawn() {
        Ok(child) => child,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Carried::Failed(BringError::NoRsync);
        }
        Err(error) => return Carried::Failed(BringError::NotRun(error.to_string())),
    };
    let ears = Ears::new(&mut child);
    let mut pulse = Pulse::new(child.id(), Duration::from_millis(silence.0));
    let halted = loop {
        match child.try_wait() {
            Ok(Some(status)) => return judge(status, &ears),
            Ok(None) => {}
            Err(error) => return Carried::Failed(BringError::NotRun(error.to_string())),
        }
        let (bytes, percent) = ears.progress();
        if let Some(halt) = look(bytes, percent) {
            break halt;
        }
        if pulse.is_gone(bytes) {
            let said = format!("not a byte for {}", length(silence));
            break Halt::Over(BringError::Silence(said));
        }
        sleep(POLL);
    };
    end(&mut child);
    match halted {
        Halt::Stop => Carried::Stopped,
        Halt::Over(error) => Carried::Failed(error),
    }
}

/// What belongs to a start is found by its folder in the environment, and killed with it.
fn command(args: &[OsString], run: Option<&Path>, user: Option<&User>) -> Command {
    let mut command = Command::new("rsync");
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"OEF_") {
            command.env_remove(name);
        }
    }
    if let Some(run) = run {
        command.env(RUN_DIR, run);
    }
    if let Some(user) = user {
        command.uid(user.uid).gid(user.gid).env("HOME", &user.home);
    }
    // Its words are read here, in the language in which they were written.
    command.env("LC_ALL", "C").args(args).current_dir("/").process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn judge(status: ExitStatus, ears: &Ears) -> Carried {
    ears.drain();
    let heard = ears.heard();
    if status.success() {
        return Carried::All(Report::read(&heard.out));
    }
    Carried::Failed(BringError::read(status.code(), &heard.err))
}

/// Lets rsync put away what it has, then makes sure that it is gone, with its ssh.
fn end(child: &mut Child) {
    let group = Pid::from_child(child);
    let send = |signal| {
        // They may all have ended just now.
        let _ = kill_process_group(group, signal);
    };
    send(Signal::TERM);
    let told = Instant::now();
    while told.elapsed() < TIDY_UP && matches!(child.try_wait(), Ok(None)) {
        sleep(POLL);
    }
    send(Signal::KILL);
    let _ = child.wait();
}

/// What rsync said so far.
#[derive(Clone, Default)]
struct Heard {
    out: String,
    err: String,
    bytes: u64,
    percent: Option<u8>,
}

/// Two threads that read, so that rsync never waits for a reader.
struct Ears {
    heard: Arc<Mutex<Heard>>,
    done: Receiver<()>,
}

impl Ears {
    fn new(child: &mut Child) -> Ears {
        let heard = Arc::new(Mutex::new(Heard::default()));
        let (send, done) = channel();
        if let Some(pipe) = child.stdout.take() {
            listen(pipe, Arc::clone(&heard), send.clone(), Heard::take_out);
        }
        if let Some(pipe) = child.stderr.take() {
            listen(pipe, Arc::clone(&heard), send, Heard::take_err);
        }
        Ears { heard, done }
    }

    fn heard(&self) -> Heard {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn progress(&self) -> (u64, Option<u8>) {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        (heard.bytes, heard.percent)
    }

    /// Waits until all was read; not for ever, because somebody else may hold a pipe open.
    fn drain(&self) {
        let began = Instant::now();
        for _ in 0..2 {
            let _ = self.done.recv_timeout(DRAIN_LIMIT.saturating_sub(began.elapsed()));
        }
    }
}

fn listen(
    mut pipe: impl Read + Send + 'static,
    heard: Arc<Mutex<Heard>>,
    done: Sender<()>,
    take: fn(&mut Heard, &str),
) {
    let read = move || {
        let mut buffer = [0; 4096];
        let mut line = Vec::new();
        while let Ok(count) = pipe.read(&mut buffer) {
            for byte in &buffer[..count] {
                // A line of progress ends where the next is written over it.
                if !matches!(byte, b'\n' | b'\r') {
                    line.push(*byte);
                    if line.len() < HEARD_MAX {
                        continue;
                    }
                }
                let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
                take(&mut heard, &String::from_utf8_lossy(&line));
                line.clear();
            }
            if count == 0 {
                break;
            }
        }
        // Nobody may be waiting any more.
        let _ = done.send(());
    };
    // Without a thread rsync is not heard, and ends when its pipe is closed.
    let _ = thread::Builder::new().spawn(read);
}

impl Heard {
    fn take_out(&mut self, line: &str) {
        if let Some((bytes, percent)) = progress(line) {
            (self.bytes, self.percent) = (bytes, Some(percent));
            return;
        }
        self.out.push_str(line);
        self.out.push('\n');
        // A word about every socket of the job comes before the figures.
        if self.out.len() > 2 * HEARD_MAX {
            let cut = (self.out.len() - HEARD_MAX..).find(|at| self.out.is_char_boundary(*at));
            self.out.drain(..cut.unwrap_or(0));
        }
    }

    fn take_err(&mut self, line: &str) {
        if self.err.len() + line.len() < HEARD_MAX {
            self.err.push_str(line);
            self.err.push('\n');
        }
    }
}
