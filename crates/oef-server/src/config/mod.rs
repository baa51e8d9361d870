//! Every setting of the daemon, in one TOML file.
//!
//! A key that is not known is an error, not a surprise later: the message names the key, its line and the
//! nearest known key. The sample that `oef config init` writes has every setting with its default.

mod check;
mod keys;
mod values;

pub use check::ConfigProblem;
pub(crate) use check::{is_loopback, is_open};
pub use oef_executor::Length;
pub use values::{LogFormat, StopPolicy};

use crate::daemon::Memory;
use crate::engine::Budgets;
use crate::notify::NotifySettings;
use crate::slurm::{ExecutorSettings, SlurmSettings};
use crate::socket::SocketSettings;
use oef_api::parsed::Weight;
use oef_api::types::{Limits, SettingsPatch};
use oef_core::Mechanism;
use oef_executor::JobLimits;
use oef_executor::checkpoints::CheckpointConfig;
use oef_executor::local::Isolation;
use oef_sched::guard::Policy;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Where the daemon listens where nothing is said. Loopback: nobody else is let in by accident.
pub const DEFAULT_LISTEN: &str = "127.0.0.1:7733";

/// An address with its port.
fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
    let text = String::deserialize(deserializer)?;
    let wrong = || format!("`{text}` is not an address with a port, as in `127.0.0.1:7733`");
    text.parse().map_err(|_| serde::de::Error::custom(wrong()))
}

/// The settings.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default)]
pub struct Config {
    /// Where to listen.
    #[serde(deserialize_with = "address")]
    pub listen: SocketAddr,
    /// Whether it may listen beyond this machine without TLS.
    pub insecure: bool,
    /// The state folder; by default one of the user's own.
    pub state_dir: Option<PathBuf>,
    /// Whether `/metrics` needs no token, on loopback as well.
    pub public_metrics: bool,
    /// Whether tenants whose jobs run as the daemon's own user may have tokens.
    pub trust_tenants: bool,
    /// Names by which a browser or client may call this machine, beside its address.
    pub hosts: Vec<String>,
    /// The certificate.
    pub tls: Tls,
    /// How shares become rounds.
    pub scheduling: Scheduling,
    /// Which GPUs there are.
    pub gpus: Gpus,
    /// How jobs are run.
    pub jobs: Jobs,
    /// What runs them.
    pub executor: ExecutorSettings,
    /// How they are put before Slurm, where that runs them.
    pub slurm: SlurmSettings,
    /// Who is who on this machine.
    pub socket: SocketSettings,
    /// Where their checkpoints are.
    pub checkpoints: CheckpointConfig,
    /// What notifications may do.
    pub notify: NotifySettings,
    /// What is logged, and how.
    pub log: Log,
    /// How much is kept and taken.
    pub limits: LimitSettings,
    /// Groups to create in a new state folder.
    #[serde(rename = "group")]
    pub groups: Vec<FirstGroup>,
    /// Tenants to create in a new state folder.
    #[serde(rename = "tenant")]
    pub tenants: Vec<FirstTenant>,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            listen: SocketAddr::from(([127, 0, 0, 1], 7733)),
            insecure: false,
            state_dir: None,
            public_metrics: false,
            trust_tenants: false,
            hosts: Vec::new(),
            tls: Tls::default(),
            scheduling: Scheduling::default(),
            gpus: Gpus::default(),
            jobs: Jobs::default(),
            executor: ExecutorSettings::default(),
            slurm: SlurmSettings::default(),
            socket: SocketSettings::default(),
            checkpoints: CheckpointConfig::default(),
            notify: NotifySettings::default(),
            log: Log::default(),
            limits: LimitSettings::default(),
            groups: Vec::new(),
            tenants: Vec::new(),
        }
    }
}

/// The certificate and its key, as PEM files. Both or none.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Tls {
    /// The chain of certificates, the server's own first.
    pub certificate: Option<PathBuf>,
    /// Its private key.
    pub key: Option<PathBuf>,
    /// The authority that signed it, where it is one of your own: it goes into the access file.
    pub ca: Option<PathBuf>,
}

/// How shares become rounds. What is none stays as it was in the state folder.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Scheduling {
    /// How shares are computed.
    #[serde(deserialize_with = "values::mechanism")]
    pub mechanism: Option<Mechanism>,
    /// The length of a round.
    pub round: Option<Length>,
    /// The reference type.
    pub reference: Option<String>,
    /// A job that was started runs at least so long.
    pub min_run: Option<Length>,
    /// How long a job may take to stop.
    pub grace: Option<Length>,
    /// How strongly a running job holds its GPUs.
    pub stickiness: Option<f64>,
    /// The memory of GPUs by type.
    pub gpu_memory: Option<String>,
    /// What is done about profiles that are not what jobs show.
    #[serde(deserialize_with = "values::guard")]
    pub guard: Option<Policy>,
    /// Past usage counts, and what lies back by so long counts half; 0: it does not count.
    pub usage_half_life: Option<Length>,
    /// What a weight is multiplied or divided by at most because of past usage.
    pub usage_bound: Option<f64>,
    /// A computation of shares is cut short after so long.
    pub solve_limit: SolveLimit,
}

/// How long a computation of shares may take.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct SolveLimit(pub Length);

impl Default for SolveLimit {
    /// A round lasts minutes; what is not ready by its next one is late anyway.
    fn default() -> Self {
        SolveLimit(Length(Duration::from_secs(60)))
    }
}

/// Which GPUs there are. Nothing said: those of this machine.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Gpus {
    /// Emulated GPUs, as in `rtx3070=8,rtx3090=4`.
    pub emulated: Option<String>,
    /// Slices of real GPUs, as in `small=4x8%,big=2x30%`.
    pub mps: Option<String>,
    /// How often it is read what real GPUs do; nothing: never.
    pub read_every: Length,
}

impl Default for Gpus {
    fn default() -> Self {
        Gpus { emulated: None, mps: None, read_every: Length(Duration::from_secs(10)) }
    }
}

/// How jobs are run.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Jobs {
    /// Variables of the daemon's own environment that jobs get too.
    pub pass_env: Vec<String>,
    /// Where jobs reach the daemon, for `oef run`; by default where it listens.
    pub address: Option<String>,
    /// What happens to them when the daemon stops.
    pub on_stop: StopPolicy,
    /// Memory of each job in GiB, where the system can limit it.
    pub memory_gib: Option<f64>,
    /// Processors of each job.
    pub cpus: Option<f64>,
    /// Processes and threads of each job.
    pub processes: Option<u32>,
}

impl Jobs {
    /// How jobs are kept apart.
    pub fn isolation(&self) -> Isolation {
        let limits = JobLimits {
            memory_bytes: self.memory_gib.map(|gib| (gib * f64::from(1 << 30)) as u64),
            cpus: self.cpus,
            processes: self.processes,
        };
        Isolation { limits, adopt_orphans: true, ..Isolation::default() }
    }
}

/// What is logged, and how.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Log {
    /// For people or for programs.
    pub format: LogFormat,
    /// From which level on, as in `info` or `oef_server=debug,info`.
    pub level: String,
}

impl Default for Log {
    fn default() -> Self {
        Log { format: LogFormat::Text, level: "info".into() }
    }
}

/// How much is kept and taken.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(default)]
pub struct LimitSettings {
    /// Ended jobs that are remembered.
    pub ended_jobs: usize,
    /// Events that are remembered.
    pub events: usize,
    /// Rounds that are remembered...
    pub rounds: u64,
    /// ... and the bytes of their documents on the disk.
    pub round_bytes: u64,
    /// Output that is kept of each worker's stream.
    pub log_bytes: u64,
    /// The body of a request.
    pub body_bytes: usize,
    /// The body of a batch of jobs or of a what-if.
    pub batch_bytes: usize,
    /// Requests of one token in a second, in the long run...
    pub requests_per_second: f64,
    /// ... and at once.
    pub requests_burst: u32,
    /// Jobs that one token submits in a second, in the long run...
    pub submissions_per_second: f64,
    /// ... and at once.
    pub submissions_burst: u32,
    /// Event streams that are open at once...
    pub event_streams: usize,
    /// ... and of one token.
    pub streams_per_token: usize,
    /// Connections that are open at once.
    pub connections: usize,
    /// Jobs of one tenant that have not ended, where it has no limit of its own.
    pub tenant_jobs: usize,
    /// The same of all tenants together.
    pub all_jobs: usize,
    /// Bytes of all their texts: commands, scripts, variables, labels, paths.
    pub tenant_bytes: u64,
    /// The same of all tenants together.
    pub all_bytes: u64,
    /// Profile runs of one tenant in an hour.
    pub profile_runs: usize,
    /// Bytes that one tenant writes into the journal in a second, in the long run...
    pub journal_bytes_per_second: u64,
    /// ... and at once.
    pub journal_bytes_burst: u64,
    /// How long one request may take.
    pub request_time: Length,
}

impl Default for LimitSettings {
    fn default() -> Self {
        let (memory, budgets) = (Memory::default(), Budgets::default());
        LimitSettings {
            ended_jobs: memory.ended_jobs_max,
            events: memory.events_max,
            rounds: memory.rounds_max,
            round_bytes: memory.round_bytes_max,
            log_bytes: 16 << 20,
            // A job is a few kilobytes; a script or an environment may be some hundred.
            body_bytes: 1 << 20,
            // A thousand jobs of a few kilobytes.
            batch_bytes: 8 << 20,
            // Five times what a busy cluster's scripts were seen to ask.
            requests_per_second: 1000.0,
            requests_burst: 2000,
            submissions_per_second: 1000.0,
            submissions_burst: 20_000,
            // Each costs a task and a buffer.
            event_streams: 256,
            // A dozen scripts and some browsers; eight tokens fill no daemon.
            streams_per_token: 32,
            // Each has a descriptor, of which jobs need some too.
            connections: 1024,
            tenant_jobs: budgets.tenant_jobs,
            all_jobs: budgets.all_jobs,
            tenant_bytes: budgets.tenant_bytes,
            all_bytes: budgets.all_bytes,
            profile_runs: budgets.profile_runs,
            journal_bytes_per_second: budgets.journal_bytes_per_second,
            journal_bytes_burst: budgets.journal_bytes_burst,
            request_time: Length(Duration::from_secs(60)),
        }
    }
}

/// A group to create in a new state folder.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct FirstGroup {
    /// Its name.
    pub name: String,
    /// Its weight.
    #[serde(default)]
    pub weight: Weight,
    /// The group in which it stands; one that comes before it in the file.
    pub parent: Option<String>,
    /// GPUs by gpu type that it gets before anybody's share.
    #[serde(default)]
    pub guarantee: BTreeMap<String, u32>,
    /// GPUs by gpu type that it may have at most.
    #[serde(default)]
    pub limit: BTreeMap<String, u32>,
}

/// A tenant to create in a new state folder.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct FirstTenant {
    /// Its name.
    pub name: String,
    /// Its weight.
    #[serde(default)]
    pub weight: Weight,
    /// The group in which it stands.
    pub group: Option<String>,
    /// GPUs that it may hold at once.
    pub max_gpus: Option<u32>,
    /// Jobs of it that have not ended.
    pub max_jobs: Option<u32>,
    /// GPUs by gpu type that it gets before anybody's share.
    #[serde(default)]
    pub guarantee: BTreeMap<String, u32>,
    /// GPUs by gpu type that it may have at most.
    #[serde(default)]
    pub limit: BTreeMap<String, u32>,
    /// The Unix user that its jobs run as.
    pub user: Option<String>,
}

impl FirstTenant {
    /// What it may use at most.
    pub fn limits(&self) -> Limits {
        Limits { gpus: self.max_gpus, jobs: self.max_jobs }
    }
}

impl Config {
    /// A commented file with every setting, its default and the reason for it.
    pub fn sample() -> &'static str {
        include_str!("sample.toml")
    }

    /// Reads a file. Everything that is wrong is listed, with its line.
    pub fn check(text: &str) -> Result<Config, Vec<ConfigProblem>> {
        check::check(text)
    }

    /// What the scheduler is told at every start.
    pub fn settings(&self) -> SettingsPatch {
        let s = &self.scheduling;
        let seconds = |length: Option<Length>| length.map(|length| length.0.as_secs_f64());
        SettingsPatch {
            mechanism: s.mechanism.map(|m| m.name().into()),
            round_s: seconds(s.round),
            reference: s.reference.clone(),
            min_run_s: seconds(s.min_run),
            grace_s: seconds(s.grace),
            stickiness: s.stickiness,
            gpu_memory: s.gpu_memory.clone(),
            guard: s.guard.map(|guard| guard.name().into()),
            usage_half_life_s: seconds(s.usage_half_life),
            usage_bound: s.usage_bound,
        }
    }

    /// How much the daemon remembers.
    pub fn memory(&self) -> Memory {
        Memory {
            ended_jobs_max: self.limits.ended_jobs,
            events_max: self.limits.events,
            rounds_max: self.limits.rounds,
            round_bytes_max: self.limits.round_bytes,
        }
    }

    /// How much one tenant may have.
    pub fn budgets(&self) -> Budgets {
        Budgets {
            tenant_jobs: self.limits.tenant_jobs,
            all_jobs: self.limits.all_jobs,
            tenant_bytes: self.limits.tenant_bytes,
            all_bytes: self.limits.all_bytes,
            profile_runs: self.limits.profile_runs,
            journal_bytes_per_second: self.limits.journal_bytes_per_second,
            journal_bytes_burst: self.limits.journal_bytes_burst,
            trust_tenants: self.trust_tenants,
        }
    }

    /// Whether a certificate is given.
    pub fn has_tls(&self) -> bool {
        self.tls.certificate.is_some() && self.tls.key.is_some()
    }
}

#[cfg(test)]
mod tests;
