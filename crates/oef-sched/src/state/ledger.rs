//! The deficits: what everybody is owed, in GPU-rounds of each gpu type.
//!
//! While somebody waits for a type, time moves its accounts: a workload is credited its share `x` and
//! charged the GPUs `u` that its jobs hold, whether it has a share of the type or not: `dD = (x - u) dt`.
//! Three rules keep the accounts meaningful:
//!
//! * *Limits.* Every account stays within `-F_l <= D_l <= F_l`, with `F_l = (1 + s) g_l + x_l` for the largest
//!   gang `g_l` of the workload and the stickiness `s`. Nobody saves more than its largest gang needs to be
//!   next; gangs that do not fit together put nobody into debt without end. What is used beyond the lower
//!   limit is a gift, counted in `extra`; what is credited beyond the upper one is lost, counted in `cut`.
//! * *One account where gangs are one.* What is used of a type without a share is charged where the workload has
//!   one, at its own speeds; so is, for gangs that fit on no single type, what one type owes another.
//! * *No saving by not wanting.* Whoever has nothing waiting for a type, while others have, is credited no more
//!   than it uses, and what it was owed before is forgotten: it would only keep others from their turn. What it
//!   owes is not.
//!
//! **The bound.** For fixed shares every deficit stays, for ever, within its limit; [`bound`] is the greatest.
//! The limits lose nothing where shares can be had: a gang waits no longer than until its deficit per worker
//! exceeds that of a running job by the stickiness, `(1 + s) g_l` is that much for a running job that is
//! owed nothing. What is observed is nearer to one gang. Where running jobs are protected for longer than a round, the
//! wait can be longer, and the limit then cuts a little. Tests count `cut`: it is 0 for jobs of one GPU with some
//! stickiness and a protection of a round at most, and always no more than what was left over or others had.
//!
//! *Urgent jobs.* A job that took the GPUs of others of its tenant ([`pay_for_urgent`]) runs on their account.
//!
//! An account is kept while its workload has no jobs, and counts again when it comes back. Whoever leaves in
//! debt takes nothing from those who are owed: they keep their claims.

use super::State;
use crate::ids::{Slot, WorkloadKey};
use crate::job::Phase;
use crate::reason::StartReason;
use crate::settings::{RoundingRule, Settings, pays};
use crate::tenant::Workload;
use crate::time::Time;

/// How far the account of a workload may go in either direction for one gpu type, in GPU-rounds.
pub(crate) fn limit(workload: &Workload, gpu: usize, settings: &Settings) -> f64 {
    for_gang(workload, settings) + workload.share_on(gpu)
}

/// The part of the limit that is for its largest gang.
fn for_gang(workload: &Workload, settings: &Settings) -> f64 {
    let gang = workload.gang_max;
    (1.0 + workload.stickiness(settings, gang)) * f64::from(gang)
}

/// The greatest deficit that any workload can have of a type while shares and jobs stay as they are.
pub fn bound(state: &State, gpu: usize) -> f64 {
    let limits = state.active.iter().map(|w| limit(&state.workloads[w.0], gpu, &state.settings));
    limits.fold(0.0, f64::max)
}

/// The greatest balance that any workload can have had of a type, whatever its jobs were: of a gang on all GPUs of the
/// cluster, with a share of all of them. Who leaves takes its balance along, and gangs that come next may be smaller.
pub fn bound_ever(state: &State) -> f64 {
    let all: usize = state.cluster.nodes().iter().map(|node| node.gpus()).sum();
    let gang = u32::try_from(all).unwrap_or(u32::MAX);
    let stickiness = state.workloads.iter().map(|w| w.stickiness(&state.settings, gang));
    (2.0 + stickiness.fold(0.0, f64::max)) * all as f64
}

/// Sets an account, within its limits. One beyond them (its gangs became smaller) does not jump: it only
/// cannot go further. What would go below them is a gift, also where it was used of another type.
fn set(workload: &mut Workload, gpu: usize, wanted: f64, for_gang: f64) {
    let (before, limit) = (workload.deficit[gpu], for_gang + workload.share_on(gpu));
    let after = wanted.clamp(before.min(-limit), before.max(limit));
    workload.deficit[gpu] = after;
    workload.extra += (after - wanted).max(0.0);
    workload.cut += (wanted - after).max(0.0);
}

/// Lets the time pass up to an event that is taken.
pub(crate) fn advance(state: &mut State, at: Time) {
    if state.settings.rounding == RoundingRule::Deficit {
        settle(state, at);
    }
    super::remember::pass(state, at);
    state.now = at;
}

/// Brings all accounts up to `now`.
pub(crate) fn settle(state: &mut State, now: Time) {
    let rounds = now.since(state.ledger.settled).0 as f64 / (state.settings.round.0.max(1)) as f64;
    state.ledger.settled = now;
    let types = state.cluster.types().len();
    if rounds <= 0.0 || types == 0 {
        return;
    }
    let State { active, workloads, settings, cluster, .. } = state;
    let (mut contending, mut wanted) =
        (Vec::with_capacity(active.len() * types), vec![false; types]);
    for w in active.iter() {
        let workload = &workloads[w.0];
        let over = slowest_overused(workload);
        let contends = |gpu: usize| {
            workload.share_on(gpu) > 0.0
                && (workload.waits_for(gpu, cluster.capacity())
                    || pays(settings, workload.profile.on(gpu), over))
        };
        for (gpu, wanted) in wanted.iter_mut().enumerate() {
            let contends = contends(gpu);
            contending.push(contends);
            *wanted |= contends;
        }
    }
    for (w, contends) in active.iter().zip(contending.chunks_exact(types)) {
        let workload = &mut workloads[w.0];
        accrue(workload, rounds, (contends, &wanted), settings);
        gather(workload, cluster.capacity(), settings);
    }
}

/// The speed on the slowest type of which a workload uses more than its share; infinite where there is none.
fn slowest_overused(workload: &Workload) -> f64 {
    let over = (0..workload.used.len())
        .filter(|&j| f64::from(workload.used[j]) > workload.share_on(j))
        .map(|j| workload.profile.on(j));
    over.fold(f64::INFINITY, f64::min)
}

/// Moves the accounts of a workload over some rounds: those of the types that somebody wants.
fn accrue(
    workload: &mut Workload,
    rounds: f64,
    (contends, wanted): (&[bool], &[bool]),
    settings: &Settings,
) {
    let mut for_gang_known = None;
    for gpu in (0..workload.deficit.len()).filter(|&gpu| wanted[gpu]) {
        let (share, used) = (workload.share[gpu], f64::from(workload.used[gpu]));
        if !contends[gpu] && used <= share {
            workload.deficit[gpu] = workload.deficit[gpu].min(0.0);
        } else {
            let after = workload.deficit[gpu] + (share - used) * rounds;
            let for_gang = *for_gang_known.get_or_insert_with(|| for_gang(workload, settings));
            set(workload, gpu, after, for_gang);
        }
    }
}

/// Brings together what belongs together, at the workload's own speeds: what it is owed, or owes, of types on
/// which it has no share goes to the types on which it has (it was served there instead, or the shares have
/// moved, and a gang that saves up need not begin anew); and where its gangs fit on no single type, what it is
/// owed of one pays for what it owes of another.
fn gather(workload: &mut Workload, capacity: &[u32], settings: &Settings) {
    let types = workload.share.len();
    let spans = capacity.iter().all(|&c| c < workload.gang_max);
    let moves = |w: &Workload, j: usize| (spans || w.share[j] <= 0.0) && w.deficit[j] != 0.0;
    if !(0..types).any(|j| moves(workload, j)) {
        return;
    }
    let speed: Vec<f64> = (0..types).map(|j| workload.profile.on(j)).collect();
    let share: f64 = (0..types).map(|j| workload.share[j] * speed[j]).sum();
    if share <= 0.0 {
        return;
    }
    let mut worth = 0.0;
    for j in 0..types {
        if moves(workload, j) {
            worth += workload.deficit[j] * speed[j];
            workload.deficit[j] = 0.0;
        }
    }
    let for_gang = for_gang(workload, settings);
    for j in 0..types {
        let wanted = workload.deficit[j] + worth * workload.share[j] / share;
        set(workload, j, wanted, for_gang);
    }
}

/// A job restarts on GPUs of its type so that a gang has room: what the restart costs is taken from the gang's account
/// and put into the job's, in GPU-rounds of the type. Nobody's job is moved for another's without being paid.
pub(crate) fn pay_for_room(state: &mut State, moved: Slot, gang: Slot) {
    let Some(gpu) = state.target(moved).and_then(|lease| state.single_type(&lease.gpus)) else {
        return;
    };
    let (payee, payer) = (state.at(moved).row(), state.at(gang).row());
    if payee == payer || state.settings.rounding != RoundingRule::Deficit {
        return;
    }
    let rounds = state.restart_cost(moved).0 as f64 / state.settings.round.0.max(1) as f64;
    let cost = f64::from(state.at(moved).spec.workers) * rounds;
    let types = state.cluster.types().len();
    for (key, amount) in [(payee, cost), (payer, -cost)] {
        let workload = &mut state.workloads[key.0];
        workload.widen(types);
        let wanted = workload.deficit[gpu] + amount;
        set(workload, gpu, wanted, for_gang(workload, &state.settings));
    }
}

/// What urgent jobs used in the round that ends is paid for.
pub(crate) fn settle_urgent(state: &mut State) {
    let jobs = state.by_id.values().copied();
    let urgent = jobs.filter(|&slot| state.start_reason(slot) == Some(StartReason::Urgent));
    for slot in urgent.collect::<Vec<Slot>>() {
        pay_for_urgent(state, slot);
    }
}

/// A job that was given the GPUs of others of its tenant runs on their account: what its own workload owes for its GPUs since
/// the round began is taken from what the tenant's workloads with jobs of a lower priority are owed of the same type, the
/// most first. The tenant as a whole is owed what it was, and nobody else's account is touched.
pub(crate) fn pay_for_urgent(state: &mut State, slot: Slot) {
    let job = state.at(slot);
    let Phase::Running { lease, since, why: StartReason::Urgent } = &job.phase else { return };
    let Some(gpu) = state.single_type(&lease.gpus) else { return };
    if state.settings.rounding != RoundingRule::Deficit {
        return;
    }
    let span = state.now.since(state.round_began.max(*since)).rounds(state.settings.round);
    let (own, priority) = (job.row(), job.spec.priority);
    let owes = (-state.workloads[own.0].deficit_on(gpu)).max(0.0);
    let mut left = owes.min(span * lease.gpus.len() as f64);
    let gives_way = |w: &WorkloadKey| {
        let workload = &state.workloads[w.0];
        *w != own && workload.deficit_on(gpu) > 0.0 && workload.waits_below(priority)
    };
    let of_tenant = state.tenants[job.spec.tenant.0].workloads.iter();
    let mut payers: Vec<WorkloadKey> = of_tenant.copied().filter(gives_way).collect();
    let owed = |w: &WorkloadKey| state.workloads[w.0].deficit_on(gpu);
    payers.sort_by(|a, b| owed(b).total_cmp(&owed(a)).then(a.cmp(b)));
    for payer in payers {
        let paid = left.min(state.workloads[payer.0].deficit[gpu]);
        state.workloads[payer.0].deficit[gpu] -= paid;
        state.workloads[own.0].deficit[gpu] += paid;
        left -= paid;
    }
}

/// Shares have changed: the accounts follow them.
pub(crate) fn follow_shares(state: &mut State) {
    let State { active, workloads, settings, cluster, .. } = state;
    for key in active.iter() {
        gather(&mut workloads[key.0], cluster.capacity(), settings);
    }
}

/// A workload has jobs again: its old balance counts. Its extra starts no lower than the least of the others,
/// so that absence earns nothing.
pub(crate) fn enter(state: &mut State, key: WorkloadKey) {
    let types = state.cluster.types().len();
    let per_weight = |w: &Workload| w.extra / state.counted_weight(w.tenant);
    let others = state.active.iter().filter(|&&w| w != key);
    let least = others.map(|w| per_weight(&state.workloads[w.0])).fold(f64::INFINITY, f64::min);
    let weight = state.counted_weight(state.workloads[key.0].tenant);
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
        (workload.extra, workload.cut) = (0.0, 0.0);
    }
}
