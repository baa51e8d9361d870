//! What a start on Slurm has in its `launch.json` beyond one on a single machine.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// How a start is put before Slurm. On disk: add freely (with a default), rename never.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SlurmSpec {
    /// The job's name, the same for every lease of it.
    pub(crate) name: String,
    /// Which lease it is.
    pub(crate) comment: String,
    /// The user that it runs as; none: as the daemon.
    pub(crate) user: Option<String>,
    /// Nodes with the same number of GPUs of one type; more than one part where a gang is uneven.
    pub(crate) parts: Vec<Part>,
    /// Where each host of the start is: its node, and the part that has it.
    pub(crate) places: BTreeMap<String, HostPart>,
    /// More arguments of sbatch.
    #[serde(default)]
    pub(crate) options: Vec<String>,
    /// Lines of shell before the runner.
    #[serde(default)]
    pub(crate) lines: Vec<String>,
    /// The program that starts workers on other nodes.
    #[serde(default)]
    pub(crate) srun: PathBuf,
}

/// Nodes with the same number of GPUs of one type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Part {
    pub(crate) nodes: Vec<String>,
    /// None: Slurm has no types there.
    pub(crate) gpu_type: Option<String>,
    /// On each node.
    pub(crate) gpus: u32,
}

/// Where a host is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct HostPart {
    pub(crate) node: String,
    pub(crate) part: u32,
}

impl SlurmSpec {
    /// The node on which a worker runs, if it is not this one.
    pub(crate) fn remote(&self, host: &str, this_node: &str) -> Option<&HostPart> {
        self.places.get(host).filter(|place| place.node != this_node)
    }
}
