//! The certificate for people: one line per property, with a witness that can be checked by hand.

use crate::args::problem::Property;
use oef_core::audit::{
    EnvyWitness, Improvement, ParetoFinding, ParetoProof, Shortfall, SkippedType,
};
use oef_core::{Certificate, Mechanism, Outcome, Problem, Shares, TenantId, TypeId, beyond};
use oef_report::format::{figure, percent};
use oef_terminal::mark::Mark;
use oef_terminal::names::short;
use oef_terminal::numbers::counted;
use owo_colors::OwoColorize as _;
use std::fmt::Write as _;

/// A witness with more parties than this is described by its first few.
const NAMED_MAX: usize = 4;
/// Better shares of more amounts than this are left to `--json`: nobody adds them up by hand.
const AMOUNTS_MAX: usize = 12;
/// Below this an amount is the solver's rounding.
const HELD: f64 = 1e-9;

/// What the certificate of a problem with guarantees or limits is about.
const BEYOND: &str =
    "envy, sharing incentive, Pareto efficiency and adjacent types: beyond guarantees and limits";

/// The whole certificate, a line per property.
pub fn render(problem: &Problem, outcome: &Outcome, certificate: &Certificate) -> String {
    let c = certificate;
    let mut lines = vec![(Mark::of(c.capacity.holds), "capacity", capacity(problem, c))];
    if problem.workloads().iter().any(|w| w.demand.is_some()) {
        lines.push((Mark::of(c.demand.holds), "demand", demand(problem, c)));
    }
    if c.beyond {
        lines.push((Mark::of(c.guarantee.holds), "guarantees", guarantee(problem, c)));
        lines.push((Mark::of(c.limit.holds), "limits", limit(problem, c)));
    }
    for property in [Property::EnvyFree, Property::SharingIncentive, Property::ParetoEfficient] {
        let (mark, text) = judge(problem, outcome, c, property);
        lines.push((mark, title(property), text));
    }
    lines.push((Mark::of(c.adjacent.holds), "adjacent types", adjacent(problem, c)));
    lines.push((Mark::of(c.optimality.holds), "optimal", optimality(outcome, c)));
    let mut out = format!("{}\n", "certificate".bold());
    for (mark, title, text) in lines {
        let _ = writeln!(out, "  {} {title:<18} {text}", mark.styled());
    }
    if c.beyond {
        let _ = writeln!(out, "  {BEYOND}");
    }
    out
}

/// The name of a property in full.
pub fn title(property: Property) -> &'static str {
    match property {
        Property::EnvyFree => "envy-free",
        Property::SharingIncentive => "sharing incentive",
        Property::ParetoEfficient => "Pareto efficient",
    }
}

/// Whether a property holds, and the sentence that says why.
pub fn judge(
    problem: &Problem,
    outcome: &Outcome,
    certificate: &Certificate,
    property: Property,
) -> (Mark, String) {
    let c = certificate;
    let beyond = if c.beyond { beyond(problem, outcome) } else { None };
    let (problem, shares) = beyond.as_ref().map_or((problem, &outcome.shares), |(p, s)| (p, s));
    match property {
        Property::EnvyFree => {
            let text = match &c.envy_free.witness {
                Some(witness) => envy(problem, shares, witness),
                None => "nobody would prefer another's bundle".into(),
            };
            (Mark::of(c.envy_free.holds), text)
        }
        Property::SharingIncentive => {
            let text = match &c.sharing_incentive.witness {
                Some(witness) => shortfall(problem, witness),
                None => {
                    let worst = figure(c.sharing_incentive.worst);
                    format!("nobody falls below its equal split (the least has {worst} times it)")
                }
            };
            (Mark::of(c.sharing_incentive.holds), text)
        }
        Property::ParetoEfficient => {
            let mark = mark_of_pareto(&c.pareto_efficient);
            (mark, pareto(problem, shares, &c.pareto_efficient))
        }
    }
}

/// Pareto efficiency can stay open where only bounds are proven.
pub fn mark_of_pareto(finding: &ParetoFinding) -> Mark {
    let undecided = finding.proof == ParetoProof::BoundOnly && finding.witness.is_none();
    if undecided && !finding.holds { Mark::Open } else { Mark::of(finding.holds) }
}

fn capacity(problem: &Problem, c: &Certificate) -> String {
    match &c.capacity.witness {
        None => "no gpu type is handed out beyond its count".into(),
        Some(w) => {
            let (used, capacity) = (figure(w.used), figure(w.capacity));
            format!("{used} of {capacity} {} are handed out", gpu(problem, w.gpu))
        }
    }
}

fn demand(problem: &Problem, c: &Certificate) -> String {
    match &c.demand.witness {
        None => "nobody holds more GPUs than it can use".into(),
        Some(w) => {
            let (used, demand) = (figure(w.used), figure(w.demand));
            format!("{} holds {used} GPUs and can use {demand}", tenant(problem, w.tenant))
        }
    }
}

fn guarantee(problem: &Problem, c: &Certificate) -> String {
    match &c.guarantee.witness {
        None => "everybody has what it can use of its guarantees".into(),
        Some(w) => {
            let (has, bound, of) = (figure(w.has), figure(w.bound), gpu(problem, w.gpu));
            format!("{} has {has} {of} of the {bound} guaranteed", tenant(problem, w.tenant))
        }
    }
}

fn limit(problem: &Problem, c: &Certificate) -> String {
    match &c.limit.witness {
        None => "nobody is above its limit of a gpu type".into(),
        Some(w) => {
            let (has, bound, of) = (figure(w.has), figure(w.bound), gpu(problem, w.gpu));
            format!("{} has {has} {of}, and its limit is {bound}", tenant(problem, w.tenant))
        }
    }
}

fn envy(problem: &Problem, shares: &Shares, w: &EnvyWitness) -> String {
    let (envious, envied) = (tenant(problem, w.envious), tenant(problem, w.envied));
    let scale = problem.tenants()[w.envious.0].weight / problem.tenants()[w.envied.0].weight;
    let scaled = if (scale - 1.0).abs() > 1e-12 {
        format!(" (scaled by their weights to {} times it)", figure(scale))
    } else {
        String::new()
    };
    let (own, other) = (figure(w.own), figure(w.other));
    let mut text = format!(
        "{envious} would rather have the bundle of {envied}{scaled}: {other} instead of {own}"
    );
    if let Some(sum) = by_hand(problem, shares, w, scale) {
        let _ = write!(text, " ({sum} = {other})");
    }
    text
}

/// The envied bundle at the envious tenant's speedups, written out where that is one line.
fn by_hand(problem: &Problem, shares: &Shares, w: &EnvyWitness, scale: f64) -> Option<String> {
    let [workload] = problem.workloads_of(w.envious) else { return None };
    if problem.workloads_of(w.envious).iter().any(|w| w.demand.is_some()) {
        return None;
    }
    let bundle = shares.of_tenant(problem, w.envied);
    let terms: Vec<String> = (bundle.iter().zip(&workload.speedup).zip(problem.types()))
        .filter(|((x, _), _)| **x > HELD)
        .map(|((x, s), t)| format!("{} {} x {}", figure(x * scale), short(&t.name), figure(*s)))
        .collect();
    (1..=NAMED_MAX).contains(&terms.len()).then(|| terms.join(" + "))
}

fn shortfall(problem: &Problem, w: &Shortfall) -> String {
    let name = tenant(problem, w.tenant);
    let (own, equal) = (figure(w.throughput), figure(w.equal_split));
    format!("{name} trains at {own}, and an equal split would give it {equal}")
}

fn pareto(problem: &Problem, shares: &Shares, finding: &ParetoFinding) -> String {
    match &finding.witness {
        Some(better) => improvement(problem, shares, finding, better),
        None if finding.holds => "nobody can gain without another's loss".into(),
        None => pareto_open(finding),
    }
}

fn pareto_open(finding: &ParetoFinding) -> String {
    format!(
        "not decided: the total could grow by at most {} at nobody's cost",
        percent(finding.bound)
    )
}

/// Who could gain how much.
fn gains(problem: &Problem, better: &Improvement, finding: &ParetoFinding) -> String {
    let gains: Vec<String> = (better.gains.iter().take(NAMED_MAX))
        .map(|&(t, gain)| format!("{} could gain {}", tenant(problem, t), figure(gain)))
        .collect();
    let more = better.gains.len().saturating_sub(NAMED_MAX);
    let more =
        if more > 0 { format!(" and {} something", counted(more, "other")) } else { String::new() };
    let mut part = format!("{} of the total", percent(finding.worst));
    if finding.proof == ParetoProof::BoundOnly {
        let _ = write!(part, ", and not more than {} is possible", percent(finding.bound));
    }
    format!("{}{more} with nobody losing ({part})", gains.join(", "))
}

fn improvement(
    problem: &Problem,
    shares: &Shares,
    finding: &ParetoFinding,
    better: &Improvement,
) -> String {
    let mut text = gains(problem, better, finding);
    let changed: Vec<TenantId> = problem
        .tenant_ids()
        .filter(|&t| differ(&shares.of_tenant(problem, t), &better.shares.of_tenant(problem, t)))
        .collect();
    let held =
        |&t: &TenantId| better.shares.of_tenant(problem, t).iter().filter(|x| **x > HELD).count();
    if changed.len() <= NAMED_MAX && changed.iter().map(held).sum::<usize>() <= AMOUNTS_MAX {
        let parts: Vec<String> = (changed.iter())
            .map(|&t| {
                let bundle = bundle(problem, &better.shares.of_tenant(problem, t));
                format!("{} {bundle}", tenant(problem, t))
            })
            .collect();
        let _ = write!(text, ": give {}", parts.join("; "));
    } else {
        text.push_str("; --json has the better shares");
    }
    text
}

/// A bundle in words: `0.5 g1 + 0.25 g2`.
pub fn bundle(problem: &Problem, gpus: &[f64]) -> String {
    let parts: Vec<String> = (gpus.iter().zip(problem.types()))
        .filter(|(x, _)| **x > HELD)
        .map(|(x, t)| format!("{} {}", figure(*x), short(&t.name)))
        .collect();
    if parts.is_empty() { "nothing".into() } else { parts.join(" + ") }
}

fn differ(a: &[f64], b: &[f64]) -> bool {
    a.iter().zip(b).any(|(x, y)| (x - y).abs() > 1e-9 * (1.0 + x.abs()))
}

fn adjacent(problem: &Problem, c: &Certificate) -> String {
    match &c.adjacent.witness {
        None => "nobody skips a gpu type between two that it holds".into(),
        Some(witness) => skipped(problem, witness),
    }
}

fn skipped(problem: &Problem, w: &SkippedType) -> String {
    let held: Vec<String> = w.held.iter().map(|&t| gpu(problem, t)).collect();
    let name = tenant(problem, w.tenant);
    format!("{name} holds {}, but no {} between them", held.join(" and "), gpu(problem, w.skipped))
}

fn optimality(outcome: &Outcome, c: &Certificate) -> String {
    if matches!(outcome.mechanism, Mechanism::MaxMin | Mechanism::GandivaFair) {
        "a rule, not a program: there is nothing to fall short of".into()
    } else if !c.optimality.gap.is_finite() {
        "not proven: no bound on the optimum is known".into()
    } else if c.optimality.holds {
        "proven to be the optimum of the mechanism's program".into()
    } else {
        format!("the optimum is at most {} better", percent(c.optimality.gap))
    }
}

fn tenant(problem: &Problem, TenantId(t): TenantId) -> String {
    short(&problem.tenants()[t].name)
}

fn gpu(problem: &Problem, TypeId(j): TypeId) -> String {
    short(&problem.types()[j].name)
}
