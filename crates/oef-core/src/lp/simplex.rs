//! The primal simplex method with bounds, from any basis.
//!
//! Every row `i` has a logical variable `r_i` with `A x - r = 0`, so that all constraints are bounds
//! on variables and any set of independent columns is a basis. While basic variables violate their
//! bounds, the sum of the violations is what is minimised (composite phase one); then the objective.
//! That makes one method serve cold starts, added rows, added columns and changed bounds alike.

use super::basis::Factors;
use super::program::{Program, RowId, VarId};
use super::scaling::Scaling;
use thiserror::Error;

/// What counts as rounding.
#[derive(Clone, Copy, Debug)]
struct Tolerance {
    /// Violation of a bound, for programs scaled to order one.
    feasible: f64,
    /// Reduced cost beside the terms it was computed from,
    optimal: f64,
    /// and beside this: what is left of greater terms is noise.
    least_term: f64,
}

/// On the way to the optimum.
const COARSE: Tolerance = Tolerance { feasible: 1e-10, optimal: 1e-10, least_term: 1e-3 };
/// When the optimum is known and what is small in it is wanted right, too.
const FINE: Tolerance = Tolerance { feasible: 1e-13, optimal: 1e-13, least_term: 1e-20 };
/// Total violation at the end of phase one, in tolerances, up to which a program counts as feasible
/// after all.
const NEARLY_FEASIBLE: f64 = 100.0;
/// A dual this many times its possible errors is not one of them.
const CERTAIN: f64 = 32.0;
/// Pivots that may be spent on that, besides one per row: noise must not go round for ever.
const POLISH_MAX: usize = 200;
/// Entries of the entering column below this, beside its greatest (or one), are no pivots.
const PIVOT: f64 = 1e-11;
/// Pivots without progress after which the costs are perturbed, once; then the least index rules.
const STALL: usize = 60;
/// Pivots after which somebody is asked whether to stop.
const STOP_EVERY: usize = 32;
/// Pivots per row and column after which the method gives up: far beyond what our programs need.
const PIVOTS_PER_SIZE_MAX: usize = 50;

/// Why a program has no optimal vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum LpError {
    #[error("the program is infeasible")]
    Infeasible,
    #[error("the program is unbounded")]
    Unbounded,
    #[error("the simplex method did not converge")]
    NotConverged,
    #[error("stopped")]
    Stopped,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Basic(usize),
    Lower,
    Upper,
    /// Nonbasic with no bound at all: rests at zero.
    Free,
}

/// A basis to come back to.
pub(crate) struct Mark {
    place: Vec<Place>,
    basis: Vec<usize>,
}

/// A program with a basis; keeps both between solves.
#[derive(Clone, Debug)]
pub(crate) struct Simplex {
    pub program: Program,
    /// Whether rows and columns are brought to order one before each solve. Programs that are so by
    /// construction need not be.
    pub autoscale: bool,
    /// Whether duals are wanted right in each component, however small it is beside the others.
    pub precise: bool,
    tolerance: Tolerance,
    /// The program in the units that are worked in, if these are others.
    scaled: Option<(Program, Scaling)>,
    /// The last such program, for its memory: thousands of small columns.
    outdated: Program,
    /// Pivots per solve after which it is given up, if that is before it is given up anyway.
    pub patience: usize,
    /// Pivots so far, and those after which every solve is given up.
    pub pivots: usize,
    pub limit: usize,
    place: Vec<Place>,
    basis: Vec<usize>,
    basic_value: Vec<f64>,
    factors: Factors,
    /// Whether the factors are those of the basis.
    factored: bool,
    /// Whether the values of the basic variables are right, too.
    fresh: bool,
    /// Added to the costs while a stall is being left.
    perturbation: Vec<f64>,
    logical: Vec<[(RowId, f64); 1]>,
}

impl Simplex {
    /// Starts from the basis of all logical variables.
    pub fn new(program: Program) -> Self {
        let mut simplex = Simplex {
            program,
            autoscale: false,
            precise: false,
            tolerance: COARSE,
            scaled: None,
            outdated: Program::default(),
            patience: usize::MAX,
            pivots: 0,
            limit: usize::MAX,
            place: Vec::new(),
            basis: Vec::new(),
            basic_value: Vec::new(),
            factors: Factors::default(),
            factored: false,
            fresh: false,
            perturbation: Vec::new(),
            logical: Vec::new(),
        };
        simplex.sync();
        simplex
    }

    /// The same for a program whose numbers are of any size.
    pub fn scaling(program: Program) -> Self {
        Simplex { autoscale: true, precise: true, ..Simplex::new(program) }
    }

    /// Solves to an optimal vertex from the current basis.
    pub fn maximise(&mut self, stop: &dyn Fn() -> bool) -> Result<(), LpError> {
        self.sync();
        // The caller may have written other coefficients or units.
        self.factored = false;
        if self.autoscale {
            let scaling = Scaling::new(&self.program);
            let mut scaled = std::mem::take(&mut self.outdated);
            scaling.apply(&self.program, &mut scaled);
            self.scaled = Some((scaled, scaling));
        }
        let size = self.program.rows() + self.program.vars();
        let pivots_max = (1000 + PIVOTS_PER_SIZE_MAX * size).min(self.patience);
        self.run(COARSE, pivots_max, stop)?;
        if !self.precise {
            return Ok(());
        }
        let coarse = self.mark();
        match self.run(FINE, POLISH_MAX + self.program.rows(), stop) {
            Ok(()) => Ok(()),
            Err(LpError::Stopped) => Err(LpError::Stopped),
            Err(_) => {
                // Noise had the better of it: the optimum stands as it was found.
                self.reset(&coarse);
                Ok(())
            }
        }
    }

    /// Remembers the basis.
    pub fn mark(&self) -> Mark {
        Mark { place: self.place.clone(), basis: self.basis.clone() }
    }

    /// Goes back to a basis of the program as it is.
    pub fn reset(&mut self, mark: &Mark) {
        (self.place, self.basis) = (mark.place.clone(), mark.basis.clone());
        self.factored = false;
        self.tolerance = COARSE;
        self.settle();
        self.refactor();
    }

    /// Pivots to an optimum within a tolerance.
    fn run(
        &mut self,
        tolerance: Tolerance,
        pivots_max: usize,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), LpError> {
        self.tolerance = tolerance;
        self.perturbation.clear();
        let first = self.pivots;
        let limit = first.saturating_add(pivots_max).min(self.limit);
        let mut stalled = 0;
        loop {
            // Before anything is factorised.
            if (self.pivots - first).is_multiple_of(STOP_EVERY) && stop() {
                return Err(LpError::Stopped);
            }
            if !self.fresh || self.factors.is_stale() {
                self.renew();
            }
            if self.pivots >= limit {
                return Err(LpError::NotConverged);
            }
            let infeasible = self.infeasibility() > 0.0;
            let Some((enter, rise)) = self.price(infeasible, stalled > 4 * STALL) else {
                if self.factors.is_updated() {
                    self.refactor();
                    continue;
                }
                if !self.perturbation.is_empty() {
                    self.perturbation.clear();
                    stalled = 0;
                    continue;
                }
                if !infeasible {
                    return Ok(());
                }
                // Constraints that hold with equality all around may miss each other by rounding.
                let missed = self.infeasibility();
                if missed > NEARLY_FEASIBLE * tolerance.feasible {
                    return Err(LpError::Infeasible);
                }
                self.tolerance.feasible = 2.0 * missed;
                continue;
            };
            let step = self.pivot(enter, rise, infeasible)?;
            stalled = if step > COARSE.feasible { 0 } else { stalled + 1 };
            if stalled == STALL {
                self.perturb();
            }
        }
    }

    /// Whether the values and the factors are those of the basis, also where a walk was stopped.
    pub fn has_vertex(&self) -> bool {
        self.factored && self.fresh
    }

    /// The value of a structural variable.
    pub fn value(&self, var: VarId) -> f64 {
        self.value_of(var) * self.scaled.as_ref().map_or(1.0, |(_, s)| s.column[var])
    }

    /// The value of `A x` on a row.
    pub fn activity(&self, row: RowId) -> f64 {
        self.value_of(self.program.vars() + row)
    }

    /// The objective at the current vertex.
    pub fn objective(&self) -> f64 {
        (0..self.program.vars()).map(|v| self.program.cost[v] * self.value(v)).sum()
    }

    /// The basic variables: structural ones by position, then logical ones behind them by row.
    pub fn basic(&self) -> impl Iterator<Item = usize> + '_ {
        self.basis.iter().copied()
    }

    /// Adds variables or rows made to the program by the caller: logicals of new rows become basic.
    fn sync(&mut self) {
        let scaled = self.scaled.take().map(|(program, _)| self.outdated = program).is_some();
        let (vars, rows) = (self.program.vars(), self.program.rows());
        let (old_rows, old_vars) = (self.basis.len(), self.place.len() - self.basis.len());
        if vars == old_vars && rows == old_rows {
            self.settle();
            return;
        }
        let mut place = Vec::with_capacity(vars + rows);
        place.extend_from_slice(&self.place[..old_vars]);
        place.resize(vars, Place::Lower);
        place.extend_from_slice(&self.place[old_vars..]);
        for v in &mut self.basis {
            if *v >= old_vars {
                *v += vars - old_vars;
            }
        }
        for row in old_rows..rows {
            place.push(Place::Basic(row));
            self.basis.push(vars + row);
            self.logical.push([(row, -1.0)]);
        }
        self.place = place;
        self.settle();
        self.factored &= vars == old_vars && !scaled;
        if self.factored {
            self.add_rows_to_factors(old_rows);
        }
    }

    /// The factors follow the rows from `first` on.
    fn add_rows_to_factors(&mut self, first: RowId) {
        let mut entries = Vec::new();
        for (at, &v) in self.basis[..first].iter().enumerate() {
            let new = self.column(v).iter().filter(|e| e.0 >= first);
            entries.extend(new.map(|&(row, a)| (row, at, a)));
        }
        self.factors.add_rows(first, self.program.rows(), entries);
    }

    /// Puts every nonbasic variable on a bound that it has.
    fn settle(&mut self) {
        for v in 0..self.place.len() {
            let (lower, upper) = self.bounds(v);
            self.place[v] = match self.place[v] {
                Place::Basic(at) => Place::Basic(at),
                Place::Upper if upper.is_finite() => Place::Upper,
                _ if lower.is_finite() => Place::Lower,
                _ if upper.is_finite() => Place::Upper,
                _ => Place::Free,
            };
        }
        self.fresh = false;
    }

    /// Makes the given variables basic as far as they are independent; the other places are taken by
    /// the logicals of the rows that are left.
    pub fn set_basis(&mut self, structurals: &[VarId], logicals: &[RowId]) {
        self.sync();
        let (vars, rows) = (self.program.vars(), self.program.rows());
        let wanted: Vec<usize> =
            structurals.iter().copied().chain(logicals.iter().map(|r| vars + r)).collect();
        let mut factors = std::mem::take(&mut self.factors);
        let columns: Vec<&[(RowId, f64)]> = wanted.iter().map(|&v| self.column(v)).collect();
        let deficiency = factors.factor(rows, &columns);
        let mut position = vec![Some(0); wanted.len()];
        for &c in &deficiency.columns {
            position[c] = None;
        }
        for v in 0..self.place.len() {
            self.place[v] = Place::Lower;
        }
        self.basis.clear();
        for (position, &v) in position.iter_mut().zip(&wanted).filter(|(p, _)| p.is_some()) {
            *position = Some(self.basis.len());
            self.basis.push(v);
        }
        let bare = deficiency.rows.iter().enumerate().map(|(at, &r)| (r, self.basis.len() + at));
        factors.complete(&position, &bare.collect::<Vec<_>>(), -1.0);
        self.basis.extend(deficiency.rows.iter().map(|r| vars + r));
        for (at, &v) in self.basis.iter().enumerate() {
            self.place[v] = Place::Basic(at);
        }
        self.settle();
        (self.factors, self.factored) = (factors, true);
    }

    fn refactor(&mut self) {
        let rows = self.program.rows();
        for _ in 0..=rows {
            let data = self.scaled.as_ref().map_or(&self.program, |(program, _)| program);
            let columns: Vec<&[(RowId, f64)]> =
                self.basis.iter().map(|&v| column(data, &self.logical, v)).collect();
            let deficiency = self.factors.factor(rows, &columns);
            if deficiency.columns.is_empty() {
                break;
            }
            // Rounding has made the basis singular: logicals take the place of what depends.
            let vars = self.program.vars();
            for (&at, &row) in deficiency.columns.iter().zip(&deficiency.rows) {
                self.place[self.basis[at]] = Place::Lower;
                self.basis[at] = vars + row;
                self.place[vars + row] = Place::Basic(at);
            }
            self.settle();
        }
        (self.factored, self.fresh) = (true, true);
        self.compute_basic_values();
    }

    /// Makes the factors and the values right, whatever has changed.
    fn renew(&mut self) {
        if !self.factored || self.factors.is_updated() {
            self.refactor();
        } else if !self.fresh {
            self.fresh = true;
            self.compute_basic_values();
        }
    }

    fn compute_basic_values(&mut self) {
        let mut rhs = vec![0.0; self.program.rows()];
        for v in 0..self.place.len() {
            let x = match self.place[v] {
                Place::Basic(_) | Place::Free => continue,
                Place::Lower => self.bounds(v).0,
                Place::Upper => self.bounds(v).1,
            };
            if x != 0.0 {
                for &(row, a) in column(self.data(), &self.logical, v) {
                    rhs[row] -= a * x;
                }
            }
        }
        let mut x = rhs.clone();
        self.factors.ftran(&mut x);
        // One step of refinement takes the residual from the factors' error to that of the data.
        for (at, &v) in self.basis.iter().enumerate() {
            for &(row, a) in column(self.data(), &self.logical, v) {
                rhs[row] -= a * x[at];
            }
        }
        self.factors.ftran(&mut rhs);
        for (value, correction) in x.iter_mut().zip(&rhs) {
            *value += correction;
        }
        self.basic_value = x;
    }

    fn infeasibility(&self) -> f64 {
        let violations = self.basis.iter().zip(&self.basic_value).filter_map(|(&v, &x)| {
            let (lower, upper) = self.bounds(v);
            // Nearly all are within: no division for those.
            let (beyond, bound) = if x < lower {
                (lower - x, lower)
            } else if x > upper {
                (x - upper, upper)
            } else {
                return None;
            };
            Some(beyond / bound.abs().max(1.0))
        });
        violations.filter(|&violation| violation > self.tolerance.feasible).sum()
    }

    /// What a bound may be violated by: it is right to rounding beside its own size.
    fn slack(&self, bound: f64) -> f64 {
        self.tolerance.feasible * bound.abs().max(1.0)
    }

    fn value_of(&self, v: usize) -> f64 {
        let (lower, upper) = self.bounds(v);
        match self.place[v] {
            Place::Basic(at) => self.basic_value[at].clamp(lower, upper),
            Place::Lower => lower,
            Place::Upper => upper,
            Place::Free => 0.0,
        }
    }

    /// The program that is worked on.
    fn data(&self) -> &Program {
        self.scaled.as_ref().map_or(&self.program, |(program, _)| program)
    }

    fn bounds(&self, v: usize) -> (f64, f64) {
        self.data().bounds(v)
    }

    fn cost_of(&self, v: usize) -> f64 {
        self.data().cost.get(v).copied().unwrap_or(0.0)
    }

    fn column(&self, v: usize) -> &[(RowId, f64)] {
        column(self.data(), &self.logical, v)
    }
}

/// The column of a variable, structural or logical.
fn column<'a>(
    program: &'a Program,
    logical: &'a [[(RowId, f64); 1]],
    v: usize,
) -> &'a [(RowId, f64)] {
    let vars = program.vars();
    if v < vars { &program.columns[v] } else { &logical[v - vars] }
}

mod duals;
mod parametric;
mod pivoting;
#[cfg(test)]
mod tests;
