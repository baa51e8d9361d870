//! On which GPUs of which nodes. The default, with room made for gangs, is in `room`; here are the plain rules.
//!
//! Jobs that stay keep their GPUs. The others come by size, the biggest gang first: on the host where it
//! leaves the fewest GPUs over, or else on the fewest hosts. On a host, GPUs that are idle now come before
//! GPUs that somebody has yet to leave. At last, gangs that run on more hosts than they need move together
//! where that pays.

use super::floor::Floor;
use super::room::{Placed, make_room};
use super::select::{Pick, Types};
use crate::ids::{GpuId, Slot};
use crate::settings::PlacementRule;
use crate::state::State;
use std::cmp::Reverse;

/// The GPUs of every chosen job, which owns them from now on; `None`: those that it has.
pub(crate) fn place(
    state: &State,
    floor: &mut Floor<'_>,
    picks: &[Pick],
    first: usize,
    may_move: bool,
) -> Placed {
    let rule = state.settings().placement;
    if rule == PlacementRule::Room {
        return make_room(state, floor, picks, first, may_move);
    }
    let mut order: Vec<usize> = (first..picks.len()).filter(|&i| !picks[i].stays).collect();
    if rule == PlacementRule::Packed {
        order.sort_by_key(|&i| Reverse(state.at(picks[i].slot).spec.workers));
    }
    // Who may use the fewest nodes first.
    order.sort_by_key(|&i| Reverse(state.closed_to(state.at(picks[i].slot)).len()));
    let mut gpus: Vec<Option<Vec<GpuId>>> = vec![None; picks.len()];
    for i in order {
        let slot = picks[i].slot;
        let workers = state.at(slot).spec.workers;
        let mut own = Vec::new();
        floor.hide(state.closed_to(state.at(slot)));
        match &picks[i].types {
            Types::One(gpu) => take(floor, rule, *gpu, workers, slot, &mut own),
            Types::Many(counts) => {
                for &(gpu, count) in counts {
                    take(floor, rule, gpu, count, slot, &mut own);
                }
            }
        }
        gpus[i] = Some(own);
    }
    floor.hide(Vec::new());
    if may_move && rule == PlacementRule::Packed {
        bring_together(state, floor, picks, &mut gpus);
    }
    Placed { gpus, serves: vec![None; picks.len()], waits: Vec::new() }
}

/// Gives a job so many GPUs of a type.
fn take(
    floor: &mut Floor<'_>,
    rule: PlacementRule,
    gpu: usize,
    count: u32,
    slot: Slot,
    own: &mut Vec<GpuId>,
) {
    let mut left = count;
    while left > 0 {
        let hosts = floor.hosts(gpu);
        let host = match rule {
            PlacementRule::FirstFree => hosts.oldest(),
            // Where no host is large enough, the emptiest ones together.
            PlacementRule::Packed | PlacementRule::Room => {
                hosts.tightest(left).or_else(|| hosts.emptiest())
            }
        };
        let Some(host) = host else { return };
        let given = floor.own_on(host, left, slot);
        left -= given.len() as u32;
        own.extend(given);
    }
}

/// Moves gangs that are spread over hosts onto one, where one has room and the move pays. What one leaves
/// may make room for another, so that it goes on until nothing moves.
fn bring_together(
    state: &State,
    floor: &mut Floor<'_>,
    picks: &[Pick],
    gpus: &mut [Option<Vec<GpuId>>],
) {
    let settings = state.settings();
    let slower = 1.0 - settings.spread_loss.clamp(0.0, 1.0);
    let (cost, horizon) = (settings.restart_cost.seconds(), settings.horizon.seconds());
    if horizon - cost <= slower * horizon {
        return;
    }
    let mut spread: Vec<usize> = (0..picks.len())
        .filter(|&i| gpus[i].is_none() && is_spread(state, picks[i].slot))
        .filter(|&i| !state.is_protected(picks[i].slot))
        .filter(|&i| state.closed_to(state.at(picks[i].slot)).is_empty())
        .collect();
    spread.sort_by_key(|&i| Reverse(state.at(picks[i].slot).spec.workers));
    loop {
        let before = spread.len();
        spread.retain(|&i| {
            gpus[i] = together(state, floor, picks[i].slot);
            gpus[i].is_none()
        });
        if spread.len() == before {
            return;
        }
    }
}

/// Whether a job's GPUs are of one type on several hosts.
fn is_spread(state: &State, slot: Slot) -> bool {
    let Some(lease) = state.target(slot) else { return false };
    let Some(first) = lease.gpus.first() else { return false };
    let one_host = lease.gpus.iter().all(|gpu| gpu.node == first.node);
    !one_host && state.single_type(&lease.gpus).is_some()
}

/// Gives a job other GPUs, all on one host (some of its own may be among them); those it leaves are free.
fn together(state: &State, floor: &mut Floor<'_>, slot: Slot) -> Option<Vec<GpuId>> {
    let old = &state.target(slot)?.gpus;
    let gpu = state.single_type(old)?;
    old.iter().for_each(|&left| floor.disown(left));
    match floor.hosts(gpu).tightest(old.len() as u32) {
        Some(host) => Some(floor.own_on(host, old.len() as u32, slot)),
        None => {
            old.iter().for_each(|&kept| floor.own(kept, slot));
            None
        }
    }
}
