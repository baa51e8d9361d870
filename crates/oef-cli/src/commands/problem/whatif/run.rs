//! `oef whatif`: what changes to a problem do to everybody.

use super::{changes, live, table};
use crate::args::problem::WhatifArgs;
use crate::commands::problem::solving::{Asked, Limit, warn_useless_cap, with_solver};
use crate::input::{self, nearest};
use crate::output::audit_document::audit_document;
use crate::output::document::{per_type, solver_document};
use oef_core::change::{TenantFigures, whatif_with};
use oef_core::{Certificate, Mechanism, Problem, WhatIf, audit};
use oef_terminal::document::Document;
use oef_terminal::{Exit, Failure, Printer};
use serde::Serialize;

pub fn run(args: &WhatifArgs, printer: &Printer) -> Result<Exit, Failure> {
    let Some(path) = &args.problem else { return live::run(args, printer) };
    let mechanism = args.mechanism.unwrap_or(Mechanism::DEFAULT);
    let loaded = input::load(path, &args.counts)?;
    warn_useless_cap(args.solve, &[mechanism], printer);
    let changes = changes::read(args, &loaded, printer)?;
    let what = format!("solving {mechanism} before and after");
    let asked = Asked { what: &what, mechanism, args: args.solve, limit: Limit::EachSolve };
    let answer =
        with_solver(asked, printer, |solve, _| whatif_with(&loaded.problem, &changes, solve))?;
    warn_unused_types(&loaded.problem, &answer.problem, printer);
    let audits = Both {
        before: audit(&loaded.problem, &answer.before),
        after: audit(&answer.problem, &answer.after),
    };
    printer.show(
        args.json,
        || document(&loaded.problem, &answer, &audits),
        || table::render(&loaded.problem, &answer, &audits, args.all),
    )
}

/// A thing without and with the changes.
#[derive(Debug, Serialize)]
pub struct Both<T> {
    /// Without.
    pub before: T,
    /// With.
    pub after: T,
}

/// GPUs of a type that nobody can use change nothing, which the user may not expect.
fn warn_unused_types(before: &Problem, after: &Problem, printer: &Printer) {
    for (j, gpu) in after.types().iter().enumerate() {
        let used = after.workloads().iter().any(|w| w.throughput[j] > 0.0);
        if before.type_named(&gpu.name).is_some() || used {
            continue;
        }
        let name = &gpu.name;
        let near = nearest::nearest(name, before.types().iter().map(|t| t.name.as_str()));
        let near = near.map_or(String::new(), |n| format!("; did you mean `{n}`?"));
        printer.warn(&format!(
            "nobody has a throughput for the new gpu type `{name}`, so it stays idle{near}\n  \
             give somebody one with --set TENANT.WORKLOAD.{name}=..."
        ));
    }
}

fn document<'a>(
    problem: &'a Problem,
    answer: &'a WhatIf,
    audits: &'a Both<Certificate>,
) -> impl Serialize {
    let tenants = answer.tenants.iter().map(|t| {
        Document::part()
            .with("name", t.name.as_str())
            .with("before", t.before.as_ref().map(|f| figures(problem, f)))
            .with("after", t.after.as_ref().map(|f| figures(&answer.problem, f)))
            .number("difference", throughput(&t.after) - throughput(&t.before))
    });
    let (before, after) = answer.total;
    let total = Document::part()
        .number("before", before)
        .number("after", after)
        .number("difference", after - before);
    let prices = Both {
        before: per_type(problem, &answer.before.prices),
        after: per_type(&answer.problem, &answer.after.prices),
    };
    let audit = Both {
        before: audit_document(problem, &audits.before),
        after: audit_document(&answer.problem, &audits.after),
    };
    let solver = Both {
        before: solver_document(&answer.before, None),
        after: solver_document(&answer.after, None),
    };
    Document::whole()
        .with("mechanism", answer.after.mechanism.name())
        .with("reference", problem.types()[problem.reference().0].name.as_str())
        .with("total", total)
        .list("tenants", tenants)
        .with("prices", prices)
        .with("audit", audit)
        .with("solver", solver)
}

fn figures(problem: &Problem, figures: &TenantFigures) -> impl Serialize {
    Document::part()
        .number("throughput", figures.throughput)
        .number("equal_split", figures.equal_split)
        .with("share", per_type(problem, &figures.share))
}

/// The throughput of a tenant that may not be there.
pub fn throughput(figures: &Option<TenantFigures>) -> f64 {
    figures.as_ref().map_or(0.0, |f| f.throughput)
}
