//! What the operator says about Slurm.

use super::advice::Advise;
use crate::config::Length;
use oef_executor::slurm::{Form, Rules, Slurm, Submit};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// What runs the jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ExecutorSettings {
    /// Which kind.
    pub kind: ExecutorKind,
}

/// What runs the jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecutorKind {
    /// Processes on this machine.
    #[default]
    Local,
    /// Slurm.
    Slurm,
}

/// How far OEF goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Depth {
    /// It reads the cluster and its accounting, and touches nothing.
    Observe,
    /// It also keeps limits of accounts at what they are granted.
    Advise,
    /// It launches and preempts.
    #[default]
    Drive,
}

/// What happens to the accounts that a daemon of depth `advise` has changed when it stops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeaveAccounts {
    /// They get back what they had before.
    #[default]
    Restore,
    /// They stay as they are until the next start, or `oef slurm advise --restore`.
    Keep,
}

/// How jobs are put before Slurm.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default)]
pub struct SlurmSettings {
    /// How far OEF goes.
    pub depth: Depth,
    /// What is kept at the computed grants, with depth `advise`.
    pub advise: Advise,
    /// What becomes of it when the daemon stops.
    pub on_stop: LeaveAccounts,
    /// Its `slurm.conf`; none: what this machine knows.
    pub conf: Option<PathBuf>,
    /// Where its commands are; none: in `PATH`.
    pub bin_dir: Option<PathBuf>,
    /// The partition whose nodes are OEF's; none: all nodes.
    pub partition: Option<String>,
    /// Only these of its nodes; none: all.
    pub nodes: Option<String>,
    /// The quality of service.
    pub qos: Option<String>,
    /// Who pays, where no rule says otherwise.
    pub account: Option<String>,
    /// The account of a tenant's jobs, with `{tenant}` for its name.
    pub account_of: Option<String>,
    /// Accounts of tenants that are an exception.
    pub accounts: BTreeMap<String, String>,
    /// The Unix user that a tenant's jobs run as, with `{tenant}` for its name; none: the daemon's.
    pub user_of: Option<String>,
    /// Users of tenants that are an exception.
    pub users: BTreeMap<String, String>,
    /// More options for sbatch.
    pub options: Vec<String>,
    /// Environment modules.
    pub modules: Vec<String>,
    /// Lines of shell before every job.
    pub prolog: Vec<String>,
    /// An image in which workers run.
    pub container: Option<String>,
    /// What runs a command in an image.
    pub container_command: Vec<String>,
    /// The same for single workloads.
    pub workload: BTreeMap<String, Submit>,
    /// In which form Slurm is asked for jobs and nodes first.
    pub form: Form,
    /// How often Slurm is asked.
    pub poll: Length,
    /// How long one of its commands may take.
    pub command_limit: Length,
}

impl Default for SlurmSettings {
    fn default() -> Self {
        SlurmSettings {
            depth: Depth::default(),
            advise: Advise::default(),
            on_stop: LeaveAccounts::default(),
            conf: None,
            bin_dir: None,
            partition: None,
            nodes: None,
            qos: None,
            account: None,
            account_of: None,
            accounts: BTreeMap::new(),
            user_of: None,
            users: BTreeMap::new(),
            options: Vec::new(),
            modules: Vec::new(),
            prolog: Vec::new(),
            container: None,
            container_command: Vec::new(),
            workload: BTreeMap::new(),
            form: Form::default(),
            // Of a core this takes a hundredth; a plan is minutes old by then.
            poll: Length(Duration::from_secs(2)),
            // Slurm itself gives up after MessageTimeout, 10 s by default, a few times over.
            command_limit: Length(Duration::from_secs(40)),
        }
    }
}

impl SlurmSettings {
    /// How Slurm is called.
    pub fn slurm(&self) -> Slurm {
        Slurm {
            conf: self.conf.clone(),
            bin_dir: self.bin_dir.clone(),
            limit: self.command_limit.0,
            form: self.form,
            keep: None,
        }
    }

    /// How jobs are submitted.
    pub fn rules(&self) -> Rules {
        Rules {
            plain: Submit {
                partition: self.partition.clone(),
                qos: self.qos.clone(),
                account: self.account.clone(),
                options: self.options.clone(),
                modules: self.modules.clone(),
                prolog: self.prolog.clone(),
                container: self.container.clone(),
                container_command: self.container_command.clone(),
            },
            workloads: self.workload.clone(),
            account_of: self.account_of.clone(),
            accounts: self.accounts.clone(),
            user_of: self.user_of.clone(),
            users: self.users.clone(),
        }
    }
}
