//! The market mechanisms under demands.
//!
//! A demand ties the types of a row together, so prices per type no longer tell the whole story. The
//! program is written out in full, `w_l.x_l` and `1.x_l <= D_l` per row and `sum_l x_l <= m` per type,
//! and solved by the simplex method. What a row with a demand leaves goes to the others by the program
//! itself: levels rise until nobody can be raised.

use crate::OPTIMALITY_TOLERANCE;
use crate::allocation::Allocation;
use crate::instance::Instance;
use crate::lp::{Guess, Guide, Level, LpError, Program, Simplex, leximin, leximin_guided};
use outset::{Bundle, Outset, outset};

/// In the report.
const METHOD: &str = "simplex, lexicographic levels";
const INF: f64 = f64::INFINITY;
/// Each round gives a price to another type, or else stops few rows at limits of their own, where a start does not pay.
const STARTS_PER_TYPE: usize = 2;
/// Part of a type that is nothing: rounding.
const NOTHING: f64 = 1e-9;

/// The lexicographic max-min of `w_l.x_l / target_l`.
///
/// The price of a type comes from the first round in which it is scarce: one more GPU lifts the rows
/// that are stopped there, and a unit of level is worth the sum of their targets. Each round starts where prices alone say
/// that its level stops.
pub(crate) fn lexicographic(
    instance: &Instance,
    target: &[f64],
    stop: &dyn Fn() -> bool,
) -> Result<Allocation, LpError> {
    let polytope = Polytope::new(instance);
    let rows: Vec<usize> = (0..instance.rows()).filter(|&l| target[l] > 0.0).collect();
    // The level of an equal split, so that levels are numbers of order one.
    let unit = rows.iter().map(|&l| instance.equal_split(l) / target[l]).fold(INF, f64::min);
    let levels: Vec<Level> = rows.iter().map(|&l| polytope.level(l, target[l] * unit)).collect();
    let wanted: Vec<(usize, f64)> = rows.iter().map(|&l| (l, target[l] * unit)).collect();
    let walk = |starts: usize| {
        let price = vec![0.0; instance.width()];
        let mut prices = Prices { polytope: &polytope, wanted: &wanted, price, starts, stop };
        let simplex = Simplex::scaling(polytope.program.clone());
        let (simplex, gap) = leximin_guided(simplex, &levels, &mut prices, stop)?;
        let (x, pivots) = (polytope.shares(&simplex), simplex.pivots);
        Ok(Allocation { x, price: prices.price, gap, pivots, method: METHOD, canonical: true })
    };
    // Where rounding kept the walk from a proof, one from nothing may find it.
    match walk(STARTS_PER_TYPE * instance.width()) {
        Ok(found) if found.gap <= OPTIMALITY_TOLERANCE => Ok(found),
        Err(LpError::Stopped) => Err(LpError::Stopped),
        first => {
            let second = walk(0);
            let gap = |found: &Result<Allocation, LpError>| found.as_ref().map_or(INF, |f| f.gap);
            if gap(&second) < gap(&first) { second } else { first.or(second) }
        }
    }
}

/// The prices so far, and from them where the simplex starts the next rounds.
struct Prices<'a> {
    polytope: &'a Polytope<'a>,
    /// Rows with their targets.
    wanted: &'a [(usize, f64)],
    price: Vec<f64>,
    /// Rounds that may have a start.
    starts: usize,
    stop: &'a dyn Fn() -> bool,
}

impl Prices<'_> {
    /// What the open rows share. They have nothing of a type with a price, and what the others have of the types without
    /// one stays theirs.
    fn left(&self, simplex: &Simplex, open: &[usize]) -> Vec<f64> {
        let instance = self.polytope.instance;
        let mut left = instance.capacity.clone();
        if open.len() == self.wanted.len() {
            return left;
        }
        let mut is_open = vec![false; instance.rows()];
        open.iter().for_each(|&at| is_open[self.wanted[at].0] = true);
        for l in (0..instance.rows()).filter(|&l| !is_open[l]) {
            left.iter_mut().enumerate().for_each(|(j, m)| *m -= self.polytope.gpus(simplex, l, j));
        }
        for (j, m) in left.iter_mut().enumerate() {
            if self.price[j] > 0.0 || *m <= NOTHING * instance.capacity[j] {
                *m = 0.0;
            }
        }
        left
    }
}

impl Guide for Prices<'_> {
    fn guess(&mut self, simplex: &Simplex, open: &[usize]) -> Option<Guess> {
        self.starts = self.starts.checked_sub(1)?;
        let capacity = self.left(simplex, open);
        if capacity.iter().all(|m| *m == 0.0) {
            return None;
        }
        let Polytope { instance, program, column, limit, .. } = self.polytope;
        let k = instance.width();
        let rows: Vec<(usize, f64)> = open.iter().map(|&at| self.wanted[at]).collect();
        let Outset { level, is_sharp, idle, bundles } =
            outset(instance, &capacity, &rows, self.stop);
        let mut guess = Guess { support: Vec::new(), slack: idle, level, is_sharp };
        // What is basic stays so, except what belongs to the open rows and the types that they share.
        let vars = simplex.program.vars();
        let mut goes = vec![false; vars + simplex.program.rows()];
        goes[program.vars()] = true;
        (0..k).filter(|&j| capacity[j] > 0.0).for_each(|j| goes[vars + j] = true);
        open.iter().for_each(|at| goes[vars + program.rows() + at] = true);
        for Bundle { row: l, types, is_within } in bundles {
            column[l * k..][..k].iter().flatten().for_each(|&v| goes[v] = true);
            guess.support.extend(types.iter().flat_map(|&j| column[l * k + j]));
            if let Some(row) = limit[l] {
                goes[vars + row] = true;
                guess.slack.extend(is_within.then_some(row));
            }
        }
        if open.len() < self.wanted.len() {
            let (support, slack): (Vec<usize>, Vec<usize>) =
                simplex.basic().filter(|&v| !goes[v]).partition(|&v| v < vars);
            guess.support.extend(support);
            guess.slack.extend(slack.iter().map(|v| v - vars));
        }
        Some(guess)
    }

    fn watch(&mut self, duals: &[f64], blocked: &[usize]) -> bool {
        let worth: f64 = blocked.iter().map(|&at| self.wanted[at].1).sum();
        let Polytope { instance, scale, .. } = self.polytope;
        for (j, price) in self.price.iter_mut().enumerate().filter(|(_, price)| **price == 0.0) {
            *price = duals[j].max(0.0) * scale / instance.capacity[j] * worth;
        }
        self.price.contains(&0.0)
    }
}

/// The most total throughput; with `floors`, nobody below what it can use of its equal split.
/// Among the optima, the lexicographic max-min of throughput over equal split.
pub(crate) fn total(
    instance: &Instance,
    floors: bool,
    stop: &dyn Fn() -> bool,
) -> Result<Allocation, LpError> {
    let mut polytope = Polytope::new(instance);
    polytope.maximise_total();
    if floors {
        polytope.add_floors();
    }
    let mut simplex = Simplex::scaling(polytope.program.clone());
    simplex.maximise(stop)?;
    let unit = polytope.unit();
    let duals = simplex.duals();
    let price = (0..instance.width())
        .map(|j| duals[j].max(0.0) * polytope.scale * unit / instance.capacity[j])
        .collect();
    let gap = (simplex.dual_bound() / simplex.objective() - 1.0).abs();
    let mut face = simplex.clone();
    let mut canonical = true;
    if face.restrict_to_optimal_face() {
        let levels: Vec<Level> =
            (0..instance.rows()).map(|l| polytope.level(l, instance.equal_split(l))).collect();
        // Without a tie-break the optimum stands, and the report says so.
        match leximin(face, &levels, stop) {
            Ok((found, _)) => simplex = found,
            Err(_) => canonical = false,
        }
    }
    let x = polytope.shares(&simplex);
    let pivots = simplex.pivots;
    Ok(Allocation { x, price, gap, pivots, method: METHOD, canonical })
}

/// Rows: the types' capacities in units of `1 / n`, then the demands. Columns: parts of a type.
struct Polytope<'a> {
    instance: &'a Instance,
    program: Program,
    column: Vec<Option<usize>>,
    /// The row of each demand.
    limit: Vec<Option<usize>>,
    /// Number of rows: entries `x_lj n / m_j` are of order one.
    scale: f64,
}

impl<'a> Polytope<'a> {
    fn new(instance: &'a Instance) -> Self {
        let (n, k) = (instance.rows(), instance.width());
        let scale = n as f64;
        let mut program = Program::default();
        for _ in 0..k {
            program.row(-INF, scale);
        }
        let (mut column, mut limits) = (vec![None; n * k], Vec::with_capacity(n));
        for (l, &demand) in instance.demand.iter().enumerate() {
            let limit = demand.is_finite().then(|| program.row(-INF, 1.0));
            for j in (0..k).filter(|&j| instance.profile(l)[j] > 0.0) {
                let mut entries = vec![(j, 1.0)];
                entries.extend(limit.map(|row| (row, instance.capacity[j] / scale / demand)));
                column[l * k + j] = Some(program.var(0.0, 0.0, INF, entries));
            }
            limits.push(limit);
        }
        Polytope { instance, program, column, limit: limits, scale }
    }

    /// The columns of a row with what a unit of each adds to its throughput.
    fn terms(&self, l: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let k = self.instance.width();
        (0..k).filter_map(move |j| {
            let throughput = self.instance.profile(l)[j] * self.instance.capacity[j] / self.scale;
            Some((self.column[l * k + j]?, throughput))
        })
    }

    fn level(&self, l: usize, target: f64) -> Level {
        let fastest = self.instance.profile(l).iter().copied().fold(0.0, f64::max);
        let most = self.instance.demand[l] * fastest / target;
        Level { terms: self.terms(l).collect(), target, most }
    }

    /// The total of the equal split: a unit of the objective.
    fn unit(&self) -> f64 {
        (0..self.instance.rows()).map(|l| self.instance.equal_split(l)).sum::<f64>() / self.scale
    }

    fn maximise_total(&mut self) {
        let unit = self.unit();
        for l in 0..self.instance.rows() {
            let terms: Vec<(usize, f64)> = self.terms(l).collect();
            for (var, throughput) in terms {
                self.program.cost[var] = throughput / unit;
            }
        }
    }

    /// Nobody below what it can use of its equal split.
    fn add_floors(&mut self) {
        for l in 0..self.instance.rows() {
            let floor = self.instance.usable_equal_split(l);
            // A hair of room, for floors that are met with equality by everybody.
            let row = self.program.row(1.0 - 1e-12, INF);
            let terms: Vec<(usize, f64)> = self.terms(l).collect();
            for (var, t) in terms {
                self.program.columns[var].push((row, t / floor));
            }
        }
    }

    /// What a row has of a type.
    fn gpus(&self, simplex: &Simplex, l: usize, j: usize) -> f64 {
        let column = self.column[l * self.instance.width() + j];
        column.map_or(0.0, |var| simplex.value(var)) * self.instance.capacity[j] / self.scale
    }

    fn shares(&self, simplex: &Simplex) -> Vec<f64> {
        let k = self.instance.width();
        let entries = 0..self.column.len();
        let mut x: Vec<f64> = entries.map(|e| self.gpus(simplex, e / k, e % k)).collect();
        self.instance.fit(&mut x);
        x
    }
}

mod outset;
#[cfg(test)]
mod tests;
