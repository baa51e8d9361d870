//! The market mechanisms under caps: a tenant's demand, or gavel's limit per tenant.
//!
//! A cap ties the types of a tenant together, so prices per type no longer tell the whole story. The
//! program is written out in full, `w_l.x_l` per row, `sum_l x_l <= m` per type and
//! `sum_(l, j) x_lj <= limit` per cap, and solved by the simplex method. What a capped tenant leaves
//! goes to the others by the program itself: levels rise until nobody can be raised.

use crate::allocation::Allocation;
use crate::instance::{Cap, Instance};
use crate::lp::{Level, LpError, Program, Simplex, leximin, leximin_watched};

/// In the report.
const METHOD: &str = "simplex, lexicographic levels";
const INF: f64 = f64::INFINITY;

/// The lexicographic max-min of `w_l.x_l / target_l`.
///
/// The price of a type comes from the first round in which it is scarce: one more GPU lifts the rows
/// that are stopped there, and a unit of level is worth the sum of their targets.
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
    let mut price = vec![0.0; instance.width()];
    let mut watch = |duals: &[f64], stopped: &[usize]| {
        let worth: f64 = stopped.iter().map(|&i| target[rows[i]] * unit).sum();
        for (j, price) in price.iter_mut().enumerate().filter(|(_, price)| **price == 0.0) {
            *price = duals[j].max(0.0) * polytope.scale / instance.capacity[j] * worth;
        }
    };
    let simplex = Simplex::scaling(polytope.program.clone());
    let (simplex, gap) = leximin_watched(simplex, &levels, stop, &mut watch)?;
    let x = polytope.shares(&simplex);
    let pivots = simplex.pivots;
    Ok(Allocation { x, price, gap, pivots, method: METHOD, canonical: true })
}

/// The most total throughput; with `floors`, no tenant below what it can use of its equal split.
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
    if simplex.restrict_to_optimal_face() {
        let levels: Vec<Level> =
            (0..instance.rows()).map(|l| polytope.level(l, instance.equal_split(l))).collect();
        simplex = leximin(simplex, &levels, stop)?.0;
    }
    let x = polytope.shares(&simplex);
    let pivots = simplex.pivots;
    Ok(Allocation { x, price, gap, pivots, method: METHOD, canonical: true })
}

/// A vertex among the shares that give every row at least the wanted throughput, with the most total
/// throughput, so that nothing useful is idle.
pub(crate) fn vertex(
    instance: &Instance,
    throughput: &[f64],
    stop: &dyn Fn() -> bool,
) -> Result<Vec<f64>, LpError> {
    let mut polytope = Polytope::new(instance);
    polytope.maximise_total();
    for (l, &wanted) in throughput.iter().enumerate() {
        polytope.add_floor(&[l], wanted);
    }
    let mut simplex = Simplex::scaling(polytope.program.clone());
    simplex.maximise(stop)?;
    Ok(polytope.shares(&simplex))
}

/// What a capped row can use at most of its equal split: its fastest GPUs.
pub(crate) fn usable_equal_split(instance: &Instance, cap: &Cap) -> f64 {
    cap.rows.iter().map(|&l| instance.usable_equal_split(l)).sum()
}

/// Rows: the types' capacities in units of `1 / n`, then the caps. Columns: parts of a type.
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
        let mut cap_row = vec![None; n];
        let mut shut = vec![false; n];
        for cap in &instance.caps {
            let row = program.row(-INF, 1.0);
            for &l in &cap.rows {
                cap_row[l] = Some((row, cap.limit));
                shut[l] = cap.limit <= 0.0;
            }
        }
        let mut column = vec![None; n * k];
        for l in 0..n {
            for j in (0..k).filter(|&j| instance.profile(l)[j] > 0.0 && !shut[l]) {
                let mut entries = vec![(j, 1.0)];
                if let Some((row, limit)) = cap_row[l] {
                    entries.push((row, instance.capacity[j] / scale / limit));
                }
                column[l * k + j] = Some(program.var(0.0, 0.0, INF, entries));
            }
        }
        Polytope { instance, program, column, scale }
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
        Level { terms: self.terms(l).collect(), target }
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

    /// Nobody below its equal split; a capped tenant not below what it can use of it.
    fn add_floors(&mut self) {
        let instance = self.instance;
        let capped = instance.capped_rows();
        for l in (0..instance.rows()).filter(|&l| !capped[l]) {
            self.add_floor(&[l], instance.equal_split(l));
        }
        for cap in &instance.caps {
            self.add_floor(&cap.rows, usable_equal_split(instance, cap));
        }
    }

    fn add_floor(&mut self, rows: &[usize], throughput: f64) {
        if throughput <= 0.0 {
            return;
        }
        // A hair of room, for floors that are met with equality by everybody.
        let row = self.program.row(1.0 - 1e-12, INF);
        for &l in rows {
            let terms: Vec<(usize, f64)> = self.terms(l).collect();
            for (var, t) in terms {
                self.program.columns[var].push((row, t / throughput));
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
