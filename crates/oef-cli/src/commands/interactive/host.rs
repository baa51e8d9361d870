//! The job's side of `oef run`: starts the command and passes its terminal on to whoever waits at the other end.

use super::frames::Frame;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

/// Nobody waits at the other end, or the command cannot be started.
const FAILED: u8 = 127;

/// Runs `oef run-host SOCKET pty|pipes COMMAND...`.
pub fn run(args: &[OsString]) -> ExitCode {
    match args {
        [socket, how, command @ ..] if !command.is_empty() => {
            let code = UnixStream::connect(socket).and_then(|stream| {
                if how == "pty" { in_terminal(stream, command) } else { in_pipes(stream, command) }
            });
            ExitCode::from(code.unwrap_or_else(|error| {
                let _ = writeln!(io::stderr(), "oef run: {error}; the client has gone");
                FAILED
            }))
        }
        _ => ExitCode::from(2),
    }
}

/// The other end of what is sent, for several threads.
type Out = Arc<Mutex<UnixStream>>;

fn send(out: &Out, frame: &Frame) -> io::Result<()> {
    let mut stream = out.lock().map_err(|_| io::Error::other("a thread ended"))?;
    frame.write(&mut *stream)
}

fn in_terminal(mut stream: UnixStream, command: &[OsString]) -> io::Result<u8> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let name = OsString::from_vec(ptsname(&master, Vec::new())?.into_bytes());
    let open = || OpenOptions::new().read(true).write(true).open(&name);
    let out: Out = Arc::new(Mutex::new(stream.try_clone()?));
    let master = File::from(master);
    if let Some(Frame::Size(columns, rows)) = Frame::read(&mut stream)? {
        resize(&master, columns, rows)?;
    }
    // A session of its own, with the new terminal as its own: Ctrl-C and job control work.
    let mut child = {
        let mut session = Command::new("setsid");
        session.args(["--ctty", "--wait"]).args(command);
        session.stdin(open()?).stdout(open()?).stderr(open()?).spawn()?
    };
    let (mut to, group) = (master.try_clone()?, child.id());
    thread::spawn(move || {
        while let Ok(Some(frame)) = Frame::read(&mut stream) {
            let done = match frame {
                Frame::Data(bytes) => to.write_all(&bytes),
                Frame::InputEnd => to.write_all(&[4]),
                Frame::Size(columns, rows) => resize(&to, columns, rows),
                Frame::Errors(_) | Frame::Ended(_) => Ok(()),
            };
            if done.is_err() {
                return;
            }
        }
        // Whoever sat at the terminal has gone.
        hang_up(group);
    });
    let (mut from, screen) = (master, out.clone());
    let reader = thread::spawn(move || {
        pass_on(&mut from, |bytes| send(&screen, &Frame::Data(bytes)));
    });
    let status = child.wait()?;
    let _ = reader.join();
    ended(&out, status)
}

fn resize(terminal: &File, ws_col: u16, ws_row: u16) -> io::Result<()> {
    let size = Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).map_err(Into::into)
}

fn in_pipes(mut stream: UnixStream, command: &[OsString]) -> io::Result<u8> {
    let [program, args @ ..] = command else { return Ok(FAILED) };
    let out: Out = Arc::new(Mutex::new(stream.try_clone()?));
    let piped = || Stdio::piped();
    let mut child = Command::new(program);
    child.args(args).stdin(piped()).stdout(piped()).stderr(piped()).process_group(0);
    let mut child = match child.spawn() {
        Ok(child) => child,
        Err(error) => {
            let text = format!("{}: {error}\n", program.to_string_lossy());
            send(&out, &Frame::Errors(text.into_bytes()))?;
            send(&out, &Frame::Ended(FAILED))?;
            return Ok(FAILED);
        }
    };
    let readers = readers(&mut child, &out);
    let (stdin, group) = (child.stdin.take(), child.id());
    thread::spawn(move || {
        let mut stdin = stdin;
        while let Ok(Some(frame)) = Frame::read(&mut stream) {
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
    for reader in readers {
        let _ = reader.join();
    }
    ended(&out, status)
}

fn readers(child: &mut Child, out: &Out) -> Vec<thread::JoinHandle<()>> {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (first, second) = (out.clone(), out.clone());
    let output = stdout.map(|mut from| {
        thread::spawn(move || pass_on(&mut from, |bytes| send(&first, &Frame::Data(bytes))))
    });
    let errors = stderr.map(|mut from| {
        thread::spawn(move || pass_on(&mut from, |bytes| send(&second, &Frame::Errors(bytes))))
    });
    output.into_iter().chain(errors).collect()
}

/// Passes bytes on until there are no more.
fn pass_on(from: &mut impl Read, to: impl Fn(Vec<u8>) -> io::Result<()>) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if to(buffer[..count].to_vec()).is_err() {
            return;
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
fn ended(out: &Out, status: ExitStatus) -> io::Result<u8> {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    let code = code.and_then(|code| u8::try_from(code).ok()).unwrap_or(FAILED);
    send(out, &Frame::Ended(code))?;
    Ok(code)
}
