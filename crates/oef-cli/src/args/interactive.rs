//! The arguments of `oef run` and `oef shell`.

use super::values::seconds;
use clap::Args;
use oef_api::parsed::{TenantName, WorkloadName};

/// Examples, for the help.
pub const RUN_EXAMPLES: &str = "\
Examples:
  oef run -- nvidia-smi
  oef run --types a100 -- python -i explore.py
  oef run --max-run 2h -- bash

It waits in the queue like every job of its tenant, then runs on its GPU, in this terminal. It
ends with the exit code of the command. If it is preempted, it waits again and starts from the
beginning.";

/// Examples, for the help.
pub const SHELL_EXAMPLES: &str = "\
Examples:
  oef shell 12
  oef shell 12 -- nvidia-smi
  oef shell 12 --worker 3

It runs on the first node of the job, as the job's user, with its terminal here. It is part of
the job and ends with it.";

/// `oef run`
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Who owns it [default: as with `oef submit`]
    #[arg(long, short, value_name = "TENANT")]
    pub tenant: Option<TenantName>,
    /// Create the tenant with weight 1 if it does not exist; with an admin's token
    #[arg(long)]
    pub create_tenant: bool,
    /// What kind of job it is
    #[arg(long, value_name = "NAME", default_value = "interactive")]
    pub workload: WorkloadName,
    /// The gpu types that it may use [default: all]
    #[arg(long, value_name = "TYPE,...", value_delimiter = ',')]
    pub types: Vec<String>,
    /// Use only GPUs with this much memory at least (`20G`)
    #[arg(long, value_name = "SIZE", value_parser = oef_api::memory::gibibytes, allow_hyphen_values = true)]
    pub gpu_memory: Option<f64>,
    /// Jobs of a higher priority go first within their tenant, and take the GPUs of its running jobs of a lower one when the
    /// next round begins [default: 0]
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub priority: Option<i32>,
    /// Take the GPUs of your tenant's running jobs of a lower priority at once, not when the next round begins
    #[arg(long)]
    pub now: bool,
    /// End it for good after this much running time (`2h`)
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub max_run: Option<f64>,
    /// An environment variable; without `=VALUE` it is taken from here. PATH, TERM, LANG, LC_ALL, PYTHONPATH and
    /// VIRTUAL_ENV are taken from here anyway
    #[arg(long, short, value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// `oef shell`
#[derive(Debug, Args)]
pub struct ShellArgs {
    /// The job's number; it must be running
    pub job: u64,
    /// The worker whose environment and GPU it gets
    #[arg(long, value_name = "RANK", default_value_t = 0)]
    pub worker: u32,
    /// A command instead of a shell
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}
