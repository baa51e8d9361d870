//! Where an executor keeps checkpoints and how it moves them, as an operator writes it.

use super::bandwidth::Bandwidth;
use super::fetch::FetchLimits;
use crate::length::Length;
use oef_sched::Span;
use serde::Deserialize;
use std::path::PathBuf;
use std::time::Duration;

/// What stands for a host's name in a setting.
pub const HOST: &str = "{host}";

/// Where checkpoints are, and how they are moved.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default)]
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
    /// What one transfer may use of the line; none: all of it.
    pub bandwidth: Option<Bandwidth>,
    /// How long a job may wait for its checkpoint, all tries together.
    pub time_limit: Length,
    /// A line on which nothing comes for so long is dead.
    pub silence: Length,
    /// How often it is tried before the job waits for another start.
    pub tries: u32,
    /// Copies on hosts that jobs have left, kept because the way back is shorter with them.
    pub stale: usize,
}

impl Default for CheckpointConfig {
    fn default() -> Self {
        let limits = FetchLimits::default();
        let length = |span: Span| Length(Duration::from_millis(span.0));
        CheckpointConfig {
            place: Keeping::Shared,
            node_dir: None,
            transport: Transport::Folder,
            address: None,
            ssh_options: Vec::new(),
            password_file: None,
            bandwidth: None,
            time_limit: length(limits.time),
            silence: length(limits.silence),
            tries: limits.tries,
            // A few jobs go to and fro between two hosts; more copies would only fill disks.
            stale: 16,
        }
    }
}

impl CheckpointConfig {
    /// How long a transfer may take, and how much of the line.
    pub(super) fn limits(&self) -> FetchLimits {
        let span = |length: Length| Span::from_seconds(length.0.as_secs_f64());
        FetchLimits {
            time: span(self.time_limit),
            silence: span(self.silence),
            kib_per_second: self.bandwidth.map(|rate| rate.kib_per_second),
            tries: self.tries,
        }
    }

    /// What the types alone do not forbid: the key, and what is wrong with it.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        let mut found = Vec::new();
        let node_dir = self.node_dir.as_ref().map(|dir| dir.to_string_lossy());
        if let Some(dir) = &node_dir {
            if !dir.starts_with('/') {
                found.push(("node_dir", format!("`{dir}` is not an absolute path")));
            }
            if !dir.contains(HOST) {
                found.push((
                    "node_dir",
                    format!(
                        "`{dir}` has no {HOST} in it, and every host needs a folder of its own"
                    ),
                ));
            }
        }
        if let (Transport::Ssh, Some(dir)) = (self.transport, &node_dir)
            && let Some(odd) = dir.chars().find(|c| !is_plain(*c))
        {
            let what = format!(
                "`{dir}` has a {odd:?} in it, which the shell of the other host would not leave alone"
            );
            found.push(("node_dir", what));
        }
        found.extend(self.address_problem().map(|what| ("address", what)));
        for (key, length) in [("time_limit", self.time_limit), ("silence", self.silence)] {
            if length.0 < Duration::from_secs(1) {
                found.push((key, format!("{length} is less than 1s")));
            }
        }
        if self.tries == 0 {
            found.push(("tries", "must be at least 1".into()));
        }
        found
    }

    fn address_problem(&self) -> Option<String> {
        let address = self.address.as_deref()?;
        match self.transport {
            Transport::Folder => {
                Some("says nothing without `transport = \"ssh\"` or \"rsync\"".into())
            }
            _ if !address.contains(HOST) => {
                Some(format!("`{address}` has no {HOST}, so it is the same for every host"))
            }
            Transport::Ssh if address.starts_with('-') || address.contains(['/', ' ']) => {
                Some(format!("`{address}` is not an ssh address; write it as in \"oef@{HOST}:22\""))
            }
            Transport::Rsync if !address.starts_with("rsync://") => {
                Some(format!("`{address}` does not begin with rsync://"))
            }
            _ => None,
        }
    }
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

/// What every shell takes as it is, and what stands for a host's name.
fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || "/._-+,=@:%{}".contains(c)
}
