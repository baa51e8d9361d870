//! The market mechanisms under demands.
//!
//! A demand ties the types of a row together, so prices per type no longer tell the whole story. The
//! program is written out in full, `w_l.x_l` and `1.x_l <= D_l` per row and `sum_l x_l <= m` per type,
//! and solved by the simplex method. What a row with a demand leaves goes to the others by the program
//! itself: levels rise until nobody can be raised.

use crate::OPTIMALITY_TOLERANCE;
use crate::allocation::Allocation;
use crate::instance::Instance;
use crate::linalg::dot;
use crate::lp::{Guess, Guide, Level, LpError, Program, Simplex, leximin, leximin_guided};
use outset::{Bundle, Outset, outset};

/// In the report.
const METHOD: &str = "simplex, lexicographic levels";
const STOPPED: &str = "simplex, stopped on its way";
const INF: f64 = f64::INFINITY;
/// Each round gives a price to another type, or else stops few rows at limits of their own, where a start does not pay.
const STARTS_PER_TYPE: usize = 2;
/// Part of a type that is nothing: rounding.
const NOTHING: f64 = 1e-9;

/// The lexicographic max-min of `w_l.x_l / target_l`.
///
/// The price of a type comes from the first round in which it is scarce: one more GPU lifts the rows
/// that are stopped there, and a unit of level is worth the sum of their targets. Each round starts where prices alone say
/// that its level stops. Where it is stopped, the rounds so far stand if there are any, and the gap is the part of those
/// for whom nothing more is proven.
pub(crate) fn lexicographic(
    instance: &Instance,
    target: &[f64],
    stop: &dyn Fn() -> bool,
) -> Result<Allocation, LpError> {
    let mut polytope = Polytope::new(instance);
    let mut program = Some(std::mem::take(&mut polytope.program));
    let rows: Vec<usize> = (0..instance.rows()).filter(|&l| target[l] > 0.0).collect();
    // The level of an equal split, so that levels are numbers of order one.
    let unit = rows.iter().map(|&l| instance.equal_split(l) / target[l]).fold(INF, f64::min);
    let levels: Vec<Level> = rows.iter().map(|&l| polytope.level(l, target[l] * unit)).collect();
    let wanted: Vec<(usize, f64)> = rows.iter().map(|&l| (l, target[l] * unit)).collect();
    let mut walk = |starts: usize| {
        let program = program.take().unwrap_or_else(|| Polytope::new(instance).program);
        let price = vec![0.0; instance.width()];
        let mut prices =
            Prices { polytope: &polytope, wanted: &wanted, price, starts, so_far: None, stop };
        let found = leximin_guided(Simplex::scaling(program), &levels, &mut prices, stop);
        let Prices { price, so_far, .. } = prices;
        let (x, gap, pivots, method) = match (found, so_far) {
            (Ok((simplex, gap)), _) => (polytope.shares(&simplex), gap, simplex.pivots, METHOD),
            (Err(LpError::Stopped), Some(SoFar { mut x, open, pivots })) => {
                instance.fit(&mut x);
                (x, open, pivots, STOPPED)
            }
            (Err(error), _) => return Err(error),
        };
        Ok(Allocation { x, price, gap, pivots, method, canonical: method == METHOD })
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

/// What the rounds so far have reached.
struct SoFar {
    x: Vec<f64>,
    /// The part of all targets that still rises.
    open: f64,
    pivots: usize,
}

/// The prices so far, and from them where the simplex starts the next rounds.
struct Prices<'a> {
    polytope: &'a Polytope<'a>,
    /// Rows with their targets.
    wanted: &'a [(usize, f64)],
    price: Vec<f64>,
    /// Rounds that may have a start.
    starts: usize,
    so_far: Option<SoFar>,
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
        if open.len() < self.wanted.len() {
            let k = self.polytope.instance.width();
            let all: f64 = self.wanted.iter().map(|wanted| wanted.1).sum();
            let rising: f64 = open.iter().map(|&at| self.wanted[at].1).sum();
            let entries = 0..self.polytope.column.len();
            let x = entries.map(|e| self.polytope.gpus(simplex, e / k, e % k)).collect();
            self.so_far = Some(SoFar { x, open: rising / all, pivots: simplex.pivots });
        }
        self.starts = self.starts.checked_sub(1)?;
        let capacity = self.left(simplex, open);
        if capacity.iter().all(|m| *m == 0.0) {
            return None;
        }
        let Polytope { instance, column, limit, .. } = self.polytope;
        let k = instance.width();
        let wanted: Vec<(usize, f64)> = open.iter().map(|&at| self.wanted[at]).collect();
        let Outset { level, is_sharp, idle, bundles } =
            outset(instance, &capacity, &wanted, self.stop);
        let mut guess = Guess { support: Vec::new(), slack: idle, level, is_sharp };
        // What is basic stays so, except what belongs to the open rows and the types that they share.
        let (vars, rows) = (simplex.program.vars(), simplex.program.rows());
        let mut goes = vec![false; vars + rows];
        goes[vars - 1] = true;
        (0..k).filter(|&j| capacity[j] > 0.0).for_each(|j| goes[vars + j] = true);
        open.iter().for_each(|at| goes[vars + rows - self.wanted.len() + at] = true);
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
/// Among the optima, the lexicographic max-min of throughput over equal split. Where it is stopped, what it has reached
/// stands if it is feasible.
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
    let found = simplex.maximise(stop);
    if found == Err(LpError::Stopped) && simplex.has_vertex() {
        return total_so_far(&polytope, &mut simplex, floors);
    }
    found?;
    let price = polytope.prices(&mut simplex);
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

/// The vertex at which a walk to the greatest total was stopped, if nobody is below its floor there.
fn total_so_far(
    polytope: &Polytope<'_>,
    simplex: &mut Simplex,
    floors: bool,
) -> Result<Allocation, LpError> {
    let instance = polytope.instance;
    let (x, price) = (polytope.shares(simplex), polytope.prices(simplex));
    let k = instance.width();
    let throughput = |l: usize| dot(instance.profile(l), &x[l * k..][..k]);
    let enough = |l: usize| instance.usable_equal_split(l) * (1.0 - OPTIMALITY_TOLERANCE);
    if floors && (0..instance.rows()).any(|l| throughput(l) < enough(l)) {
        return Err(LpError::Stopped);
    }
    let total: f64 = (0..instance.rows()).map(throughput).sum();
    let bound = bound(instance, &price).min(bound(instance, &vec![0.0; k]));
    let gap = (1.0 - total / bound).max(0.0);
    Ok(Allocation { x, price, gap, pivots: simplex.pivots, method: STOPPED, canonical: false })
}

/// No total is greater: at any prices, nobody's use of a GPU is worth more than its price and what the best of the others
/// is worth to it beyond that. Prices that somebody without a demand would pay without end are raised.
fn bound(instance: &Instance, price: &[f64]) -> f64 {
    let mut price = price.to_vec();
    let (limited, unlimited): (Vec<usize>, Vec<usize>) =
        (0..instance.rows()).partition(|&l| instance.demand[l].is_finite());
    for l in unlimited {
        price.iter_mut().zip(instance.profile(l)).for_each(|(price, w)| *price = price.max(*w));
    }
    let beyond = |l: usize| {
        let worth = instance.profile(l).iter().zip(&price).map(|(w, price)| w - price);
        instance.demand[l] * worth.fold(0.0, f64::max)
    };
    dot(&price, &instance.capacity) + limited.into_iter().map(beyond).sum::<f64>()
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
                let own = limit.map(|row| (row, instance.capacity[j] / scale / demand));
                let entries = [(j, 1.0)].into_iter().chain(own);
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

    /// The prices of the types where the total is what is greatest.
    fn prices(&self, simplex: &mut Simplex) -> Vec<f64> {
        let (unit, duals) = (self.unit(), simplex.duals());
        let price = |(j, m): (usize, &f64)| duals[j].max(0.0) * self.scale * unit / m;
        self.instance.capacity.iter().enumerate().map(price).collect()
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
