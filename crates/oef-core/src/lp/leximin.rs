//! The lexicographic max-min of several linear functions over a polytope.

use super::program::{Program, RowId, VarId};
use super::simplex::{LpError, Mark, Simplex};

/// A dual of at least this part of the greatest blocks for sure.
const CLEARLY: f64 = 1e-5;
/// Steps of Newton's method to a first level; it needs a few.
const NEWTON_MAX: usize = 30;
/// What it may be off.
const NEAR: f64 = 1e-10;

/// One function `sum of coefficients . x` that should be large in units of its target.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    pub terms: Vec<(VarId, f64)>,
    pub target: f64,
    /// A known limit of `function / target`; infinite where none is known. With one the rows of the program that these
    /// variables are in have no negative entries.
    pub most: f64,
}

impl Level {
    /// The limit of `function / target` without some of its variables and those that are kept at zero, by a row of the
    /// program that has all the others.
    fn without(&self, out: &dyn Fn(VarId) -> bool, program: &Program, rows: RowId) -> f64 {
        if self.most.is_infinite() {
            return self.most;
        }
        let is_left = |&(var, _): &(VarId, f64)| program.upper[var] > 0.0 && !out(var);
        let own: Vec<(VarId, f64)> = self.terms.iter().copied().filter(is_left).collect();
        let limit = |row: RowId| {
            let ratio = |&(var, a): &(VarId, f64)| {
                let entry = program.columns[var].iter().find(|e| e.0 == row);
                entry.map_or(f64::INFINITY, |e| a / e.1)
            };
            program.row_upper[row] * own.iter().map(ratio).fold(0.0, f64::max) / self.target
        };
        let Some(&(var, _)) = own.first() else { return 0.0 };
        let shared = program.columns[var].iter();
        shared.filter(|e| e.0 < rows).map(|e| limit(e.0)).fold(self.most, f64::min)
    }
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
    struct Alone;
    impl Guide for Alone {}
    leximin_guided(simplex, levels, &mut Alone, stop)
}

/// What is known of a round beforehand; where it is wrong that costs time and nothing else.
#[derive(Clone, Debug)]
pub(crate) struct Guess {
    /// Variables that are not zero, and rows with slack.
    pub support: Vec<VarId>,
    pub slack: Vec<RowId>,
    /// A level that is not below that of the round, to rounding; and whether it is that of the round.
    pub level: f64,
    pub is_sharp: bool,
}

/// Who knows the program behind the levels.
pub(crate) trait Guide {
    /// What is known of the next round, in which the levels at these positions rise from where they are.
    fn guess(&mut self, _: &Simplex, _open: &[usize]) -> Option<Guess> {
        None
    }

    /// Sees after each round the duals of the program's rows (what a unit more adds to the level of the round) and the
    /// positions of the levels that were blocked. Returns whether it wants to see all rounds, also those after the one that
    /// leaves a single point.
    fn watch(&mut self, _duals: &[f64], _blocked: &[usize]) -> bool {
        false
    }
}

/// The same with a guide.
pub(crate) fn leximin_guided(
    mut simplex: Simplex,
    levels: &[Level],
    guide: &mut dyn Guide,
    stop: &dyn Fn() -> bool,
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
    let limit = |level: &Level| level.without(&|_| false, program, first);
    let mut limits: Vec<f64> = levels.iter().map(limit).collect();
    let targets = |rows: &[RowId]| rows.iter().map(|&row| levels[row - first].target).sum::<f64>();
    let all = targets(&rows);
    let mut open: Vec<RowId> = rows;
    let mut gap = 0.0_f64;
    while !open.is_empty() {
        let before = simplex.mark();
        let positions: Vec<usize> = open.iter().map(|&row| row - first).collect();
        let guess = guide.guess(&simplex, &positions);
        if let Some(guess) = &guess {
            set_rising(&mut simplex.program, t, &open);
            let support: Vec<VarId> = guess.support.iter().copied().chain([t]).collect();
            simplex.set_basis(&support, &guess.slack);
        }
        let most = |row: RowId| limits[row - first];
        let guess = match guess {
            Some(guess) if guess.is_sharp => guess.level * (1.0 + NEAR),
            guess => {
                let above = guess.map_or(f64::INFINITY, |guess| guess.level);
                reach(&mut simplex, t, &open, (&most, above), stop)?
            }
        };
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
        let rising: Vec<RowId> = open.iter().copied().filter(|row| !full.contains(row)).collect();
        let mut blocked = full;
        let mut seen = None;
        if !rising.is_empty() {
            let part = targets(&rising) / all;
            gap = gap.max(part * (simplex.dual_bound() - level).abs() / level.abs().max(1e-6));
            let duals = simplex.certain_duals();
            // The duals of the rising levels add up to one. What is far below the greatest may be rounding; if it is
            // not, the next round stops there, too.
            let greatest = rising.iter().map(|&row| duals[row].abs()).fold(0.0, f64::max);
            let stops = |row: &RowId| duals[*row].abs() >= CLEARLY * greatest;
            let mut stopped: Vec<RowId> = rising.iter().copied().filter(stops).collect();
            let positions: Vec<usize> = stopped.iter().map(|&row| row - first).collect();
            if !guide.watch(&duals, &positions) && simplex.is_only_optimum() {
                // Where all of them are kept there is this point and no other.
                stopped = rising;
            }
            stopped.iter().for_each(|&row| keep(&mut simplex.program, row, level));
            blocked.extend(stopped);
            seen = Some(duals);
        }
        open.retain(|row| !blocked.contains(row));
        if let Some(duals) = seen {
            lower_limits(&simplex.program, levels, &duals, (&open, level), &mut limits);
        }
    }
    set_rising(&mut simplex.program, t, &[]);
    simplex.program.cost[t] = 0.0;
    Ok((simplex, gap))
}

/// What has a price is all taken by those who were stopped: who rises on above the level does so without, and its limit is
/// lower.
fn lower_limits(
    program: &Program,
    levels: &[Level],
    duals: &[f64],
    (open, level): (&[RowId], f64),
    limits: &mut [f64],
) {
    let first = program.rows() - levels.len();
    let worth = |row: RowId| {
        let worth = (duals[row] * program.row_upper[row]).abs();
        if worth.is_finite() { worth } else { 0.0 }
    };
    let clearly = CLEARLY * (0..first).map(worth).fold(0.0, f64::max);
    let taken: Vec<bool> = (0..first).map(|row| worth(row) > clearly).collect();
    let out = |var: VarId| program.columns[var].iter().any(|e| e.0 < first && taken[e.0]);
    for at in open.iter().filter(|&&row| duals[row] == 0.0).map(|row| row - first) {
        let without = levels[at].without(&out, program, first);
        if (level..limits[at]).contains(&without) {
            limits[at] = without;
        }
    }
}

/// The level up to which the open functions can rise if each stops at its limit; only a guess, for [`rise`].
///
/// Newton's method from above. For a level `g` let every function reach the same part of `min(g, limit)`. If the whole is
/// not possible, the duals `q` of these conditions prove that the sum of `q min(g, limit)` cannot be greater than it is now,
/// and the greatest `g` for which it is not comes next.
fn reach(
    simplex: &mut Simplex,
    t: VarId,
    open: &[RowId],
    (most, above): (&dyn Fn(RowId) -> f64, f64),
    stop: &dyn Fn() -> bool,
) -> Result<f64, LpError> {
    let finite = open.iter().map(|&row| most(row)).filter(|limit| limit.is_finite());
    let mut level = finite.fold(0.0, f64::max).min(above);
    if level <= 0.0 {
        return Ok(f64::MIN_POSITIVE);
    }
    let before = simplex.mark();
    let precise = std::mem::replace(&mut simplex.precise, false);
    set_rising(&mut simplex.program, t, open);
    let mut outcome = Ok(());
    for _ in 0..NEWTON_MAX {
        if level <= 0.0 {
            break;
        }
        let part = |row: RowId| most(row).min(level) / level;
        simplex.program.columns[t] = open.iter().map(|&row| (row, -part(row))).collect();
        outcome = simplex.maximise(stop);
        if outcome.is_err() || simplex.value(t) >= level * (1.0 - NEAR) {
            break;
        }
        let duals = simplex.duals();
        let mut sum =
            simplex.value(t) * open.iter().map(|&r| duals[r].abs() * part(r)).sum::<f64>();
        let mut slope: f64 = open.iter().map(|&row| duals[row].abs()).sum();
        let mut limits: Vec<(f64, f64)> =
            open.iter().map(|&row| (most(row), duals[row].abs())).filter(|e| e.1 > 0.0).collect();
        limits.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        for (limit, dual) in limits {
            if sum <= limit * slope {
                break;
            }
            sum -= limit * dual;
            slope -= dual;
        }
        let next = sum / slope;
        if next.is_nan() || next >= level {
            break;
        }
        level = next.max(0.0);
    }
    simplex.precise = precise;
    match outcome {
        Ok(()) => Ok(level * (1.0 + NEAR)),
        Err(LpError::Stopped) => Err(LpError::Stopped),
        Err(_) => {
            simplex.reset(&before);
            Ok(0.0)
        }
    }
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
        // Without a rising level there are no duals to be right.
        let precise = simplex.precise;
        simplex.precise &= !rising.is_empty();
        let found = simplex
            .maximise(stop)
            .or_else(|error| again(simplex, &before, error, stop))
            .map(|()| if rising.is_empty() { f64::INFINITY } else { simplex.value(t) });
        simplex.precise = precise;
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
