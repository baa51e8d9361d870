//! The paper's rounding, for comparison: each tenant on its own.
//!
//! `real = round(share + deviation)` per workload and type; nothing where the sum is below the smallest
//! gang; `deviation += share - real`. Nothing keeps the sum of the grants of a type within what there is:
//! who comes last goes without, and its deviation forgets it. Nothing hands out what is left, either.

use super::pick::{Pick, Types};
use crate::ids::{Slot, WorkloadKey};
use crate::reason::StartReason;
use crate::state::State;

/// What the paper's rule grants one workload.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PaperGrant {
    pub workload: WorkloadKey,
    /// Whole GPUs, by type.
    pub gpus: Vec<u32>,
    /// The deviation after the round, by type.
    pub deviation: Vec<f64>,
}

/// Grants by the paper's rule, whether there are so many GPUs or not.
pub(crate) fn grants(state: &State) -> Vec<PaperGrant> {
    state.active.iter().map(|&w| grant(state, w)).collect()
}

fn grant(state: &State, key: WorkloadKey) -> PaperGrant {
    let workload = &state.workloads[key.0];
    let live = workload.placed.iter().chain(workload.waiting.iter().map(|(_, _, slot)| slot));
    let least = live.map(|&slot| state.at(slot).spec.workers).min().unwrap_or(0);
    let ideal: Vec<f64> = (0..state.cluster.types().len())
        .map(|j| workload.share_on(j) + workload.deficit_on(j))
        .collect();
    let mut gpus: Vec<u32> = ideal.iter().map(|x| x.round().max(0.0) as u32).collect();
    if gpus.iter().sum::<u32>() < least {
        gpus.fill(0);
    }
    let deviation = ideal.iter().zip(&gpus).map(|(x, &real)| x - f64::from(real)).collect();
    PaperGrant { workload: key, gpus, deviation }
}

/// Jobs within the grants: the longest-starved first, each on one type where it fits, else across types.
pub(crate) fn select(state: &State, grants: &[PaperGrant]) -> Vec<Pick> {
    let mut free = state.cluster.capacity().to_vec();
    let mut picks = Vec::new();
    for grant in grants {
        let mut gpus: Vec<u32> = grant.gpus.iter().zip(&free).map(|(&g, &f)| g.min(f)).collect();
        for slot in in_order(state, grant.workload) {
            let held = state.target(slot).and_then(|lease| state.single_type(&lease.gpus));
            let Some(types) = fit(state, slot, held, &gpus) else { continue };
            let workers = state.at(slot).spec.workers;
            for (j, n) in types.counts(workers) {
                gpus[j] -= n;
                free[j] -= n;
            }
            let stays = held.is_some_and(|j| types == Types::One(j));
            picks.push(Pick { slot, types, stays, why: StartReason::Owed { deficit: 0.0 } });
        }
    }
    picks
}

/// Round robin: who has waited longest first, running jobs last.
fn in_order(state: &State, key: WorkloadKey) -> Vec<Slot> {
    let workload = &state.workloads[key.0];
    let waiting = workload.waiting.iter().map(|&(_, _, slot)| slot);
    let placed = workload.placed.iter().copied().filter(|&s| state.target(s).is_some());
    waiting.chain(placed).collect()
}

fn fit(state: &State, slot: Slot, held: Option<usize>, gpus: &[u32]) -> Option<Types> {
    let job = state.at(slot);
    let profile = &state.workloads[job.spec.workload.0].profile;
    let workers = job.spec.workers;
    let usable = |j: usize| profile.on(j) > 0.0 && job.may_use(j);
    if let Some(j) = held.filter(|&j| gpus[j] >= workers) {
        return Some(Types::One(j));
    }
    let mut types: Vec<usize> = (0..gpus.len()).filter(|&j| usable(j) && gpus[j] > 0).collect();
    types.sort_by(|&a, &b| profile.on(b).total_cmp(&profile.on(a)).then(a.cmp(&b)));
    if let Some(&j) = types.iter().find(|&&j| gpus[j] >= workers) {
        return Some(Types::One(j));
    }
    let mut left = workers;
    let mut counts = Vec::new();
    for j in types {
        let taken = left.min(gpus[j]);
        left -= taken;
        counts.push((j, taken));
    }
    counts.retain(|&(_, n)| n > 0);
    (left == 0).then_some(Types::Many(counts))
}
