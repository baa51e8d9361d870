//! How things stand, in numbers.

use crate::invariants::Invariant;
use oef_api::types::JobState;
use std::collections::BTreeMap;

/// How things stand at an instant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gauges {
    /// Jobs that are remembered, by state; every state is there.
    pub jobs: BTreeMap<JobState, u64>,
    /// Every tenant, by name.
    pub tenants: Vec<TenantGauges>,
    /// Every gpu type.
    pub gpus: Vec<GpuGauges>,
    /// Every GPU that tells what it does.
    pub readings: Vec<ReadingGauges>,
    /// The current round.
    pub round: u64,
    /// The smallest throughput over that of an equal split, in the last certificate.
    pub sharing_incentive: Option<f64>,
    /// The largest envy in the last certificate; 0: none.
    pub worst_envy: Option<f64>,
    /// Workloads with live jobs that cannot be part of the problem and have no share.
    pub left_out: u64,
    /// Whether the shares are not those of the mechanism.
    pub shares_failed: bool,
    /// How far the shares can be from the optimum, relative to it; 1: nobody knows.
    pub solver_gap: f64,
    /// The number of the last journalled record.
    pub journal_seq: u64,
    /// What must hold in every world and does not.
    pub broken: Vec<Invariant>,
}

/// How a tenant stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TenantGauges {
    /// Its name.
    pub tenant: String,
    /// Its jobs that wait.
    pub queued: u64,
    /// Its jobs that are started, run or are being stopped.
    pub running: u64,
    /// GPUs that it is entitled to, by type.
    pub share: BTreeMap<String, f64>,
    /// GPUs that it holds, by type.
    pub holds: BTreeMap<String, u32>,
    /// GPU-rounds owed to it, over all types.
    pub deficit: f64,
    /// What its weight is multiplied by, because of past usage; 1 where that does not count.
    pub past_factor: f64,
}

/// How a gpu type is used.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GpuGauges {
    /// Its name.
    pub gpu_type: String,
    /// Healthy GPUs that nobody holds.
    pub idle: u32,
    /// Healthy GPUs that jobs hold.
    pub used: u32,
    /// GPUs on nodes that are down.
    pub down: u32,
}

/// What a GPU does, as far as its driver tells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadingGauges {
    /// Its node.
    pub node: String,
    /// Its place there.
    pub index: u32,
    /// The part of the last moment in which it computed.
    pub utilisation: Option<f64>,
    /// Bytes of its memory that are used.
    pub memory_used: Option<u64>,
    /// Bytes of memory that it has.
    pub memory_total: Option<u64>,
    /// For how long a job has held it without computing on it.
    pub idle_s: Option<f64>,
}
