//! Results for machines: the JSON that scripts rely on. Fields are added freely, never renamed.

use super::audit_document::AuditDocument;
use crate::commands::problem::solving::Solved;
use oef_core::audit::equal_splits;
use oef_core::{Outcome, Problem, TenantId, TypeId, WorkloadId};
use oef_terminal::document::{Object, VERSION, finite, gap, status_word};
use serde::Serialize;

/// One figure per gpu type.
pub fn per_type<'a>(problem: &'a Problem, figures: &[f64]) -> Object<'a, f64> {
    Object(
        problem.types().iter().zip(figures).map(|(t, &x)| (t.name.as_str(), finite(x))).collect(),
    )
}

/// A column of CSV: its name, and its field of a row.
pub type Column<'a, T> = (&'a str, &'a dyn Fn(&T) -> String);

/// CSV with a row for each of these below a header. Writing to memory cannot fail.
pub fn csv<T>(rows: &[T], columns: &[Column<'_, T>]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let _ = writer.write_record(columns.iter().map(|(name, _)| name));
    for row in rows {
        let _ = writer.write_record(columns.iter().map(|(_, field)| field(row)));
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
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
