//! The deficits: what everybody is owed, in GPU-rounds of each gpu type.
//!
//! While somebody waits for a type, time moves its accounts: a workload is credited its share `x` and
//! charged the GPUs `u` that its jobs hold, `dD = (x - u) dt`. Three rules keep the accounts meaningful:
//!
//! * *Zero-sum.* What GPUs nobody could take are worth is taken back from those who wait, in proportion to
//!   their shares, so that the accounts of a type add up to 0: what one is owed, others owe.
//! * *A floor.* No account falls below `-F_l`, with `F_l = (1 + s) g_l + x_l` for the largest gang `g_l` of
//!   the workload and the stickiness `s`. What is used beyond is a gift, counted in `extra`: gangs that do
//!   not fit together must not put somebody into debt without end.
//! * *No saving by not wanting.* Whoever has nothing waiting for a type is credited no more than it uses.
//!
//! **The bound.** For fixed shares every deficit of a type stays, for ever, within
//! `-F_l <= D_l <= sum over the others of F_i` (the first by the floor, the second because the accounts add
//! up to 0). [`bound`] is that number. It is a worst case; what is observed is nearer to one gang.
//!
//! An account is kept while its workload has no jobs, and counts again when it comes back; meanwhile its
//! balance stands in `carry`, to be spread over those who wait.

use crate::ids::WorkloadKey;
use crate::select::pays;
use crate::settings::Settings;
use crate::state::State;
use crate::tenant::Workload;
use crate::time::Time;

/// What belongs to nobody's account yet, and the time up to which the accounts are settled.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    settled: Time,
    /// By type: minus the sum of the accounts in play.
    pub(crate) carry: Vec<f64>,
}

/// How far the account of a workload may fall for one gpu type, in GPU-rounds.
pub(crate) fn floor(workload: &Workload, gpu: usize, settings: &Settings) -> f64 {
    (1.0 + settings.stickiness) * f64::from(workload.gang_max) + workload.share_on(gpu)
}

/// The greatest deficit that any workload can have of a type while shares stay as they are.
pub fn bound(state: &State, gpu: usize) -> f64 {
    let floors = state.active.iter().map(|w| floor(&state.workloads[w.0], gpu, &state.settings));
    floors.sum()
}

/// Brings all accounts up to `now`.
pub(crate) fn settle(state: &mut State, now: Time) {
    let rounds = now.since(state.ledger.settled).0 as f64 / (state.settings.round.0.max(1)) as f64;
    state.ledger.settled = now;
    let types = state.cluster.types().len();
    state.ledger.carry.resize(types, 0.0);
    if rounds <= 0.0 || state.active.is_empty() {
        return;
    }
    let mut contenders: Vec<(usize, f64)> = Vec::new();
    let State { active, workloads, ledger, settings, cluster, .. } = state;
    let slowest: Vec<f64> = active.iter().map(|w| slowest_overused(&workloads[w.0])).collect();
    let contends = |workload: &Workload, gpu: usize, slowest: f64| {
        workload.share_on(gpu) > 0.0
            && (workload.waits_for(gpu, cluster.capacity())
                || pays(settings, workload.profile.on(gpu), slowest))
    };
    for gpu in 0..types {
        contenders.clear();
        for (w, &slow) in active.iter().zip(&slowest) {
            if contends(&workloads[w.0], gpu, slow) {
                contenders.push((w.0, workloads[w.0].share[gpu]));
            }
        }
        if contenders.is_empty() {
            continue;
        }
        let mut next = contenders.iter().peekable();
        for w in active.iter() {
            let contends = next.next_if(|(c, _)| *c == w.0).is_some();
            let moved = accrue(&mut workloads[w.0], gpu, rounds, contends, settings);
            ledger.carry[gpu] -= moved;
        }
        spread(workloads, &contenders, gpu, &mut ledger.carry[gpu], settings);
    }
}

/// The speed on the slowest type of which a workload uses more than its share; infinite where there is none.
fn slowest_overused(workload: &Workload) -> f64 {
    let over = (0..workload.used.len())
        .filter(|&j| f64::from(workload.used[j]) > workload.share_on(j))
        .map(|j| workload.profile.on(j));
    over.fold(f64::INFINITY, f64::min)
}

/// Moves one account over some rounds and returns by how much.
fn accrue(
    workload: &mut Workload,
    gpu: usize,
    rounds: f64,
    contends: bool,
    settings: &Settings,
) -> f64 {
    if workload.deficit.len() <= gpu {
        return 0.0;
    }
    let (share, used) = (workload.share[gpu], f64::from(workload.used[gpu]));
    if share <= 0.0 {
        // An old claim is paid back; what goes beyond is a gift.
        let paid = (used * rounds).min(workload.deficit[gpu].max(0.0));
        workload.deficit[gpu] -= paid;
        workload.extra += used * rounds - paid;
        return -paid;
    }
    if !contends && used <= share {
        return 0.0;
    }
    let before = workload.deficit[gpu];
    let wanted = before + (share - used) * rounds;
    // An account below the floor (its gangs became smaller) stays where it is rather than jump.
    let least = before.min(-floor(workload, gpu, settings));
    workload.deficit[gpu] = wanted.max(least);
    workload.extra += workload.deficit[gpu] - wanted;
    workload.deficit[gpu] - before
}

/// Spreads what belongs to nobody over those who wait, in proportion to their shares, none below its floor.
fn spread(
    workloads: &mut [Workload],
    contenders: &[(usize, f64)],
    gpu: usize,
    carry: &mut f64,
    settings: &Settings,
) {
    let total: f64 = contenders.iter().map(|(_, share)| share).sum();
    if *carry == 0.0 || total <= 0.0 {
        return;
    }
    let per_share = *carry / total;
    for &(w, share) in contenders {
        let before = workloads[w].deficit[gpu];
        let least = before.min(-floor(&workloads[w], gpu, settings));
        let after = (before + per_share * share).max(least);
        workloads[w].deficit[gpu] = after;
        *carry -= after - before;
    }
}

/// Shares have changed: what a workload is owed of types on which it has no share any more moves to the
/// types on which it has, at its own speeds. A debt stays worth what it was, and a gang that saves up does
/// not have to begin anew because the shares went to another type.
pub(crate) fn follow_shares(state: &mut State) {
    let State { active, workloads, ledger, cluster, settings, .. } = state;
    ledger.carry.resize(cluster.types().len(), 0.0);
    for key in active.iter() {
        let workload = &mut workloads[key.0];
        let speeds: Vec<f64> = (0..workload.share.len()).map(|j| workload.profile.on(j)).collect();
        let worth = |amounts: &[f64]| amounts.iter().zip(&speeds).map(|(x, s)| x * s).sum::<f64>();
        let share = worth(&workload.share);
        if share <= 0.0 {
            continue;
        }
        let mut stale = 0.0;
        for j in 0..speeds.len() {
            if workload.share[j] <= 0.0 && workload.deficit[j] != 0.0 {
                stale += workload.deficit[j] * speeds[j];
                ledger.carry[j] += workload.deficit[j];
                workload.deficit[j] = 0.0;
            }
        }
        if stale != 0.0 {
            for j in 0..speeds.len() {
                let before = workload.deficit[j];
                // Many GPUs of a slow type are worth few of a fast one: a debt is not larger than the floor.
                let least = before.min(-floor(workload, j, settings));
                let after = (before + stale * workload.share[j] / share).max(least);
                workload.deficit[j] = after;
                ledger.carry[j] -= after - before;
            }
        }
    }
}

/// A workload has jobs again: its old balance counts, and is spread over the others in time. Its extra
/// starts no lower than the least of the others, so that absence earns nothing.
pub(crate) fn enter(state: &mut State, key: WorkloadKey) {
    let types = state.cluster.types().len();
    state.ledger.carry.resize(types, 0.0);
    let tenants = &state.tenants;
    let per_weight = |w: &Workload| w.extra / tenants[w.tenant.0].weight;
    let others = state.active.iter().filter(|&&w| w != key);
    let least = others.map(|w| per_weight(&state.workloads[w.0])).fold(f64::INFINITY, f64::min);
    let weight = tenants[state.workloads[key.0].tenant.0].weight;
    let workload = &mut state.workloads[key.0];
    workload.widen(types);
    if least.is_finite() {
        workload.extra = workload.extra.max(least * weight);
    }
    for (carry, deficit) in state.ledger.carry.iter_mut().zip(&workload.deficit) {
        *carry -= deficit;
    }
}

/// A workload has no jobs any more: its balance is set aside.
pub(crate) fn retire(state: &mut State, key: WorkloadKey) {
    for (carry, deficit) in state.ledger.carry.iter_mut().zip(&state.workloads[key.0].deficit) {
        *carry += deficit;
    }
}

/// Forgets all accounts.
pub(crate) fn clear(state: &mut State) {
    state.ledger.carry.fill(0.0);
    for workload in &mut state.workloads {
        workload.deficit.fill(0.0);
        workload.extra = 0.0;
    }
}
