//! `oef whatif`: what changes to a problem do to everybody.

use super::{changes, live, table};
use crate::args::problem::WhatifArgs;
use crate::commands::problem::solving::{Asked, Limit, warn_useless_cap, with_solver};
use crate::input::{self, nearest};
use crate::output::audit_document::AuditDocument;
use crate::output::document::{SolverDocument, per_type};
use oef_core::change::{TenantFigures, whatif_with};
use oef_core::{Certificate, Mechanism, Problem, WhatIf, audit};
use oef_terminal::document::{Object, VERSION, finite};
use oef_terminal::{Exit, Failure, Printer};
use serde::Serialize;

pub fn run(args: &WhatifArgs, printer: &Printer) -> Result<Exit, Failure> {
    let Some(path) = &args.problem else { return live::run(args, printer) };
    let mechanism = args.mechanism.unwrap_or(Mechanism::Cooperative);
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

#[derive(Serialize)]
struct WhatifDocument<'a> {
    version: u32,
    mechanism: &'static str,
    reference: &'a str,
    total: Difference<f64>,
    tenants: Vec<TenantDocument<'a>>,
    prices: Both<Object<'a, f64>>,
    audit: Both<AuditDocument<'a>>,
    solver: Both<SolverDocument>,
}

#[derive(Serialize)]
struct Difference<T> {
    before: T,
    after: T,
    difference: f64,
}

#[derive(Serialize)]
struct TenantDocument<'a> {
    name: &'a str,
    before: Option<FiguresDocument<'a>>,
    after: Option<FiguresDocument<'a>>,
    /// Of the throughput; somebody who is not there has none.
    difference: f64,
}

#[derive(Serialize)]
struct FiguresDocument<'a> {
    throughput: f64,
    equal_split: f64,
    share: Object<'a, f64>,
}

fn document<'a>(
    problem: &'a Problem,
    answer: &'a WhatIf,
    audits: &Both<Certificate>,
) -> WhatifDocument<'a> {
    let tenants = answer.tenants.iter().map(|t| TenantDocument {
        name: &t.name,
        before: t.before.as_ref().map(|f| figures(problem, f)),
        after: t.after.as_ref().map(|f| figures(&answer.problem, f)),
        difference: finite(throughput(&t.after) - throughput(&t.before)),
    });
    let (before, after) = answer.total;
    WhatifDocument {
        version: VERSION,
        mechanism: answer.after.mechanism.name(),
        reference: &problem.types()[problem.reference().0].name,
        total: Difference {
            before: finite(before),
            after: finite(after),
            difference: finite(after - before),
        },
        tenants: tenants.collect(),
        prices: Both {
            before: per_type(problem, &answer.before.prices),
            after: per_type(&answer.problem, &answer.after.prices),
        },
        audit: Both {
            before: AuditDocument::new(problem, &audits.before),
            after: AuditDocument::new(&answer.problem, &audits.after),
        },
        solver: Both {
            before: SolverDocument::new(&answer.before, None),
            after: SolverDocument::new(&answer.after, None),
        },
    }
}

fn figures<'a>(problem: &'a Problem, figures: &TenantFigures) -> FiguresDocument<'a> {
    FiguresDocument {
        throughput: finite(figures.throughput),
        equal_split: finite(figures.equal_split),
        share: per_type(problem, &figures.share),
    }
}

/// The throughput of a tenant that may not be there.
pub fn throughput(figures: &Option<TenantFigures>) -> f64 {
    figures.as_ref().map_or(0.0, |f| f.throughput)
}
