//! Hosts with a cable between them, and small disks: namespaces of the kernel, which an ordinary user may make too.

use crate::hosts::need;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Whoever can have no namespaces says so with this variable: then these tests are left out.
const WITHOUT: &str = "OEF_TEST_WITHOUT_NAMESPACES";

/// Says to a test that it runs in namespaces of its own, and whether one of them is a user's.
const INSIDE: &str = "OEF_TEST_INSIDE_NAMESPACES";
const AS_USER: &str = "user";

/// Generous: reached only when something hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// Whether this process has mounts and a network of its own. If not, a process that has them runs this test, whose
/// name is given, and there is nothing left to do here.
pub fn inside(test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    if std::env::var_os(WITHOUT).is_some_and(|value| !value.is_empty()) {
        // Not by `eprintln!`, which is swallowed where a test passes: `scripts/test.sh` counts these lines.
        let _ = writeln!(io::stderr(), "left out, as {WITHOUT} asks for: {test} needs namespaces");
        return false;
    }
    need("unshare", "util-linux");
    let (as_user, inside) = match rustix::process::geteuid().is_root() {
        true => (&[][..], "root"),
        false => (&["--user", "--map-root-user"][..], AS_USER),
    };
    let unshare = || {
        let mut command = Command::new("unshare");
        command.args(as_user).args(["--mount", "--net"]);
        command
    };
    let tried = unshare().arg("true").output().expect("unshare");
    assert!(
        tried.status.success(),
        "this test needs namespaces, and this user may make none: {}\nAllow them (`sysctl \
         kernel.unprivileged_userns_clone=1 kernel.apparmor_restrict_unprivileged_userns=0`), run it as root, or leave \
         such tests out with {WITHOUT}=1",
        String::from_utf8_lossy(&tried.stderr).trim()
    );
    let program = std::env::current_exe().expect("this program");
    let words = ["--exact", test, "--nocapture"];
    let ran = unshare().arg(program).args(words).env(INSIDE, inside).output();
    let ran = ran.expect("this program");
    let said = [ran.stdout, ran.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
    assert!(said[0].contains("1 passed"), "{}\n{}", said[0], said[1]);
    false
}

/// The words that leave the rights of root, which are none of rsync's business, to whom it has them as a user.
fn as_user() -> Vec<String> {
    let words = match std::env::var(INSIDE).is_ok_and(|inside| inside == AS_USER) {
        true => &["unshare", "--user", "--map-user=1", "--map-group=1"][..],
        false => &[],
    };
    words.iter().map(|word| word.to_string()).collect()
}

/// Two hosts with a cable between them: this process is on the first.
pub struct Cable {
    /// Keeps the network of the second, until the test is over or was killed.
    other: Child,
}

/// Addresses for documentation: nobody else has them.
pub const HOST_A: &str = "192.0.2.1";
const HOST_B: &str = "192.0.2.2";

impl Cable {
    pub fn new() -> Cable {
        need("ip", "iproute2");
        let other = Command::new("unshare")
            .args(["--net", "sh", "-c", "echo ready && exec cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut cable = Cable { other: other.expect("a network") };
        let mut line = String::new();
        let out = cable.other.stdout.take().map(BufReader::new);
        out.expect("a pipe").read_line(&mut line).expect("a line");
        assert_eq!(line, "ready\n");
        let pid = cable.other.id().to_string();
        run(
            &[],
            &["ip", "link", "add", "eth", "type", "veth", "peer", "name", "eth", "netns", &pid],
        );
        for (enter, address) in [(Vec::new(), HOST_A), (cable.enter_b(), HOST_B)] {
            run(&enter, &["ip", "address", "add", &format!("{address}/24"), "dev", "eth"]);
            run(&enter, &["ip", "link", "set", "eth", "up"]);
            run(&enter, &["ip", "link", "set", "lo", "up"]);
        }
        cable
    }

    /// The words that begin a service on the first host.
    pub fn service(&self) -> Vec<String> {
        as_user()
    }

    /// The words that enter the second host.
    pub fn enter_b(&self) -> Vec<String> {
        let target = self.other.id().to_string();
        ["nsenter", "--net", "--target", &target].map(str::to_string).to_vec()
    }

    pub fn cut(&self) {
        run(&[], &["ip", "link", "set", "eth", "down"]);
    }

    pub fn mend(&self) {
        run(&[], &["ip", "link", "set", "eth", "up"]);
    }

    /// Waits until somebody answers on the first host, as seen from the second.
    pub fn until_answered(&self, port: u16) {
        let began = Instant::now();
        let url = format!("rsync://{HOST_A}:{port}/");
        let words = self.enter_b();
        let ask = || Command::new(&words[0]).args(&words[1..]).args(["rsync", &url]).output();
        while !ask().is_ok_and(|output| output.status.success()) {
            assert!(began.elapsed() < PATIENCE, "nobody answers");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        let _ = self.other.kill();
        let _ = self.other.wait();
    }
}

fn run(enter: &[String], words: &[&str]) {
    let words: Vec<&str> = enter.iter().map(String::as_str).chain(words.iter().copied()).collect();
    let done = Command::new(words[0]).args(&words[1..]).output();
    let done = done.unwrap_or_else(|error| panic!("{words:?}: {error}"));
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// A small disk.
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    pub fn new(at: &Path, bytes: usize) -> SmallDisk {
        need("mount", "mount");
        fs::create_dir_all(at).expect("made");
        let (size, path) = (format!("size={bytes}"), at.display().to_string());
        run(&[], &["mount", "-t", "tmpfs", "-o", &size, "none", &path]);
        SmallDisk(at.to_path_buf())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
