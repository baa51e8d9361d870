//! Bad luck: folders that go, threads that die. Each is noticed and named.

use super::common::{OWNER, Request, Server, wait_until};
use oef_executor::{Cursor, Event, Executor, ExecutorError, Known, LogChunk, LogQuery, Order};
use oef_sched::JobId;
use oef_server::caller::Caller;
use oef_server::daemon::{Daemon, Options};
use oef_server::watchful;
use serde_json::json;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

pub const TESTS: &[(&str, fn())] = &[
    ("luck: a state folder that is deleted under the daemon", deleted),
    ("luck: a thread that panics", panics),
    ("luck: a disk that is full, and has room again", full_disk),
    ("luck: a disk that becomes read-only, and can be written again", read_only_disk),
    ("luck: more silent connections than descriptors", few_descriptors),
];

fn deleted() {
    let server = Server::start();
    let id = server.submit(OWNER, json!({"tenant": "t", "command": ["true"]}));
    server.wait_for(id, &["finished"]);
    let ready = || Request::new("GET", "/readyz").send(server.address);
    assert_eq!(ready().status, 200);
    std::fs::remove_dir_all(server.dir.path()).expect("removed");
    let job = json!({"tenant": "t", "command": ["true"]});
    let reply = server.admin("POST", "/jobs?create_tenant=true", Some(job));
    assert_eq!((reply.status, reply.kind().as_str()), (503, "unavailable"), "{reply:?}");
    assert!(reply.body.contains("removed or replaced"), "{reply:?}");
    let unready = wait_until(|| Some(ready()).filter(|reply| reply.status == 503));
    assert!(unready.body.contains("removed or replaced"), "{unready:?}");
}

/// Runs this program again with another command line; its output.
fn again(script: &str) -> Command {
    let program = std::env::current_exe().expect("this program");
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).env("PROGRAM", program);
    command
}

/// In a file system of a few megabytes, which only a namespace of one's own lets one mount.
fn full_disk() {
    on_a_disk_of_its_own("full-disk");
}

fn read_only_disk() {
    on_a_disk_of_its_own("read-only-disk");
}

#[expect(clippy::print_stderr, reason = "whoever runs the tests is told what is left out")]
fn on_a_disk_of_its_own(test: &str) {
    if std::env::var_os("OEF_TEST_WITHOUT_NAMESPACES").is_some() {
        eprintln!("left out, {test} needs namespaces");
        return;
    }
    let dir = tempfile::tempdir().expect("a folder");
    let script = "unshare --user --map-root-user --mount sh -c \
                  'mount -t tmpfs -o size=16m none \"$TMPDIR\" && exec \"$PROGRAM\" \"$TEST\"'";
    let mut command = again(script);
    let output = command.env("TMPDIR", dir.path()).env("TEST", test).output().expect("it ran");
    assert!(output.status.success(), "{output:?}");
}

pub fn full_disk_inside() -> ExitCode {
    let server = Server::start();
    let job = || json!({"tenant": "t", "command": ["true"]});
    server.wait_for(server.submit(OWNER, job()), &["finished"]);
    let ready = |status: u16| {
        wait_until(|| {
            let reply = Request::new("GET", "/readyz").send(server.address);
            (reply.status == status).then_some(reply)
        })
    };
    ready(200);
    let filler = std::env::temp_dir().join("filler");
    let mut file = std::fs::File::create(&filler).expect("a file");
    while file.write_all(&[0; 4096]).is_ok() {}
    let unready = ready(503);
    assert!(unready.body.contains("the journal cannot be written"), "{unready:?}");
    let reply = server.admin("POST", "/jobs", Some(job()));
    assert_eq!((reply.status, reply.kind().as_str()), (503, "unavailable"), "{reply:?}");
    // Its room is free when nobody has it open any more.
    drop(file);
    std::fs::remove_file(&filler).expect("removed");
    ready(200);
    let id = wait_until(|| {
        let reply = server.admin("POST", "/jobs", Some(job()));
        (reply.status == 201).then(|| reply.json()["ids"][0].as_u64())?
    });
    server.wait_for(id, &["finished"]);
    ExitCode::SUCCESS
}

/// Nothing can be made on it any more. What is open stays so: the disk itself is none that could be taken from a daemon
/// that writes to it.
pub fn read_only_disk_inside() -> ExitCode {
    // A daemon that has nothing to write tries whether it could.
    let server = Server::start();
    server.admin("PATCH", "/settings", Some(json!({"round_s": 3600.0})));
    let ready = |status: u16| {
        wait_until(|| {
            let reply = Request::new("GET", "/readyz").send(server.address);
            (reply.status == status).then_some(reply)
        })
    };
    let mount = |words: &[&str]| {
        let done = Command::new(words[0]).args(&words[1..]).arg(server.dir.path()).status();
        assert!(done.expect("mount").success(), "{words:?}");
    };
    ready(200);
    let dir = server.dir.path().display().to_string();
    mount(&["mount", "--bind", &dir]);
    mount(&["mount", "-o", "remount,bind,ro"]);
    let unready = ready(503);
    assert!(unready.body.to_lowercase().contains("read-only"), "{unready:?}");
    mount(&["umount"]);
    ready(200);
    let id = server.submit(OWNER, json!({"tenant": "t", "command": ["true"]}));
    server.wait_for(id, &["finished"]);
    ExitCode::SUCCESS
}

/// A daemon with few descriptors and a queue, and somebody who opens more connections than it has descriptors and says
/// nothing. No job may fail by that, and no order to stop may be lost.
fn few_descriptors() {
    let mut child = again("ulimit -n 160 && exec \"$PROGRAM\" few-descriptors");
    let mut child = child.stdout(Stdio::piped()).spawn().expect("it ran");
    let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let address = lines.next().expect("a line").expect("its address");
    let connect = |_| TcpStream::connect(&address).ok();
    let silent: Vec<TcpStream> = (0..300).filter_map(connect).collect();
    assert!(silent.len() > 160, "{} connections", silent.len());
    let verdict = lines.next().expect("a line").expect("what became of the jobs");
    assert_eq!(verdict, "20 of 20 finished, one cancelled");
    drop(silent);
    assert!(child.wait().expect("it ended").success());
}

#[expect(clippy::print_stdout, reason = "its output is read by the test")]
pub fn few_descriptors_inside() -> ExitCode {
    let server = Server::start();
    // More than there are GPUs, and long enough that most wait while the connections come.
    let job = || json!({"tenant": "t", "command": ["sleep", "0.3"]});
    let stopped = server.submit(OWNER, json!({"tenant": "t", "command": ["sleep", "1000"]}));
    server.wait_for(stopped, &["running"]);
    let ids: Vec<u64> = (0..20).map(|_| server.submit(OWNER, job())).collect();
    let open = || std::fs::read_dir("/proc/self/fd").map_or(usize::MAX, Iterator::count);
    let before = open();
    println!("{}", server.address);
    // So few descriptors leave room for 16 connections: most of it is taken then.
    wait_until(|| (open() >= before + 10).then_some(()));
    let admin = Caller::admin();
    let cancel = server.daemon.cancel(&admin, stopped);
    tokio::runtime::Runtime::new().expect("threads").block_on(cancel).expect("taken");
    let finals = ["finished", "failed", "cancelled"];
    let ending = server.wait_inside(stopped, &finals);
    // The daemon itself is asked: the connections are taken.
    let states = ids.iter().map(|id| server.wait_inside(*id, &finals));
    let finished = states.filter(|state| state == "finished").count();
    println!("{finished} of {} finished, one {ending}", ids.len());
    ExitCode::SUCCESS
}

fn panics() {
    let program = std::env::current_exe().expect("this program");
    for what in ["panicking", "deaf"] {
        let output = Command::new(&program).arg(what).output().expect("it ran");
        assert_eq!(output.status.code(), Some(watchful::EXIT_INTERNAL), "{output:?}");
    }
}

/// A daemon whose server ends without being told to. It would go on without it otherwise.
pub fn deaf() -> ExitCode {
    let why = tokio::runtime::Runtime::new().expect("threads").block_on(async {
        let mut task = tokio::spawn(async { Err::<(), _>("no more files") });
        watchful::end_of(&mut task).await
    });
    watchful::end("the server", &why)
}

/// A daemon whose executor panics on the watcher's thread. It would live for a minute otherwise.
pub fn panicking() -> ExitCode {
    watchful::begin();
    let dir = tempfile::tempdir().expect("a folder");
    let daemon = Daemon::start(Options::new(dir.path().into(), Arc::new(Panics)));
    std::thread::sleep(Duration::from_secs(60));
    drop(daemon);
    ExitCode::SUCCESS
}

struct Panics;

impl Executor for Panics {
    fn order(&self, _: Order) {}

    fn events(&self, after: Cursor, _: Duration) -> Vec<(Cursor, Event)> {
        // The first question is asked before there are threads.
        assert!(after == Cursor::default(), "a mistake, made on purpose");
        vec![(Cursor(1), Event::NodesListed)]
    }

    fn resume(&self, _: Known) -> Result<JobId, ExecutorError> {
        Ok(JobId(1))
    }

    fn logs(&self, job: JobId, _: LogQuery) -> Result<LogChunk, ExecutorError> {
        Err(ExecutorError::NoOutput(job))
    }
}
