//! Machines and gpu types.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One GPU.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
pub struct GpuRef {
    /// Its node.
    pub node: String,
    /// Its index there.
    pub index: u32,
    /// Its type.
    #[serde(rename = "type")]
    pub gpu_type: String,
}

/// The machines, and who is on them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Cluster {
    /// The gpu types, in the order in which they appeared.
    pub types: Vec<GpuTypeStatus>,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The type against which speedups are counted.
    pub reference: Option<String>,
}

/// How a gpu type is used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GpuTypeStatus {
    /// Its name.
    #[serde(rename = "type")]
    pub gpu_type: String,
    /// Healthy GPUs.
    pub capacity: u32,
    /// Healthy GPUs that nobody uses.
    pub idle: u32,
    /// What one more would be worth, in normalised throughput; from the shares of the round.
    pub price: Option<f64>,
}

/// Whether a node may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NodeHealth {
    /// It may.
    Up,
    /// It may not.
    Down,
}

/// A machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// The type of its GPUs.
    #[serde(rename = "type")]
    pub gpu_type: String,
    /// Whether it may be used.
    pub health: NodeHealth,
    /// Why it cannot be used, or not all of it: drained (by whom and why), down, reserved, in use by jobs of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// For each GPU the job on it; 0: one that the asker may not see.
    pub jobs: Vec<Option<u64>>,
}

/// What an operator changes about a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(examples(json!({"health": "down"})))]
pub struct NodePatch {
    /// Take it out, or bring it back.
    pub health: NodeHealth,
}
