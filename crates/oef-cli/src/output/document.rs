//! Results for machines: the JSON that scripts rely on. Fields are added freely, never renamed.

use super::audit_document::AuditDocument;
use crate::commands::solving::Solved;
use oef_core::audit::equal_splits;
use oef_core::{Outcome, Problem, Status, TenantId, TypeId, WorkloadId};
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};

/// The version of every document.
pub const VERSION: u32 = 1;

/// A JSON object whose keys keep their order.
#[derive(Clone, Debug)]
pub struct Object<'a, T>(pub Vec<(&'a str, T)>);

impl<T: Serialize> Serialize for Object<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// One figure per gpu type.
pub fn per_type<'a>(problem: &'a Problem, figures: &[f64]) -> Object<'a, f64> {
    Object(
        problem.types().iter().zip(figures).map(|(t, &x)| (t.name.as_str(), finite(x))).collect(),
    )
}

/// JSON has no infinities; nothing should be one, and if it were a reader must still get a number.
pub fn finite(x: f64) -> f64 {
    // Adding 0 turns -0 into 0.
    if x.is_nan() { 0.0 } else { x.clamp(f64::MIN, f64::MAX) + 0.0 }
}

/// A gap that could not be computed is not a small one.
pub fn gap(x: f64) -> f64 {
    if x.is_nan() { f64::MAX } else { finite(x) }
}

/// `oef share --json`
#[derive(Debug, Serialize)]
pub struct ShareDocument<'a> {
    version: u32,
    mechanism: &'static str,
    reference: &'a str,
    reference_declared: bool,
    total: f64,
    tenants: Vec<TenantDocument<'a>>,
    prices: Object<'a, f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    trades: Vec<TradeDocument<'a>>,
    audit: AuditDocument<'a>,
    solver: SolverDocument,
}

#[derive(Debug, Serialize)]
struct TenantDocument<'a> {
    name: &'a str,
    weight: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    demand: Option<f64>,
    throughput: f64,
    equal_split: f64,
    share: Object<'a, f64>,
    workloads: Vec<WorkloadDocument<'a>>,
}

#[derive(Debug, Serialize)]
struct WorkloadDocument<'a> {
    name: &'a str,
    throughput: f64,
    share: Object<'a, f64>,
}

#[derive(Debug, Serialize)]
struct TradeDocument<'a> {
    buyer: TraderDocument<'a>,
    seller: TraderDocument<'a>,
    fast: &'a str,
    slow: &'a str,
    amount: f64,
    price: f64,
}

#[derive(Debug, Serialize)]
struct TraderDocument<'a> {
    tenant: &'a str,
    workload: &'a str,
}

/// How an answer was found.
#[derive(Clone, Debug, Serialize)]
pub struct SolverDocument {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
    method: String,
    gap: f64,
    canonical: bool,
    iterations: usize,
}

impl SolverDocument {
    /// From a result and, where it was measured, the time it took.
    pub fn new(outcome: &Outcome, seconds: Option<f64>) -> Self {
        SolverDocument {
            status: status_word(outcome.solver.status),
            seconds,
            method: outcome.solver.method.to_string(),
            gap: gap(outcome.solver.gap),
            canonical: outcome.solver.canonical,
            iterations: outcome.solver.iterations,
        }
    }
}

/// A status in one word.
pub fn status_word(status: Status) -> &'static str {
    match status {
        Status::Optimal => "optimal",
        Status::Feasible => "feasible",
    }
}

impl<'a> ShareDocument<'a> {
    /// The document of one audited result.
    pub fn new(problem: &'a Problem, solved: &Solved) -> Self {
        let outcome = &solved.outcome;
        ShareDocument {
            version: VERSION,
            mechanism: outcome.mechanism.name(),
            reference: &problem.types()[problem.reference().0].name,
            reference_declared: problem.reference_declared(),
            total: finite(outcome.shares.total(problem)),
            tenants: (problem.tenant_ids().zip(equal_splits(problem)))
                .map(|(t, equal)| tenant(problem, outcome, t, equal))
                .collect(),
            prices: per_type(problem, &outcome.prices),
            trades: trades(problem, outcome),
            audit: AuditDocument::new(problem, &solved.certificate),
            solver: SolverDocument::new(outcome, Some(solved.seconds)),
        }
    }
}

fn tenant<'a>(
    problem: &'a Problem,
    outcome: &Outcome,
    id: TenantId,
    equal_split: f64,
) -> TenantDocument<'a> {
    let tenant = &problem.tenants()[id.0];
    let workloads = problem.workload_ids_of(id).map(|w| WorkloadDocument {
        name: &problem.workloads()[w.0].name,
        throughput: finite(outcome.shares.workload_throughput(problem, w)),
        share: per_type(problem, outcome.shares.of_workload(w)),
    });
    TenantDocument {
        name: &tenant.name,
        weight: tenant.weight,
        demand: tenant.demand,
        throughput: finite(outcome.shares.throughput(problem, id)),
        equal_split: finite(equal_split),
        share: per_type(problem, &outcome.shares.of_tenant(problem, id)),
        workloads: workloads.collect(),
    }
}

fn trades<'a>(problem: &'a Problem, outcome: &Outcome) -> Vec<TradeDocument<'a>> {
    let gpu = |TypeId(j): TypeId| problem.types()[j].name.as_str();
    let trader = |WorkloadId(w): WorkloadId| {
        let workload = &problem.workloads()[w];
        TraderDocument {
            tenant: &problem.tenants()[workload.tenant.0].name,
            workload: &workload.name,
        }
    };
    let documents = outcome.trades.iter().map(|trade| TradeDocument {
        buyer: trader(trade.buyer),
        seller: trader(trade.seller),
        fast: gpu(trade.fast),
        slow: gpu(trade.slow),
        amount: finite(trade.amount),
        price: finite(trade.price),
    });
    documents.collect()
}
