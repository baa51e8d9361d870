//! Starting and stopping as a process of its own: the access file, signals, a port in use.

use super::Test;
use super::common::wait_until;
use oef_api::client::Client;
use oef_api::types::{Access, JobState, JobSubmit};
use oef_server::config::Config;
use oef_server::up::Mode;
use std::ffi::OsString;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use tempfile::TempDir;

pub const TESTS: &[Test] = &[
    ("starting: access, a job, a stop, and on again", access_a_job_a_stop_and_on_again),
    ("starting: what cannot start says why", what_cannot_start_says_why),
    ("starting: the demonstration", the_demonstration),
    ("starting: a stop without a journal is told", a_stop_without_a_journal_is_told),
    ("starting: what was open before is not open in jobs", what_was_open_is_not_open_in_jobs),
];

/// What this program does when it is called as the daemon: the settings are in a file.
#[expect(clippy::print_stderr, reason = "this is where a program talks")]
pub fn serve(args: &[OsString]) -> ExitCode {
    let Some(file) = args.first() else { return ExitCode::from(2) };
    let text = fs::read_to_string(file).expect("settings");
    let config = match Config::check(&text) {
        Ok(config) => config,
        Err(problems) => {
            eprintln!("{problems:?}");
            return ExitCode::from(2);
        }
    };
    let is_demo = args.get(1).is_some_and(|arg| arg == "demo");
    let mode = match is_demo {
        true => Mode::Up { demo: true },
        false => Mode::Serve { file: file.into() },
    };
    let program = std::env::current_exe().expect("this program");
    match oef_server::serve::run(config, mode, program, Arc::new(|text: &str| eprintln!("{text}")))
    {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

struct Process {
    child: Child,
}

impl Process {
    fn start(home: &Path, settings: &str, demo: bool) -> Process {
        let file = home.join("oef.toml");
        fs::write(&file, settings).expect("written");
        // Whoever starts it has a file open.
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "exec \"$@\" 9</dev/null", "sh"]);
        command.arg(std::env::current_exe().expect("this program"));
        command.arg("serve").arg(&file).args(demo.then_some("demo"));
        command.env("XDG_STATE_HOME", home).stdin(Stdio::null()).stderr(Stdio::piped());
        Process { child: command.spawn().expect("it starts") }
    }

    /// Sends a signal and reads what it says until it ends.
    fn end(mut self, signal: Option<rustix::process::Signal>) -> (Option<i32>, String) {
        if let Some(signal) = signal {
            let id = i32::try_from(self.child.id()).expect("a number");
            let pid = rustix::process::Pid::from_raw(id).expect("a process");
            rustix::process::kill_process(pid, signal).expect("it is there");
        }
        let mut said = String::new();
        let mut stderr = self.child.stderr.take().expect("its words");
        stderr.read_to_string(&mut said).expect("text");
        (self.child.wait().expect("it ends").code(), said)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn settings(home: &TempDir, more: &str) -> String {
    let (state, socket) = (home.path().join("state"), home.path().join("oef.sock"));
    format!(
        "listen = \"127.0.0.1:0\"\nstate_dir = {state:?}\n[socket]\npath = {socket:?}\n[gpus]\nemulated = \"slow=2,fast=2\"\n\
         [scheduling]\nround = \"300ms\"\nmin_run = \"0s\"\n{more}"
    )
}

fn client(home: &TempDir) -> Client {
    wait_until(|| {
        let text = fs::read_to_string(home.path().join("oef/access.json")).ok()?;
        let access: Access = serde_json::from_str(&text).ok()?;
        let client = Client::new(access).ok()?;
        client.info().is_ok().then_some(client)
    })
}

fn access_a_job_a_stop_and_on_again() {
    use rustix::process::Signal;
    let home = tempfile::tempdir().expect("a folder");
    let settings = settings(&home, "[[tenant]]\nname = \"vision\"\nweight = 2.0\nmax_gpus = 3\n");
    let process = Process::start(home.path(), &settings, false);
    let first = client(&home);
    assert_eq!(first.tenant("vision").expect("made at the first start").weight, 2.0);
    let program = std::env::current_exe().expect("this program").display().to_string();
    let command =
        [&program, "demo-job", "--steps", "100000", "--step-ms", "20"].map(|word| word.to_string());
    let job = JobSubmit {
        tenant: "vision".parse().ok(),
        command: command.into(),
        ..JobSubmit::default()
    };
    let id = submit(&first, job);
    wait_until(|| (first.job(id).ok()?.state == JobState::Running).then_some(()));
    let (code, said) = process.end(Some(Signal::TERM));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("1 job keeps running"), "{said}");
    assert!(said.contains("oef serve --config"), "{said}");
    assert!(
        !home.path().join("oef/access.json").exists()
            && !home.path().join("state/access.json").exists()
    );
    assert!(!said.contains("oef_"), "no token is said: {said}");

    let process = Process::start(home.path(), &settings, false);
    let second = client(&home);
    let job = second.job(id).expect("it is known");
    assert_eq!((job.state, job.restarts), (JobState::Running, 0), "{job:?}");
    second.cancel(id).expect("cancelled");
    wait_until(|| (second.job(id).ok()?.state == JobState::Cancelled).then_some(()));
    let (code, said) = process.end(Some(Signal::INT));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("no job runs"), "{said}");
}

fn submit(client: &Client, job: JobSubmit) -> u64 {
    let batch = oef_api::types::JobBatch::of(vec![job]);
    let how = oef_api::types::SubmitQuery { create_tenant: true };
    client.submit(&batch, None, how).expect("submitted").ids[0]
}

fn what_cannot_start_says_why() {
    let home = tempfile::tempdir().expect("a folder");
    let process = Process::start(home.path(), &settings(&home, ""), false);
    let client = client(&home);
    let address = client.server().trim_start_matches("http://").to_string();
    let other = tempfile::tempdir().expect("a folder");
    let same_port = settings(&other, "").replace("127.0.0.1:0", &address);
    let same_folder = settings(&home, "");
    let no_gpus = settings(&other, "").replace("slow=2,fast=2", "slow=none");
    let no_tls =
        format!("{}[tls]\ncertificate = \"/no/such\"\nkey = \"/no/such\"\n", settings(&other, ""));
    for (text, words) in [
        (same_port, "is in use: another program listens there; or choose another port"),
        (same_folder, "is used by another daemon"),
        (no_gpus, "`none` of `slow` is not a number of GPUs"),
        (no_tls, "the certificate `/no/such` cannot be read"),
    ] {
        let (code, said) = Process::start(other.path(), &text, false).end(None);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(words), "{words}: {said}");
    }
    // With the access file at hand, it says who listens.
    let third = tempfile::tempdir().expect("a folder");
    fs::create_dir(third.path().join("oef")).expect("a folder");
    fs::copy(home.path().join("oef/access.json"), third.path().join("oef/access.json"))
        .expect("copied");
    let text = settings(&third, "").replace("127.0.0.1:0", &address);
    let (_, said) = Process::start(third.path(), &text, false).end(None);
    assert!(said.contains("an OEF daemon listens there"), "{said}");
    assert!(!third.path().join("state").exists(), "nothing was changed");
    drop(process);
}

fn a_stop_without_a_journal_is_told() {
    let home = tempfile::tempdir().expect("a folder");
    let process = Process::start(home.path(), &settings(&home, ""), false);
    let client = client(&home);
    fs::remove_dir_all(home.path().join("state")).expect("removed");
    let batch = oef_api::types::JobBatch::of(vec![JobSubmit {
        tenant: "t".parse().ok(),
        command: vec!["true".into()],
        ..JobSubmit::default()
    }]);
    let how = oef_api::types::SubmitQuery { create_tenant: true };
    client.submit(&batch, None, how).expect_err("there is no journal");
    let (code, said) = process.end(Some(rustix::process::Signal::TERM));
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("the journal could not be written"), "{said}");
    assert!(!said.contains("Nothing is lost"), "{said}");
}

fn what_was_open_is_not_open_in_jobs() {
    let home = tempfile::tempdir().expect("a folder");
    let _process = Process::start(home.path(), &settings(&home, ""), false);
    let client = client(&home);
    let command = ["test", "!", "-e", "/proc/self/fd/9"].map(String::from).into();
    let id =
        submit(&client, JobSubmit { tenant: "t".parse().ok(), command, ..JobSubmit::default() });
    let ended = wait_until(|| Some(client.job(id).ok()?.state).filter(|state| state.is_final()));
    assert_eq!(ended, JobState::Finished);
}

fn the_demonstration() {
    let home = tempfile::tempdir().expect("a folder");
    let process =
        Process::start(home.path(), &settings(&home, "[jobs]\non_stop = \"checkpoint\"\n"), true);
    let client = client(&home);
    wait_until(|| {
        let tenants = client.tenants(None).ok()?.tenants;
        let running: u32 = tenants.iter().map(|tenant| tenant.running).sum();
        (tenants.len() == 4 && running >= 2).then_some(())
    });
    let (code, said) = process.end(Some(rustix::process::Signal::TERM));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("no job runs") && said.contains("oef up --state"), "{said}");
}
