//! The arguments of the commands about jobs.

use super::select::{AfterArgs, EditArgs, ResubmitArgs, SelectArgs};
use super::values::{instant, named, positive, seconds};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use jiff::Timestamp;
use oef_api::parsed::{TenantName, Workers, WorkloadName};
use oef_api::types::{JobState, StopSignal};
use std::path::PathBuf;

/// What can be done with jobs.
#[derive(Debug, Subcommand)]
pub enum JobCommand {
    /// Submit a job, or a sweep of jobs; prints its number when it is durable
    #[command(after_help = SUBMIT_EXAMPLES)]
    Submit(Box<SubmitArgs>),
    /// Run a command in this terminal on a GPU, as a job: waits for its turn, then passes keys, signals and size on
    #[command(after_help = super::interactive::RUN_EXAMPLES)]
    Run(super::interactive::RunArgs),
    /// Open a shell beside a running job, in its environment and on its GPUs
    #[command(after_help = super::interactive::SHELL_EXAMPLES)]
    Shell(super::interactive::ShellArgs),
    /// List jobs with what they do and why
    #[command(after_help = JOBS_EXAMPLES)]
    Jobs(JobsArgs),
    /// Show everything about a job: what was submitted, its history, its runs
    #[command(after_help = "Examples:\n  oef job 12\n  oef job 12 --watch")]
    Job(JobArgs),
    /// Say in a sentence why a job waits or runs, or why a tenant has what it has
    #[command(after_help = "Examples:\n  oef why 12\n  oef why vision-lab")]
    Why(WhyArgs),
    /// Cancel jobs
    #[command(after_help = CANCEL_EXAMPLES)]
    Cancel(SelectArgs),
    /// Hold jobs: they do not start until they are released; one that runs saves its work and stops
    #[command(
        after_help = "Examples:\n  oef hold 12 13\n  oef hold --sweep 20\n  oef release --mine"
    )]
    Hold(SelectArgs),
    /// Release held jobs: they wait for GPUs again
    #[command(after_help = "Examples:\n  oef release 12 13\n  oef release --label lr=0.1")]
    Release(SelectArgs),
    /// Change a job that has not ended: priority, gpu types, name, labels, time limit, what it waits for
    #[command(after_help = EDIT_EXAMPLES)]
    Edit(Box<EditArgs>),
    /// Submit jobs again, each as a new one that starts from the beginning; prints the new numbers
    #[command(
        after_help = "Examples:\n  oef resubmit 12\n  oef edit $(oef resubmit 12) --priority 5"
    )]
    Resubmit(ResubmitArgs),
    /// Show what a job wrote: both streams of all workers in the order of writing, of all its runs
    #[command(after_help = LOGS_EXAMPLES)]
    Logs(LogsArgs),
}

const SUBMIT_EXAMPLES: &str = "\
Examples:
  oef submit -- python train.py --epochs 10
  oef submit --tenant vision-lab --workload vgg16 --workers 4 -- torchrun train.py
  oef submit --sweep lr=0.1,0.01 --sweep bs=32,64 -- python train.py --lr {lr} --batch {bs}
  oef submit --sweep seed=1,2,3,4,5,6,7,8 --at-once 2 -- python train.py --seed {seed}
  oef submit --after 17 -- python evaluate.py
  oef submit --gpu-memory 20G -- python train.py
  oef submit --now --priority 10 -- python debug.py
  oef submit --at 22:00 --priority -1 -- ./nightly.sh
  oef submit --file job.toml --wait
  oef submit --example-file > job.toml
  id=$(oef submit -- ./train.sh) && oef logs $id --follow

When a job is told to stop (SIGTERM by default), it writes a checkpoint into
$OEF_CHECKPOINT_DIR and exits with code 75. It is started again later, perhaps on
other GPUs, and continues from there.";

const JOBS_EXAMPLES: &str = "\
Examples:
  oef jobs
  oef jobs --all --tenant vision-lab --state failed
  oef jobs --label array=vgg --watch
  oef jobs --json | jq '.jobs[].id'";

const CANCEL_EXAMPLES: &str = "\
Examples:
  oef cancel 12 13
  oef cancel --sweep 20
  oef cancel --mine --label lr=0.1
  oef cancel --all --tenant vision-lab";

const EDIT_EXAMPLES: &str = "\
Examples:
  oef edit 12 --priority 5
  oef edit 12 --types rtx3090,a100 --max-run 4h
  oef edit 12 --name baseline --label lr=0.1 --label old=
  oef edit 12 --after 17 --at 18:30

Types, time limit, start time and dependencies can be changed only while the job waits:
hold a running job first.";

const LOGS_EXAMPLES: &str = "\
Examples:
  oef logs 12 --follow
  oef logs 12 --rank 3 --stderr --tail 50
  oef logs 12 --run 2 > second-run.txt

With several workers each line begins with its worker, `[3]`, or `[3 err]` for the error stream.";

/// `oef submit`
#[derive(Debug, Default, Args)]
pub struct SubmitArgs {
    /// Who owns it; not needed with a tenant's token [default with an admin's token: $OEF_TENANT, or your user name]
    #[arg(long, short, value_name = "TENANT")]
    pub tenant: Option<TenantName>,
    /// Create the tenant with weight 1 if it does not exist; with an admin's token
    #[arg(long)]
    pub create_tenant: bool,
    /// What kind of job it is: jobs of one workload share a profile
    #[arg(long, value_name = "NAME")]
    pub workload: Option<WorkloadName>,
    /// How many workers, each on its own GPU; all run, or none [default: 1]
    #[arg(long, short, value_name = "N")]
    pub workers: Option<Workers>,
    /// The gpu types that it may use [default: all that its workload runs on]
    #[arg(long, value_name = "TYPE,...", value_delimiter = ',')]
    pub types: Vec<String>,
    /// Use only GPUs with this much memory at least (`20G`)
    #[arg(long, value_name = "SIZE", value_parser = oef_api::memory::gibibytes, allow_hyphen_values = true)]
    pub gpu_memory: Option<f64>,
    /// All workers on GPUs of one type, even if several types together would start it sooner
    #[arg(long)]
    pub one_type: bool,
    /// A name for people [default: the script's or the program's]
    #[arg(long, short, value_name = "NAME")]
    pub name: Option<String>,
    /// Jobs of a higher priority go first within their tenant, and take the GPUs of its running jobs of a lower one when the
    /// next round begins [default: 0]
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub priority: Option<i32>,
    /// Take the GPUs of your tenant's running jobs of a lower priority at once, not when the next round begins
    #[arg(long)]
    pub now: bool,
    /// An environment variable; without `=VALUE` it is taken from here
    #[arg(long, short, value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// Where it runs [default: the current folder]
    #[arg(long, value_name = "DIR")]
    pub workdir: Option<PathBuf>,
    /// Where its checkpoints live [default: a folder of the daemon's for this job]
    #[arg(long, value_name = "DIR")]
    pub checkpoint_dir: Option<PathBuf>,
    /// End it for good after this much running time (`2h`)
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub max_run: Option<f64>,
    /// After a start, do not preempt it for this long (`10m`)
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub min_run: Option<f64>,
    /// How many steps it has in all: for tenants whose shortest jobs go first
    #[arg(long, value_name = "N", value_parser = positive)]
    pub steps: Option<f64>,
    /// How often to start it again after a failure [default: 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=1000))]
    pub retries: Option<u32>,
    /// For people and filters
    #[arg(long, short, value_name = "KEY=VALUE")]
    pub label: Vec<String>,
    /// Python modules to import before it starts, so that restarts are quick (`torch`)
    #[arg(long, value_name = "MODULE,...", value_delimiter = ',')]
    pub warm: Vec<String>,
    /// The signal that tells it to write a checkpoint and stop [default: term]
    #[arg(long, value_enum, value_name = "SIGNAL")]
    pub signal: Option<SignalName>,
    /// How long it may take to stop (`30s`) [default: the daemon's setting]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub grace: Option<f64>,
    /// A shell script instead of a command; `-` reads stdin
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    pub script: Option<PathBuf>,
    /// A job file in TOML; options override it
    #[arg(long, short, value_name = "JOB.toml")]
    pub file: Option<PathBuf>,
    /// One job for each value, and for each combination with other sweeps; `{KEY}` stands for the value
    #[arg(long, value_name = "KEY=V,V,...")]
    pub sweep: Vec<String>,
    /// Of a sweep: how many of its jobs may run or wait for GPUs at once [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub at_once: Option<u32>,
    /// Hold it: it does not start until `oef release`
    #[arg(long)]
    pub hold: bool,
    /// Start it at this time or later (`30m`, `18:30`, `2026-12-24 08:00`)
    #[arg(long, value_name = "TIME", value_parser = instant)]
    pub at: Option<Timestamp>,
    /// What it waits for
    #[command(flatten)]
    pub after: AfterArgs,
    /// Wait until it has ended; exit with 1 if it failed
    #[arg(long)]
    pub wait: bool,
    /// Show what it writes until it has ended; exit with 1 if it failed
    #[arg(long, conflicts_with = "json")]
    pub follow: bool,
    /// Print a job file with every field explained, and submit nothing
    #[arg(long, exclusive = true)]
    pub example_file: bool,
    /// Print one JSON document instead of the number
    #[arg(long)]
    pub json: bool,
    /// The program and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// `oef jobs`
#[derive(Debug, Args)]
pub struct JobsArgs {
    /// Ended jobs too
    #[arg(long, short)]
    pub all: bool,
    /// Only of this tenant
    #[arg(long, short, value_name = "TENANT")]
    pub tenant: Option<String>,
    /// Only in these states
    #[arg(long, short, value_name = "STATE,...", value_delimiter = ',', value_parser = state())]
    pub state: Vec<JobState>,
    /// Only with this label
    #[arg(long, short, value_name = "KEY[=VALUE]")]
    pub label: Option<String>,
    /// Only of this sweep, by the number of its first job
    #[arg(long, value_name = "ID")]
    pub sweep: Option<u64>,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    /// Jobs after this cursor: the `next` of the page before
    #[arg(long, value_name = "CURSOR")]
    pub after: Option<String>,
    /// Keep running and update whenever something happens
    #[arg(long, short, conflicts_with = "json")]
    pub watch: bool,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
}

/// `oef job`
#[derive(Debug, Args)]
pub struct JobArgs {
    /// The job's number
    pub id: u64,
    /// Keep running until it has ended, and update whenever something happens to it
    #[arg(long, short, conflicts_with = "json")]
    pub watch: bool,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

/// `oef why`
#[derive(Debug, Args)]
pub struct WhyArgs {
    /// A job's number, or a tenant's name
    #[arg(value_name = "JOB|TENANT")]
    pub what: String,
    /// It is a tenant, even if it looks like a number
    #[arg(long)]
    pub tenant: bool,
    /// Print one JSON document instead of sentences
    #[arg(long)]
    pub json: bool,
}

/// `oef logs`
#[derive(Debug, Args)]
pub struct LogsArgs {
    /// The job's number
    pub id: u64,
    /// Only of this worker
    #[arg(long, short, value_name = "N")]
    pub rank: Option<u32>,
    /// Only what was written to stdout
    #[arg(long, conflicts_with = "stderr")]
    pub stdout: bool,
    /// Only what was written to stderr
    #[arg(long, short)]
    pub stderr: bool,
    /// Keep running and show new output, across restarts, until the job has ended
    #[arg(long, short, conflicts_with = "json")]
    pub follow: bool,
    /// Only this many lines at the end of the last run
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u32).range(..=100_000))]
    pub tail: Option<u32>,
    /// Only of this run, by its number in `oef job` [default: all]
    #[arg(long, value_name = "G")]
    pub run: Option<u64>,
    /// Print one JSON document instead of the text
    #[arg(long)]
    pub json: bool,
}

/// States by the names of the interface.
pub(super) fn state() -> impl TypedValueParser<Value = JobState> {
    let known = |name: String| JobState::ALL.into_iter().find(|state| state.name() == name);
    PossibleValuesParser::new(JobState::ALL.map(JobState::name))
        .try_map(move |name| known(name).ok_or("there is no such state"))
}

named! {
    /// Signals by name.
    SignalName for StopSignal {
        /// SIGTERM
        Term,
        /// SIGINT
        Int,
        /// SIGUSR1
        Usr1,
        /// SIGUSR2
        Usr2,
    }
}
