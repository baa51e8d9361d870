//! The deficits: what everybody is owed, in GPU-rounds of each gpu type.
//!
//! While somebody waits for a type, time moves its accounts: a workload is credited its share `x` and
//! charged the GPUs `u` that its jobs hold, `dD = (x - u) dt`. Four rules keep the accounts meaningful:
//!
//! * *Zero-sum.* What GPUs nobody could take are worth is taken back from those who wait, in proportion to
//!   their shares, so that the accounts of a type add up to 0: what one is owed, others owe.
//! * *A floor.* No account falls below `-F_l`, with `F_l = (1 + s) g_l + x_l` for the largest gang `g_l` of
//!   the workload and the stickiness `s`. What is used beyond is a gift, counted in `extra`: gangs that do
//!   not fit together must not put somebody into debt without end.
//! * *Gangs across types pay with what they have.* A gang that fits on no single type claims other types
//!   with what it is owed of its own, and so what it uses of types without a share is charged to those with.
//! * *No saving by not wanting.* Whoever has nothing waiting for a type is credited no more than it uses.
//!
//! **The bound.** For fixed shares and gangs every deficit of a type stays, for ever, within
//! `-F_l <= D_l <= sum over the others of F_i`. The first is the floor. The second: only contenders are
//! credited, and after that what is carried is spread over them until nothing is carried (the accounts add
//! up to 0, and none of the others is below its floor) or all of them are at their floors (and none of them
//! is above anything); who does not contend stays where it was. [`bound`] is the sum of all `F_i`. It is a
//! worst case. Observed over thousands of instances: with single-GPU jobs every deficit lies between -1 and
//! 2 without stickiness and between -2 and 3 with stickiness 1; with gangs of up to 8 at most 0.7 of the
//! bound.
//!
//! What a workload is short of its shares in the long run is therefore at most the bound, what gangs that
//! do not fit together left over, what others were given beyond their floors, and what its own gangs across
//! types used of other types instead.
//!
//! An account is kept while its workload has no jobs, and counts again when it comes back; meanwhile its
//! balance stands in `carry`, to be spread over those who wait.

use crate::class::Class;
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
    let State { active, workloads, ledger, settings, cluster, .. } = state;
    // By workload: the slowest type of which it uses more than its share, and whether it has use for more.
    let mut active: Vec<(usize, f64, bool)> =
        active.iter().map(|w| (w.0, slowest_overused(&workloads[w.0]), false)).collect();
    let abroad: Vec<f64> =
        active.iter().map(|&(w, ..)| abroad(&workloads[w], cluster.capacity())).collect();
    let mut contenders: Vec<(usize, f64)> = Vec::with_capacity(active.len());
    for gpu in 0..types {
        contenders.clear();
        for (w, slowest, contends) in &mut active {
            let workload = &workloads[*w];
            *contends = workload.share_on(gpu) > 0.0
                && (workload.waits_for(gpu, cluster.capacity())
                    || pays(settings, workload.profile.on(gpu), *slowest));
            if *contends {
                contenders.push((*w, workload.share[gpu]));
            }
        }
        if contenders.is_empty() {
            continue;
        }
        for (&(w, _, contends), &abroad) in active.iter().zip(&abroad) {
            let moved = accrue(&mut workloads[w], gpu, rounds, contends, abroad, settings);
            ledger.carry[gpu] -= moved;
        }
        spread(workloads, &mut contenders, gpu, &mut ledger.carry[gpu], settings);
    }
}

/// The speed on the slowest type of which a workload uses more than its share; infinite where there is none.
fn slowest_overused(workload: &Workload) -> f64 {
    let over = (0..workload.used.len())
        .filter(|&j| f64::from(workload.used[j]) > workload.share_on(j))
        .map(|j| workload.profile.on(j));
    over.fold(f64::INFINITY, f64::min)
}

/// What the gangs of a workload that fit on no single type use of types without a share, per GPU of its share.
fn abroad(workload: &Workload, capacity: &[u32]) -> f64 {
    let share: f64 = workload.share.iter().sum();
    let away = || (0..workload.used.len()).filter(|&j| workload.share_on(j) <= 0.0);
    let used: u32 = away().map(|j| workload.used_on(j)).sum();
    let runs = |class: &Class| class.live as usize > class.waiting.len();
    let spans = |class: &Class| runs(class) && class.spans(&workload.profile, capacity);
    let charged = used > 0 && share > 0.0 && workload.classes.iter().any(spans);
    if charged { f64::from(used) / share } else { 0.0 }
}

/// Moves one account over some rounds and returns by how much.
fn accrue(
    workload: &mut Workload,
    gpu: usize,
    rounds: f64,
    contends: bool,
    abroad: f64,
    settings: &Settings,
) -> f64 {
    if workload.deficit.len() <= gpu {
        return 0.0;
    }
    let share = workload.share[gpu];
    let used = f64::from(workload.used[gpu]) + abroad * share;
    if share <= 0.0 && abroad > 0.0 {
        return 0.0;
    }
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

/// Spreads what belongs to nobody over those who wait, in proportion to their shares, none below its floor:
/// what one cannot bear is borne by the others.
fn spread(
    workloads: &mut [Workload],
    contenders: &mut Vec<(usize, f64)>,
    gpu: usize,
    carry: &mut f64,
    settings: &Settings,
) {
    while *carry != 0.0 {
        let total: f64 = contenders.iter().map(|(_, share)| share).sum();
        if total <= 0.0 {
            return;
        }
        let (per_share, many) = (*carry / total, contenders.len());
        *carry = 0.0;
        contenders.retain(|&(w, share)| {
            let before = workloads[w].deficit[gpu];
            let wanted = before + per_share * share;
            let after = wanted.max(before.min(-floor(&workloads[w], gpu, settings)));
            workloads[w].deficit[gpu] = after;
            *carry += wanted - after;
            wanted == after
        });
        if contenders.len() == many {
            return;
        }
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
