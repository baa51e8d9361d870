//! Real rsync daemons, a real sshd, and a line between them and the test that can be cut.

use oef_executor::checkpoints::Source;
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Generous: reached only when something hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// Makes sure that a program is there; on Debian it is installed. One after the other: the package manager refuses
/// whoever comes while it is busy, and all tests begin at once.
pub fn need(program: &str, package: &str) {
    static BUSY: Mutex<()> = Mutex::new(());
    let _busy = BUSY.lock().unwrap_or_else(PoisonError::into_inner);
    // Debian keeps sshd where only root looks.
    let found = |program: &str| {
        let folders = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
        folders.split(':').any(|folder| Path::new(folder).join(program).exists())
    };
    let install = ["install", "-y", "-qq", "--no-install-recommends", package];
    for words in [&["update", "-qq"][..], &install] {
        if found(program) {
            return;
        }
        // Other test programs have the same idea.
        let mut command = Command::new("apt-get");
        command.args(["-o", "DPkg::Lock::Timeout=300"]).args(words);
        let _ = command.env("DEBIAN_FRONTEND", "noninteractive").status();
    }
    assert!(found(program), "these tests need `{program}`: install the package {package}");
}

/// A port on which nobody listens now.
pub fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).and_then(|l| l.local_addr()).expect("a port").port()
}

/// A process that ends with the test.
pub struct Service {
    child: Child,
    pub port: u16,
    _folder: TempDir,
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An rsync daemon on loopback whose module `oef` is a folder; `more` are lines of its settings.
pub fn rsync_daemon(module: &Path, more: &str) -> Service {
    rsync_daemon_in(&[], "127.0.0.1", module, more)
}

/// The same behind a command, such as one that enters a network namespace.
pub fn rsync_daemon_in(before: &[String], address: &str, module: &Path, more: &str) -> Service {
    need("rsync", "rsync");
    let folder = tempfile::tempdir().expect("a folder");
    let (port, config) = (free_port(), folder.path().join("rsyncd.conf"));
    let settings = format!(
        "address = {address}\nport = {port}\nuse chroot = no\nlog file = {}\n[oef]\npath = {}\nread only = yes\n{more}\n",
        folder.path().join("log").display(),
        module.display()
    );
    fs::write(&config, settings).expect("written");
    let config = format!("--config={}", config.display());
    let words = ["rsync", "--daemon", "--no-detach", &config].map(str::to_string);
    let words = [before, &words].concat();
    let child = Command::new(&words[0]).args(&words[1..]).stdin(Stdio::null()).spawn();
    let service = Service { child: child.expect("a daemon"), port, _folder: folder };
    if address == "127.0.0.1" {
        listens(port);
    }
    service
}

/// The folder of job 7 there.
pub fn at(port: u16) -> Source {
    Source::Daemon { url: format!("rsync://127.0.0.1:{port}/oef/7"), password_file: None }
}

fn listens(port: u16) {
    let began = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(began.elapsed() < PATIENCE, "nobody listens on {port}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// A real sshd with a key of its own, and what a client needs to be let in.
pub struct Ssh {
    pub service: Service,
    pub options: Vec<String>,
    pub user: String,
}

pub fn sshd() -> Ssh {
    need("rsync", "rsync");
    need("sshd", "openssh-server");
    need("ssh", "openssh-client");
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    for key in ["host", "user"] {
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-f"])
            .arg(at(key))
            .status();
        assert!(made.expect("ssh-keygen").success());
    }
    let allowed = at("allowed");
    fs::copy(at("user.pub"), &allowed).expect("copied");
    fs::set_permissions(&allowed, fs::Permissions::from_mode(0o600)).expect("set");
    // As root, it insists on this folder.
    let _ = fs::create_dir_all("/run/sshd");
    let port = free_port();
    let settings = format!(
        "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\n\
         PasswordAuthentication no\nPermitRootLogin prohibit-password\nPidFile none\n",
        at("host").display(),
        allowed.display()
    );
    fs::write(at("sshd_config"), settings).expect("written");
    let program = ["/usr/sbin/sshd", "/usr/bin/sshd"].into_iter().find(|p| Path::new(p).exists());
    let child = Command::new(program.expect("sshd"))
        .args(["-D", "-e", "-f"])
        .arg(at("sshd_config"))
        .stdin(Stdio::null())
        .stderr(fs::File::create(at("log")).expect("a log"))
        .spawn();
    let options = vec![
        "-i".into(),
        at("user").display().to_string(),
        "-o".into(),
        "StrictHostKeyChecking=no".into(),
        "-o".into(),
        format!("UserKnownHostsFile={}", at("known").display()),
    ];
    let id = Command::new("id").arg("-un").output().expect("id");
    let user = String::from_utf8(id.stdout).expect("a name").trim().to_string();
    let service = Service { child: child.expect("sshd"), port, _folder: folder };
    listens(port);
    Ssh { service, options, user }
}

/// A line to a server. It counts what comes, and can be cut or fall silent after so many bytes.
pub struct Line {
    pub port: u16,
    state: Arc<LineState>,
}

struct LineState {
    server: u16,
    /// Bytes from the server so far, all connections together.
    passed: AtomicU64,
    /// After so many nothing passes any more...
    limit: AtomicU64,
    /// ... and the connection is closed, or stays open without a word.
    is_silent: AtomicBool,
    is_over: AtomicBool,
}

impl Line {
    pub fn to(server: u16) -> Line {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let state = Arc::new(LineState {
            server,
            passed: AtomicU64::new(0),
            limit: AtomicU64::new(u64::MAX),
            is_silent: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        });
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if shared.is_over.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(server) = TcpStream::connect(("127.0.0.1", shared.server)) else { continue };
                shared.connect(client, server);
            }
        });
        Line { port, state }
    }

    /// Cuts it when so many bytes more have come.
    pub fn cut_after(&self, bytes: u64) {
        self.state.is_silent.store(false, Ordering::Relaxed);
        self.state.limit.store(self.passed() + bytes, Ordering::Relaxed);
    }

    /// Lets it fall silent when so many bytes more have come.
    pub fn hush_after(&self, bytes: u64) {
        self.state.is_silent.store(true, Ordering::Relaxed);
        self.state.limit.store(self.passed() + bytes, Ordering::Relaxed);
    }

    pub fn mend(&self) {
        self.state.limit.store(u64::MAX, Ordering::Relaxed);
    }

    pub fn passed(&self) -> u64 {
        self.state.passed.load(Ordering::Relaxed)
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::Relaxed);
        // The listener wakes up, and ends.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl LineState {
    fn connect(self: &Arc<Self>, client: TcpStream, server: TcpStream) {
        let (mut up, mut down) =
            (client.try_clone().expect("a socket"), server.try_clone().expect("a socket"));
        thread::spawn(move || {
            let _ = std::io::copy(&mut up, &mut down);
            let _ = down.shutdown(Shutdown::Write);
        });
        let state = Arc::clone(self);
        thread::spawn(move || state.pass(server, client));
    }

    fn pass(&self, mut server: TcpStream, mut client: TcpStream) {
        let mut buffer = [0; 16 << 10];
        while let Ok(count) = server.read(&mut buffer) {
            let room = self.limit.load(Ordering::Relaxed) - self.passed.load(Ordering::Relaxed);
            let count = count.min(usize::try_from(room).unwrap_or(usize::MAX));
            if count == 0 || client.write_all(&buffer[..count]).is_err() {
                break;
            }
            self.passed.fetch_add(count as u64, Ordering::Relaxed);
        }
        let is_cut = self.limit.load(Ordering::Relaxed) <= self.passed.load(Ordering::Relaxed);
        while is_cut && self.is_silent.load(Ordering::Relaxed) {
            if self.is_over.load(Ordering::Relaxed)
                || self.limit.load(Ordering::Relaxed) > self.passed.load(Ordering::Relaxed)
            {
                break;
            }
            thread::sleep(Duration::from_millis(20));
        }
        let _ = client.shutdown(Shutdown::Both);
        let _ = server.shutdown(Shutdown::Both);
    }
}
