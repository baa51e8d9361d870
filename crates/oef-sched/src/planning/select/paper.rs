//! The paper's rounding, for comparison: each tenant on its own.
//!
//! `real = round(share + deviation)` per workload and type; nothing where the sum is below the smallest
//! gang; `deviation += share - real`. Nothing keeps the sum of the grants of a type within what there is:
//! who comes last goes without, and its deviation forgets it. Nothing hands out what is left, either.

use super::deficit::room;
use super::pick::{Pick, Types, count_types};
use crate::class::WaitingKey;
use crate::ids::{Slot, WorkloadKey};
use crate::plan::Scope;
use crate::promise::Rooms;
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
    state.active_workloads().iter().map(|&w| grant(state, w)).collect()
}

fn grant(state: &State, key: WorkloadKey) -> PaperGrant {
    let workload = &state.workloads()[key.0];
    let live = workload.classes.iter().filter(|class| class.live > 0);
    let least = live.map(|class| class.workers).min().unwrap_or(0);
    let ideal: Vec<f64> = (0..state.cluster().types().len())
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
    let mut free = state.cluster().capacity().to_vec();
    let mut room = room(state, Scope::Round);
    let mut picks = finishing(state, grants, &mut free, &mut room);
    let mut limits = Rooms::limits(state);
    limits.iter_mut().for_each(|rooms| rooms.charge_picks(state, &picks));
    for grant in grants {
        let mut gpus: Vec<u32> = grant.gpus.iter().zip(&free).map(|(&g, &f)| g.min(f)).collect();
        for slot in in_order(state, grant.workload) {
            let (held, spec) = (held_types(state, slot), &state.at(slot).spec);
            if state.is_finishing(slot) || spec.workers > room[spec.tenant.0] {
                continue;
            }
            let within = |(j, &n): (usize, &u32)| {
                limits.as_ref().map_or(n, |limits| n.min(limits.least(spec.tenant, j)))
            };
            let allowed: Vec<u32> = gpus.iter().enumerate().map(within).collect();
            let Some(types) = fit(state, slot, held.as_ref(), &allowed) else { continue };
            if let Some(limits) = &mut limits {
                types.each(spec.workers, |j, n| limits.charge(spec.tenant, j, n));
            }
            room[spec.tenant.0] -= spec.workers;
            types.each(spec.workers, |j, n| {
                gpus[j] -= n;
                free[j] -= n;
            });
            let stays = held.as_ref() == Some(&types);
            picks.push(Pick { slot, types, stays, why: StartReason::Owed { deficit: 0.0 } });
        }
    }
    picks
}

/// Jobs that may end on nodes that close: they stay, and what they have of other nodes is not handed out.
fn finishing(
    state: &State,
    grants: &[PaperGrant],
    free: &mut [u32],
    room: &mut [u32],
) -> Vec<Pick> {
    let mut picks = Vec::new();
    for grant in grants {
        for &slot in &state.workloads()[grant.workload.0].placed {
            let Some(types) = held_types(state, slot).filter(|_| state.is_finishing(slot)) else {
                continue;
            };
            for &gpu in state.target(slot).map_or(&[][..], |lease| &lease.gpus) {
                let j = state.cluster().type_of(gpu).0;
                free[j] -= u32::from(state.cluster().counts(gpu)).min(free[j]);
            }
            let spec = &state.at(slot).spec;
            room[spec.tenant.0] = room[spec.tenant.0].saturating_sub(spec.workers);
            picks.push(Pick { slot, types, stays: true, why: StartReason::Owed { deficit: 0.0 } });
        }
    }
    picks
}

/// Round robin: who has waited longest first, running jobs last.
fn in_order(state: &State, key: WorkloadKey) -> Vec<Slot> {
    let workload = &state.workloads()[key.0];
    let mut waiting: Vec<WaitingKey> =
        workload.classes.iter().flat_map(|class| class.waiting.iter().copied()).collect();
    waiting.sort();
    let mut placed = workload.placed.clone();
    placed.sort_by_key(|&slot| state.at(slot).spec.id);
    waiting.into_iter().map(|(.., slot)| slot).chain(placed).collect()
}

/// The types that a placed job is on.
fn held_types(state: &State, slot: Slot) -> Option<Types> {
    let gpus = &state.target(slot)?.gpus;
    Some(match state.single_type(gpus) {
        Some(gpu) => Types::One(gpu),
        None => Types::Many(count_types(state, slot)),
    })
}

fn fit(state: &State, slot: Slot, held: Option<&Types>, gpus: &[u32]) -> Option<Types> {
    let job = state.at(slot);
    let profile = &state.workloads()[job.row().0].profile;
    let workers = job.spec.workers;
    let usable = |j: usize| state.may_use(job, j);
    if let Some(held) = held {
        let mut stays = true;
        held.each(workers, |j, n| stays &= n <= gpus[j] && usable(j));
        if stays {
            return Some(held.clone());
        }
    }
    let mut types: Vec<usize> = (0..gpus.len()).filter(|&j| usable(j) && gpus[j] > 0).collect();
    types.sort_by(|&a, &b| profile.on(b).total_cmp(&profile.on(a)).then(a.cmp(&b)));
    if let Some(&j) = types.iter().find(|&&j| gpus[j] >= workers) {
        return Some(Types::One(j));
    }
    if job.spec.one_type {
        return None;
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
