//! The deficits: what everybody is owed, in GPU-rounds of each gpu type.
//!
//! While somebody waits for a type, time moves its accounts: a workload is credited its share `x` and
//! charged the GPUs `u` that its jobs hold, whether it has a share of the type or not: `dD = (x - u) dt`.
//! Three rules keep the accounts meaningful:
//!
//! * *Limits.* Every account stays within `-F_l <= D_l <= F_l`, with `F_l = (1 + s) g_l + x_l` for the largest
//!   gang `g_l` of the workload and the stickiness `s`. Nobody saves more than its largest gang needs to be
//!   next; gangs that do not fit together put nobody into debt without end. What is used beyond the lower
//!   limit is a gift, counted in `extra`.
//! * *Debts have creditors.* Where the accounts of a type add up to less than 0, those who wait are raised, in
//!   proportion to their shares, until they add up to 0.
//! * *No saving by not wanting.* Whoever has nothing waiting for a type, while others have, is credited no more
//!   than it uses, and what it was owed before is forgotten: it would only keep others from their turn. What it
//!   owes is not.
//!
//! **The bound.** For fixed shares every deficit stays, for ever, within its limit; [`bound`] is the greatest.
//! The limits lose nothing where shares can be had: a gang waits no longer than until its deficit per worker
//! exceeds that of a running job by the stickiness, and `(1 + s) g_l` is that much for a running job that is
//! owed nothing; what is observed is nearer to one gang.
//!
//! An account is kept while its workload has no jobs, and counts again when it comes back. Whoever leaves in
//! debt takes nothing from those who are owed: they keep their claims.

use crate::ids::WorkloadKey;
use crate::select::pays;
use crate::settings::Settings;
use crate::state::State;
use crate::tenant::Workload;
use crate::time::Time;

/// The time up to which the accounts are settled.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    settled: Time,
}

/// How far the account of a workload may go in either direction for one gpu type, in GPU-rounds.
pub(crate) fn limit(workload: &Workload, gpu: usize, settings: &Settings) -> f64 {
    (1.0 + settings.stickiness) * f64::from(workload.gang_max) + workload.share_on(gpu)
}

/// The greatest deficit that any workload can have of a type while shares and jobs stay as they are.
pub fn bound(state: &State, gpu: usize) -> f64 {
    let limits = state.active.iter().map(|w| limit(&state.workloads[w.0], gpu, &state.settings));
    limits.fold(0.0, f64::max)
}

/// Sets an account, within its limits. One beyond them (its gangs became smaller) does not jump: it only
/// cannot go further.
fn set(workload: &mut Workload, gpu: usize, wanted: f64, settings: &Settings) -> f64 {
    let (before, limit) = (workload.deficit[gpu], limit(workload, gpu, settings));
    let after = wanted.clamp(before.min(-limit), before.max(limit));
    workload.deficit[gpu] = after;
    after
}

/// Brings all accounts up to `now`.
pub(crate) fn settle(state: &mut State, now: Time) {
    let rounds = now.since(state.ledger.settled).0 as f64 / (state.settings.round.0.max(1)) as f64;
    state.ledger.settled = now;
    let types = state.cluster.types().len();
    if rounds <= 0.0 || state.active.is_empty() {
        return;
    }
    let State { active, workloads, settings, cluster, .. } = state;
    // By workload: the slowest type of which it uses more than its share, and whether it has use for more.
    let mut active: Vec<(usize, f64, bool)> =
        active.iter().map(|w| (w.0, slowest_overused(&workloads[w.0]), false)).collect();
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
        let mut sum = 0.0;
        for &(w, _, contends) in &active {
            accrue(&mut workloads[w], gpu, rounds, contends, settings);
            sum += workloads[w].deficit_on(gpu);
        }
        raise(workloads, &mut contenders, gpu, -sum, settings);
    }
}

/// The speed on the slowest type of which a workload uses more than its share; infinite where there is none.
fn slowest_overused(workload: &Workload) -> f64 {
    let over = (0..workload.used.len())
        .filter(|&j| f64::from(workload.used[j]) > workload.share_on(j))
        .map(|j| workload.profile.on(j));
    over.fold(f64::INFINITY, f64::min)
}

/// Moves one account over some rounds.
fn accrue(workload: &mut Workload, gpu: usize, rounds: f64, contends: bool, settings: &Settings) {
    if workload.deficit.len() <= gpu {
        return;
    }
    let (share, used) = (workload.share[gpu], f64::from(workload.used[gpu]));
    if !contends && used <= share {
        workload.deficit[gpu] = workload.deficit[gpu].min(0.0);
        return;
    }
    let wanted = workload.deficit[gpu] + (share - used) * rounds;
    let after = set(workload, gpu, wanted, settings);
    workload.extra += (after - wanted).max(0.0);
}

/// Gives debts their creditors: those who wait share an amount in proportion to their shares, none beyond its
/// limit; what one cannot take goes to the others.
fn raise(
    workloads: &mut [Workload],
    contenders: &mut Vec<(usize, f64)>,
    gpu: usize,
    mut amount: f64,
    settings: &Settings,
) {
    while amount > 0.0 {
        let total: f64 = contenders.iter().map(|(_, share)| share).sum();
        if total <= 0.0 {
            return;
        }
        let (per_share, many) = (amount / total, contenders.len());
        amount = 0.0;
        contenders.retain(|&(w, share)| {
            let wanted = workloads[w].deficit[gpu] + per_share * share;
            let after = set(&mut workloads[w], gpu, wanted, settings);
            amount += wanted - after;
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
    let State { active, workloads, settings, .. } = state;
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
                workload.deficit[j] = 0.0;
            }
        }
        for j in (0..speeds.len()).filter(|_| stale != 0.0) {
            let wanted = workload.deficit[j] + stale * workload.share[j] / share;
            set(workload, j, wanted, settings);
        }
    }
}

/// A workload has jobs again: its old balance counts. Its extra starts no lower than the least of the others,
/// so that absence earns nothing.
pub(crate) fn enter(state: &mut State, key: WorkloadKey) {
    let types = state.cluster.types().len();
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
}

/// Forgets all accounts.
pub(crate) fn clear(state: &mut State) {
    for workload in &mut state.workloads {
        workload.deficit.fill(0.0);
        workload.extra = 0.0;
    }
}
