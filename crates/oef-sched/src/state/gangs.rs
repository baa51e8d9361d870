//! Rows of gangs: they come with the first job of their size, and follow their workload's profile and the hosts.

use super::State;
use crate::cluster::{Cluster, hosts_needed};
use crate::ids::WorkloadKey;
use crate::job::JobSpec;
use crate::settings::GangRule;
use crate::tenant::{GangOf, Workload};

/// The row that a job counts in; made where there is none yet.
pub(super) fn row_of(state: &mut State, spec: &JobSpec) -> WorkloadKey {
    let (workload, workers) = (spec.workload, spec.workers);
    let of = &state.workloads[workload.0];
    if workers <= 1 || state.settings.gangs == GangRule::Blind || of.gang.is_some() {
        return workload;
    }
    let mut known = of.gangs.iter().copied();
    if let Some(row) = known.find(|row| state.workloads[row.0].gang_workers() == Some(workers)) {
        return row;
    }
    let row = WorkloadKey(state.workloads.len());
    // No name of a workload contains a slash, so that this is nobody else's.
    let name = format!("{}/x{workers}", of.name);
    let profile = of.profile.as_gang(workers, &hosts_for(&state.cluster, workers));
    let gang = Some(GangOf { workload, workers });
    let new = Workload {
        gang,
        cap: of.cap,
        restart_cost: of.restart_cost,
        ..Workload::new(name, of.tenant, of.weight, profile)
    };
    let tenant = of.tenant;
    state.workloads.push(new);
    state.workloads[workload.0].gangs.push(row);
    state.tenants[tenant.0].workloads.push(row);
    row
}

/// The rows of a workload, or of all, are as fast as they can stand now.
pub(super) fn refresh(state: &mut State, of: Option<WorkloadKey>) {
    for row in 0..state.workloads.len() {
        let Some(gang) = state.workloads[row].gang else { continue };
        if of.is_none_or(|of| of == gang.workload) {
            let hosts = hosts_for(&state.cluster, gang.workers);
            let profile = state.workloads[gang.workload.0].profile.as_gang(gang.workers, &hosts);
            state.workloads[row].profile = profile;
        }
    }
}

/// On how many hosts a gang stands at the least, by type; where there are too few GPUs, on all of them.
fn hosts_for(cluster: &Cluster, workers: u32) -> Vec<u32> {
    cluster.up().iter().map(|up| hosts_needed(&up.sizes, workers)).collect()
}
