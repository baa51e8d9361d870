//! How fast a workload runs on each gpu type, and who says so.

use crate::gang::GangFigures;

/// Where a profile comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
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
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Profile {
    /// By gpu type, in the cluster's order; 0 (or beyond the end): cannot run there.
    pub throughput: Vec<f64>,
    /// Where it comes from.
    pub provenance: Provenance,
    /// What was measured of gangs; without it an estimate counts (see [`Profile::of_gang`]).
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub gangs: Vec<GangFigures>,
}

impl Profile {
    /// A profile of which nothing was measured but single workers.
    pub fn new(throughput: Vec<f64>, provenance: Provenance) -> Self {
        Profile { throughput, provenance, gangs: Vec::new() }
    }

    /// Throughput on a type; 0: cannot run there.
    pub fn on(&self, gpu: usize) -> f64 {
        self.throughput.get(gpu).copied().unwrap_or(0.0)
    }

    /// The same with entries that make no sense (negative, undefined, infinite) as 0.
    pub(crate) fn checked(mut self) -> Self {
        let gangs = self.gangs.iter_mut().flat_map(|gang| &mut gang.throughput);
        for entry in self.throughput.iter_mut().chain(gangs) {
            if !entry.is_finite() || *entry < 0.0 {
                *entry = 0.0;
            }
        }
        self
    }
}
