//! Solving with a clock: the core has none.

use crate::args::problem::SolveArgs;
use oef_core::{
    Certificate, Mechanism, Options, Outcome, Problem, SolveError, Status, audit, solve,
};
use oef_report::format::percent;
use oef_terminal::progress::Progress;
use oef_terminal::{Failure, Printer};
use std::time::{Duration, Instant};

/// An audited answer.
#[derive(Debug)]
pub struct Solved {
    /// The answer.
    pub outcome: Outcome,
    /// What holds for it.
    pub certificate: Certificate,
    /// How long the answer took, without the audit.
    pub seconds: f64,
}

/// Solves and audits one problem.
pub fn solve_and_audit(
    problem: &Problem,
    mechanism: Mechanism,
    args: SolveArgs,
    printer: &Printer,
) -> Result<Solved, SolveError> {
    let start = Instant::now();
    // The audit of a large result takes a moment as well, so the sign of life stays till the end.
    let _progress = Progress::start(printer, format!("solving {mechanism}"));
    let outcome = solve_within(problem, mechanism, args, Deadline::after(args.time_limit))?;
    let seconds = start.elapsed().as_secs_f64();
    note_unproven(&outcome, printer);
    let certificate = audit(problem, &outcome);
    Ok(Solved { outcome, certificate, seconds })
}

/// Solves as often as `work` asks, with a sign of life that counts the solves. Every answer has been
/// checked to be finite. `work` also gets the deadline as the core knows it.
pub fn with_solver<T, E: Into<Failure>>(
    asked: Asked<'_>,
    printer: &Printer,
    work: impl FnOnce(Solve<'_>, Option<&dyn Fn() -> bool>) -> Result<T, E>,
) -> Result<T, Failure> {
    let progress = Progress::start(printer, asked.what);
    let whole = Deadline::after(asked.args.time_limit);
    let mut solves = 0_usize;
    let mut solve = |problem: &Problem| {
        solves += 1;
        progress.count(solves);
        let deadline = match asked.limit {
            Limit::EachSolve => Deadline::after(asked.args.time_limit),
            Limit::Together => whole,
        };
        let outcome = solve_within(problem, asked.mechanism, asked.args, deadline)?;
        if solves == 1 || asked.limit == Limit::EachSolve {
            note_unproven(&outcome, printer);
        }
        Ok(outcome)
    };
    let passed = || whole.passed();
    let stop: Option<&dyn Fn() -> bool> = whole.0.is_some().then_some(&passed);
    work(&mut solve, stop).map_err(Into::into)
}

/// A way to solve a problem.
pub type Solve<'a> = &'a mut dyn FnMut(&Problem) -> Result<Outcome, SolveError>;

/// What is solved, and how.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// What the user waits for.
    pub what: &'a str,
    pub mechanism: Mechanism,
    /// The options.
    pub args: SolveArgs,
    /// What a time limit applies to.
    pub limit: Limit,
}

/// What a time limit applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Every solve has the whole time: each of them is wanted.
    EachSolve,
    /// All solves together: a search that has an answer whenever it is stopped.
    Together,
}

fn solve_within(
    problem: &Problem,
    mechanism: Mechanism,
    args: SolveArgs,
    deadline: Deadline,
) -> Result<Outcome, SolveError> {
    let passed = || deadline.passed();
    let stop: Option<&dyn Fn() -> bool> = deadline.0.is_some().then_some(&passed);
    let outcome = solve(problem, mechanism, &Options { gavel_cap: args.gavel_cap, stop })?;
    check_finite(problem, &outcome)?;
    Ok(outcome)
}

/// A figure that is not finite is no answer, whatever came with it.
fn check_finite(problem: &Problem, outcome: &Outcome) -> Result<(), SolveError> {
    let total = outcome.shares.total(problem);
    if total.is_finite() && outcome.prices.iter().all(|p| p.is_finite()) {
        return Ok(());
    }
    let detail = "some of its figures are not finite".into();
    Err(SolveError::Numerical { mechanism: outcome.mechanism, detail })
}

/// Says so where a time limit ended a solve before the optimum was proven.
fn note_unproven(outcome: &Outcome, printer: &Printer) {
    let (mechanism, report) = (outcome.mechanism, &outcome.solver);
    if report.status == Status::Feasible {
        // The gap is relative to a bound of the optimum.
        let rest = match report.gap < 1.0 {
            true => format!("this answer reaches at least {} of it", percent(1.0 - report.gap)),
            false => "how far this answer is from it is not known".into(),
        };
        printer.note(&format!("{mechanism}: stopped before the optimum was proven; {rest}"));
    } else if !report.canonical {
        printer.note(&format!(
            "{mechanism}: optimal, but ties were not broken to the end: another answer may be as good"
        ));
    }
}

/// Says where an option has no effect, so that nobody believes that it had.
pub fn warn_useless_cap(args: SolveArgs, mechanisms: &[Mechanism], printer: &Printer) {
    if args.gavel_cap.is_some() && !mechanisms.contains(&Mechanism::Gavel) {
        printer.warn("--gavel-cap only concerns the mechanism `gavel` and has no effect here");
    }
}

/// An instant after which solving stops, if there is one.
#[derive(Clone, Copy, Debug)]
struct Deadline(Option<Instant>);

impl Deadline {
    fn after(limit: Option<Duration>) -> Self {
        // A limit beyond the end of the clock is no limit.
        Deadline(limit.and_then(|limit| Instant::now().checked_add(limit)))
    }

    fn passed(self) -> bool {
        self.0.is_some_and(|end| Instant::now() >= end)
    }
}
