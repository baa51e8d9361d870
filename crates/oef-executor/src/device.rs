//! The GPUs that jobs can run on.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A GPU as its executor calls it. Nobody else reads anything from it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DeviceId(pub String);

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A GPU of this machine, or what stands for one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Device {
    /// The node that it belongs to. A machine with several gpu types is one node for each.
    pub host: String,
    /// Its place on that node, from 0.
    pub index: u32,
    /// What it is called in profiles and shares, such as `a100-80gb`.
    pub gpu_type: String,
    /// What is behind it.
    pub kind: DeviceKind,
}

/// What is behind a device.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// A GPU of this machine.
    Real {
        /// Its number on the machine, in the order of the PCI bus.
        ordinal: u32,
        /// Its name that never changes.
        uuid: String,
    },
    /// A part of a GPU of this machine, kept by CUDA's multi-process service.
    Mps {
        /// The number of the whole GPU on the machine.
        ordinal: u32,
        /// How much of its processors a job here may use, in percent.
        percent: u8,
    },
    /// One of those that the cluster gives the job on its node: which one is known there, in
    /// `CUDA_VISIBLE_DEVICES`.
    Allocated,
    /// No GPU at all: the job is only told that it has one.
    Emulated,
}

impl Device {
    /// What others call it.
    pub fn id(&self) -> DeviceId {
        DeviceId(self.to_string())
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.index)
    }
}
