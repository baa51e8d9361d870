//! Profile runs: short jobs that are pinned to one gpu type to be measured there.
//!
//! A workload's share may be on other types altogether, so that a pinned job of it could wait for ever while the
//! cluster is busy. A profile run therefore counts under a workload of its own that runs on its one type only.
//! It lives on its tenant's weight and goes before the tenant's other workloads, so that the tenant pays for it
//! and nobody else does; the mechanism gives it a share of that type (where it promises the sharing incentive: its
//! part of an equal split at least), and the ledger turns that into a turn. Neither the profile nor the demand of
//! the workload that is measured is touched.

use crate::ids::WorkloadKey;
use crate::profile::{Profile, Provenance};
use crate::state::State;
use crate::tenant::Workload;

/// What a profile run counts beside its tenant's other workloads: it wants a GPU or a few for a minute or two, and
/// what it cannot use of its part goes to its siblings.
const WEIGHT: f64 = 100.0;

/// Between the name of the workload that is measured and that of the gpu type.
const PROBE: &str = "/profile/";

impl Workload {
    /// Whether profile runs count under it.
    pub(crate) fn is_probe(&self) -> bool {
        self.name.contains(PROBE)
    }
}

impl State {
    /// The workload under which profile runs of another one count on a gpu type; `None`: either is not known.
    pub fn probe_workload(&mut self, of: WorkloadKey, gpu_type: &str) -> Option<WorkloadKey> {
        let measured = self.workloads().get(of.0)?;
        let gpu = self.cluster().type_named(gpu_type)?;
        let mut throughput = vec![0.0; gpu.0 + 1];
        throughput[gpu.0] = 1.0;
        // No name of a workload contains a slash, so that this is nobody else's.
        let name = format!("{}{PROBE}{gpu_type}", measured.name);
        let profile = Profile::new(throughput, Provenance::Estimated);
        self.workload(measured.tenant, &name, WEIGHT, profile)
    }
}
