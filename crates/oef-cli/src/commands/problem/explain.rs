//! `oef explain`: why a result is what it is.

use super::named;
use super::solving::{Asked, Limit, warn_useless_cap, with_solver};
use crate::args::problem::ExplainArgs;
use crate::input;
use crate::output::document::{SolverDocument, per_type};
use oef_core::explain::{Holding, TenantReason, TypeReason, explain_with};
use oef_core::{Explanation, Problem, TenantId};
use oef_report::format::figure;
use oef_terminal::document::{Object, VERSION, finite};
use oef_terminal::names::{safe_lines, short};
use oef_terminal::numbers::{amount, difference, fixed};
use oef_terminal::table::Table;
use oef_terminal::{Exit, Failure, Printer};
use owo_colors::OwoColorize as _;
use serde::Serialize;
use std::fmt::Write as _;

pub fn run(args: &ExplainArgs, printer: &Printer) -> Result<Exit, Failure> {
    let loaded = input::load(&args.problem.path, &args.problem.counts)?;
    let problem = &loaded.problem;
    warn_useless_cap(args.solve, &[args.mechanism], printer);
    let tenant = (args.tenant.as_deref())
        .map(|name| named::tenant(problem, name, "--tenant", printer))
        .transpose()?;
    let what = format!("explaining {}", args.mechanism);
    let asked =
        Asked { what: &what, mechanism: args.mechanism, args: args.solve, limit: Limit::Together };
    let explanation = with_solver(asked, printer, |solve, _| explain_with(problem, solve))?;
    printer.show(
        args.json,
        || ExplainDocument::new(problem, &explanation, tenant),
        || render(problem, &explanation, tenant),
    )
}

fn render(problem: &Problem, explanation: &Explanation, tenant: Option<TenantId>) -> String {
    let mechanism = explanation.outcome.mechanism;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{}: {}; total {}\n",
        mechanism.bold(),
        mechanism.summary(),
        figure(explanation.total)
    );
    out.push_str(&types(problem, explanation, tenant));
    out.push('\n');
    if let Some(tenant) = tenant {
        out.push_str(&holdings(problem, explanation, tenant));
        out.push('\n');
    }
    for sentence in explanation.sentences(problem, tenant) {
        // The core quotes names as they are; a terminal must not obey them.
        let _ = writeln!(out, "• {}", safe_lines(&sentence));
    }
    out
}

/// The gpu types: price, use, and what one more would add.
fn types(problem: &Problem, explanation: &Explanation, tenant: Option<TenantId>) -> String {
    let adds = |more: Option<f64>| more.map_or("?".into(), difference);
    let own = |reason: &TypeReason| reason.one_more.as_ref()?.tenants.get(tenant?.0).copied();
    let to = tenant.map_or(String::new(), |t| format!("to {}>", short(name(problem, t))));
    Table::each(&explanation.types)
        .column("gpu type", |reason| short(&problem.types()[reason.gpu.0].name))
        .column("price>", |reason| reason.price.map_or("·".into(), fixed))
        .column("in use>", |reason| amount(reason.used))
        .column("of>", |reason| figure(reason.capacity))
        .column("one more adds>", |reason| adds(reason.one_more.as_ref().map(|more| more.total)))
        .column_if(tenant.is_some(), &to, |reason| adds(own(reason)))
        .table()
        .fitted()
}

/// One tenant's types: what it holds, and what it would get for the price.
fn holdings(problem: &Problem, explanation: &Explanation, tenant: TenantId) -> String {
    let reasons = explanation.tenants.iter().filter(|r| r.tenant == tenant);
    Table::each(reasons.flat_map(|r| &r.holdings))
        .column("workload", |holding| short(&problem.workloads()[holding.workload.0].name))
        .column("gpu type", |holding| short(&problem.types()[holding.gpu.0].name))
        .column("holds>", |holding| amount(holding.gpus))
        .column("speedup>", |holding| fixed(holding.speedup))
        .column("value for money>", |holding| holding.value_for_money.map_or("·".into(), fixed))
        .column("", |holding| if holding.best { "best" } else { "" })
        .table()
        .fitted()
}

/// `oef explain --json`
#[derive(Debug, Serialize)]
pub struct ExplainDocument<'a> {
    version: u32,
    mechanism: &'static str,
    reference: &'a str,
    total: f64,
    prices: Object<'a, f64>,
    types: Vec<TypeDocument<'a>>,
    tenants: Vec<TenantDocument<'a>>,
    envy_ties: Vec<TieDocument<'a>>,
    sentences: Vec<String>,
    solver: SolverDocument,
}

#[derive(Debug, Serialize)]
struct TypeDocument<'a> {
    #[serde(rename = "type")]
    gpu: &'a str,
    price: Option<f64>,
    capacity: f64,
    used: f64,
    exhausted: bool,
    one_more: Option<OneMoreDocument<'a>>,
}

#[derive(Debug, Serialize)]
struct OneMoreDocument<'a> {
    total: f64,
    tenants: Object<'a, f64>,
}

#[derive(Debug, Serialize)]
struct TenantDocument<'a> {
    name: &'a str,
    throughput: f64,
    equal_split: f64,
    at_floor: bool,
    at_demand: bool,
    holdings: Vec<HoldingDocument<'a>>,
    would_envy: Vec<&'a str>,
    envied_by: Vec<&'a str>,
}

#[derive(Debug, Serialize)]
struct HoldingDocument<'a> {
    workload: &'a str,
    #[serde(rename = "type")]
    gpu: &'a str,
    gpus: f64,
    speedup: f64,
    value_for_money: Option<f64>,
    best: bool,
}

#[derive(Debug, Serialize)]
struct TieDocument<'a> {
    envious: &'a str,
    envied: &'a str,
    throughput: f64,
}

impl<'a> ExplainDocument<'a> {
    /// The document; with a tenant, only what concerns it.
    pub fn new(problem: &'a Problem, explanation: &Explanation, only: Option<TenantId>) -> Self {
        let concerns = |t: TenantId| only.is_none_or(|o| o == t);
        let ties = explanation.envy_ties.iter();
        let ties = ties.filter(|tie| concerns(tie.envious) || concerns(tie.envied));
        let tenants = explanation.tenants.iter().filter(|r| concerns(r.tenant));
        ExplainDocument {
            version: VERSION,
            mechanism: explanation.outcome.mechanism.name(),
            reference: &problem.types()[problem.reference().0].name,
            total: finite(explanation.total),
            prices: per_type(problem, &explanation.outcome.prices),
            types: explanation.types.iter().map(|r| gpu_type(problem, r, only)).collect(),
            tenants: tenants.map(|r| tenant(problem, r)).collect(),
            envy_ties: ties
                .map(|tie| TieDocument {
                    envious: name(problem, tie.envious),
                    envied: name(problem, tie.envied),
                    throughput: finite(tie.throughput),
                })
                .collect(),
            sentences: explanation.sentences(problem, only),
            solver: SolverDocument::new(&explanation.outcome, None),
        }
    }
}

fn gpu_type<'a>(
    problem: &'a Problem,
    reason: &TypeReason,
    only: Option<TenantId>,
) -> TypeDocument<'a> {
    let one_more = reason.one_more.as_ref().map(|more| {
        let tenants = problem.tenant_ids().zip(&more.tenants);
        let tenants = tenants.filter(|(t, _)| only.is_none_or(|o| o == *t));
        OneMoreDocument {
            total: finite(more.total),
            tenants: Object(tenants.map(|(t, x)| (name(problem, t), finite(*x))).collect()),
        }
    });
    TypeDocument {
        gpu: &problem.types()[reason.gpu.0].name,
        price: reason.price.map(finite),
        capacity: finite(reason.capacity),
        used: finite(reason.used),
        exhausted: reason.exhausted,
        one_more,
    }
}

fn tenant<'a>(problem: &'a Problem, reason: &TenantReason) -> TenantDocument<'a> {
    let names = |ids: &[TenantId]| ids.iter().map(|&t| name(problem, t)).collect();
    TenantDocument {
        name: name(problem, reason.tenant),
        throughput: finite(reason.throughput),
        equal_split: finite(reason.equal_split),
        at_floor: reason.at_floor,
        at_demand: reason.at_demand,
        holdings: reason.holdings.iter().map(|h| holding(problem, h)).collect(),
        would_envy: names(&reason.would_envy),
        envied_by: names(&reason.envied_by),
    }
}

fn holding<'a>(problem: &'a Problem, holding: &Holding) -> HoldingDocument<'a> {
    HoldingDocument {
        workload: &problem.workloads()[holding.workload.0].name,
        gpu: &problem.types()[holding.gpu.0].name,
        gpus: finite(holding.gpus),
        speedup: finite(holding.speedup),
        value_for_money: holding.value_for_money.map(finite),
        best: holding.best,
    }
}

fn name(problem: &Problem, TenantId(t): TenantId) -> &str {
    &problem.tenants()[t].name
}
