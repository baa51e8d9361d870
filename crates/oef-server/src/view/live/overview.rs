//! The cluster at a glance.

use super::short;
use crate::caller::Caller;
use crate::world::{TenantEntry, World};
use oef_api::types::{JobState, Overview, TenantLine};
use oef_core::{Mechanism, TenantId, equal_split};
use oef_sched::Health;

/// More tenants would make an answer of megabytes; those who hold or are promised most come first.
const TENANTS_MAX: usize = 2_000;

/// What a mechanism promises on every problem, in the words of the certificate.
pub fn promises(mechanism: Mechanism) -> Vec<String> {
    let more: &[&str] = match mechanism {
        Mechanism::Nash => &["envy-free", "sharing incentive", "Pareto efficient"],
        Mechanism::Cooperative => &["envy-free", "sharing incentive"],
        Mechanism::Incentive => &["sharing incentive", "Pareto efficient"],
        Mechanism::Noncooperative | Mechanism::Efficiency => &["Pareto efficient"],
        Mechanism::MaxMin | Mechanism::GandivaFair => &["sharing incentive"],
        Mechanism::Gavel => &[],
    };
    ["capacity"].iter().chain(more).map(|name| (*name).into()).collect()
}

/// The cluster at a glance.
pub fn overview(world: &World, caller: &Caller, now_ms: u64) -> Overview {
    let sched = &world.sched;
    let cluster = sched.cluster();
    let nodes = cluster.nodes();
    let down = nodes.iter().filter(|node| node.health() == Health::Down).count();
    let types = crate::view::cluster_types(world);
    let mut tenants = tenants(world, caller);
    tenants.sort_by(|a, b| (b.promised + b.delivered).total_cmp(&(a.promised + a.delivered)));
    let more = tenants.len().saturating_sub(TENANTS_MAX);
    tenants.truncate(TENANTS_MAX);
    tenants.sort_by(|a, b| a.name.cmp(&b.name));
    let sum = |of: fn(&TenantLine) -> Option<u32>| tenants.iter().filter_map(of).sum();
    Overview {
        now_ms,
        round: sched.round().0,
        began_ms: sched.plan().began.0,
        length_s: sched.settings().round.seconds(),
        mechanism: sched.settings().mechanism.name().into(),
        promises: promises(sched.settings().mechanism),
        reference: world.reference(),
        last_event: world.next_event.saturating_sub(1),
        queued: sum(|t| t.queued),
        running: sum(|t| t.running),
        types,
        nodes: u32::try_from(nodes.len()).unwrap_or(u32::MAX),
        nodes_down: u32::try_from(down).unwrap_or(u32::MAX),
        trouble: sched.entitlement().trouble().map(String::from),
        more_tenants: u32::try_from(more).unwrap_or(u32::MAX),
        tenants,
    }
}

fn tenants(world: &World, caller: &Caller) -> Vec<TenantLine> {
    let entitlement = world.sched.entitlement();
    let answer = entitlement.answer();
    let places: std::collections::BTreeMap<_, usize> =
        entitlement.tenants().iter().enumerate().map(|(t, &key)| (key, t)).collect();
    let shown = world.tenants.iter().filter_map(|(name, entry)| {
        let visible = caller.may_see(name);
        let place = places.get(&entry.key).map(|&t| TenantId(t));
        if !visible && place.is_none() && entry.live == 0 {
            return None;
        }
        let count = |states: &[JobState]| world.index.count(Some(name), states);
        let figures = answer.zip(place);
        let promised = figures.map_or(entry.account.promised_rate, |((p, outcome), t)| {
            outcome.shares.throughput(p, t)
        });
        Some(TenantLine {
            name: name.clone(),
            slot: entry.key.0 as u64,
            weight: entry.weight,
            promised: short(promised),
            delivered: short(entry.account.delivered_rate),
            equal_split: short(figures.map_or(0.0, |((p, _), t)| equal_split(p, t))),
            gpus: entry.account.held.iter().sum::<f64>() as u32,
            queued: visible.then(|| count(&[JobState::Queued])),
            running: visible.then(|| count(&JobState::PLACED)),
            balance: visible.then(|| short(balance(world, entry))),
        })
    });
    shown.collect()
}

fn balance(world: &World, entry: &TenantEntry) -> f64 {
    let types = 0..world.sched.cluster().types().len();
    world.workloads_of(entry).flat_map(|w| types.clone().map(|j| w.balance_on(j))).sum()
}
