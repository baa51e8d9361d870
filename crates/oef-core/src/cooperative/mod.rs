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
mod parties;

use crate::instance::Instance;
use crate::lp::LpError;
use crate::market::Allocation;
use crate::scaled::Scaled;
use envy_program::EnvyProgram;

/// Computes the shares of the rows of an instance without caps.
pub(crate) fn solve(instance: &Instance, stop: &dyn Fn() -> bool) -> Result<Allocation, LpError> {
    let scaled = Scaled::new(instance);
    let mut program = EnvyProgram::new(&scaled, scaled.neighbours(3));
    program.optimise(stop)?;
    let bound = program.bound();
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
        EnvyProgram::with_parties(&scaled, parties, &instance.capacity, &shut, Vec::new());
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
