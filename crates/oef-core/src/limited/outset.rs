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
use std::ops::Range;

/// Cuts after which what has been found must do: it is only where the simplex starts.
const CUTS_MAX: usize = 60;
/// Steps to the level that prices prove: piecewise linear, so that few do.
const STEPS_MAX: usize = 60;
/// Part of the capacity by which the use at a level may be missed.
const NEAR: f64 = 1e-9;

/// What prices tell of the next level and the bundles there.
#[derive(Debug, Default)]
pub(super) struct Outset {
    /// No level above it can be reached, to rounding; and whether it is the level itself.
    pub level: f64,
    pub is_sharp: bool,
    /// The types without a price: some of them stays idle.
    pub idle: Vec<usize>,
    pub bundles: Vec<Bundle>,
}

/// The types that a row uses, and whether it has less than its demand.
#[derive(Debug)]
pub(super) struct Bundle {
    pub row: usize,
    pub types: Vec<usize>,
    pub is_within: bool,
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

/// The least level that prices prove for rows with their targets, who share what there is of each type: nothing of some.
/// Rows that can use none of it are left out.
pub(super) fn outset(
    instance: &Instance,
    capacity: &[f64],
    wanted: &[(usize, f64)],
    stop: &dyn Fn() -> bool,
) -> Outset {
    let market = Market::new(instance, capacity, wanted);
    let k = instance.width();
    let mut outset = Outset { level: market.top(), ..Outset::default() };
    // Maximise z over parts q of the money with `z <= q.(use / capacity - 1)` for every cut.
    let mut program = Program::default();
    let all = program.row(1.0, 1.0);
    for m in capacity {
        let most = if *m > 0.0 { f64::INFINITY } else { 0.0 };
        program.var(0.0, 0.0, most, vec![(all, 1.0)]);
    }
    let z = program.var(1.0, -1.0, f64::INFINITY, Vec::new());
    let mut simplex = Simplex::new(program);
    let mut tried: Vec<Vec<f64>> = Vec::new();
    let count = capacity.iter().filter(|m| **m > 0.0).count() as f64;
    let part = |(m, part): (&f64, f64)| if *m > 0.0 { part / m } else { 0.0 };
    let mut price: Vec<f64> = capacity.iter().map(|m| part((m, 1.0 / count))).collect();
    for _ in 0..CUTS_MAX {
        let hulls = market.hulls(&price);
        outset.level = market.proven(&hulls, outset.level);
        let used = market.used(&hulls, outset.level);
        let cut = simplex.program.row(0.0, f64::INFINITY);
        for j in 0..k {
            let over = part((&capacity[j], used[j])) - 1.0;
            simplex.program.columns[j].push((cut, over));
        }
        simplex.program.columns[z].push((cut, -1.0));
        tried.push(price.clone());
        let is_solved = simplex.maximise(stop).is_ok();
        outset.is_sharp = is_solved && simplex.value(z) <= NEAR;
        if !is_solved || outset.is_sharp {
            break;
        }
        price = (0..k).map(|j| part((&capacity[j], simplex.value(j)))).collect();
    }
    outset.idle = (0..k).filter(|&j| capacity[j] > 0.0 && simplex.value(j) <= NEAR).collect();
    let duals = simplex.duals();
    let mut cuts: Vec<(f64, &Vec<f64>)> =
        duals[all + 1..].iter().map(|dual| dual.abs()).zip(&tried).collect();
    cuts.retain(|(weight, _)| *weight > NEAR);
    // The heaviest comes nearest.
    cuts.sort_by(|a, b| b.0.total_cmp(&a.0));
    let hulls: Vec<Hulls> = cuts.iter().map(|(_, price)| market.hulls(price)).collect();
    outset.bundles = market.bundles(&hulls, &outset, stop);
    outset
}

struct Market<'a> {
    capacity: &'a [f64],
    rows: Vec<Row<'a>>,
}

/// The sides of every row's hull, and where they are.
struct Hulls {
    sides: Vec<Side>,
    of: Vec<Range<usize>>,
}

impl Hulls {
    fn of(&self, i: usize) -> &[Side] {
        &self.sides[self.of[i].clone()]
    }
}

impl<'a> Market<'a> {
    fn new(instance: &'a Instance, capacity: &'a [f64], wanted: &[(usize, f64)]) -> Self {
        let row = |&(row, target): &(usize, f64)| {
            let speed = instance.profile(row);
            let can_use = |j: &usize| speed[*j] > 0.0 && capacity[*j] > 0.0;
            let mut types: Vec<usize> = (0..speed.len()).filter(can_use).collect();
            types.sort_by(|&a, &b| speed[a].total_cmp(&speed[b]));
            let (demand, fastest) = (instance.demand[row], speed[*types.last()?]);
            Some(Row { row, speed, demand, target, limit: demand * fastest / target, types })
        };
        Market { capacity, rows: wanted.iter().filter_map(row).collect() }
    }

    /// A level that is not below the answer: what somebody without a demand has with everything, or else where everybody has
    /// all that it can use.
    fn top(&self) -> f64 {
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        for row in &self.rows {
            if row.limit.is_finite() {
                most = most.max(row.limit);
            } else {
                let whole = row.speed.iter().zip(self.capacity).map(|(w, m)| w * m);
                least = least.min(whole.sum::<f64>() / row.target);
            }
        }
        if least.is_finite() { least } else { most }
    }

    fn hulls(&self, price: &[f64]) -> Hulls {
        let mut hulls = Hulls { sides: Vec::new(), of: Vec::with_capacity(self.rows.len()) };
        let mut before: Option<&Row<'_>> = None;
        for row in &self.rows {
            // Rows with the same profile come one after another.
            if before.replace(row).is_some_and(|before| before.speed == row.speed) {
                hulls.of.extend(hulls.of.last().cloned());
                continue;
            }
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
            hulls.of.push(begin..hulls.sides.len());
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
        let mut used = vec![0.0; self.capacity.len()];
        for (i, row) in self.rows.iter().enumerate() {
            let side = row.side(hulls.of(i), level);
            let (slower, faster) = row.bundle(&side, level);
            used[side.to.2] += faster;
            side.from.2.iter().for_each(|&j| used[j] += slower);
        }
        used
    }

    /// Who has which types at the level. Everybody is as well off with the bundle of any cut, and all of them together would
    /// be too many for a basis. So most get those of the first cut, and as many others as the capacities ask for get those
    /// of another: a program with a row per type.
    fn bundles(&self, cuts: &[Hulls], outset: &Outset, stop: &dyn Fn() -> bool) -> Vec<Bundle> {
        let k = self.capacity.len();
        let Some(heaviest) = cuts.first() else { return Vec::new() };
        let mut program = Program::default();
        let mut left: Vec<f64> = self.capacity.to_vec();
        let part =
            |j: usize, x: f64| if self.capacity[j] > 0.0 { x / self.capacity[j] } else { 0.0 };
        (0..k).for_each(|_| _ = program.row(-f64::INFINITY, 0.0));
        let (mut rising, mut others) = (vec![0.0; k], Vec::new());
        let mut bundles = Vec::with_capacity(self.rows.len());
        for (i, row) in self.rows.iter().enumerate() {
            let own = row.side(heaviest.of(i), outset.level);
            let amounts = |side: &Side| {
                let (slower, faster) = row.bundle(side, outset.level);
                side.from.2.map(|j| (j, slower)).into_iter().chain([(side.to.2, faster)])
            };
            amounts(&own).for_each(|(j, x)| left[j] -= x);
            if outset.level < row.limit {
                let more = row.target / (own.to.0 - own.from.0);
                rising[own.to.2] += more;
                own.from.2.iter().for_each(|&j| rising[j] -= more);
            }
            bundles.push(Bundle { row: row.row, types: own.types(), is_within: own.is_within() });
            let mut seen = vec![own];
            for cut in &cuts[1..] {
                let side = row.side(cut.of(i), outset.level);
                if seen.iter().any(|s| s.types() == side.types()) {
                    continue;
                }
                let taken = amounts(&side).map(|(j, x)| (j, part(j, x)));
                let given = amounts(&own).map(|(j, x)| (j, part(j, -x)));
                program.var(0.0, 0.0, 1.0, taken.chain(given));
                others.push((i, side));
                seen.push(side);
            }
        }
        let rising = rising.iter().enumerate().map(|(j, x)| (j, part(j, *x)));
        program.var(1.0, -1.0, 1.0, rising);
        for j in 0..k {
            program.row_upper[j] = part(j, left[j]);
            if !outset.idle.contains(&j) {
                program.row_lower[j] = program.row_upper[j];
            }
        }
        let mut simplex = Simplex::new(program);
        if simplex.maximise(stop).is_err() {
            return bundles;
        }
        for (var, (i, side)) in others.iter().enumerate() {
            let (value, bundle) = (simplex.value(var), &mut bundles[*i]);
            if value >= 1.0 - NEAR {
                (bundle.types, bundle.is_within) = (side.types(), side.is_within());
            } else if value > NEAR {
                let more = side.types().into_iter().filter(|j| !bundle.types.contains(j));
                let more: Vec<usize> = more.collect();
                bundle.types.extend(more);
                bundle.is_within |= side.is_within();
            }
        }
        bundles
    }
}

impl Side {
    fn types(&self) -> Vec<usize> {
        self.from.2.into_iter().chain([self.to.2]).collect()
    }

    fn is_within(&self) -> bool {
        self.from.2.is_none()
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
