//! The certificate of some shares, with a sentence where a property fails.

use super::text::amounts;
use oef_api::types::{Audit, Property, SolverAnswer, SolverStatus};
use oef_core::audit::{EnvyWitness, Finding, Improvement, ParetoFinding, SkippedType};
use oef_core::{Mechanism, Outcome, Problem, Shares, Status, TenantId, TypeId, audit, beyond};
use oef_report::format::{counted, figure, percent};

/// Of those who could gain, so many are named.
const NAMED_MAX: usize = 4;

/// Audits some shares. With many tenants this takes long.
pub fn certificate(problem: &Problem, outcome: &Outcome) -> Audit {
    let found = audit(problem, outcome);
    // What is said of envy and the like is about the problem of the mechanism.
    let beyond = beyond(problem, outcome);
    let (whole, promises) = (problem, found.beyond);
    let (problem, shares) = beyond.as_ref().map_or((problem, &outcome.shares), |(p, s)| (p, s));
    Audit {
        guarantee: promises.then(|| {
            property(&found.guarantee, |w| {
                let (name, of) = (tenant(whole, w.tenant), gpu(whole, w.gpu));
                format!("{name} has {} {of} of the {} guaranteed", figure(w.has), figure(w.bound))
            })
        }),
        limit: promises.then(|| {
            property(&found.limit, |w| {
                let (name, of) = (tenant(whole, w.tenant), gpu(whole, w.gpu));
                format!("{name} has {} {of}, and its limit is {}", figure(w.has), figure(w.bound))
            })
        }),
        beyond_guarantees: promises,
        capacity: property(&found.capacity, |w| {
            let name = gpu(problem, w.gpu);
            format!("{} of {} {name} are handed out", figure(w.used), figure(w.capacity))
        }),
        demand: Some(property(&found.demand, |w| {
            let (name, used) = (tenant(whole, w.tenant), figure(w.used));
            format!("{name} has {used} GPUs and can use {}", figure(w.demand))
        })),
        envy_free: property(&found.envy_free, |w| envy(problem, shares, w)),
        sharing_incentive: property(&found.sharing_incentive, |w| {
            format!(
                "{} trains at {}, and an equal split would give it {}",
                tenant(problem, w.tenant),
                figure(w.throughput),
                figure(w.equal_split)
            )
        }),
        pareto_efficient: pareto(problem, &found.pareto_efficient),
        adjacent: property(&found.adjacent, |w| skipped(problem, w)),
    }
}

/// How some shares were computed, and how far they are proven.
pub(super) fn solver_answer(outcome: &Outcome) -> SolverAnswer {
    let solver = &outcome.solver;
    let is_optimal = solver.status == Status::Optimal;
    let proven = match solver.gap {
        _ if is_optimal
            && matches!(outcome.mechanism, Mechanism::MaxMin | Mechanism::GandivaFair) =>
        {
            "by a rule, which has no optimum to miss".into()
        }
        _ if is_optimal && solver.canonical => "proven optimal".into(),
        _ if is_optimal => {
            "proven optimal; other shares are as good, and these depend on rounding".into()
        }
        gap if gap.is_finite() && gap < 1.0 => {
            format!("not proven optimal: at most {} from the optimum", percent(gap))
        }
        _ => "not proven optimal: how far from the optimum is not known".into(),
    };
    SolverAnswer {
        status: if is_optimal { SolverStatus::Optimal } else { SolverStatus::Feasible },
        gap: Some(solver.gap).filter(|gap| gap.is_finite() && (is_optimal || *gap < 1.0)),
        canonical: solver.canonical,
        method: solver.method.to_string(),
        sentence: format!("{proven} ({})", solver.method),
    }
}

/// The names of the properties that hold.
pub(super) fn holding(audit: &Audit) -> Vec<String> {
    let all = [
        ("capacity", &audit.capacity),
        ("envy-free", &audit.envy_free),
        ("sharing incentive", &audit.sharing_incentive),
        ("Pareto efficient", &audit.pareto_efficient),
        ("adjacent types", &audit.adjacent),
    ];
    all.iter().filter(|(_, p)| p.holds).map(|(name, _)| (*name).into()).collect()
}

fn property<W>(finding: &Finding<W>, sentence: impl Fn(&W) -> String) -> Property {
    Property {
        holds: finding.holds,
        worst: finding.worst,
        witness: finding.witness.as_ref().map(sentence),
    }
}

fn envy(problem: &Problem, shares: &Shares, w: &EnvyWitness) -> String {
    let (envious, envied) = (tenant(problem, w.envious), tenant(problem, w.envied));
    let scale = problem.tenants()[w.envious.0].weight / problem.tenants()[w.envied.0].weight;
    let scaled = match (scale - 1.0).abs() > 1e-12 {
        true => format!(", {} times it by their weights", figure(scale)),
        false => String::new(),
    };
    let types = problem.types().iter().map(|t| &t.name);
    let bundle = amounts(types.zip(shares.of_tenant(problem, w.envied)));
    let (own, other) = (figure(w.own), figure(w.other));
    format!(
        "{envious} would rather have the share of {envied} ({bundle}{scaled}): {other} instead of {own}"
    )
}

fn pareto(problem: &Problem, finding: &ParetoFinding) -> Property {
    let sentence = match &finding.witness {
        Some(better) => Some(gains(problem, finding, better)),
        None if finding.holds => None,
        None => {
            let bound = 100.0 * finding.bound;
            Some(format!(
                "not decided: the total could grow by at most {bound:.2} % at nobody's cost"
            ))
        }
    };
    Property { holds: finding.holds, worst: finding.worst, witness: sentence }
}

fn gains(problem: &Problem, finding: &ParetoFinding, better: &Improvement) -> String {
    let named = better.gains.iter().take(NAMED_MAX);
    let named: Vec<String> = named
        .map(|&(t, gain)| format!("{} could gain {}", tenant(problem, t), figure(gain)))
        .collect();
    let more = better.gains.len().saturating_sub(NAMED_MAX);
    let more =
        if more > 0 { format!(" and {} something", counted(more, "other")) } else { String::new() };
    let part = 100.0 * finding.worst;
    format!("{}{more} with nobody losing ({part:.2} % of the total)", named.join(", "))
}

fn skipped(problem: &Problem, w: &SkippedType) -> String {
    let held: Vec<&str> = w.held.iter().map(|&t| gpu(problem, t)).collect();
    let (name, between) = (tenant(problem, w.tenant), gpu(problem, w.skipped));
    format!("{name} holds {}, but no {between} between them", held.join(" and "))
}

fn tenant(problem: &Problem, TenantId(t): TenantId) -> &str {
    &problem.tenants()[t].name
}

fn gpu(problem: &Problem, TypeId(j): TypeId) -> &str {
    &problem.types()[j].name
}
