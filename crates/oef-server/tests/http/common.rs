//! A daemon with a socket, and a client that can also send nonsense.

use oef_executor::gpus;
use oef_executor::local::{LocalConfig, LocalExecutor};
use oef_server::caller::Caller;
use oef_server::config::Config;
use oef_server::daemon::{Daemon, Options, StopJobs};
use oef_server::http::{App, Serving};
use oef_server::metrics::Exporter;
use serde_json::Value;
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// The owner's secret in these tests.
pub const OWNER: &str = "oef_owner";
/// How long anything may take that should happen at once: the machine may be busy.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A daemon that serves.
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    /// Its state folder.
    pub dir: TempDir,
    pub daemon: Daemon,
    serving: Option<Serving>,
    runtime: Runtime,
}

impl Server {
    /// With the usual settings.
    pub fn start() -> Server {
        Server::with("trust_tenants = true\n")
    }

    /// With settings as in the file.
    pub fn with(settings: &str) -> Server {
        Server::with_tls(settings, None)
    }

    /// With TLS.
    pub fn with_tls(settings: &str, tls: Option<Arc<rustls::ServerConfig>>) -> Server {
        let mut config = Config::check(settings).expect("the settings of a test are right");
        let dir = tempfile::tempdir().expect("a folder");
        let exporter = Exporter::new();
        let daemon = daemon(&dir, &config, &exporter);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        // What a test says about the address counts for the rules; where it really listens is loopback.
        if config.listen.ip().is_loopback() {
            config.listen = address;
        }
        let app = App::new(daemon.clone(), exporter, &config);
        let runtime = Runtime::new().expect("threads");
        let serving =
            runtime.block_on(async { Serving::begin(app, listener, tls) }).expect("it serves");
        Server { address, dir, daemon, serving: Some(serving), runtime }
    }

    /// Asks as the owner.
    pub fn admin(&self, method: &str, path: &str, body: Option<Value>) -> Reply {
        self.ask(method, path, Some(OWNER), body)
    }

    /// Asks with a token.
    pub fn ask(&self, method: &str, path: &str, token: Option<&str>, body: Option<Value>) -> Reply {
        let mut request = Request::new(method, &format!("/api/v1{path}"));
        if let Some(token) = token {
            request = request.header("Authorization", &format!("Bearer {token}"));
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        request.send(self.address)
    }

    /// A token with a role, made by the owner.
    pub fn token(&self, role: &str, tenant: Option<&str>) -> String {
        let reply = self.admin(
            "POST",
            "/tokens",
            Some(serde_json::json!({"role": role, "tenant": tenant})),
        );
        assert_eq!(reply.status, 201, "{reply:?}");
        reply.json()["secret"].as_str().expect("a secret").into()
    }

    /// Submits a job and returns its number.
    pub fn submit(&self, token: &str, job: Value) -> u64 {
        let reply = self.ask("POST", "/jobs?create_tenant=true", Some(token), Some(job));
        assert_eq!(reply.status, 201, "{reply:?}");
        reply.json()["ids"][0].as_u64().expect("a number")
    }

    /// Waits until a job is in one of these states.
    /// Waits until a job is in one of these states, past the network; which.
    pub fn wait_inside(&self, id: u64, states: &[&str]) -> String {
        wait_until(|| {
            let job = self.daemon.job(&Caller::admin(), id).ok()?;
            let name = job.state.name().to_string();
            states.contains(&name.as_str()).then_some(name)
        })
    }

    /// Waits until a job is in one of these states.
    pub fn wait_for(&self, id: u64, states: &[&str]) -> Value {
        wait_until(|| {
            let job = self.admin("GET", &format!("/jobs/{id}"), None).json();
            states.contains(&job["state"].as_str()?).then_some(job)
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(serving) = self.serving.take() {
            let _ = self.runtime.block_on(serving.stop());
        }
        self.daemon.stop(StopJobs::Checkpoint);
    }
}

fn daemon(dir: &TempDir, config: &Config, exporter: &Exporter) -> Daemon {
    let program = std::env::current_exe().expect("this program");
    let local = LocalConfig {
        dir: dir.path().into(),
        runner: vec![program.into(), OsString::from("runner")],
        devices: gpus::emulated("slow=2,fast=2").expect("GPUs"),
        mps_pipe_dir: None,
        checkpoints: Default::default(),
        isolation: Default::default(),
        read_gpus_every: Default::default(),
    };
    let executor = Arc::new(LocalExecutor::open(local).expect("an executor"));
    let mut options = Options::new(dir.path().into(), executor);
    options.owner_secret = Some(OWNER.into());
    options.metrics = Arc::new(exporter.clone());
    options.settings = config.settings();
    options.settings.round_s = Some(0.3);
    options.settings.min_run_s = Some(0.0);
    options.memory = config.memory();
    options.budgets = config.budgets();
    options.notify = Arc::new(config.notify.clone());
    Daemon::start(options).expect("a daemon")
}

/// Asks again and again until there is an answer.
pub fn wait_until<T>(mut ask: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(began.elapsed() < PATIENCE, "nothing happened for {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A request in the making.
#[derive(Clone, Debug)]
pub struct Request {
    line: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    chunks: Vec<u8>,
}

impl Request {
    /// With a method and a whole path.
    pub fn new(method: &str, path: &str) -> Self {
        Request {
            line: format!("{method} {path} HTTP/1.1"),
            headers: Vec::new(),
            body: Vec::new(),
            chunks: Vec::new(),
        }
    }

    /// With a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// With the owner's token.
    pub fn owner(self) -> Self {
        self.header("Authorization", &format!("Bearer {OWNER}"))
    }

    /// With a body.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// With a JSON body.
    pub fn json(self, body: &Value) -> Self {
        self.header("Content-Type", "application/json").body(body.to_string())
    }

    /// With a body that is in chunks already.
    pub fn chunked(mut self, body: String) -> Self {
        self.chunks = body.into_bytes();
        self
    }

    /// Sends it and reads the whole answer.
    pub fn send(self, address: SocketAddr) -> Reply {
        let mut stream = self.open(address);
        let mut bytes = Vec::new();
        // The server may hang up on a body that it does not want: what it said before counts.
        let _ = stream.read_to_end(&mut bytes);
        Reply::parse(&bytes)
    }

    /// Sends it and leaves the line open.
    pub fn open(self, address: SocketAddr) -> TcpStream {
        let mut stream = TcpStream::connect(address).expect("the server listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
        let mut text = format!("{}\r\n", self.line);
        if !self.headers.iter().any(|(name, _)| name == "Host") {
            text += &format!("Host: {address}\r\n");
        }
        if !self.body.is_empty() {
            text += &format!("Content-Length: {}\r\n", self.body.len());
        }
        for (name, value) in &self.headers {
            text += &format!("{name}: {value}\r\n");
        }
        text += "Connection: close\r\n\r\n";
        let _ = stream.write_all(text.as_bytes());
        let _ = stream.write_all(&self.body);
        let _ = stream.write_all(&self.chunks);
        stream
    }
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Its status.
    pub status: u16,
    /// Its headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: String,
}

impl Reply {
    fn parse(bytes: &[u8]) -> Reply {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let mut lines = head.lines();
        let status =
            lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).unwrap_or(0);
        let header = |line: &str| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_ascii_lowercase(), value.trim().to_string()))
        };
        Reply { status, headers: lines.filter_map(header).collect(), body: body.into() }
    }

    /// A header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|why| panic!("{why}: {self:?}"))
    }

    /// The kind of problem, where it is one.
    pub fn kind(&self) -> String {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let problem = self.json();
        assert_eq!(problem["status"], self.status, "{self:?}");
        assert!(problem["title"].is_string() && problem["detail"].is_string(), "{self:?}");
        problem["type"].as_str().expect("a kind").into()
    }
}

/// The lines of an event stream.
pub struct Frames(BufReader<TcpStream>);

impl Frames {
    /// Opens a stream; the answer must be one.
    pub fn open(request: Request, address: SocketAddr) -> Frames {
        let mut reader = BufReader::new(request.open(address));
        let mut line = String::new();
        reader.read_line(&mut line).expect("a status");
        assert!(line.contains(" 200 "), "{line}");
        Frames(reader)
    }

    /// The next frame's name, number and data; comments and headers are passed over. None: it ended.
    pub fn next(&mut self) -> Option<(String, Option<u64>, Value)> {
        let (mut name, mut id, mut data) = (String::new(), None, None);
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let line = line.trim_end();
            if let Some(text) = line.strip_prefix("event: ") {
                name = text.into();
            } else if let Some(text) = line.strip_prefix("id: ") {
                id = text.parse().ok();
            } else if let Some(text) = line.strip_prefix("data: ") {
                data = serde_json::from_str(text).ok();
            } else if line.is_empty()
                && let Some(data) = data.take()
            {
                return Some((name, id, data));
            }
        }
    }
}
