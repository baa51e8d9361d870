//! The lexicographic max-min of several linear functions over a polytope.

use super::program::{Program, RowId, VarId};
use super::simplex::{LpError, Mark, Simplex};

/// A dual of at least this part of the greatest blocks for sure.
const CLEARLY: f64 = 1e-5;

/// One function `sum of coefficients . x` that should be large in units of its target.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    pub terms: Vec<(VarId, f64)>,
    pub target: f64,
    /// A known limit of `function / target`; infinite where none is known.
    pub most: f64,
}

/// Moves the program to the point where the least `function / target` is greatest, then the next
/// least, and so on: all levels rise together, and those that are blocked stay while the others go
/// on. A positive dual proves that a level is blocked in every optimum, and each round has one.
///
/// Returns the simplex at the final vertex and the greatest relative gap that the duals left open at
/// any level, times the part of all targets that was still rising there: what one small function may miss is little to
/// all. The program's own objective is ignored.
pub(crate) fn leximin(
    simplex: Simplex,
    levels: &[Level],
    stop: &dyn Fn() -> bool,
) -> Result<(Simplex, f64), LpError> {
    leximin_watched(simplex, levels, &Guess::default(), stop, &mut |_, _| {})
}

/// What is known of the answer beforehand; where it is wrong that costs time and nothing else.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guess {
    /// A level that the first round may reach: functions whose limit is below it are taken to be at their limit,
    /// all at once and not one after another.
    pub level: f64,
    /// Variables that are not zero, and rows with slack.
    pub support: Vec<VarId>,
    pub slack: Vec<RowId>,
}

/// The same; after each round `watch` sees the duals of the program's rows (what a unit more adds to
/// the level of the round) and the positions of the levels that were blocked.
pub(crate) fn leximin_watched(
    mut simplex: Simplex,
    levels: &[Level],
    guess: &Guess,
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
    let t = program.var(1.0, f64::NEG_INFINITY, f64::INFINITY, Vec::new());
    let most = |row: RowId| levels[row - first].most;
    let targets = |rows: &[RowId]| rows.iter().map(|&row| levels[row - first].target).sum::<f64>();
    let all = targets(&rows);
    let mut open: Vec<RowId> = rows;
    if !guess.support.is_empty() {
        set_rising(&mut simplex.program, t, &open);
        let support: Vec<VarId> = guess.support.iter().copied().chain([t]).collect();
        simplex.set_basis(&support, &guess.slack);
    }
    let (mut gap, mut guess) = (0.0_f64, guess.level);
    while !open.is_empty() {
        let before = simplex.mark();
        let (level, full) = match rise(&mut simplex, t, &open, &most, guess, stop) {
            Ok(found) => found,
            Err(error) if error == LpError::Stopped || open.len() == levels.len() => {
                return Err(error);
            }
            Err(_) => {
                // The levels so far stand; of the others nothing is proven.
                set_rising(&mut simplex.program, t, &[]);
                simplex.reset(&before);
                gap = 1.0;
                break;
            }
        };
        guess = 0.0;
        let rising: Vec<RowId> = open.iter().copied().filter(|row| !full.contains(row)).collect();
        let mut blocked = full;
        if !rising.is_empty() {
            let part = targets(&rising) / all;
            gap = gap.max(part * (simplex.dual_bound() - level).abs() / level.abs().max(1e-6));
            let duals = simplex.certain_duals();
            // The duals of the rising levels add up to one. What is far below the greatest may be rounding; if it is
            // not, the next round stops there, too.
            let greatest = rising.iter().map(|&row| duals[row].abs()).fold(0.0, f64::max);
            let stops = |row: &RowId| duals[*row].abs() >= CLEARLY * greatest;
            let stopped: Vec<RowId> = rising.into_iter().filter(stops).collect();
            let positions: Vec<usize> = stopped.iter().map(|&row| row - first).collect();
            watch(&duals, &positions);
            stopped.iter().for_each(|&row| keep(&mut simplex.program, row, level));
            blocked.extend(stopped);
        }
        open.retain(|row| !blocked.contains(row));
    }
    set_rising(&mut simplex.program, t, &[]);
    simplex.program.cost[t] = 0.0;
    Ok((simplex, gap))
}

/// Raises the open levels together as far as they go; returns how far, and those that have reached their limit
/// below that and stay there.
fn rise(
    simplex: &mut Simplex,
    t: VarId,
    open: &[RowId],
    most: &dyn Fn(RowId) -> f64,
    guess: f64,
    stop: &dyn Fn() -> bool,
) -> Result<(f64, Vec<RowId>), LpError> {
    let mut guess = guess;
    loop {
        let (full, rising): (Vec<RowId>, Vec<RowId>) =
            open.iter().copied().partition(|&row| most(row) < guess);
        set_rising(&mut simplex.program, t, &rising);
        full.iter().for_each(|&row| keep(&mut simplex.program, row, most(row)));
        let before = simplex.mark();
        let found = simplex
            .maximise(stop)
            .or_else(|error| again(simplex, &before, error, stop))
            .map(|()| if rising.is_empty() { f64::INFINITY } else { simplex.value(t) });
        // Those at their limit must be so below the level that the others have reached.
        let highest = full.iter().map(|&row| most(row)).fold(f64::NEG_INFINITY, f64::max);
        match found {
            Ok(level) if highest <= level * (1.0 + 1e-12) => return Ok((level, full)),
            Err(error) if error == LpError::Stopped || full.is_empty() => return Err(error),
            Ok(level) => guess = level,
            Err(_) => guess = 0.0,
        }
        full.iter().for_each(|&row| simplex.program.row_lower[row] = 0.0);
        if found.is_err() {
            simplex.reset(&before);
        }
    }
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

/// Makes the level the least of these functions; without any it is nothing.
fn set_rising(program: &mut Program, t: VarId, rising: &[RowId]) {
    program.columns[t] = rising.iter().map(|&row| (row, -1.0)).collect();
    let bound = if rising.is_empty() { 0.0 } else { f64::INFINITY };
    (program.lower[t], program.upper[t]) = (-bound, bound);
}

/// A blocked level keeps what it has.
fn keep(program: &mut Program, row: RowId, level: f64) {
    // A hair of room: the next rounds must not fail on the rounding of this one.
    program.row_lower[row] = level * (1.0 - f64::EPSILON * level.signum());
}
