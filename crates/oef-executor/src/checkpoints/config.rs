//! Where an executor keeps checkpoints, and how it moves them.

use super::fetch::FetchLimits;
use serde::Deserialize;
use std::path::PathBuf;

/// What stands for a host's name in a setting.
pub const HOST: &str = "{host}";

/// Where checkpoints are, and how they are moved.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckpointConfig {
    /// Where jobs leave them that name no folder of their own.
    pub place: Keeping,
    /// The folder of a host, with [`HOST`] for its name; by default one in the state folder.
    pub node_dir: Option<PathBuf>,
    /// How a host reaches another's.
    pub transport: Transport,
    /// Where a host is reached, with [`HOST`] for its name.
    pub address: Option<String>,
    /// More options for ssh.
    pub ssh_options: Vec<String>,
    /// The password of an rsync daemon.
    pub password_file: Option<PathBuf>,
    /// How long a transfer may take, and how much of the line.
    pub limits: FetchLimits,
    /// Copies on hosts that jobs have left, kept because the way back is shorter with them.
    pub stale: usize,
}

/// Where jobs leave their checkpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keeping {
    /// In one folder for each job, which all hosts see.
    #[default]
    Shared,
    /// On the host that ran the job last.
    Node,
}

/// How a host reaches another's checkpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// As a folder: hosts that share a machine.
    #[default]
    Folder,
    /// By ssh.
    Ssh,
    /// From an rsync daemon.
    Rsync,
}

impl Transport {
    /// Where a host is reached if nothing else is said.
    pub(super) fn usual_address(self) -> &'static str {
        match self {
            Transport::Folder => "",
            Transport::Ssh => HOST,
            Transport::Rsync => "rsync://{host}/oef",
        }
    }
}
