//! `oef explain`: why a result is what it is.

use super::named;
use super::solving::{Asked, Limit, warn_useless_cap, with_solver};
use crate::args::problem::ExplainArgs;
use crate::input;
use crate::output::document::{per_type, solver_document};
use oef_core::explain::{TenantReason, TypeReason, explain_with};
use oef_core::{Explanation, Problem, TenantId, TypeId};
use oef_report::format::figure;
use oef_terminal::document::{Document, Object, finite};
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
        || document(problem, &explanation, tenant),
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

/// `oef explain --json`; with a tenant, only what concerns it.
fn document(
    problem: &Problem,
    explanation: &Explanation,
    only: Option<TenantId>,
) -> impl Serialize {
    let concerns = |t: TenantId| only.is_none_or(|o| o == t);
    let ties = explanation.envy_ties.iter();
    let ties = ties.filter(|tie| concerns(tie.envious) || concerns(tie.envied));
    let ties = ties.map(|tie| {
        Document::part()
            .with("envious", name(problem, tie.envious))
            .with("envied", name(problem, tie.envied))
            .number("throughput", tie.throughput)
    });
    let tenants = explanation.tenants.iter().filter(|r| concerns(r.tenant));
    Document::whole()
        .with("mechanism", explanation.outcome.mechanism.name())
        .with("reference", gpu(problem, problem.reference()))
        .number("total", explanation.total)
        .with("prices", per_type(problem, &explanation.outcome.prices))
        .list("types", explanation.types.iter().map(|r| type_document(problem, r, only)))
        .list("tenants", tenants.map(|r| tenant_document(problem, r)))
        .list("envy_ties", ties)
        .with("sentences", explanation.sentences(problem, only))
        .with("solver", solver_document(&explanation.outcome, None))
}

fn type_document(problem: &Problem, reason: &TypeReason, only: Option<TenantId>) -> impl Serialize {
    let one_more = reason.one_more.as_ref().map(|more| {
        let tenants = problem.tenant_ids().zip(&more.tenants);
        let tenants = tenants.filter(|(t, _)| only.is_none_or(|o| o == *t));
        let tenants = tenants.map(|(t, x)| (name(problem, t), finite(*x)));
        Document::part().number("total", more.total).with("tenants", Object(tenants.collect()))
    });
    Document::part()
        .with("type", gpu(problem, reason.gpu))
        .with("price", reason.price.map(finite))
        .number("capacity", reason.capacity)
        .number("used", reason.used)
        .with("exhausted", reason.exhausted)
        .with("one_more", one_more)
}

fn tenant_document(problem: &Problem, reason: &TenantReason) -> impl Serialize {
    let names = |ids: &[TenantId]| ids.iter().map(|&t| name(problem, t)).collect::<Vec<_>>();
    let holdings = reason.holdings.iter().map(|holding| {
        Document::part()
            .with("workload", problem.workloads()[holding.workload.0].name.as_str())
            .with("type", gpu(problem, holding.gpu))
            .number("gpus", holding.gpus)
            .number("speedup", holding.speedup)
            .with("value_for_money", holding.value_for_money.map(finite))
            .with("best", holding.best)
    });
    Document::part()
        .with("name", name(problem, reason.tenant))
        .number("throughput", reason.throughput)
        .number("equal_split", reason.equal_split)
        .with("at_floor", reason.at_floor)
        .with("at_demand", reason.at_demand)
        .list("holdings", holdings)
        .with("would_envy", names(&reason.would_envy))
        .with("envied_by", names(&reason.envied_by))
}

fn gpu(problem: &Problem, TypeId(j): TypeId) -> &str {
    &problem.types()[j].name
}

fn name(problem: &Problem, TenantId(t): TenantId) -> &str {
    &problem.tenants()[t].name
}
