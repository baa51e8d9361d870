//! `oef run` through a real daemon: over TCP with tokens, over the local socket, and with the daemon killed in between.

mod common;
#[path = "common/daemon.rs"]
mod daemon;
#[path = "common/up.rs"]
mod up;

use common::{Dir, Ran};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};

/// A port that nobody has now: the daemon is started there twice.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("bound").port()
}

/// A daemon with one GPU at a port of its own, ended with the test.
struct Up {
    home: Dir,
    port: u16,
    child: Child,
}

impl Up {
    fn start() -> Up {
        let (home, port) = (Dir::new(), free_port());
        let child = up::spawn(&home, Up::args(&home, port));
        Up { home, port, child }
    }

    fn args(home: &Dir, port: u16) -> Vec<String> {
        let mut args = up::up(home, "fast=1", &["--trust-tenants"]);
        let at = args.iter().position(|arg| arg == "127.0.0.1:0").expect("the address");
        args[at] = format!("127.0.0.1:{port}");
        args
    }

    fn ask(&self, args: &[&str]) -> Ran {
        let ran = up::ask(&self.home, args);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
        ran
    }

    /// As somebody with a token does it, from wherever they are.
    fn with_token(&self, token: &str, args: &[&str], stdin: &str) -> Ran {
        let server = format!("http://127.0.0.1:{}", self.port);
        daemon::run(args, stdin, &[("OEF_SERVER", &server), ("OEF_TOKEN", token)])
    }

    fn token(&self, tenant: &str) -> String {
        self.ask(&["tenant", "create", tenant]);
        let made = self.ask(&["token", "create", "--role", "tenant", "--tenant", tenant, "--json"]);
        made.json()["secret"].as_str().expect("a secret").to_string()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.home.join("log")).unwrap_or_default()
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = up::ask(&self.home, &["cancel", "--all", "--tenant", "a"]);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_tenant_runs_a_command_with_nothing_but_an_address_and_a_token() {
    let up = Up::start();
    let token = up.token("a");
    // More than waits anywhere, both ways.
    let much: String = (0..150_000).map(|line| format!("line {line}\n")).collect();
    let ran =
        up.with_token(&token, &["run", "--", "sh", "-c", "cat; echo done >&2; exit 4"], &much);
    assert_eq!(ran.code, 4, "{}", ran.err);
    assert!(ran.out == much, "{} bytes instead of {}", ran.out.len(), much.len());
    assert!(ran.err.contains("done\n"), "{}", ran.err);
    let ran = up.with_token(&token, &["submit", "--", "sleep", "300"], "");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let id = ran.out.trim().to_string();
    let began = std::time::Instant::now();
    while up.ask(&["job", &id, "--json"]).json()["state"] != "running" {
        assert!(began.elapsed() < up::PATIENCE);
    }
    let args = ["shell", &id, "--", "sh", "-c", "read line; echo \"$line $OEF_JOB_ID\"; exit 8"];
    let ran = up.with_token(&token, &args, "beside\n");
    assert_eq!((ran.code, &*ran.out), (8, &*format!("beside {id}\n")), "{}", ran.err);
    let ran = up.with_token(&up.token("b"), &args, "");
    assert!(ran.code == 3 && ran.err.contains("no job"), "{} {}", ran.code, ran.err);
    // The job ended with a code of its own: it counts as failed, and `oef job` says so by its own code.
    let shown = up.with_token(&token, &["job", "1", "--json"], "").out;
    let shown: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
    assert_eq!(shown["spec"]["command"][0], "sh", "the command is the tenant's own: {shown}");
}

#[test]
fn a_terminal_is_for_whoever_submitted_its_job_and_its_secret_is_nowhere() {
    let up = Up::start();
    let (own, other) = (up.token("a"), up.token("b"));
    let server = format!("http://127.0.0.1:{}", up.port);
    let mut command = Command::new(env!("CARGO_BIN_EXE_oef"));
    command.args(["run", "--", "sh", "-c", "env; echo ready; cat"]);
    command.env("OEF_SERVER", &server).env("OEF_TOKEN", &own);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("oef");
    let mut lines = BufReader::new(child.stdout.take().expect("stdout")).lines();
    let seen: Vec<String> =
        lines.by_ref().map_while(Result::ok).take_while(|line| line != "ready").collect();
    assert!(!seen.iter().any(|line| line.contains("oefjob_")), "the command does not need it");
    let secret = secret_of_host().expect("the job's side has it");
    let client = |token: &str| {
        let access = serde_json::json!({"server": &server, "token": token});
        oef_api::client::Client::new(serde_json::from_value(access).expect("fits")).expect("ok")
    };
    let seat = oef_api::client::Seat::Client { key: "guessed".into(), run: None, shell: None };
    let none = std::time::Duration::ZERO;
    for (token, status) in [(&own, 403), (&other, 404), (&secret, 401)] {
        let refused = client(token).terminal_read(1, &seat, 0, none).expect_err("refused");
        let oef_api::client::ClientError::Refused(problem) = refused else { panic!("{refused}") };
        assert_eq!(problem.status, status, "{}", problem.detail);
    }
    let jobs_seat = oef_api::client::Seat::Job { run: 1, shell: None };
    for token in [own.as_str(), other.as_str(), "oefjob_00"] {
        assert!(client(token).terminal_read(1, &jobs_seat, 0, none).is_err());
        assert!(client(token).terminal_write(1, &jobs_seat, 0, b"x".to_vec()).is_err());
    }
    for shown in [up.ask(&["job", "1", "--json"]).out, up.log(), command_lines()] {
        assert!(!shown.contains(&secret), "{shown}");
    }
    drop(child.stdin.take());
    assert!(child.wait().expect("ended").success());
}

/// What the process has that stands between the command and the daemon.
fn secret_of_host() -> Option<String> {
    let entries = std::fs::read_dir("/proc").ok()?.flatten();
    entries.into_iter().find_map(|entry| {
        let environ = std::fs::read(entry.path().join("environ")).ok()?;
        let text = String::from_utf8_lossy(&environ).into_owned();
        let terminal = text.split('\0').find_map(|v| v.strip_prefix("OEF_TERMINAL="))?;
        let value: serde_json::Value = serde_json::from_str(terminal).ok()?;
        Some(value["token"].as_str()?.to_string())
    })
}

fn command_lines() -> String {
    let entries = std::fs::read_dir("/proc").expect("there").flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.map(|line| String::from_utf8_lossy(&line).into_owned()).collect()
}

#[test]
fn a_daemon_that_is_killed_in_between_is_waited_for_by_both_ends() {
    let mut up = Up::start();
    up.ask(&["tenant", "create", "a"]);
    let script = "echo one; read line; echo \"two $line\"; exit 3";
    let mut command = Command::new(env!("CARGO_BIN_EXE_oef"));
    command.args(["run", "--tenant", "a", "--", "sh", "-c", script]);
    command.env("XDG_STATE_HOME", up.home.path());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("oef");
    let mut lines = BufReader::new(child.stdout.take().expect("stdout")).lines();
    assert_eq!(lines.next().expect("a line").expect("text"), "one");
    up.child.kill().expect("killed");
    let _ = up.child.wait();
    child.stdin.take().expect("stdin").write_all(b"and a half\n").expect("written");
    up.child = up::spawn(&up.home, Up::args(&up.home, up.port));
    assert_eq!(lines.next().expect("a line").expect("text"), "two and a half");
    assert_eq!(child.wait().expect("ended").code(), Some(3));
}

#[test]
fn a_command_that_is_stopped_waits_and_starts_again_here() {
    let up = Up::start();
    up.ask(&["tenant", "create", "a"]);
    let script = "echo \"begin $OEF_RESTART\"; read line; echo \"got $line\"; exit 5";
    let mut command = Command::new(env!("CARGO_BIN_EXE_oef"));
    command.args(["run", "--tenant", "a", "--", "sh", "-c", script]);
    command.env("XDG_STATE_HOME", up.home.path());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("oef");
    let mut lines = BufReader::new(child.stdout.take().expect("stdout")).lines();
    let mut line = || lines.next().expect("a line").expect("text");
    assert_eq!(line(), "begin 0");
    up.ask(&["hold", "1"]);
    let began = std::time::Instant::now();
    while up.ask(&["job", "1", "--json"]).json()["state"] != "queued" {
        assert!(began.elapsed() < up::PATIENCE);
    }
    up.ask(&["release", "1"]);
    assert_eq!(line(), "begin 1");
    child.stdin.take().expect("stdin").write_all(b"it\n").expect("written");
    assert_eq!(line(), "got it");
    assert_eq!(child.wait().expect("ended").code(), Some(5));
}

#[test]
fn a_command_runs_over_the_local_socket() {
    let home = Dir::new();
    let (state, socket) = (home.join("state"), home.join("oef.sock"));
    let settings = format!(
        "listen = \"127.0.0.1:0\"\nstate_dir = \"{}\"\n[gpus]\nemulated = \"fast=1\"\n\
         [socket]\npath = \"{}\"\n[scheduling]\nround = \"500ms\"\n",
        state.display(),
        socket.display()
    );
    std::fs::write(home.join("oef.toml"), settings).expect("written");
    let config = home.join("oef.toml").display().to_string();
    let mut child = up::spawn(&home, ["serve", "--config", &config]);
    let server = format!("unix://{}", socket.display());
    let args = ["run", "--tenant", "me", "--create-tenant", "--", "sh", "-c", "cat; exit 6"];
    let ran = daemon::run(&args, "through the socket", &[("OEF_SERVER", &server)]);
    let _ = child.kill();
    let _ = child.wait();
    assert_eq!((ran.code, &*ran.out), (6, "through the socket"), "{}", ran.err);
}
