//! The job's side of `oef run`: starts the command and passes its terminal on to whoever sits at the other end.

use super::frames::Frame;
use super::line::{Line, Out, Over};
use oef_api::client::{Client, Seat};
use oef_api::types::Access;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Nobody is at the other end, or the command cannot be started.
const FAILED: u8 = 127;
/// How the job reaches the daemon: written by the runner, and not for the command.
const TERMINAL: &str = "OEF_TERMINAL";
/// A client that was not seen for so long has gone.
const GONE_AFTER: Duration = Duration::from_secs(60);
/// A daemon that was never reached within this cannot be reached from here.
const REACHED_WITHIN: Duration = Duration::from_secs(30);
/// A reader that has waited for so long after the command's end has nothing left to read.
const NOTHING_LEFT_AFTER: Duration = Duration::from_secs(1);
/// How often readers are looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// How often it is tried until then.
const TRY_AGAIN: Duration = Duration::from_millis(500);

/// Runs `oef run-host pty|pipes COMMAND...`.
pub fn run(args: &[OsString]) -> ExitCode {
    match args {
        [how, command @ ..] if !command.is_empty() => {
            let code = sit_down().and_then(|(line, size)| {
                if how == "pty" {
                    in_terminal(line, size, command)
                } else {
                    in_pipes(line, command)
                }
            });
            ExitCode::from(code.unwrap_or_else(|error| {
                let _ = writeln!(io::stderr(), "oef run: {error}");
                FAILED
            }))
        }
        _ => ExitCode::from(2),
    }
}

/// Waits for the client's first frame, the size of its terminal.
fn sit_down() -> io::Result<(Line, (u16, u16))> {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let odd = |_| io::Error::other(format!("{TERMINAL} does not say where the daemon is"));
    let value: serde_json::Value = serde_json::from_str(&variable(TERMINAL)).map_err(odd)?;
    let shell = value["shell"].as_u64();
    let access: Access = serde_json::from_value(value).map_err(odd)?;
    let number = |name: &str| variable(name).parse::<u64>().map_err(io::Error::other);
    let (job, run) = (number("OEF_JOB_ID")?, number("OEF_GENERATION")?);
    let client = Client::new(access).map_err(io::Error::other)?;
    let seat = Seat::Job { run, shell };
    reach(&client, job, &seat)?;
    // Whatever happens to the daemon, the job goes on.
    let mut line = Line::new(client, job, seat, None).not_alone_for(GONE_AFTER);
    loop {
        match line.next() {
            Ok(Frame::Size(columns, rows)) => return Ok((line, (columns, rows))),
            Ok(_) => {}
            Err(Over::Run) => return Err(io::Error::other("the client has gone")),
            Err(Over::Failed(why)) => return Err(io::Error::other(why)),
        }
    }
}

/// Sees to it that the daemon can be reached at all, or says so.
fn reach(client: &Client, job: u64, seat: &Seat) -> io::Result<()> {
    let began = Instant::now();
    loop {
        let Err(error) = client.terminal_read(job, seat, 0, Duration::ZERO) else { return Ok(()) };
        let is_refused =
            matches!(&error, oef_api::client::ClientError::Refused(p) if p.status < 429);
        if is_refused || began.elapsed() > REACHED_WITHIN {
            let node = std::env::var("OEF_HOST").unwrap_or_default();
            let hint = "`address` in [jobs] of the daemon's settings says where jobs reach it";
            return Err(io::Error::other(format!(
                "no way from {node} to the daemon: {error}; {hint}"
            )));
        }
        thread::sleep(TRY_AGAIN);
    }
}

fn in_terminal(mut line: Line, size: (u16, u16), command: &[OsString]) -> io::Result<u8> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let name = OsString::from_vec(ptsname(&master, Vec::new())?.into_bytes());
    let open = || OpenOptions::new().read(true).write(true).open(&name);
    let out = line.out();
    let master = File::from(master);
    resize(&master, size.0, size.1)?;
    // A session of its own, with the new terminal as its own: Ctrl-C and job control work.
    let mut child = {
        let mut session = Command::new("setsid");
        session.args(["--ctty", "--wait"]).args(command).env_remove(TERMINAL);
        session.stdin(open()?).stdout(open()?).stderr(open()?).spawn()?
    };
    let (mut to, group) = (master.try_clone()?, child.id());
    thread::spawn(move || {
        while let Ok(frame) = line.next() {
            let done = match frame {
                Frame::Data(bytes) => to.write_all(&bytes),
                Frame::InputEnd => to.write_all(&[4]),
                Frame::Size(columns, rows) => resize(&to, columns, rows),
                Frame::Errors(_) | Frame::Ended(_) => Ok(()),
            };
            if done.is_err() {
                // The line stays, for what is still to be said.
                loop {
                    thread::park();
                }
            }
        }
        // Whoever sat at the terminal has gone.
        hang_up(group);
    });
    let screen = out.clone();
    let reader = Reader::start(master, move |bytes| screen.send(&Frame::Data(bytes)));
    let status = child.wait()?;
    reader.finish();
    Ok(ended(&out, status))
}

fn resize(terminal: &File, ws_col: u16, ws_row: u16) -> io::Result<()> {
    let size = Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).map_err(Into::into)
}

fn in_pipes(mut line: Line, command: &[OsString]) -> io::Result<u8> {
    let [program, args @ ..] = command else { return Ok(FAILED) };
    let out = line.out();
    let piped = || Stdio::piped();
    let mut child = Command::new(program);
    child.args(args).env_remove(TERMINAL).process_group(0);
    child.stdin(piped()).stdout(piped()).stderr(piped());
    let mut child = match child.spawn() {
        Ok(child) => child,
        Err(error) => {
            let text = format!("{}: {error}\n", program.to_string_lossy());
            out.send(&Frame::Errors(text.into_bytes()))?;
            out.send(&Frame::Ended(FAILED))?;
            out.flush();
            return Ok(FAILED);
        }
    };
    let readers = readers(&mut child, &out);
    let (stdin, group) = (child.stdin.take(), child.id());
    thread::spawn(move || {
        let mut stdin = stdin;
        while let Ok(frame) = line.next() {
            match frame {
                Frame::Data(bytes) => {
                    if stdin.as_mut().is_some_and(|to| to.write_all(&bytes).is_err()) {
                        stdin = None;
                    }
                }
                Frame::InputEnd => stdin = None,
                Frame::Errors(_) | Frame::Size(..) | Frame::Ended(_) => {}
            }
        }
        hang_up(group);
    });
    let status = child.wait()?;
    readers.into_iter().for_each(Reader::finish);
    Ok(ended(&out, status))
}

fn readers(child: &mut Child, out: &Out) -> Vec<Reader> {
    let (first, second) = (out.clone(), out.clone());
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let output = stdout.map(|from| Reader::start(from, move |b| first.send(&Frame::Data(b))));
    let errors = stderr.map(|from| Reader::start(from, move |b| second.send(&Frame::Errors(b))));
    output.into_iter().chain(errors).collect()
}

/// A thread that passes on what the command writes, until there is no more.
struct Reader {
    thread: thread::JoinHandle<()>,
    /// Odd while it waits for bytes, another number each time.
    waits: Arc<AtomicU64>,
}

impl Reader {
    fn start<R: Read + Send + 'static>(
        mut from: R,
        to: impl Fn(Vec<u8>) -> io::Result<()> + Send + 'static,
    ) -> Reader {
        let waits = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&waits);
        let thread = thread::spawn(move || {
            let mut buffer = vec![0; 16 * 1024];
            loop {
                counter.fetch_add(1, Ordering::SeqCst);
                let read = from.read(&mut buffer);
                counter.fetch_add(1, Ordering::SeqCst);
                match read {
                    Ok(count @ 1..) if to(buffer[..count].to_vec()).is_ok() => {}
                    _ => return,
                }
            }
        });
        Reader { thread, waits }
    }

    /// The command has ended: waits until all that it wrote is passed on. What it left running may hold the output
    /// open for ever; whatever the command itself wrote was there before it ended, so a reader that waits for bytes has
    /// passed on all of it.
    fn finish(self) {
        while !self.thread.is_finished() {
            let before = self.waits.load(Ordering::SeqCst);
            let began = Instant::now();
            while self.waits.load(Ordering::SeqCst) == before && !self.thread.is_finished() {
                if before % 2 == 1 && began.elapsed() > NOTHING_LEFT_AFTER {
                    return;
                }
                thread::sleep(LOOK_AGAIN);
            }
        }
    }
}

fn hang_up(group: u32) {
    let pid = i32::try_from(group).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid {
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::HUP);
    }
}

/// As shells have it: a signal is 128 and its number.
fn ended(out: &Out, status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    let code = code.and_then(|code| u8::try_from(code).ok()).unwrap_or(FAILED);
    // Where nobody hears it, the job has the code all the same.
    let _ = out.send(&Frame::Ended(code));
    out.flush();
    code
}
