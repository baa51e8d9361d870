//! The market mechanisms under demands.
//!
//! A demand ties the types of a row together, so prices per type no longer tell the whole story. The
//! program is written out in full, `w_l.x_l` and `1.x_l <= D_l` per row and `sum_l x_l <= m` per type,
//! and solved by the simplex method. What a row with a demand leaves goes to the others by the program
//! itself: levels rise until nobody can be raised.

use crate::OPTIMALITY_TOLERANCE;
use crate::allocation::Allocation;
use crate::instance::Instance;
use crate::lp::{Guess, Level, LpError, Program, Simplex, leximin, leximin_watched};
use outset::outset;

/// In the report.
const METHOD: &str = "simplex, lexicographic levels";
const INF: f64 = f64::INFINITY;

/// The lexicographic max-min of `w_l.x_l / target_l`.
///
/// The price of a type comes from the first round in which it is scarce: one more GPU lifts the rows
/// that are stopped there, and a unit of level is worth the sum of their targets. The walk starts where prices alone say that
/// the first level stops.
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
    let walk = |guess: &Guess| {
        let mut price = vec![0.0; instance.width()];
        let mut watch = |duals: &[f64], stopped: &[usize]| {
            let worth: f64 = stopped.iter().map(|&i| target[rows[i]] * unit).sum();
            for (j, price) in price.iter_mut().enumerate().filter(|(_, price)| **price == 0.0) {
                *price = duals[j].max(0.0) * polytope.scale / instance.capacity[j] * worth;
            }
            price.contains(&0.0)
        };
        let simplex = Simplex::scaling(polytope.program.clone());
        let (simplex, gap) = leximin_watched(simplex, &levels, guess, stop, &mut watch)?;
        let (x, pivots) = (polytope.shares(&simplex), simplex.pivots);
        Ok(Allocation { x, price, gap, pivots, method: METHOD, canonical: true })
    };
    // Where rounding kept the walk from there from a proof, one from nothing may find it.
    let wanted: Vec<(usize, f64)> = rows.iter().map(|&l| (l, target[l] * unit)).collect();
    match walk(&polytope.guess(&wanted, stop)) {
        Ok(found) if found.gap <= OPTIMALITY_TOLERANCE => Ok(found),
        Err(LpError::Stopped) => Err(LpError::Stopped),
        first => {
            let second = walk(&Guess::default());
            let gap = |found: &Result<Allocation, LpError>| found.as_ref().map_or(INF, |f| f.gap);
            if gap(&second) < gap(&first) { second } else { first.or(second) }
        }
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
        let mut column = vec![None; n * k];
        for (l, &demand) in instance.demand.iter().enumerate() {
            let limit = demand.is_finite().then(|| program.row(-INF, 1.0));
            for j in (0..k).filter(|&j| instance.profile(l)[j] > 0.0) {
                let mut entries = vec![(j, 1.0)];
                entries.extend(limit.map(|row| (row, instance.capacity[j] / scale / demand)));
                column[l * k + j] = Some(program.var(0.0, 0.0, INF, entries));
            }
        }
        Polytope { instance, program, column, scale }
    }

    /// Where the first level stops, and who has what there; `wanted` are rows with their targets.
    fn guess(&self, wanted: &[(usize, f64)], stop: &dyn Fn() -> bool) -> Guess {
        let (k, mut limit) = (self.instance.width(), self.instance.width());
        let outset = outset(self.instance, wanted, stop);
        let mut guess =
            Guess { support: Vec::new(), slack: outset.idle, level: Some(outset.level) };
        for (l, &demand) in self.instance.demand.iter().enumerate() {
            guess.support.extend(outset.types[l].iter().flat_map(|&j| self.column[l * k + j]));
            if demand.is_finite() {
                guess.slack.extend(outset.is_within[l].then_some(limit));
                limit += 1;
            }
        }
        guess
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

    fn shares(&self, simplex: &Simplex) -> Vec<f64> {
        let k = self.instance.width();
        let gpus = |(e, column): (usize, &Option<usize>)| {
            let parts = column.map_or(0.0, |var| simplex.value(var));
            parts * self.instance.capacity[e % k] / self.scale
        };
        let mut x: Vec<f64> = self.column.iter().enumerate().map(gpus).collect();
        self.instance.fit(&mut x);
        x
    }
}

mod outset;
#[cfg(test)]
mod tests;
