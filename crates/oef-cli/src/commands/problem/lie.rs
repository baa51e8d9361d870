//! `oef lie`: the false profile that would pay a tenant most.

use super::named;
use super::solving::{Asked, Limit, warn_useless_cap, with_solver};
use crate::args::problem::{EffortName, LieArgs};
use crate::input;
use crate::output::document::per_type;
use oef_core::lie::{self, Attempt, Direction, Effort, Lie, Report};
use oef_core::{Mechanism, Problem};
use oef_report::format::{figure, percent};
use oef_terminal::document::{Document, Object};
use oef_terminal::names::short;
use oef_terminal::numbers::{counted, ratio};
use oef_terminal::{Exit, Failure, Printer};
use owo_colors::OwoColorize as _;
use serde::Serialize;
use std::fmt::Write as _;

/// A gain below this is rounding, not a lie that pays.
const PAYS: f64 = 1e-6;

pub fn run(args: &LieArgs, printer: &Printer) -> Result<Exit, Failure> {
    let loaded = input::load(&args.problem.path, &args.problem.counts)?;
    let problem = &loaded.problem;
    warn_useless_cap(args.solve, &[args.mechanism], printer);
    let tenant = named::tenant(problem, &args.tenant, "--tenant", printer)?;
    let effort = match args.effort {
        EffortName::Quick => Effort::QUICK,
        EffortName::Normal => Effort::NORMAL,
        EffortName::Thorough => Effort::THOROUGH,
    };
    let what = format!("searching for a lie under {}", args.mechanism);
    let asked =
        Asked { what: &what, mechanism: args.mechanism, args: args.solve, limit: Limit::Together };
    let lie = with_solver(asked, printer, |solve, stop| {
        lie::search_with(problem, tenant, effort, stop, solve)
    })?;
    printer.show(
        args.json,
        || document(problem, args.mechanism, &lie),
        || render(problem, args.mechanism, &lie),
    )
}

/// Speedups per type; per workload first where the tenant has several.
#[derive(Serialize)]
#[serde(untagged)]
enum ReportDocument<'a> {
    One(Object<'a, f64>),
    Several(Object<'a, Object<'a, f64>>),
}

fn document(problem: &Problem, mechanism: Mechanism, lie: &Lie) -> impl Serialize {
    let attempt = |attempt: &Option<Attempt>| {
        attempt.as_ref().map(|a| {
            let report = report_document(problem, &a.report);
            Document::part().number("throughput", a.throughput).with("report", report)
        })
    };
    Document::whole()
        .with("mechanism", mechanism.name())
        .with("tenant", problem.tenants()[lie.tenant.0].name.as_str())
        .number("honest", lie.honest)
        .number("best", lie.best)
        .with("report", report_document(problem, &lie.report))
        .with("direction", lie.direction.name())
        .with("under", attempt(&lie.under))
        .with("over", attempt(&lie.over))
        .with("mixed", attempt(&lie.mixed))
        .with("evaluations", lie.evaluations)
        .with("complete", lie.complete)
}

fn report_document<'a>(problem: &'a Problem, report: &[Report]) -> ReportDocument<'a> {
    if let [only] = report {
        return ReportDocument::One(per_type(problem, &only.speedup));
    }
    let entries = report.iter().map(|r| {
        let name = problem.workloads()[r.workload.0].name.as_str();
        (name, per_type(problem, &r.speedup))
    });
    ReportDocument::Several(Object(entries.collect()))
}

fn render(problem: &Problem, mechanism: Mechanism, lie: &Lie) -> String {
    let name = short(&problem.tenants()[lie.tenant.0].name);
    let mut out = String::new();
    let _ = writeln!(out, "{name} under {mechanism}: {} with the truth", figure(lie.honest).bold());
    let gain = ratio(lie.best, lie.honest) - 1.0;
    if lie.direction == Direction::None {
        let _ =
            writeln!(out, "{}: no report was found that pays more", "the truth is best".green());
    } else {
        let how = match lie.direction {
            Direction::Under => "under-reporting pays",
            Direction::Over => "over-reporting pays",
            _ => "lowering some speedups and raising others pays",
        };
        let (best, gain) = (figure(lie.best), percent(gain));
        let _ = writeln!(out, "{}: {best} ({gain} more), with this report:", how.red().bold());
        out.push_str(&reports(problem, &lie.report));
    }
    let directions = [("only lower", &lie.under), ("only raise", &lie.over), ("mixed", &lie.mixed)];
    for (title, attempt) in directions {
        let Some(attempt) = attempt else { continue };
        let pays = attempt.throughput > lie.honest * (1.0 + PAYS);
        let verdict = if pays { "pays" } else { "does not pay" };
        let _ = writeln!(out, "  {title:<11} {:>10}  {verdict}", figure(attempt.throughput));
    }
    let tried = counted(lie.evaluations, "report");
    let _ = writeln!(out, "{tried} tried; everybody else tells the truth.");
    if !lie.complete {
        out.push_str(
            "The search was not through: --effort thorough, or more time, may find more.\n",
        );
    }
    out
}

/// What is reported beside what is true.
fn reports(problem: &Problem, reports: &[Report]) -> String {
    let mut out = String::new();
    for report in reports {
        let workload = &problem.workloads()[report.workload.0];
        let parts = problem.types().iter().zip(&report.speedup).zip(&workload.speedup);
        let parts = parts.filter(|((_, said), true_one)| **said > 0.0 || **true_one > 0.0);
        let parts = parts.map(|((gpu, said), true_one)| {
            let gpu = short(&gpu.name);
            if (said - true_one).abs() > PAYS * true_one {
                format!("{gpu} {} (truth {})", figure(*said), figure(*true_one))
            } else {
                format!("{gpu} {}", figure(*said))
            }
        });
        let parts = parts.collect::<Vec<_>>().join(", ");
        let _ = writeln!(out, "  {}: {parts}", short(&workload.name));
    }
    out
}
