//! `cooperative`: the most total throughput in which nobody prefers another's bundle.
//!
//! With `y_l = x_l / pi_l` the bundle of row `l` per unit of weight:
//!
//! ```text
//! max  sum_l pi_l w_l.y_l
//! s.t. w_l.y_l >= w_l.y_i          for all rows l, i          (no envy)
//!      sum_l pi_l y_l <= m,  y >= 0
//! ```
//!
//! There are `n(n-1)` envy constraints and about `1.7 n` of them bind. They are added as they are
//! violated. The vertex is canonical: among the optima the one whose throughputs over equal split are
//! lexicographically greatest.

mod envy_program;
mod interior;
mod newton;
mod parties;

use crate::instance::Instance;
use crate::lp::LpError;
use crate::market::Allocation;
use crate::scaled::Scaled;
use envy_program::EnvyProgram;

/// Up to here the simplex method alone is faster.
const SIMPLEX_MAX: usize = 8;
/// Complementarity at which the interior path ends: the bundles are then good to ten digits.
const ACCURACY: f64 = 1e-12;
/// Bundles that agree to this are one bundle; the bound tells whether that was right.
const SAME: f64 = 1e-6;

/// Computes the shares of the rows of an instance without caps.
///
/// An interior-point method finds the optimum to ten digits and proves a bound; from there a simplex
/// walks the last step to the canonical vertex, with one bundle for all rows that hold the same. If
/// that vertex does not meet the bound, every row gets its own bundle again.
pub(crate) fn solve(instance: &Instance, stop: &dyn Fn() -> bool) -> Result<Allocation, LpError> {
    let scaled = Scaled::new(instance);
    if scaled.n <= SIMPLEX_MAX {
        return from_scratch(instance, &scaled, stop);
    }
    let data = interior::Data::new(&scaled);
    let start = interior::Point::start(&data, &scaled.neighbours(NEIGHBOURS));
    let run = interior::follow(&data, start, ACCURACY, stop);
    let bound = run.point.bound(&data);
    let trace = std::env::var("OEF_TRACE").is_ok();
    let t = std::time::Instant::now();
    if run.converged {
        let program = EnvyProgram::near(&scaled, &run.point, SAME);
        if trace { eprintln!("set up {:?}", t.elapsed()); }
        if let Ok(found) = finish(instance, &scaled, program, bound, stop) {
            if trace { eprintln!("finished {} {} {:?}", found.pivots, found.gap, t.elapsed()); }
            if found.gap <= crate::OPTIMALITY_TOLERANCE {
                return Ok(Allocation { pivots: found.pivots + run.iterations, ..found });
            }
        }
    }
    if trace { eprintln!("fallback conv {}", run.converged); }
    from_scratch(instance, &scaled, stop)
}

/// Nearest rows whose envy is looked at from the start.
const NEIGHBOURS: usize = 8;

/// The simplex method on its own bundles for all.
fn from_scratch(instance: &Instance, scaled: &Scaled, stop: &dyn Fn() -> bool) -> Result<Allocation, LpError> {
    let mut program = EnvyProgram::new(scaled, &scaled.neighbours(3));
    program.optimise(stop)?;
    let bound = program.bound();
    finish(instance, scaled, program, bound, stop)
}

/// Walks to the optimal vertex and on to the canonical one.
fn finish(
    instance: &Instance,
    scaled: &Scaled,
    mut program: EnvyProgram<'_>,
    bound: f64,
    stop: &dyn Fn() -> bool,
) -> Result<Allocation, LpError> {
    program.optimise(stop)?;
    let price = program.prices();
    program.make_canonical(stop)?;
    let y = program.bundles();
    let total = scaled.total(&y);
    Ok(Allocation {
        x: scaled.to_shares(instance, &y),
        price: scaled.to_prices(instance, &price),
        gap: ((bound - total) / bound).abs(),
        pivots: program.pivots(),
    })
}

/// Computes the shares under caps. `division` are the shares of the plain division of every type
/// (`max-min` with demands), from which the constraints of capped tenants are made.
pub(crate) fn solve_limited(
    instance: &Instance,
    division: &[f64],
    stop: &dyn Fn() -> bool,
) -> Result<Allocation, LpError> {
    let scaled = Scaled::new(instance);
    let parties = parties::with_caps(instance, &scaled, division);
    let mut shut = vec![false; scaled.n];
    for cap in instance.caps.iter().filter(|cap| cap.limit <= 0.0) {
        for &l in &cap.rows {
            shut[l] = true;
        }
    }
    let mut program =
        EnvyProgram::with_parties(&scaled, parties, &instance.capacity, &shut);
    program.optimise(stop)?;
    let gap = program.gap();
    let price = program.prices();
    program.make_canonical(stop)?;
    let y = program.bundles();
    Ok(Allocation {
        x: scaled.to_shares(instance, &y),
        price: scaled.to_prices(instance, &price),
        gap,
        pivots: program.pivots(),
    })
}
