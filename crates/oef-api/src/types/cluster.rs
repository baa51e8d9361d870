//! Machines and gpu types.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
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
    /// The memory of each, in GiB, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_gib: Option<f64>,
    /// Price of one in the shares of the round, in normalised throughput: 0 where more would help nobody. None without a GPU that is up.
    pub price: Option<f64>,
}

/// Whether a node may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NodeHealth {
    /// It may.
    Up,
    /// It takes no more jobs; those that run there may still do so.
    Draining,
    /// It may not.
    Down,
}

/// A machine.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// The type of its GPUs.
    #[serde(rename = "type")]
    pub gpu_type: String,
    /// Whether it may be used.
    pub health: NodeHealth,
    /// Why it may not be used, where somebody said so.
    pub reason: Option<String>,
    /// When it comes back by itself.
    pub until: Option<Timestamp>,
    /// When it is to be taken out, the earliest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<NodeWindow>,
    /// For each GPU the job on it; 0: one that the asker may not see.
    pub jobs: Vec<Option<u64>>,
    /// For each GPU what it does, as far as its driver tells and the asker may see. Every figure is null where it is not
    /// known: emulated GPUs, GPUs of other machines, no NVIDIA driver, a driver that does not answer.
    #[serde(default)]
    pub gpus: Vec<NodeGpu>,
}

/// What a GPU does. Parts of one GPU have the figures of the whole GPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NodeGpu {
    /// The part of the last moment in which it computed, from 0 to 1.
    pub utilisation: Option<f64>,
    /// Bytes of its memory that are used.
    pub memory_used: Option<u64>,
    /// Bytes of memory that it has.
    pub memory_total: Option<u64>,
    /// For how long a job has held it without computing on it, in seconds; counted since the daemon's last start.
    pub idle_s: Option<f64>,
}

/// A time in which a node is to be out.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NodeWindow {
    /// Its number.
    pub id: u64,
    /// When it begins.
    pub from: Timestamp,
    /// From when on no job starts there that does not say how long it runs (`max_run_s`). One that does starts if it ends before.
    pub closes: Timestamp,
    /// When the node is back; none: when an operator brings it back.
    pub until: Option<Timestamp>,
    /// Why.
    pub reason: Option<String>,
    /// Who planned it.
    pub by: String,
}

/// What an operator changes about a node.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(examples(json!({"health": "down", "reason": "new power supply", "let_finish": true})))]
pub struct NodePatch {
    /// `up`: bring it back; `down` or `draining`: take it out.
    pub health: NodeHealth,
    /// Why, for people; at most 200 characters.
    #[schema(max_length = 200)]
    pub reason: Option<String>,
    /// Running jobs may end there; otherwise they are stopped and go on elsewhere. `draining` means the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub let_finish: bool,
    /// Not now, but from then on; no job starts there shortly before.
    pub from: Option<Timestamp>,
    /// It comes back by itself then.
    pub until: Option<Timestamp>,
}

impl NodePatch {
    /// Only the health, nothing else said.
    pub fn health(health: NodeHealth) -> NodePatch {
        NodePatch { health, reason: None, let_finish: false, from: None, until: None }
    }
}
