//! Solving with a clock: the core has none.

use crate::args::SolveArgs;
use crate::failure::Failure;
use crate::output::numbers::percent;
use crate::printer::Printer;
use crate::progress::Progress;
use oef_core::{
    Certificate, Mechanism, Options, Outcome, Problem, SolveError, Status, audit, solve,
};
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
    let _progress = Progress::start(printer, format!("solving {mechanism}"));
    let stop = Deadline::after(start, args.time_limit);
    let outcome = solve(problem, mechanism, &stop.options(args, &|| stop.passed()))?;
    let seconds = start.elapsed().as_secs_f64();
    check_finite(problem, &outcome)?;
    if outcome.solver.status == Status::Feasible {
        let gap = percent(outcome.solver.gap);
        let what = format!("{mechanism}: stopped before the optimum was proven");
        printer.note(&format!("{what}; the optimum is at most {gap} better than this answer"));
    }
    let certificate = audit(problem, &outcome);
    Ok(Solved { outcome, certificate, seconds })
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

/// Runs `work` with options that stop it at the time limit, and a sign of life meanwhile.
pub fn with_options<T, E: Into<Failure>>(
    args: SolveArgs,
    printer: &Printer,
    what: &str,
    work: impl FnOnce(&Options<'_>) -> Result<T, E>,
) -> Result<T, Failure> {
    let _progress = Progress::start(printer, what);
    let stop = Deadline::after(Instant::now(), args.time_limit);
    work(&stop.options(args, &|| stop.passed())).map_err(Into::into)
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
    fn after(start: Instant, limit: Option<Duration>) -> Self {
        // A limit beyond the end of the clock is no limit.
        Deadline(limit.and_then(|limit| start.checked_add(limit)))
    }

    fn passed(self) -> bool {
        self.0.is_some_and(|end| Instant::now() >= end)
    }

    fn options<'a>(self, args: SolveArgs, passed: &'a dyn Fn() -> bool) -> Options<'a> {
        Options { gavel_cap: args.gavel_cap, stop: self.0.map(|_| passed) }
    }
}
