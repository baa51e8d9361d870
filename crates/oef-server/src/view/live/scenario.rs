//! What would happen if, as sliders ask: the current problem with the changes, solved at once.

use super::overview::promises;
use super::short;
use crate::caller::Caller;
use crate::problem::{Kind, More as _};
use crate::view::{certificate, visible};
use crate::world::World;
use oef_api::types::{
    ApiError, Scenario, ScenarioAnswer, ScenarioEffect, ScenarioFigures, ScenarioTenant,
    ScenarioType,
};
use oef_core::change::{TenantDifference, TenantFigures, whatif_with};
use oef_core::{
    Change, Mechanism, Options, Outcome, Problem, TenantSpec, WhatIf, WorkloadSpec, solve,
};
use std::collections::BTreeMap;
use std::time::Instant;

/// Tenants that come or leave in one scenario.
const TENANTS_MAX: usize = 100;

/// What the answer needs of the world.
#[derive(Clone, Debug)]
pub struct ScenarioDraft {
    round: u64,
    mechanism: Mechanism,
    answer: (Problem, Outcome),
    changes: Vec<Change>,
    after: Mechanism,
    certificate: bool,
    /// The only tenant of which figures are shown.
    only: Option<String>,
}

impl ScenarioDraft {
    /// Takes it. Everybody may ask, as with every what-if: tenants about themselves.
    pub fn take(world: &World, caller: &Caller, asked: &Scenario) -> Result<Self, ApiError> {
        let only = visible::only(caller).map(String::from);
        if let Some(field) = only.as_deref().and_then(|own| beyond(own, asked)) {
            return Err(visible::tries_out_others(field));
        }
        let answer = world.sched.entitlement().answer();
        let Some((problem, outcome)) = answer else {
            return Err(Kind::Conflict
                .problem("there are no shares yet: no tenant has jobs")
                .hint("submit a job; the next round has shares"));
        };
        let mechanism = world.sched.settings().mechanism;
        let after = match &asked.mechanism {
            None => mechanism,
            Some(name) => name.parse().map_err(|_| {
                let known: Vec<&str> = Mechanism::ALL.iter().map(|m| m.name()).collect();
                bad(format!("`{name}` is not a mechanism"), "mechanism")
                    .hint(format!("there are {}", known.join(", ")))
            })?,
        };
        if asked.removed.len().max(asked.added.len()) > TENANTS_MAX {
            return Err(bad(format!("more than {TENANTS_MAX} tenants come or leave"), "added"));
        }
        Ok(ScenarioDraft {
            round: world.sched.round().0,
            mechanism,
            changes: changes(world, problem, asked)?,
            answer: (problem.clone(), outcome.clone()),
            after,
            certificate: asked.certificate && only.is_none(),
            only,
        })
    }

    /// Solves the changed problem; the shares before are those of the round.
    pub fn finish(self, options: &Options<'_>) -> Result<ScenarioAnswer, ApiError> {
        let (problem, before) = &self.answer;
        let began = Instant::now();
        let mut is_first = true;
        let found =
            whatif_with(problem, &self.changes, &mut |p| match std::mem::take(&mut is_first) {
                true => Ok(before.clone()),
                false => solve(p, self.after, options),
            });
        let found = found.map_err(|error| bad(error.to_string(), "scenario"))?;
        let solve_s = began.elapsed().as_secs_f64();
        let sees_all = self.only.is_none();
        let shown =
            found.tenants.iter().filter(|t| self.only.as_ref().is_none_or(|own| *own == t.name));
        let tenants: Vec<ScenarioEffect> = shown.map(|t| effect(problem, &found, t)).collect();
        let own = |of: fn(&ScenarioEffect) -> &Option<ScenarioFigures>| {
            tenants.iter().filter_map(|t| of(t).as_ref()).map(|f| f.throughput).sum::<f64>() + 0.0
        };
        let (total_before, total_after) = match sees_all {
            true => found.total,
            false => (own(|t| &t.before), own(|t| &t.after)),
        };
        let audit = |p: &Problem, o: &Outcome| self.certificate.then(|| certificate(p, o));
        Ok(ScenarioAnswer {
            round: self.round,
            mechanism_before: self.mechanism.name().into(),
            mechanism_after: self.after.name().into(),
            promises_before: promises(self.mechanism),
            promises_after: promises(self.after),
            reference: problem.types()[problem.reference().0].name.clone(),
            types: types(problem, &found, sees_all),
            total_before,
            total_after,
            tenants,
            audit_before: audit(problem, before),
            audit_after: audit(&found.problem, &found.after),
            solve_s,
        })
    }
}

/// The field in which a scenario is about more than a tenant itself.
fn beyond(own: &str, asked: &Scenario) -> Option<&'static str> {
    let others = asked.weights.keys().any(|tenant| tenant != own);
    let fields = [
        ("mechanism", asked.mechanism.is_some()),
        ("weights", others),
        ("gpus", !asked.gpus.is_empty()),
        ("removed", !asked.removed.is_empty()),
        ("added", !asked.added.is_empty()),
    ];
    fields.into_iter().find_map(|(field, is_there)| is_there.then_some(field))
}

fn changes(world: &World, problem: &Problem, asked: &Scenario) -> Result<Vec<Change>, ApiError> {
    let mut changes = Vec::new();
    for (tenant, weight) in weights(world, problem, &asked.weights)? {
        changes.push(Change::SetWeight { tenant, weight });
    }
    for (gpu, &count) in &asked.gpus {
        let gpu = gpu.clone();
        changes.push(match problem.type_named(&gpu) {
            Some(_) => Change::SetCapacity { gpu, count },
            None => Change::AddGpus { gpu, count },
        });
    }
    changes.extend(asked.removed.iter().map(|t| Change::RemoveTenant { tenant: t.clone() }));
    changes.extend(asked.added.iter().map(|tenant| Change::AddTenant(spec(tenant))));
    Ok(changes)
}

/// The weights that would count. A tenant in a group takes from its siblings: the group's weight stays.
fn weights(
    world: &World,
    problem: &Problem,
    asked: &BTreeMap<String, f64>,
) -> Result<BTreeMap<String, f64>, ApiError> {
    let mut counts: BTreeMap<String, f64> =
        problem.tenants().iter().map(|t| (t.name.clone(), t.weight)).collect();
    let mut touched = BTreeMap::new();
    for (name, &weight) in asked {
        if !(weight.is_finite() && weight > 0.0) {
            return Err(bad(format!("{weight} is no weight"), "weights")
                .hint("a weight is a number above 0"));
        }
        let entry = world.tenants.get(name).filter(|_| counts.contains_key(name));
        let Some(entry) = entry else {
            return Err(bad(format!("there is no tenant `{name}` with jobs"), "weights"));
        };
        let factor = weight / entry.weight;
        let inside: Vec<String> = match &entry.group {
            None => vec![name.clone()],
            Some(group) => {
                let own =
                    |t: &&String| world.tenants.get(*t).is_some_and(|e| is_in(world, e, group));
                counts.keys().filter(own).cloned().collect()
            }
        };
        let before: f64 = inside.iter().filter_map(|t| counts.get(t)).sum();
        if let Some(own) = counts.get_mut(name) {
            *own *= factor;
        }
        if entry.group.is_some() {
            let after: f64 = inside.iter().filter_map(|t| counts.get(t)).sum();
            for tenant in &inside {
                if let Some(of) = counts.get_mut(tenant) {
                    *of *= before / after;
                }
            }
        }
        touched.extend(inside.into_iter().map(|t| (t, ())));
    }
    counts.retain(|name, _| touched.contains_key(name));
    Ok(counts)
}

/// Whether a tenant stands in a group, or in one below it.
fn is_in(world: &World, entry: &crate::world::TenantEntry, group: &str) -> bool {
    let mut at = entry.group.as_deref();
    // Groups are nested a few deep; the limit is there for a state that should not be.
    for _ in 0..64 {
        match at {
            Some(name) if name == group => return true,
            Some(name) => at = world.groups.get(name).and_then(|g| g.parent.as_deref()),
            None => return false,
        }
    }
    false
}

fn spec(tenant: &ScenarioTenant) -> TenantSpec {
    let throughput = tenant.throughput.iter().map(|(gpu, &x)| (gpu.clone(), x)).collect();
    let workload = WorkloadSpec {
        name: "default".into(),
        weight: 1.0,
        demand: tenant.demand,
        throughput,
        single: Vec::new(),
    };
    TenantSpec {
        name: tenant.name.clone(),
        weight: tenant.weight,
        demand: None,
        guarantee: Vec::new(),
        limit: Vec::new(),
        workloads: vec![workload],
    }
}

fn types(problem: &Problem, found: &WhatIf, sees_all: bool) -> Vec<ScenarioType> {
    let after = found.problem.types().iter().enumerate();
    let one = after.map(|(j, gpu)| {
        let before = problem.type_named(&gpu.name);
        ScenarioType {
            gpu_type: gpu.name.clone(),
            before: before.map_or(0.0, |t| problem.types()[t.0].capacity),
            after: gpu.capacity,
            price_before: before
                .and_then(|t| found.before.prices.get(t.0).copied())
                .map_or(0.0, short),
            price_after: sees_all.then(|| found.after.prices.get(j).copied().map_or(0.0, short)),
        }
    });
    one.collect()
}

fn effect(problem: &Problem, found: &WhatIf, tenant: &TenantDifference) -> ScenarioEffect {
    let figures = |of: &Option<TenantFigures>, problem: &Problem| {
        let weight = problem.tenants().iter().find(|t| t.name == tenant.name).map(|t| t.weight);
        of.as_ref().map(|figures| ScenarioFigures {
            weight: weight.unwrap_or(0.0),
            throughput: short(figures.throughput),
            equal_split: short(figures.equal_split),
            share: figures.share.iter().map(|&x| short(x)).collect(),
        })
    };
    ScenarioEffect {
        tenant: tenant.name.clone(),
        before: figures(&tenant.before, problem),
        after: figures(&tenant.after, &found.problem),
    }
}

fn bad(detail: impl Into<String>, field: &str) -> ApiError {
    Kind::BadRequest.problem(detail).field(field)
}
