//! The certificate for machines.

use super::document::per_type;
use oef_core::audit::{Finding, Improvement, ParetoProof, Promise, SkippedType};
use oef_core::{Certificate, Problem, TenantId, TypeId};
use oef_terminal::document::{Document, Field, Object, finite, gap};
use serde::Serialize;

/// All findings of one audit.
pub fn audit_document(problem: &Problem, c: &Certificate) -> impl Serialize {
    let tenant = |TenantId(t)| problem.tenants()[t].name.as_str();
    let gpu = |TypeId(j)| problem.types()[j].name.as_str();
    let promise = |w: &Promise| {
        let party = Document::part().with("tenant", tenant(w.tenant)).with("gpu", gpu(w.gpu));
        party.number("has", w.has).number("bound", w.bound)
    };
    let capacity = finding(&c.capacity, |w| {
        Document::part()
            .with("gpu", gpu(w.gpu))
            .number("used", w.used)
            .number("capacity", w.capacity)
    });
    let demand = finding(&c.demand, |w| {
        Document::part()
            .with("tenant", tenant(w.tenant))
            .number("used", w.used)
            .number("demand", w.demand)
    });
    let envy = finding(&c.envy_free, |w| {
        Document::part()
            .with("envious", tenant(w.envious))
            .with("envied", tenant(w.envied))
            .number("own", w.own)
            .number("other", w.other)
    });
    let incentive = finding(&c.sharing_incentive, |w| {
        Document::part()
            .with("tenant", tenant(w.tenant))
            .number("throughput", w.throughput)
            .number("equal_split", w.equal_split)
    });
    let better = &c.pareto_efficient;
    let pareto = Document::part()
        .with("holds", better.holds)
        .number("worst", better.worst)
        .number("bound", better.bound)
        .with("proof", proof_word(better.proof))
        .with("witness", better.witness.as_ref().map(|better| improvement(problem, better)));
    let adjacent = finding(&c.adjacent, |w: &SkippedType| {
        Document::part()
            .with("tenant", tenant(w.tenant))
            .with("workload", problem.workloads()[w.workload.0].name.as_str())
            .list("held", w.held.iter().map(|&t| gpu(t)))
            .with("skipped", gpu(w.skipped))
    });
    Document::part()
        .with("capacity", capacity)
        .with("demand", demand)
        .maybe("guarantee", c.beyond.then(|| finding(&c.guarantee, promise)))
        .maybe("limit", c.beyond.then(|| finding(&c.limit, promise)))
        // Whether the properties that follow are about what lies beyond guarantees and limits.
        .maybe("beyond_guarantees", c.beyond.then_some(true))
        .with("envy_free", envy)
        .with("sharing_incentive", incentive)
        .with("pareto_efficient", pareto)
        .with("adjacent", adjacent)
        .with(
            "optimality",
            Document::part().with("holds", c.optimality.holds).with("gap", gap(c.optimality.gap)),
        )
}

/// How an audit proved Pareto efficiency, in a word.
fn proof_word(proof: ParetoProof) -> &'static str {
    match proof {
        ParetoProof::Prices => "prices",
        ParetoProof::Program => "program",
        ParetoProof::BoundOnly => "bound-only",
    }
}

type FindingDocument<W> = Document<Field<Field<Field<(), bool>, f64>, Option<W>>>;

fn finding<W, D: Serialize>(
    finding: &Finding<W>,
    document: impl Fn(&W) -> D,
) -> FindingDocument<D> {
    Document::part()
        .with("holds", finding.holds)
        .number("worst", finding.worst)
        .with("witness", finding.witness.as_ref().map(document))
}

fn improvement(problem: &Problem, better: &Improvement) -> impl Serialize {
    let tenant = |TenantId(t)| problem.tenants()[t].name.as_str();
    let gain = better.gains.iter().map(|&(t, gain)| (tenant(t), finite(gain)));
    // Gains may lie between the workloads of one tenant.
    let workloads = |t| {
        problem.workload_ids_of(t).map(|w| {
            Document::part()
                .with("name", problem.workloads()[w.0].name.as_str())
                .with("share", per_type(problem, better.shares.of_workload(w)))
        })
    };
    let share = |t| {
        Document::part()
            .with("name", tenant(t))
            .with("share", per_type(problem, &better.shares.of_tenant(problem, t)))
            .list("workloads", workloads(t))
    };
    Document::part()
        .with("gain", Object(gain.collect()))
        .list("shares", problem.tenant_ids().map(share))
}
