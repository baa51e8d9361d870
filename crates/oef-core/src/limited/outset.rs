//! Where the first level stops, found by prices alone: what the simplex starts from.
//!
//! At prices `p` the cheapest way of a row to a throughput `u` with at most `D` GPUs lies on the lower hull of the points
//! `(w_j, p_j)` and the origin, at `u / D`: one type, or two that are neighbours on the hull. So the whole problem has an
//! unknown per type. Prices prove a bound of the level: above it everybody's cheapest bundles cost more than there is. The
//! least bound is the level itself. It is found by cutting planes: whatever is used at some prices is an upper limit of the
//! cost at all others, and a small program finds the prices at which the limits so far prove the most. At the end those who
//! hesitate between bundles do so between the ones of the cuts that bind.

use crate::instance::Instance;
use crate::lp::{Program, Simplex};

/// Cuts after which what has been found must do: it is only where the simplex starts.
const CUTS_MAX: usize = 60;
/// Steps to the level that prices prove: piecewise linear, so that few do.
const STEPS_MAX: usize = 60;
/// Part of the capacity by which the use at a level may be missed.
const NEAR: f64 = 1e-9;

/// What prices tell of the first level and the bundles there.
#[derive(Debug, Default)]
pub(super) struct Outset {
    /// No level above it can be reached, to rounding.
    pub level: f64,
    /// The types without a price: some of them stays idle.
    pub idle: Vec<usize>,
    /// Per row: types that it may use; and whether it may have less than its demand.
    pub types: Vec<Vec<usize>>,
    pub is_within: Vec<bool>,
}

/// A row: at level `g` it has throughput `g target`, up to its limit.
struct Row<'a> {
    row: usize,
    speed: &'a [f64],
    demand: f64,
    target: f64,
    /// The level at which it stays.
    limit: f64,
    /// The types that it can use, the slowest first.
    types: Vec<usize>,
}

/// A side of a row's hull: throughput per GPU and price at both ends, with the types there; the origin has none.
#[derive(Clone, Copy)]
struct Side {
    from: (f64, f64, Option<usize>),
    to: (f64, f64, usize),
}

/// The least level that prices prove for the rows with a target.
pub(super) fn outset(
    instance: &Instance,
    wanted: &[(usize, f64)],
    stop: &dyn Fn() -> bool,
) -> Outset {
    let market = Market::new(instance, wanted);
    let k = instance.width();
    let mut outset = Outset {
        level: market.top(),
        idle: Vec::new(),
        types: vec![Vec::new(); instance.rows()],
        is_within: vec![false; instance.rows()],
    };
    // Maximise z over parts q of the money with `z <= q.(use / capacity - 1)` for every cut.
    let mut program = Program::default();
    let all = program.row(1.0, 1.0);
    (0..k).for_each(|_| _ = program.var(0.0, 0.0, f64::INFINITY, vec![(all, 1.0)]));
    let z = program.var(1.0, -1.0, f64::INFINITY, Vec::new());
    let mut simplex = Simplex::new(program);
    let mut tried: Vec<Vec<f64>> = Vec::new();
    let mut price: Vec<f64> = instance.capacity.iter().map(|m| 1.0 / (m * k as f64)).collect();
    for _ in 0..CUTS_MAX {
        let hulls = market.hulls(&price);
        outset.level = market.proven(&hulls, outset.level);
        let used = market.used(&hulls, outset.level);
        let cut = simplex.program.row(0.0, f64::INFINITY);
        for j in 0..k {
            let over = used[j] / instance.capacity[j] - 1.0;
            simplex.program.columns[j].push((cut, over));
        }
        simplex.program.columns[z].push((cut, -1.0));
        tried.push(price.clone());
        if simplex.maximise(stop).is_err() || simplex.value(z) <= NEAR {
            break;
        }
        price = (0..k).map(|j| simplex.value(j) / instance.capacity[j]).collect();
    }
    outset.idle = (0..k).filter(|&j| simplex.value(j) <= NEAR).collect();
    let duals = simplex.duals();
    // Where several cuts bind, the heaviest comes nearest: two bundles for each row would be no basis.
    let heaviest =
        tried.iter().zip(&duals[all + 1..]).max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
    if let Some((price, _)) = heaviest {
        market.add_bundles(&market.hulls(price), &mut outset);
    }
    outset
}

struct Market<'a> {
    instance: &'a Instance,
    rows: Vec<Row<'a>>,
}

/// The sides of every row's hull, row after row.
struct Hulls {
    sides: Vec<Side>,
    first: Vec<usize>,
}

impl Hulls {
    fn of(&self, i: usize) -> &[Side] {
        &self.sides[self.first[i]..self.first[i + 1]]
    }
}

impl<'a> Market<'a> {
    fn new(instance: &'a Instance, wanted: &[(usize, f64)]) -> Self {
        let row = |&(row, target): &(usize, f64)| {
            let speed = instance.profile(row);
            let mut types: Vec<usize> = (0..speed.len()).filter(|&j| speed[j] > 0.0).collect();
            types.sort_by(|&a, &b| speed[a].total_cmp(&speed[b]));
            let (demand, fastest) = (instance.demand[row], types.last().map_or(0.0, |&j| speed[j]));
            Row { row, speed, demand, target, limit: demand * fastest / target, types }
        };
        Market { instance, rows: wanted.iter().map(row).collect() }
    }

    /// A level that is not below the answer: what somebody without a demand has with everything, or else where everybody has
    /// all that it can use.
    fn top(&self) -> f64 {
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        for row in &self.rows {
            if row.limit.is_finite() {
                most = most.max(row.limit);
            } else {
                let whole = row.speed.iter().zip(&self.instance.capacity).map(|(w, m)| w * m);
                least = least.min(whole.sum::<f64>() / row.target);
            }
        }
        if least.is_finite() { least } else { most }
    }

    fn hulls(&self, price: &[f64]) -> Hulls {
        let mut hulls = Hulls { sides: Vec::new(), first: vec![0] };
        for row in &self.rows {
            let begin = hulls.sides.len();
            for &j in &row.types {
                let (w, p) = (row.speed[j], price[j]);
                let mut from = (0.0, 0.0, None);
                while let Some(last) = hulls.sides[begin..].last() {
                    let (a, b) = (last.from, last.to);
                    if (b.1 - a.1) * (w - a.0) < (p - a.1) * (b.0 - a.0) {
                        from = (b.0, b.1, Some(b.2));
                        break;
                    }
                    hulls.sides.pop();
                }
                if w > from.0 {
                    hulls.sides.push(Side { from, to: (w, p, j) });
                }
            }
            hulls.first.push(hulls.sides.len());
        }
        hulls
    }

    /// The greatest level up to a limit at which everybody's cheapest bundles cost no more than there is.
    fn proven(&self, hulls: &Hulls, limit: f64) -> f64 {
        let (mut low, mut high, mut level) = (0.0, limit, limit);
        for _ in 0..STEPS_MAX {
            let (mut cost, mut slope) = (-1.0, 0.0);
            for (i, row) in self.rows.iter().enumerate() {
                let side = row.side(hulls.of(i), level);
                let rise = (side.to.1 - side.from.1) / (side.to.0 - side.from.0);
                cost += row.cost(&side, level);
                slope += if level >= row.limit { 0.0 } else { rise * row.target };
            }
            if cost > 0.0 {
                high = level;
            } else {
                low = level;
            }
            let next = level - cost / slope;
            if low == limit || cost.abs() <= f64::EPSILON || high - low <= f64::EPSILON * high {
                break;
            }
            level = if next > low && next < high { next } else { 0.5 * (low + high) };
        }
        level
    }

    /// GPUs used of each type.
    fn used(&self, hulls: &Hulls, level: f64) -> Vec<f64> {
        let mut used = vec![0.0; self.instance.width()];
        for (i, row) in self.rows.iter().enumerate() {
            let side = row.side(hulls.of(i), level);
            let (slower, faster) = row.bundle(&side, level);
            used[side.to.2] += faster;
            side.from.2.iter().for_each(|&j| used[j] += slower);
        }
        used
    }

    fn add_bundles(&self, hulls: &Hulls, outset: &mut Outset) {
        for (i, row) in self.rows.iter().enumerate() {
            let side = row.side(hulls.of(i), outset.level);
            let types = &mut outset.types[row.row];
            for j in side.from.2.into_iter().chain([side.to.2]) {
                if !types.contains(&j) {
                    types.push(j);
                }
            }
            outset.is_within[row.row] |= side.from.2.is_none();
        }
    }
}

impl Row<'_> {
    fn fastest(&self) -> f64 {
        self.types.last().map_or(0.0, |&j| self.speed[j])
    }

    fn throughput(&self, level: f64) -> f64 {
        level.min(self.limit) * self.target
    }

    /// Throughput per GPU at a level, if the demand binds.
    fn rate(&self, level: f64) -> f64 {
        (self.throughput(level) / self.demand).min(self.fastest())
    }

    /// Where a row is on its hull; at a corner it is on the side before it, since it could not pay for more.
    fn side(&self, hull: &[Side], level: f64) -> Side {
        let rate = self.rate(level) * (1.0 - 1e-12);
        hull[hull.partition_point(|side| side.to.0 < rate).min(hull.len() - 1)]
    }

    /// GPUs of both types of a side.
    fn bundle(&self, side: &Side, level: f64) -> (f64, f64) {
        if side.from.2.is_none() {
            return (0.0, self.throughput(level) / side.to.0);
        }
        let part = (self.rate(level) - side.from.0) / (side.to.0 - side.from.0);
        (self.demand * (1.0 - part), self.demand * part)
    }

    fn cost(&self, side: &Side, level: f64) -> f64 {
        let (slower, faster) = self.bundle(side, level);
        slower * side.from.1 + faster * side.to.1
    }
}
