//! Notifications of a real daemon that is killed, to the receiver that the book prints.

#[path = "common/cluster.rs"]
mod cluster;
mod common;
#[path = "common/daemon.rs"]
mod daemon;
#[path = "common/up.rs"]
mod up;

use cluster::Up;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use up::PATIENCE;

/// The receiver of the book, as printed.
struct Receiver(Child);

impl Receiver {
    fn start(port: &str, secret: &str) -> Receiver {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/notifications.md");
        let page = std::fs::read_to_string(page).expect("the page");
        let code = page.split("```python\n").nth(1).and_then(|rest| rest.split("```").next());
        let child = Command::new("python3")
            .args(["-c", code.expect("a receiver"), port])
            .env("OEF_SECRET", secret)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        Receiver(child.expect("python3"))
    }

    /// What it prints of the next notice that it has not seen before.
    fn next(&mut self) -> String {
        let out = self.0.stdout.as_mut().expect("a pipe");
        let mut line = String::new();
        BufReader::with_capacity(1, out).read_line(&mut line).expect("a line");
        line
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port().to_string()
}

#[test]
fn a_notice_survives_the_death_of_the_daemon() {
    let mut up = Up::start();
    let port = free_port();
    let url = format!("http://127.0.0.1:{port}/");
    let added = up.oef(&["notify", "add", "--url", &url, "--on", "failed,finished"]);
    let secret = added.out.trim().to_string();
    assert!(secret.starts_with("oef_") && added.err.contains("notification 1"), "{}", added.err);

    // Nobody listens: the notice waits.
    up.until(&up.submit(&[], "exit 3"), "failed");
    let began = Instant::now();
    let id = loop {
        let shown = up.oef(&["notify", "--json"]).json()["notifications"][0].clone();
        if shown["last"]["delivered"] == false {
            assert_eq!(shown["waiting"], 1, "{shown}");
            break shown["last"]["notice"].as_str().expect("an id").to_string();
        }
        assert!(began.elapsed() < PATIENCE, "it was not tried: {shown}");
        std::thread::sleep(Duration::from_millis(50));
    };
    let list = up.oef(&["notify"]).out;
    assert!(list.contains("failed, ") || list.contains("finished, failed"), "{list}");
    assert!(list.contains("notification 1 fails since "), "{list}");

    // kill -9, and another daemon on the same folder.
    up.child.kill().expect("killed");
    up.child.wait().expect("ended");
    let mut receiver = Receiver::start(&port, &secret);
    up.child = Up::spawn(&up.home);
    let line = receiver.next();
    assert!(line.starts_with(&format!("{id} 1 failed worker 0 ended")), "{line}");

    // Whoever has another secret does not take it.
    let other = free_port();
    let _wrong = Receiver::start(&other, "not the secret");
    up.oef(&["notify", "add", "--url", &format!("http://127.0.0.1:{other}/"), "--json"]).json();
    let refused = up.oef(&["notify", "test", "2"]);
    assert_eq!(
        (refused.code, refused.out.starts_with("not delivered: ")),
        (1, true),
        "{}",
        refused.out
    );

    let tested = up.oef(&["notify", "test", "1"]);
    assert_eq!((tested.code, &*tested.out), (0, "delivered: HTTP status 204\n"), "{}", tested.err);
    assert!(receiver.next().starts_with("test-"));
    let shown = up.oef(&["notify", "--json"]).json()["notifications"][0].clone();
    assert!(shown["waiting"] == 0 && shown["failing_since"].is_null(), "{shown}");
    assert_eq!(up.oef(&["notify", "remove", "1"]).out, "notification 1 is removed\n");
    up.oef(&["notify", "test", "1"]).fails(3, &["there is no notification 1"]);
}

#[test]
fn a_command_of_oef_up_gets_notices() {
    use std::os::unix::fs::PermissionsExt;
    let home = common::Dir::new();
    let (program, out) = (home.join("note"), home.join("notes"));
    std::fs::write(&program, format!("#!/bin/sh\ncat >> {}\n", out.display())).expect("written");
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("executable");
    let command = format!("note={}", program.display());
    let args = up::up(&home, "slow=1", &["--trust-tenants", "--notify-command", &command]);
    let child = up::spawn(&home, args);
    let up = Up { home, child };
    up.oef(&["notify", "add", "--command", "nope"]).fails(2, &["known: note"]);
    let added = up.oef(&["notify", "add", "--command", "note", "--on", "finished"]);
    assert_eq!((added.code, &*added.out), (0, "notification 1 on finished\n"), "{}", added.err);
    up.until(&up.submit(&[], "true"), "finished");
    up::wait_for(&out);
    let began = Instant::now();
    while !std::fs::read_to_string(&out).is_ok_and(|text| text.contains("\"state\":\"finished\"")) {
        assert!(began.elapsed() < PATIENCE, "no notice came");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn what_is_wrong_is_named() {
    let up = Up::start();
    up.oef(&["notify", "add"]).fails(2, &["--url"]);
    up.oef(&["notify", "add", "--url", "ftp://x", "--json"]).fails(2, &["url", "https://"]);
    up.oef(&["notify", "add", "--command", "mail"]).fails(2, &["`mail`", "[notify.commands]"]);
    up.oef(&["notify", "add", "--url", "https://x.org", "--on", "done"]).fails(2, &["timed_out"]);
    let short = up.home.join("secret");
    std::fs::write(&short, "short\n").expect("written");
    let file = short.display().to_string();
    let args = ["notify", "add", "--url", "https://x.org", "--secret-file", &file];
    up.oef(&args).fails(2, &["secret", "16"]);
    std::fs::write(&short, "0123456789abcdef\n").expect("written");
    let added = up.oef(&args);
    assert_eq!(added.code, 0, "{}", added.err);
    assert!(!added.out.contains("0123456789abcdef"), "a secret that was given is not printed");
}
