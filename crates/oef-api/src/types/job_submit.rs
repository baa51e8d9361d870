//! Jobs as they are submitted.

use super::job_change::Dependency;
use super::terminal::Terminal;
use crate::check::cleaned;
use crate::limits::JOB_NAME_MAX;
use crate::parsed::{TenantName, Workers, WorkloadName};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::collections::BTreeMap;
use std::path::Path;
use utoipa::ToSchema;

/// A job to be submitted.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(examples(json!({"tenant": "vision", "workload": "resnet50", "name": "baseline", "command": ["python", "train.py", "--lr", "0.1"], "workers": 2, "labels": {"lr": "0.1"}})))]
pub struct JobSubmit {
    /// Who owns it. A tenant's token may leave it out: it is that tenant's.
    #[schema(value_type = Option<String>)]
    pub tenant: Option<TenantName>,
    /// What kind of job it is; `default` where nothing is said.
    #[schema(value_type = Option<String>)]
    pub workload: Option<WorkloadName>,
    /// A name for people; by default the script's or the program's.
    pub name: Option<String>,
    /// The program and its arguments. Either this or `script`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// A shell script, run by `/bin/sh` or by what its first line names. Either this or `command`.
    pub script: Option<String>,
    /// Python modules that are imported before it starts, in a process of its tenant from which it is forked:
    /// then a restart costs a moment. Only for a command that is Python with a script.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 32)]
    pub warm: Vec<String>,
    /// Workers, each on a GPU of its own; all run or none.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schema(value_type = u32, minimum = 1, maximum = 100_000)]
    pub workers: Workers,
    /// Gpu types that it may use; by default all that its workload can run on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    /// Each of its GPUs has so much memory at least, in GiB. It runs only on gpu types that are known to have that.
    #[schema(exclusive_minimum = 0.0, maximum = 1_000_000.0)]
    pub gpu_memory_gib: Option<f64>,
    /// All workers run on GPUs of one type, whichever; otherwise a gang that fits on no single one may be spread over
    /// several and run at the pace of the slowest.
    #[serde(default, skip_serializing_if = "is_default")]
    pub one_type: bool,
    /// Jobs of a higher priority go first within their tenant. When a round begins, one that waits takes the GPUs of
    /// running jobs of its tenant that have a lower priority; never those of another tenant.
    #[serde(default, skip_serializing_if = "is_default")]
    pub priority: i32,
    /// It does not wait for the next round to take the GPUs of its tenant's jobs of a lower priority. For each tenant one job,
    /// or jobs that were submitted together, do so in a round; the next ones when the next round begins.
    #[serde(default, skip_serializing_if = "is_default")]
    pub now: bool,
    /// Environment variables on top of the daemon's own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Where it runs; by default a folder of the daemon's for this job.
    pub workdir: Option<String>,
    /// Where its checkpoints live; by default a folder of the daemon's for this job.
    pub checkpoint_dir: Option<String>,
    /// It is stopped for good after so many seconds of running.
    #[schema(exclusive_minimum = 0.0)]
    pub max_run_s: Option<f64>,
    /// Once started, it is not preempted for so many seconds.
    #[schema(minimum = 0.0)]
    pub min_run_s: Option<f64>,
    /// The steps that it has in all, as it counts them itself: for tenants whose shortest jobs go first.
    #[schema(exclusive_minimum = 0.0)]
    pub steps: Option<f64>,
    /// How often it is started again after a failure.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schema(maximum = 1000)]
    pub retries: u32,
    /// What tells it to write a checkpoint and stop.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stop_signal: StopSignal,
    /// How long it may take to stop; by default the daemon's setting.
    #[schema(minimum = 0.0)]
    pub grace_s: Option<f64>,
    /// For people and filters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// It is a profile run: it is measured on the one gpu type that it names, for its workload's profile.
    pub probe: Option<Probe>,
    /// It is held: it does not start until it is released.
    #[serde(default, skip_serializing_if = "is_default")]
    pub held: bool,
    /// It starts at this time or later.
    pub not_before: Option<Timestamp>,
    /// Jobs that have to end before it starts. Where one of them ends otherwise, this job is cancelled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 100)]
    pub after: Vec<Dependency>,
    /// The person who submitted it, for usage by user. The daemon fills it in: the Unix user of the local socket or of
    /// the tenant, the note of the token, or the daemon's owner. Only an admin's token may name somebody.
    pub user: Option<String>,
    /// It runs in the terminal of whoever submits it, which is passed on by the daemon: a command with one worker.
    pub terminal: Option<Terminal>,
}

impl JobSubmit {
    /// Its name, or what it is called without one: its script, module or program.
    pub fn called(&self) -> String {
        let named = self.name.clone().or_else(|| default_name(&self.command));
        named.unwrap_or_else(|| "script".into())
    }

    /// The names of all fields, as they are written.
    pub fn fields() -> Vec<String> {
        // The reader knows them: it lists them when it meets one that it does not know.
        let refused = serde_json::from_str::<JobSubmit>(r#"{"?": 1}"#).err();
        let said = refused.map(|error| error.to_string()).unwrap_or_default();
        said.split('`').skip(3).step_by(2).map(String::from).collect()
    }
}

/// How files end that are programs for an interpreter or a launcher.
const SCRIPT_ENDINGS: [&str; 9] = ["py", "sh", "bash", "jl", "r", "pl", "rb", "js", "lua"];

/// What a command is called: the script or module that an interpreter runs, else the program. `python -u train.py` is
/// `train.py`, `torchrun -m pkg.train` is `pkg.train`, `./train` is `train`.
fn default_name(command: &[String]) -> Option<String> {
    let file =
        |word: &str| Path::new(word).file_name().map(|name| name.to_string_lossy().into_owned());
    let (program, arguments) = command.split_first()?;
    let is_script = |word: &str| {
        let ending = Path::new(word).extension().and_then(|ending| ending.to_str());
        !word.starts_with('-')
            && ending.is_some_and(|e| SCRIPT_ENDINGS.contains(&e.to_ascii_lowercase().as_str()))
    };
    let module = arguments.windows(2).find(|pair| pair[0] == "-m").map(|pair| pair[1].clone());
    let script = || arguments.iter().find(|word| is_script(word)).and_then(|word| file(word));
    let named = if is_script(program) { None } else { module.or_else(script) };
    let shown = named.or_else(|| file(program))?;
    let shown = cleaned(&shown, JOB_NAME_MAX);
    (!shown.is_empty()).then_some(shown)
}

pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// How a profile run is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(examples(json!({"batches": 20, "warmup": 5, "least_s": 5.0, "limit_s": 120.0})))]
pub struct Probe {
    /// Batches of which the median counts; they are repeated where they lie far apart.
    #[serde(default = "probe_batches")]
    #[schema(minimum = 5, maximum = 1000)]
    pub batches: u32,
    /// Batches before, which do not count.
    #[serde(default = "probe_warmup")]
    #[schema(maximum = 1000)]
    pub warmup: u32,
    /// Where the batches take less than so many seconds, more of them are measured: what is beside a job changes within
    /// seconds, and so do the clocks of a GPU.
    #[serde(default = "probe_least")]
    #[schema(minimum = 0.0, maximum = 3600.0)]
    pub least_s: f64,
    /// It has to be measured within so many seconds.
    #[serde(default = "probe_limit")]
    #[schema(exclusive_minimum = 0.0, maximum = 3600.0)]
    pub limit_s: f64,
}

impl Probe {
    /// Fewer batches say nothing about their spread.
    pub const BATCHES_MIN: u32 = 5;
    /// More batches than this are training.
    pub const BATCHES_MAX: u32 = 1000;
    /// Longer than an hour, a profile costs more than it brings.
    pub const LIMIT_MAX_S: f64 = 3600.0;
}

impl Default for Probe {
    fn default() -> Self {
        Probe {
            batches: probe_batches(),
            warmup: probe_warmup(),
            least_s: probe_least(),
            limit_s: probe_limit(),
        }
    }
}

/// Enough that the middle half is ten batches.
fn probe_batches() -> u32 {
    20
}

/// Enough that one busy second is not taken for the speed of a GPU.
fn probe_least() -> f64 {
    5.0
}

/// The first batches build kernels and fill caches.
fn probe_warmup() -> u32 {
    5
}

/// Programs need half a minute to load, and most batches are below a second.
fn probe_limit() -> f64 {
    120.0
}

/// Several jobs that are taken together or not at all: a sweep, an array.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(examples(json!({"name": "sweep", "jobs": [{"tenant": "vision", "command": ["python", "train.py", "--lr", "0.1"]}, {"tenant": "vision", "command": ["python", "train.py", "--lr", "0.01"]}]})))]
pub struct JobBatch {
    /// A name for the whole; the jobs carry it as the label `array`.
    pub name: Option<String>,
    /// The jobs.
    #[schema(min_items = 1, max_items = 1000)]
    pub jobs: Vec<JobSubmit>,
    /// How many of them may run or wait for GPUs at once; by default all.
    #[schema(minimum = 1)]
    pub at_once: Option<u32>,
}

impl JobBatch {
    /// These jobs, without a name and without a limit.
    pub fn of(jobs: Vec<JobSubmit>) -> JobBatch {
        JobBatch { name: None, jobs, at_once: None }
    }
}

/// What was submitted; it is durable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Submitted {
    /// The jobs' numbers, in the order in which they were given.
    pub ids: Vec<u64>,
    /// What else happened, in sentences: a tenant that was created, a profile that is only an estimate.
    pub notes: Vec<String>,
}

/// The signal that tells a job to write a checkpoint and stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopSignal {
    /// SIGTERM.
    #[default]
    Term,
    /// SIGINT.
    Int,
    /// SIGUSR1.
    Usr1,
    /// SIGUSR2.
    Usr2,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_called_after_its_script() {
        let cases = [
            ("python train.py --lr 0.1", "train.py"),
            ("/usr/bin/python3 -u src/train.py", "train.py"),
            ("torchrun --nproc-per-node 2 -m pkg.train", "pkg.train"),
            ("bash run.sh data.py", "run.sh"),
            ("./train.sh data.py", "train.sh"),
            ("./train --config a.yaml", "train"),
            ("sh -c true", "sh"),
            ("sleep 5", "sleep"),
            ("/", "script"),
        ];
        for (command, name) in cases {
            let command = command.split(' ').map(String::from).collect();
            let job = JobSubmit { command, ..JobSubmit::default() };
            assert_eq!(job.called(), name, "{:?}", job.command);
        }
        assert_eq!(JobSubmit::default().called(), "script");
    }
}
