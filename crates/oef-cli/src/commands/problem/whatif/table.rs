//! Before, after and the difference, for people.

use super::run::{Both, throughput};
use crate::args::problem::Property;
use crate::commands::problem::share::{EXTREMES_SHOWN, TENANTS_SHOWN_MAX, between};
use crate::output::certificate::{judge, title};
use oef_core::change::TenantDifference;
use oef_core::{Certificate, Outcome, Problem, WhatIf};
use oef_report::format::figure;
use oef_terminal::names::short;
use oef_terminal::numbers::{difference, fixed};
use oef_terminal::table::{Cell, Table};
use owo_colors::{OwoColorize as _, Style};
use std::fmt::Write as _;

/// The whole answer.
pub fn render(problem: &Problem, answer: &WhatIf, audits: &Both<Certificate>, all: bool) -> String {
    let mut out = String::new();
    let mechanism = answer.after.mechanism;
    let reference = short(&problem.types()[problem.reference().0].name);
    let _ = writeln!(
        out,
        "{}: {}; throughput in GPUs of type {reference}\n",
        mechanism.bold(),
        mechanism.summary()
    );
    out.push_str(&tenants(answer, all));
    out.push('\n');
    out.push_str(&prices(problem, answer));
    for property in [Property::EnvyFree, Property::SharingIncentive, Property::ParetoEfficient] {
        let before = judge(problem, &answer.before, &audits.before, property);
        let after = judge(&answer.problem, &answer.after, &audits.after, property);
        let (was, is) = (before.0.styled(), after.0.styled());
        let _ = writeln!(out, "{:<18} {was} → {is}  {}", title(property), after.1);
    }
    out
}

fn tenants(answer: &WhatIf, all: bool) -> String {
    let mut header = vec![Cell::text("tenant")];
    header.extend(["before", "after", "difference"].map(Cell::number));
    header.push(Cell::text("GPUs"));
    let mut table = Table::new(header);
    let rows = &answer.tenants;
    if all || rows.len() <= TENANTS_SHOWN_MAX {
        rows.iter().for_each(|t| table.row(row(answer, t)));
    } else {
        let mut order: Vec<&TenantDifference> = rows.iter().collect();
        order.sort_by(|a, b| change(a).total_cmp(&change(b)).then_with(|| a.name.cmp(&b.name)));
        order[..EXTREMES_SHOWN].iter().for_each(|t| table.row(row(answer, t)));
        table.remark(between(rows.len()));
        order[order.len() - EXTREMES_SHOWN..].iter().for_each(|t| table.row(row(answer, t)));
    }
    let (before, after) = answer.total;
    let bold = Style::new().bold();
    table.row(vec![
        Cell::text("total").style(bold),
        Cell::number(fixed(before)).style(bold),
        Cell::number(fixed(after)).style(bold),
        signed(after - before),
        Cell::text(""),
    ]);
    table.fitted()
}

fn row(answer: &WhatIf, tenant: &TenantDifference) -> Vec<Cell> {
    let shown = |there: bool, x: f64| Cell::number(if there { fixed(x) } else { "-".into() });
    vec![
        Cell::text(short(&tenant.name)),
        shown(tenant.before.is_some(), throughput(&tenant.before)),
        shown(tenant.after.is_some(), throughput(&tenant.after)),
        signed(change(tenant)),
        Cell::text(moved(answer, tenant)),
    ]
}

fn change(tenant: &TenantDifference) -> f64 {
    throughput(&tenant.after) - throughput(&tenant.before)
}

fn signed(x: f64) -> Cell {
    let style = match difference(x) {
        text if text.starts_with('-') => Style::new().red(),
        text if text.starts_with('+') => Style::new().green(),
        _ => Style::new(),
    };
    Cell::number(difference(x)).style(style)
}

/// Which GPUs a tenant gains and loses. A new type comes last in the changed problem, so the types
/// of both problems agree as far as the shorter list goes.
fn moved(answer: &WhatIf, tenant: &TenantDifference) -> String {
    let held = |figures: &Option<oef_core::change::TenantFigures>, j: usize| {
        figures.as_ref().and_then(|f| f.share.get(j).copied()).unwrap_or(0.0)
    };
    let parts = answer.problem.types().iter().enumerate().filter_map(|(j, gpu)| {
        let delta = held(&tenant.after, j) - held(&tenant.before, j);
        let text = difference(delta);
        (text != "·").then(|| format!("{text} {}", short(&gpu.name)))
    });
    parts.collect::<Vec<_>>().join(", ")
}

fn prices(problem: &Problem, answer: &WhatIf) -> String {
    if answer.after.prices.is_empty() {
        return String::new();
    }
    let of = |problem: &Problem, outcome: &Outcome, name: &str| {
        let j = problem.types().iter().position(|t| t.name == name);
        j.and_then(|j| outcome.prices.get(j)).map_or("-".into(), |p| figure(*p))
    };
    let parts = answer.problem.types().iter().map(|t| {
        let before = of(problem, &answer.before, &t.name);
        let after = of(&answer.problem, &answer.after, &t.name);
        format!("{} {before} → {after}", short(&t.name))
    });
    format!("{:<18} {}\n", "prices", parts.collect::<Vec<_>>().join(", "))
}
