//! `oef run` and `oef shell` with a real daemon: streams, exit codes, and a real terminal.

mod common;
#[path = "common/daemon.rs"]
mod daemon;
#[path = "common/up.rs"]
mod up;

use common::Dir;
use std::process::Child;

/// A daemon with one GPU, ended with the test.
struct Up {
    home: Dir,
    child: Child,
}

impl Up {
    fn start() -> Up {
        let home = Dir::new();
        let child = up::spawn(&home, up::up(&home, "fast=1", &[]));
        Up { home, child }
    }

    fn env(&self) -> String {
        self.home.path().display().to_string()
    }

    fn run(&self, args: &[&str], stdin: &str) -> common::Ran {
        daemon::run(args, stdin, &[("XDG_STATE_HOME", &self.env())])
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.run(&["cancel", "--all", "--tenant", "me"], "");
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_command_runs_here_with_its_streams_and_its_exit_code() {
    let up = Up::start();
    let script = "read line; echo \"$line on $OEF_GPU_TYPE\"; echo oops >&2; exit 7";
    let ran =
        up.run(&["run", "--create-tenant", "--tenant", "me", "--", "sh", "-c", script], "hello\n");
    assert_eq!(ran.out, "hello on fast\n", "{}", ran.err);
    assert!(ran.err.contains("oops\n"), "{}", ran.err);
    assert_eq!(ran.code, 7, "{}", ran.err);
    let ran = up.run(&["run", "--create-tenant", "--tenant", "me", "--", "cat"], "to the end");
    assert_eq!((ran.code, &*ran.out), (0, "to the end"), "{}", ran.err);
    let ran =
        up.run(&["run", "--create-tenant", "--tenant", "me", "--", "no-such-program-here"], "");
    assert_eq!(ran.code, 127, "{}", ran.err);
    assert!(ran.err.contains("no-such-program-here"), "{}", ran.err);
    let ran =
        up.run(&["run", "--create-tenant", "--tenant", "me", "--types", "slow", "--", "true"], "");
    assert_eq!(ran.code, 2, "a type that is not there is refused: {}", ran.err);
}

/// What a command leaves running in the background holds its output open; the job ends all the same, with all that the
/// command wrote.
#[test]
fn a_background_process_does_not_keep_the_job_running() {
    let up = Up::start();
    let script = "sleep 100000 & head -c 300000 /dev/zero | tr '\\0' x; exit 3";
    let (send, ran) = std::sync::mpsc::channel();
    let env = up.env();
    std::thread::spawn(move || {
        let args = ["run", "--create-tenant", "--tenant", "me", "--", "sh", "-c", script];
        let _ = send.send(daemon::run(&args, "", &[("XDG_STATE_HOME", &env)]));
    });
    let ran = ran.recv_timeout(up::PATIENCE).expect("it ends with its command");
    assert_eq!((ran.code, ran.out.len()), (3, 300_000), "{}", ran.err);
}

/// `script` gives it a terminal: the job has one, too, of the same size, and Ctrl-C reaches the command.
#[test]
fn a_command_has_a_terminal_where_this_is_one() {
    let up = Up::start();
    let oef = env!("CARGO_BIN_EXE_oef");
    let inner = "tty -s && stty size && trap 'echo caught; exit 5' INT && echo ready && sleep 60";
    let line = format!(
        "stty rows 31 cols 97; {oef} run --tenant me --create-tenant -- sh -c \"{inner}\"; echo code $?"
    );
    let mut child = std::process::Command::new("script")
        .args(["-qfec", &line, "/dev/null"])
        .env("XDG_STATE_HOME", up.env())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("script(1) is part of util-linux");
    let (mut stdin, stdout) = (child.stdin.take().expect("stdin"), child.stdout.take());
    let (send, lines) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        use std::io::BufRead as _;
        let out = std::io::BufReader::new(stdout.expect("stdout"));
        for line in out.lines().map_while(Result::ok) {
            let _ = send.send(line);
        }
    });
    let mut seen = Vec::new();
    let until = |seen: &mut Vec<String>, text: &str| {
        while !seen.last().is_some_and(|line| line.contains(text)) {
            let line = lines.recv_timeout(up::PATIENCE);
            seen.push(line.unwrap_or_else(|_| panic!("no `{text}` in {seen:?}")));
        }
    };
    until(&mut seen, "ready");
    std::io::Write::write_all(&mut stdin, &[3]).expect("Ctrl-C");
    until(&mut seen, "code");
    drop(stdin);
    let _ = child.wait();
    let _ = reader.join();
    let all = seen.join("\n");
    assert!(all.contains("caught") && all.contains("code 5"), "{all}");
    assert!(all.contains("31 97"), "it has the size of this terminal: {all}");
}

#[test]
fn a_shell_is_in_the_environment_of_the_job() {
    let up = Up::start();
    let id = up.sleeps("sauce");
    assert_eq!(up.ask_in_shell(&id), format!("sauce {id} fast\n"));
    let ran = up.run(&["shell", &id, "--worker", "5", "--", "true"], "");
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("worker 5"), "{}", ran.err);
    assert_eq!(up.run(&["cancel", &id], "").code, 0);
}

/// Jobs of two daemons on one machine may have the same number and the same tenant.
#[test]
fn a_shell_is_beside_the_job_of_its_own_daemon() {
    let (one, other) = (Up::start(), Up::start());
    let (its, theirs) = (one.sleeps("one"), other.sleeps("other"));
    assert_eq!(its, theirs);
    assert_eq!(one.ask_in_shell(&its), format!("one {its} fast\n"));
    assert_eq!(other.ask_in_shell(&theirs), format!("other {theirs} fast\n"));
}

/// Any process can have the variables of a job. The one that counts is the one that the runner wrote down.
#[test]
fn a_shell_is_not_beside_a_process_that_only_says_that_it_is_the_job() {
    let up = Up::start();
    let mut liar = std::process::Command::new("sleep")
        .arg("300")
        .envs([("OEF_JOB_ID", "1"), ("RANK", "0"), ("OEF_TENANT", "me"), ("SECRET", "lie")])
        .env("OEF_RUN_DIR", up.home.join("state/runs/1/1/job"))
        .spawn()
        .expect("a process");
    let id = up.sleeps("true");
    let said = up.ask_in_shell(&id);
    let _ = liar.kill();
    let _ = liar.wait();
    assert_eq!((&*id, &*said), ("1", "true 1 fast\n"));
}

/// What is in a job's environment is its tenant's word: a shell beside it has the job's rights and no more, whoever asks.
#[test]
fn a_shell_beside_anothers_job_has_the_rights_of_the_job() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let up = Up::start();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(up.home.path(), open).expect("allowed");
    let made = up.run(&["tenant", "create", "me", "--user", "nobody"], "");
    assert_eq!(made.code, 0, "{}", made.err);
    assert!(made.out.contains("the Unix user nobody"), "{}", made.out);
    let words = ["submit", "--tenant", "me", "--workdir", "/tmp", "--", "sleep", "300"];
    let ran = up.run(&words, "");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let id = ran.out.trim().to_string();
    let began = std::time::Instant::now();
    let said = loop {
        let ran = up.run(&["shell", &id, "--", "id", "-un"], "");
        if ran.code == 0 || began.elapsed() > up::PATIENCE {
            break ran.out + &ran.err;
        }
    };
    assert_eq!(said, "nobody\n");
}

impl Up {
    /// A job that sleeps, with a variable of its own; gives its number once it runs.
    #[track_caller]
    fn sleeps(&self, secret: &str) -> String {
        let secret = format!("SECRET={secret}");
        let words =
            ["submit", "--create-tenant", "--tenant", "me", "--env", &secret, "--", "sleep", "300"];
        let ran = self.run(&words, "");
        assert_eq!(ran.code, 0, "{}", ran.err);
        let id = ran.out.trim().to_string();
        let began = std::time::Instant::now();
        while self.run(&["job", &id, "--json"], "").json()["state"] != "running" {
            assert!(began.elapsed() < up::PATIENCE);
        }
        id
    }

    /// What a shell beside the job says of itself. The processes come a moment after the state.
    fn ask_in_shell(&self, id: &str) -> String {
        let ask = "echo $SECRET $OEF_JOB_ID $OEF_GPU_TYPE";
        let began = std::time::Instant::now();
        loop {
            let ran = self.run(&["shell", id, "--", "sh", "-c", ask], "");
            if ran.code == 0 || began.elapsed() > up::PATIENCE {
                return ran.out + &ran.err;
            }
        }
    }
}
