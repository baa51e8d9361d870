//! Who was promised what, who got it, and who would rather be another.

use super::day::last_day;
use super::text::timestamp;
use crate::caller::Caller;
use crate::world::{TenantEntry, World};
use oef_api::types::{ApiError, EnvyEntry, Fairness, FairnessPoint, TenantFairness};
use oef_core::{Outcome, Problem, Shares, TenantId, beyond, envy_matrix, equal_split};
use oef_sched::{TenantKey, Time};

/// Up to so many tenants every pair is shown; beyond, of each tenant only the one that it envies most. Nobody
/// reads a larger matrix, and it would be megabytes.
const PAIRS_OF_TENANTS_MAX: usize = 64;

/// What the answer needs of the world.
#[derive(Clone, Debug)]
pub struct FairnessDraft {
    fairness: Fairness,
    /// Where each tenant of the list stands in the problem.
    places: Vec<Option<TenantId>>,
    answer: Option<(Problem, Outcome)>,
}

impl FairnessDraft {
    /// Takes it. Everybody may ask: fairness is between all.
    pub fn take(world: &World, _caller: &Caller) -> Result<FairnessDraft, ApiError> {
        let entitlement = world.sched.entitlement();
        let place = |key: TenantKey| entitlement.tenants().iter().position(|&k| k == key);
        let mut tenants = Vec::new();
        let mut places = Vec::new();
        let mut days = last_day(world);
        for (name, entry) in &world.tenants {
            let place = place(entry.key).map(TenantId);
            if place.is_some() || entry.live > 0 {
                tenants.push(TenantFairness { day: days.remove(name), ..part(world, name, entry) });
                places.push(place);
            }
        }
        let answer = entitlement.answer().map(|(p, outcome)| (p.clone(), outcome.clone()));
        // What is judged are the shares of this round. A mechanism that was set since counts from the next round on.
        let set = world.sched.settings().mechanism;
        let mechanism = answer.as_ref().map_or(set, |(_, outcome)| outcome.mechanism);
        let fairness = Fairness {
            round: world.sched.round().0,
            mechanism: mechanism.name().into(),
            tenants,
            envy: Vec::new(),
            sharing_incentive: None,
            worst_envy: None,
            beyond_guarantees: false,
            usage_half_life_s: world.sched.settings().usage_half_life.map(|h| h.seconds()),
        };
        Ok(FairnessDraft { fairness, places, answer })
    }

    /// Compares everybody with everybody.
    pub fn finish(self) -> Fairness {
        let FairnessDraft { mut fairness, places, answer } = self;
        let Some((problem, outcome)) = answer else { return fairness };
        for (tenant, place) in fairness.tenants.iter_mut().zip(places) {
            let Some(place) = place else { continue };
            tenant.weight = problem.tenants()[place.0].weight;
            tenant.promised = outcome.shares.throughput(&problem, place);
            tenant.equal_split = equal_split(&problem, place);
        }
        // As in the certificate: a guarantee is the operator's decision, and no reason for envy.
        let left = beyond(&problem, &outcome);
        fairness.beyond_guarantees = left.is_some();
        let (problem, shares) = left.as_ref().map_or((&problem, &outcome.shares), |(p, s)| (p, s));
        let ratios = problem.tenant_ids().map(|t| {
            let (own, equal) = (shares.throughput(problem, t), equal_split(problem, t));
            if equal > 0.0 { own / equal } else { 1.0 }
        });
        fairness.sharing_incentive = ratios.reduce(f64::min);
        (fairness.envy, fairness.worst_envy) = envy(problem, shares);
        fairness
    }
}

fn part(world: &World, name: &str, entry: &TenantEntry) -> TenantFairness {
    let (promised_total, delivered_total) = entry.account.at(world.sched.now());
    let history = entry.delivered.iter().map(|point| FairnessPoint {
        round: point.round,
        at: timestamp(Time(point.at_ms)),
        promised: point.promised,
        delivered: point.delivered,
    });
    TenantFairness {
        tenant: name.into(),
        weight: entry.weight,
        promised: entry.account.promised_rate,
        delivered: entry.account.delivered_rate,
        equal_split: 0.0,
        promised_total: promised_total / 1000.0,
        delivered_total: delivered_total / 1000.0,
        history: history.collect(),
        day: None,
    }
}

/// Pairs of different tenants, and the largest envy of all; 0: none.
fn envy(problem: &Problem, shares: &Shares) -> (Vec<EnvyEntry>, Option<f64>) {
    let matrix = envy_matrix(problem, shares);
    let name = |t: TenantId| problem.tenants()[t.0].name.clone();
    let mut pairs = Vec::new();
    let mut worst = 0.0f64;
    let all = problem.tenants().len() <= PAIRS_OF_TENANTS_MAX;
    for tenant in problem.tenant_ids() {
        let row = matrix.row(tenant).iter().enumerate().map(|(s, &ratio)| (TenantId(s), ratio));
        let others = row.filter(|&(other, _)| other != tenant);
        let largest = others.clone().max_by(|a, b| a.1.total_cmp(&b.1));
        worst = largest.map_or(worst, |(_, ratio)| worst.max(ratio - 1.0));
        let entry = |(other, ratio)| EnvyEntry { tenant: name(tenant), other: name(other), ratio };
        match all {
            true => pairs.extend(others.map(entry)),
            false => pairs.extend(largest.map(entry)),
        }
    }
    (pairs, (!problem.tenants().is_empty()).then_some(worst))
}
