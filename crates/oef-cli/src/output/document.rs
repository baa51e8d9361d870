//! Results for machines: the JSON that scripts rely on. Fields are added freely, never renamed.

use super::audit_document::audit_document;
use crate::commands::problem::solving::Solved;
use oef_core::audit::equal_splits;
use oef_core::{Outcome, Problem, TenantId, TypeId, WorkloadId};
use oef_terminal::document::{Document, Object, finite, gap, status_word};
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

/// How an answer was found and, where it was measured, the time it took.
pub fn solver_document(outcome: &Outcome, seconds: Option<f64>) -> impl Serialize + use<> {
    Document::part()
        .with("status", status_word(outcome.solver.status))
        .maybe("seconds", seconds)
        .with("method", outcome.solver.method.to_string())
        .with("gap", gap(outcome.solver.gap))
        .with("canonical", outcome.solver.canonical)
        .with("iterations", outcome.solver.iterations)
}

/// `oef share --json`
pub fn share_document(problem: &Problem, solved: &Solved) -> impl Serialize {
    let outcome = &solved.outcome;
    let tenants = problem.tenant_ids().zip(equal_splits(problem));
    Document::whole()
        .with("mechanism", outcome.mechanism.name())
        .with("reference", problem.types()[problem.reference().0].name.as_str())
        .with("reference_declared", problem.reference_declared())
        .number("total", outcome.shares.total(problem))
        .list("tenants", tenants.map(|(t, equal)| tenant(problem, outcome, t, equal)))
        .with("prices", per_type(problem, &outcome.prices))
        .maybe("trades", (!outcome.trades.is_empty()).then(|| trades(problem, outcome)))
        .with("audit", audit_document(problem, &solved.certificate))
        .with("solver", solver_document(outcome, Some(solved.seconds)))
}

fn tenant(problem: &Problem, outcome: &Outcome, id: TenantId, equal: f64) -> impl Serialize {
    let tenant = &problem.tenants()[id.0];
    let workloads = problem.workload_ids_of(id).map(|w| {
        Document::part()
            .with("name", problem.workloads()[w.0].name.as_str())
            .number("throughput", outcome.shares.workload_throughput(problem, w))
            .with("share", per_type(problem, outcome.shares.of_workload(w)))
    });
    Document::part()
        .with("name", tenant.name.as_str())
        .with("weight", tenant.weight)
        .maybe("demand", tenant.demand)
        .number("throughput", outcome.shares.throughput(problem, id))
        .number("equal_split", equal)
        .with("share", per_type(problem, &outcome.shares.of_tenant(problem, id)))
        .list("workloads", workloads)
}

fn trades(problem: &Problem, outcome: &Outcome) -> Vec<impl Serialize> {
    let gpu = |TypeId(j): TypeId| problem.types()[j].name.as_str();
    let trader = |WorkloadId(w): WorkloadId| {
        let workload = &problem.workloads()[w];
        Document::part()
            .with("tenant", problem.tenants()[workload.tenant.0].name.as_str())
            .with("workload", workload.name.as_str())
    };
    let documents = outcome.trades.iter().map(|trade| {
        Document::part()
            .with("buyer", trader(trade.buyer))
            .with("seller", trader(trade.seller))
            .with("fast", gpu(trade.fast))
            .with("slow", gpu(trade.slow))
            .number("amount", trade.amount)
            .number("price", trade.price)
    });
    documents.collect()
}
