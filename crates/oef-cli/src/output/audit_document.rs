//! The certificate for machines.

use super::document::per_type;
use oef_core::audit::{
    EnvyWitness, Finding, Improvement, OverDemand, Overuse, ParetoFinding, ParetoProof, Promise,
    Shortfall, SkippedType,
};
use oef_core::{Certificate, Problem, TenantId};
use oef_terminal::document::{Object, finite, gap};
use serde::Serialize;

/// All findings of one audit.
#[derive(Debug, Serialize)]
pub struct AuditDocument<'a> {
    capacity: FindingDocument<OveruseDocument<'a>>,
    demand: FindingDocument<OverDemandDocument<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    guarantee: Option<FindingDocument<PromiseDocument<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<FindingDocument<PromiseDocument<'a>>>,
    /// Whether the properties that follow are about what lies beyond guarantees and limits.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    beyond_guarantees: bool,
    envy_free: FindingDocument<EnvyDocument<'a>>,
    sharing_incentive: FindingDocument<ShortfallDocument<'a>>,
    pareto_efficient: ParetoDocument<'a>,
    /// Between tenants as a whole; left out where every tenant has one workload, since it says the same.
    adjacent: FindingDocument<SkippedDocument<'a>>,
    optimality: OptimalityDocument,
}

#[derive(Debug, Serialize)]
struct FindingDocument<W> {
    holds: bool,
    worst: f64,
    witness: Option<W>,
}

#[derive(Debug, Serialize)]
struct OveruseDocument<'a> {
    gpu: &'a str,
    used: f64,
    capacity: f64,
}

#[derive(Debug, Serialize)]
struct OverDemandDocument<'a> {
    tenant: &'a str,
    used: f64,
    demand: f64,
}

#[derive(Debug, Serialize)]
struct PromiseDocument<'a> {
    tenant: &'a str,
    gpu: &'a str,
    has: f64,
    bound: f64,
}

#[derive(Debug, Serialize)]
struct EnvyDocument<'a> {
    envious: &'a str,
    envied: &'a str,
    own: f64,
    other: f64,
}

#[derive(Debug, Serialize)]
struct ShortfallDocument<'a> {
    tenant: &'a str,
    throughput: f64,
    equal_split: f64,
}

#[derive(Debug, Serialize)]
struct ParetoDocument<'a> {
    holds: bool,
    worst: f64,
    bound: f64,
    proof: &'static str,
    witness: Option<ImprovementDocument<'a>>,
}

#[derive(Debug, Serialize)]
struct ImprovementDocument<'a> {
    gain: Object<'a, f64>,
    shares: Vec<BetterShareDocument<'a>>,
}

#[derive(Debug, Serialize)]
struct BetterShareDocument<'a> {
    name: &'a str,
    share: Object<'a, f64>,
    /// Gains may lie between the workloads of one tenant.
    workloads: Vec<BetterWorkloadDocument<'a>>,
}

#[derive(Debug, Serialize)]
struct BetterWorkloadDocument<'a> {
    name: &'a str,
    share: Object<'a, f64>,
}

#[derive(Debug, Serialize)]
struct SkippedDocument<'a> {
    tenant: &'a str,
    workload: &'a str,
    held: Vec<&'a str>,
    skipped: &'a str,
}

#[derive(Debug, Serialize)]
struct OptimalityDocument {
    holds: bool,
    gap: f64,
}

impl<'a> AuditDocument<'a> {
    /// The document of one certificate.
    pub fn new(problem: &'a Problem, certificate: &Certificate) -> Self {
        let c = certificate;
        AuditDocument {
            capacity: finding(&c.capacity, |w: &Overuse| OveruseDocument {
                gpu: &problem.types()[w.gpu.0].name,
                used: finite(w.used),
                capacity: finite(w.capacity),
            }),
            demand: finding(&c.demand, |w: &OverDemand| OverDemandDocument {
                tenant: tenant(problem, w.tenant),
                used: finite(w.used),
                demand: finite(w.demand),
            }),
            guarantee: c.beyond.then(|| finding(&c.guarantee, |w| promise(problem, w))),
            limit: c.beyond.then(|| finding(&c.limit, |w| promise(problem, w))),
            beyond_guarantees: c.beyond,
            envy_free: finding(&c.envy_free, |w: &EnvyWitness| EnvyDocument {
                envious: tenant(problem, w.envious),
                envied: tenant(problem, w.envied),
                own: finite(w.own),
                other: finite(w.other),
            }),
            sharing_incentive: finding(&c.sharing_incentive, |w: &Shortfall| ShortfallDocument {
                tenant: tenant(problem, w.tenant),
                throughput: finite(w.throughput),
                equal_split: finite(w.equal_split),
            }),
            pareto_efficient: pareto(problem, &c.pareto_efficient),
            adjacent: finding(&c.adjacent, |w: &SkippedType| skipped(problem, w)),
            optimality: OptimalityDocument {
                holds: c.optimality.holds,
                gap: gap(c.optimality.gap),
            },
        }
    }
}

/// The word for how Pareto efficiency was decided.
fn proof_word(proof: ParetoProof) -> &'static str {
    match proof {
        ParetoProof::Prices => "prices",
        ParetoProof::Program => "program",
        ParetoProof::BoundOnly => "bound-only",
    }
}

fn finding<W, D>(finding: &Finding<W>, document: impl Fn(&W) -> D) -> FindingDocument<D> {
    FindingDocument {
        holds: finding.holds,
        worst: finite(finding.worst),
        witness: finding.witness.as_ref().map(document),
    }
}

fn promise<'a>(problem: &'a Problem, w: &Promise) -> PromiseDocument<'a> {
    PromiseDocument {
        tenant: tenant(problem, w.tenant),
        gpu: &problem.types()[w.gpu.0].name,
        has: finite(w.has),
        bound: finite(w.bound),
    }
}

fn pareto<'a>(problem: &'a Problem, finding: &ParetoFinding) -> ParetoDocument<'a> {
    ParetoDocument {
        holds: finding.holds,
        worst: finite(finding.worst),
        bound: finite(finding.bound),
        proof: proof_word(finding.proof),
        witness: finding.witness.as_ref().map(|better| improvement(problem, better)),
    }
}

fn improvement<'a>(problem: &'a Problem, better: &Improvement) -> ImprovementDocument<'a> {
    let gain = better.gains.iter().map(|&(t, gain)| (tenant(problem, t), finite(gain)));
    let shares = problem.tenant_ids().map(|t| BetterShareDocument {
        name: tenant(problem, t),
        share: per_type(problem, &better.shares.of_tenant(problem, t)),
        workloads: (problem.workload_ids_of(t))
            .map(|w| BetterWorkloadDocument {
                name: &problem.workloads()[w.0].name,
                share: per_type(problem, better.shares.of_workload(w)),
            })
            .collect(),
    });
    ImprovementDocument { gain: Object(gain.collect()), shares: shares.collect() }
}

fn skipped<'a>(problem: &'a Problem, witness: &SkippedType) -> SkippedDocument<'a> {
    let gpu = |j: usize| problem.types()[j].name.as_str();
    SkippedDocument {
        tenant: tenant(problem, witness.tenant),
        workload: &problem.workloads()[witness.workload.0].name,
        held: witness.held.iter().map(|t| gpu(t.0)).collect(),
        skipped: gpu(witness.skipped.0),
    }
}

fn tenant(problem: &Problem, TenantId(t): TenantId) -> &str {
    &problem.tenants()[t].name
}
