//! Who owns jobs, and how fast their workloads run.

use crate::ids::{Slot, TenantKey, WorkloadKey};
use crate::time::Time;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// A party that owns weight and jobs.
#[derive(Clone, Debug)]
pub struct Tenant {
    /// Unique name.
    pub name: String,
    /// What it counts, `> 0`.
    pub weight: f64,
    pub(crate) workloads: Vec<WorkloadKey>,
}

/// Where a profile comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// Told by the tenant.
    Declared,
    /// Observed while its jobs ran.
    Measured,
    /// Taken from similar workloads until there is something better.
    Estimated,
}

/// Throughput of a workload on each gpu type, per GPU, in any unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// By gpu type, in the cluster's order; 0 (or beyond the end): cannot run there.
    pub throughput: Vec<f64>,
    /// Where it comes from.
    pub provenance: Provenance,
}

impl Profile {
    /// Throughput on a type; 0: cannot run there.
    pub fn on(&self, gpu: usize) -> f64 {
        self.throughput.get(gpu).copied().unwrap_or(0.0)
    }

    /// The same with entries that make no sense (negative, undefined, infinite) as 0.
    pub(crate) fn checked(mut self) -> Self {
        for entry in &mut self.throughput {
            if !entry.is_finite() || *entry < 0.0 {
                *entry = 0.0;
            }
        }
        self
    }
}

/// A kind of job of one tenant with one profile.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Unique within its tenant.
    pub name: String,
    /// Who owns it.
    pub tenant: TenantKey,
    /// Its part in the tenant's weight, relative to the tenant's other workloads.
    pub weight: f64,
    /// How fast it runs.
    pub profile: Profile,
    /// GPUs that it is entitled to in this round, by type.
    pub(crate) share: Vec<f64>,
    /// Shares owed minus GPUs received, in GPU-rounds, by type.
    pub(crate) deficit: Vec<f64>,
    /// GPU-rounds received beyond any entitlement.
    pub(crate) extra: f64,
    /// GPUs that its jobs hold now, by type.
    pub(crate) used: Vec<u32>,
    /// Queued jobs, who is next first.
    pub(crate) waiting: BTreeSet<WaitingKey>,
    /// Jobs that hold GPUs or were promised some.
    pub(crate) placed: Vec<Slot>,
    /// GPUs that its jobs could use together, running or waiting.
    pub(crate) wanted: u32,
    /// The largest gang among its live jobs.
    pub(crate) gang_max: u32,
}

/// The order of a queue: priority class, then the longest starvation, then the older job.
pub(crate) type WaitingKey = (Reverse<i32>, Time, Slot);

impl Workload {
    /// Shares owed minus GPUs received, in GPU-rounds of each gpu type (0 beyond the end).
    pub fn deficits(&self) -> &[f64] {
        &self.deficit
    }

    /// GPUs of a type that it is entitled to in this round.
    pub fn share_on(&self, gpu: usize) -> f64 {
        self.share.get(gpu).copied().unwrap_or(0.0)
    }

    /// GPUs of a type that its jobs hold now.
    pub fn used_on(&self, gpu: usize) -> u32 {
        self.used.get(gpu).copied().unwrap_or(0)
    }

    /// GPU-rounds received beyond any entitlement.
    pub fn extra(&self) -> f64 {
        self.extra
    }

    /// GPUs that its live jobs could use together.
    pub fn wanted(&self) -> u32 {
        self.wanted
    }

    pub(crate) fn is_active(&self) -> bool {
        self.wanted > 0
    }

    /// Shares owed minus GPUs received of a type, in GPU-rounds.
    pub fn deficit_on(&self, gpu: usize) -> f64 {
        self.deficit.get(gpu).copied().unwrap_or(0.0)
    }

    /// Makes room for types that appeared since.
    pub(crate) fn widen(&mut self, types: usize) {
        if self.deficit.len() < types {
            self.deficit.resize(types, 0.0);
            self.share.resize(types, 0.0);
            self.used.resize(types, 0);
        }
    }
}
