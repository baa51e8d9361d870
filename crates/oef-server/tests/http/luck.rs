//! Bad luck: folders that go, threads that die. Each is noticed and named.

use super::common::{OWNER, Request, Server, wait_until};
use oef_executor::{Cursor, Event, Executor, ExecutorError, Known, LogChunk, LogQuery, Order};
use oef_sched::JobId;
use oef_server::daemon::{Daemon, Options};
use oef_server::watchful;
use serde_json::json;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

pub const TESTS: &[(&str, fn())] = &[
    ("luck: a state folder that is deleted under the daemon", deleted),
    ("luck: a thread that panics", panics),
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

fn panics() {
    let program = std::env::current_exe().expect("this program");
    let output = Command::new(program).arg("panicking").output().expect("it ran");
    assert_eq!(output.status.code(), Some(watchful::EXIT_INTERNAL), "{output:?}");
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
