//! Looking at a cluster once, without an executor.

use super::cluster::{GpuNode, nodes_of};
use super::command::{Slurm, SlurmError};
use super::parse::NodeRow;
use std::collections::BTreeMap;

/// The nodes with GPUs of a partition (none: all), by their names in OEF.
pub fn gpu_nodes(
    slurm: &Slurm,
    partition: Option<&str>,
    nodes: Option<&str>,
) -> Result<BTreeMap<String, GpuNode>, SlurmError> {
    Ok(nodes_of(&rows(slurm, partition, nodes)?))
}

/// All nodes, with or without GPUs.
pub(crate) fn rows(
    slurm: &Slurm,
    partition: Option<&str>,
    nodes: Option<&str>,
) -> Result<Vec<NodeRow>, SlurmError> {
    slurm.nodes(partition, nodes)
}
