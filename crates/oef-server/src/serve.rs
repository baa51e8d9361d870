//! Starting everything, serving until a signal, and stopping cleanly.

use crate::access::{self, AccessFiles};
use crate::caller::Caller;
use crate::config::{Config, StopPolicy};
use crate::daemon::{Daemon, Options, StopJobs};
use crate::demo;
use crate::engine::parse;
use crate::http::{App, Serving};
use crate::logging;
use crate::metrics::Exporter;
use crate::preflight::{self, Ready};
use crate::run_error::RunError;
use crate::secret;
use crate::slurm::{self, ExecutorKind};
use crate::socket::SocketServing;
use crate::terminal::{self, TerminalEndpoint};
use crate::up::{self, Mode};
use crate::watchful;
use oef_api::client::SOCKET;
use oef_api::types::{Access, ApiError, GroupPut, JobState, TenantCreate};
use oef_executor::Executor;
use oef_executor::local::{LocalConfig, LocalExecutor};
use oef_executor::slurm::uid_of;
use std::ffi::OsString;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Where sentences for people go.
pub type Talk = Arc<dyn Fn(&str) + Send + Sync>;

/// What the shell expects of a program that was interrupted.
const EXIT_INTERRUPTED: i32 = 130;

/// Runs a daemon until it is told to stop. `program` is the binary that knows `runner` and `demo-job`.
pub fn run(config: Config, mode: Mode, program: PathBuf, talk: Talk) -> Result<(), RunError> {
    logging::start(&config.log);
    let talk = logging::talk(&config.log, talk);
    watchful::begin();
    // A job of the same user shall not read what the daemon holds.
    oef_executor::close_to_others();
    let started = Started::new(&config, &mode, program, &talk)?;
    let runtime = Runtime::new().map_err(RunError::Runtime)?;
    runtime.block_on(serve(started, &config, &mode, &talk))
}

/// A daemon that works, and a socket that listens for it.
struct Started {
    daemon: Daemon,
    exporter: Exporter,
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<Arc<rustls::ServerConfig>>,
    secret: String,
    state_dir: PathBuf,
    is_new: bool,
    program: PathBuf,
    gpus: String,
}

impl Started {
    fn new(config: &Config, mode: &Mode, program: PathBuf, talk: &Talk) -> Result<Self, RunError> {
        // Everything that can be wrong with the settings comes before the state folder is touched.
        let Ready { state_dir, tls, devices } = preflight::check(config, mode, talk)
            .map_err(|refused| RunError::Refused(refused.into_iter().map(|r| r.why).collect()))?;
        let checkpoints = config.checkpoints.clone();
        let listener = listen(config.listen)?;
        let address = listener
            .local_addr()
            .map_err(|why| RunError::Listen { address: config.listen, why })?;
        let mps_pipe_dir = match &config.gpus.mps {
            Some(_) => Some(oef_executor::gpus::start_mps(&state_dir)?),
            None => None,
        };
        let is_new = !state_dir.join("oef.db").exists();
        let runner = vec![OsString::from(&program), OsString::from("runner")];
        let (executor, gpus): (Arc<dyn Executor>, String) = match config.executor.kind {
            ExecutorKind::Slurm => slurm::executor(config, &state_dir, runner, talk)?,
            ExecutorKind::Local => {
                let gpus = up::in_words(&devices);
                let (dir, isolation) = (state_dir.clone(), config.jobs.isolation());
                let local = LocalConfig {
                    dir,
                    runner,
                    devices,
                    mps_pipe_dir,
                    checkpoints,
                    isolation,
                    read_gpus_every: config.gpus.read_every.0,
                };
                (Arc::new(LocalExecutor::open(local)?), gpus)
            }
        };
        let exporter = Exporter::new();
        let secret = match access::left_behind(&up::own_access_file(&state_dir)) {
            Some(secret) => secret,
            None => secret::new().map_err(RunError::Secret)?.text,
        };
        let terminal = terminal(config, &state_dir, address)?;
        let daemon = start(config, mode, &state_dir, executor, &exporter, &secret, terminal)?;
        Ok(Started {
            daemon,
            exporter,
            listener,
            address,
            tls,
            secret,
            state_dir,
            is_new,
            program,
            gpus,
        })
    }
}

fn start(
    config: &Config,
    mode: &Mode,
    state_dir: &Path,
    executor: Arc<dyn Executor>,
    exporter: &Exporter,
    secret: &str,
    terminal: Option<Arc<TerminalEndpoint>>,
) -> Result<Daemon, RunError> {
    let passed = config.jobs.pass_env.iter();
    let options = Options {
        state_dir: state_dir.into(),
        first: up::first_settings(config, mode),
        settings: up::settings(config, mode),
        memory: config.memory(),
        executor,
        metrics: Arc::new(exporter.clone()),
        owner_secret: Some(secret.into()),
        environment: passed
            .filter_map(|name| Some((name.clone(), std::env::var(name).ok()?)))
            .collect(),
        log_limit_bytes: config.limits.log_bytes,
        solve_limit: config.scheduling.solve_limit.0.0,
        budgets: config.budgets(),
        notify: Arc::new(config.notify.clone()),
        terminal,
    };
    Ok(Daemon::start(options)?)
}

/// How jobs reach the daemon that listens there.
fn terminal(
    config: &Config,
    state: &Path,
    listens: SocketAddr,
) -> Result<Option<Arc<TerminalEndpoint>>, RunError> {
    let Some(server) = terminal::address_for_jobs(config, listens) else { return Ok(None) };
    let access = TerminalEndpoint::open(state, server, config.tls.ca.as_deref());
    access.map(|access| Some(Arc::new(access))).map_err(RunError::Runtime)
}

/// Binds before anything is changed: a port in use is the commonest reason not to start.
fn listen(address: SocketAddr) -> Result<TcpListener, RunError> {
    TcpListener::bind(address).map_err(|why| match why.kind() {
        std::io::ErrorKind::AddrInUse => {
            RunError::PortInUse { address, who: up::who_listens(address) }
        }
        _ => RunError::Listen { address, why },
    })
}

async fn serve(
    started: Started,
    config: &Config,
    mode: &Mode,
    talk: &Talk,
) -> Result<(), RunError> {
    let Started { daemon, exporter, listener, address, tls, secret, state_dir, .. } = &started;
    let mut signals = Signals::new()?;
    if started.is_new {
        create_first(daemon, config).await.map_err(RunError::First)?;
    }
    let app = App::new(daemon.clone(), exporter.clone(), config);
    app.keep_sessions_in(state_dir.join("sessions.json"));
    let link = app.owner_link();
    let listener = listener.try_clone().map_err(RunError::Runtime)?;
    let mut serving =
        Serving::begin(app.clone(), listener, tls.clone()).map_err(RunError::Runtime)?;
    let mut socket = open_socket(&app, config, mode, talk)?;
    let server = up::url(*address, tls.is_some());
    app.listens_at(&server);
    let ca = config.tls.ca.as_ref().map(|path| path.display().to_string());
    let state = Some(state_dir.display().to_string());
    let access = Access { server: server.clone(), token: secret.clone(), ca, state };
    let files = up::access_paths(state_dir, &server, talk);
    let files = AccessFiles::write(&access, files)
        .map_err(|(path, why)| RunError::AccessFile { path, why })?;
    talk(&up::welcome(
        &server,
        &started.gpus,
        state_dir,
        files.first(),
        mode,
        config.trust_tenants,
        link.as_deref(),
    ));
    let following = match config.executor.kind {
        ExecutorKind::Slurm => slurm::follow(&config.slurm, state_dir, daemon, talk)?,
        ExecutorKind::Local => None,
    };
    let demo =
        mode.is_demo().then(|| tokio::spawn(demo::run(daemon.clone(), started.program.clone())));
    until_told(&mut signals, &mut serving, socket.as_mut()).await;
    // Whoever asks twice does not want to wait.
    tokio::spawn(async move {
        signals.next().await;
        std::process::exit(EXIT_INTERRUPTED);
    });
    if let Some(demo) = demo {
        demo.abort();
    }
    drop(socket);
    talk("stopping; press Ctrl-C again to stop immediately");
    // It may have to wait for Slurm.
    let _ = tokio::task::spawn_blocking(move || drop(following)).await;
    stop(daemon.clone(), serving, config.jobs.on_stop).await;
    drop(files);
    if let Some(why) = daemon.journal_error() {
        return Err(RunError::Unwritten(why));
    }
    talk(&up::farewell(daemon, state_dir, config.jobs.on_stop, mode));
    Ok(())
}

/// Waits for a signal. A daemon whom nobody can reach any more ends at once: its jobs go on, and the next one is reached.
async fn until_told(
    signals: &mut Signals,
    serving: &mut Serving,
    socket: Option<&mut SocketServing>,
) {
    let local = async {
        match socket {
            Some(socket) => socket.ended().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = signals.next() => {}
        why = serving.ended() => watchful::end("the server", &why),
        why = local => watchful::end("the local socket", &why),
    }
}

/// Where the socket for people on this machine is: where the settings say, or at the usual place for a daemon that is
/// there for the whole machine.
fn socket_path(config: &Config, mode: &Mode, is_root: bool) -> Option<PathBuf> {
    let is_for_all = is_root && matches!(mode, Mode::Serve { .. });
    config.socket.path.clone().or_else(|| is_for_all.then(|| SOCKET.into()))
}

/// The socket for people on this machine. Where nobody named its path, a daemon does without.
fn open_socket(
    app: &App,
    config: &Config,
    mode: &Mode,
    talk: &Talk,
) -> Result<Option<SocketServing>, RunError> {
    let is_root = rustix::process::getuid().is_root();
    let Some(path) = socket_path(config, mode, is_root) else { return Ok(None) };
    let operators = config.socket.operators.iter().filter_map(|name| uid_of(name));
    let operators = operators.map(|user| user.uid).chain([0, rustix::process::getuid().as_raw()]);
    match SocketServing::begin(app.router(), &path, operators.collect()) {
        Ok(socket) => Ok(Some(socket)),
        Err(why) if config.socket.path.is_some() => Err(RunError::Socket { path, why }),
        Err(why) => {
            talk(&format!("no local socket at {}: {why}", path.display()));
            Ok(None)
        }
    }
}

async fn stop(daemon: Daemon, serving: Serving, policy: StopPolicy) {
    if let Err(error) = serving.stop().await {
        tracing::warn!(%error, "the server did not stop cleanly");
    }
    let jobs = match policy {
        StopPolicy::Leave => StopJobs::LeaveRunning,
        StopPolicy::Checkpoint => StopJobs::Checkpoint,
    };
    if tokio::task::spawn_blocking(move || daemon.stop(jobs)).await.is_err() {
        tracing::error!("the daemon did not stop cleanly");
    }
}

/// The groups and tenants of the file, in a new state folder.
async fn create_first(daemon: &Daemon, config: &Config) -> Result<(), ApiError> {
    let admin = Caller::admin();
    for group in &config.groups {
        let put = GroupPut {
            weight: Some(group.weight),
            parent: group.parent.clone(),
            guarantee: Some(group.guarantee.clone()).filter(|map| !map.is_empty()),
            limit: Some(group.limit.clone()).filter(|map| !map.is_empty()),
        };
        daemon.put_group(&admin, &group.name, put).await?;
    }
    for tenant in &config.tenants {
        let create = TenantCreate {
            name: parse("name", &tenant.name)?,
            weight: Some(tenant.weight),
            group: tenant.group.clone(),
            limits: tenant.limits(),
            guarantee: tenant.guarantee.clone(),
            limit: tenant.limit.clone(),
            user: tenant.user.clone(),
        };
        daemon.create_tenant(&admin, create).await?;
    }
    Ok(())
}

/// Jobs whose processes are there.
pub(crate) fn running(daemon: &Daemon) -> u64 {
    let jobs = daemon.gauges().jobs;
    JobState::PLACED.iter().filter_map(|state| jobs.get(state)).sum()
}

/// Ctrl-C, or what a service manager sends.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn new() -> Result<Self, RunError> {
        let catch = |kind| signal(kind).map_err(RunError::Runtime);
        Ok(Signals {
            interrupt: catch(SignalKind::interrupt())?,
            terminate: catch(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_of_the_machine_has_a_socket_whatever_runs_its_jobs() {
        let (serve, up) = (Mode::Serve { file: "x".into() }, Mode::Up { demo: false });
        let usual = Some(PathBuf::from(SOCKET));
        for text in ["", "[executor]\nkind = \"slurm\"\n"] {
            let config = Config::check(text).expect("right");
            assert_eq!(socket_path(&config, &serve, true), usual, "{text}");
            assert_eq!(socket_path(&config, &serve, false), None, "{text}");
            assert_eq!(socket_path(&config, &up, true), None, "one person's own: {text}");
        }
        let named = Config::check("[socket]\npath = \"/x/oef.sock\"\n").expect("right");
        for mode in [serve, up] {
            assert_eq!(socket_path(&named, &mode, false), Some("/x/oef.sock".into()));
        }
    }
}
