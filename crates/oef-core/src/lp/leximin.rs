//! The lexicographic max-min of several linear functions over a polytope.

use super::program::{Program, RowId, VarId};
use super::simplex::{LpError, Mark, Simplex};

/// One function `sum of coefficients . x` that should be large in units of its target.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    pub terms: Vec<(VarId, f64)>,
    pub target: f64,
}

/// Moves the program to the point where the least `function / target` is greatest, then the next
/// least, and so on: all levels rise together, and those that are blocked stay while the others go
/// on. A positive dual proves that a level is blocked in every optimum, and each round has one.
///
/// Returns the simplex at the final vertex and the greatest relative gap that the duals left open at
/// any level; the program's own objective is ignored.
pub(crate) fn leximin(
    simplex: Simplex,
    levels: &[Level],
    stop: &dyn Fn() -> bool,
) -> Result<(Simplex, f64), LpError> {
    leximin_watched(simplex, levels, stop, &mut |_, _| {})
}

/// The same; after each round `watch` sees the duals of the program's rows (what a unit more adds to
/// the level of the round) and the positions of the levels that were blocked.
pub(crate) fn leximin_watched(
    mut simplex: Simplex,
    levels: &[Level],
    stop: &dyn Fn() -> bool,
    watch: &mut dyn FnMut(&[f64], &[usize]),
) -> Result<(Simplex, f64), LpError> {
    let program = &mut simplex.program;
    program.cost.fill(0.0);
    let first = program.rows();
    let rows: Vec<RowId> = levels.iter().map(|_| program.row(0.0, f64::INFINITY)).collect();
    for (level, &row) in levels.iter().zip(&rows) {
        for &(var, a) in &level.terms {
            program.columns[var].push((row, a / level.target));
        }
    }
    let column = rows.iter().map(|&row| (row, -1.0)).collect();
    let t = program.var(1.0, f64::NEG_INFINITY, f64::INFINITY, column);
    let mut open: Vec<RowId> = rows;
    let mut gap = 0.0_f64;
    while !open.is_empty() {
        let before = simplex.mark();
        match simplex.maximise(stop).or_else(|error| again(&mut simplex, &before, error, stop)) {
            Err(error) if error == LpError::Stopped || open.len() == levels.len() => {
                return Err(error);
            }
            Err(_) => {
                // The levels so far stand; of the others nothing is proven.
                simplex.reset(&before);
                gap = 1.0;
                break;
            }
            Ok(()) => {}
        }
        let level = simplex.value(t);
        gap = gap.max((simplex.dual_bound() - level).abs() / level.abs().max(1e-6));
        let duals = simplex.certain_duals();
        let any = open.iter().any(|&row| duals[row] != 0.0);
        let (blocked, rest): (Vec<RowId>, Vec<RowId>) =
            open.iter().partition(|&&row| !any || duals[row] != 0.0);
        open = rest;
        let positions: Vec<usize> = blocked.iter().map(|&row| row - first).collect();
        watch(&duals, &positions);
        freeze(&mut simplex.program, t, blocked, level);
    }
    simplex.program.cost[t] = 0.0;
    Ok((simplex, gap))
}

/// A second try in other units, which rounding treats otherwise.
fn again(
    simplex: &mut Simplex,
    before: &Mark,
    error: LpError,
    stop: &dyn Fn() -> bool,
) -> Result<(), LpError> {
    if error == LpError::Stopped {
        return Err(error);
    }
    simplex.reset(before);
    simplex.autoscale = !simplex.autoscale;
    let outcome = simplex.maximise(stop);
    simplex.autoscale = !simplex.autoscale;
    outcome
}

/// Blocked levels keep what they have and no longer hold back the others.
fn freeze(program: &mut Program, t: VarId, blocked: Vec<RowId>, level: f64) {
    let mut is_blocked = vec![false; program.rows()];
    for row in blocked {
        is_blocked[row] = true;
        // A hair of room: the next rounds must not fail on the rounding of this one.
        program.row_lower[row] = level * (1.0 - f64::EPSILON * level.signum());
    }
    program.columns[t].retain(|&(row, _)| !is_blocked[row]);
    if program.columns[t].is_empty() {
        (program.lower[t], program.upper[t]) = (0.0, 0.0);
    }
}
