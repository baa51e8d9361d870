//! A primal-dual interior-point method for the exchange program.
//!
//! Unknowns: amounts x_ij, surplus r_i over the floor, spare capacity z_j, spare demand y_i, and their
//! duals v_ij, l_i = s_i - c_i, p_j, q_i. Everything is scaled: types to capacity 1, each trader's
//! values to at most 1 (c_i is what this unit counts in the objective, at most 1). In the Newton
//! system each s_i and each q_i is eliminated on its own, and a k x k system in the prices remains:
//! one iteration takes O(n k^2), so a hundred thousand traders are no obstacle.

use super::exchange::Exchange;
use super::newton::{Products, System};

/// What the program answers, unchecked.
pub(super) struct Answer {
    /// Amounts per trader and type.
    pub amounts: Vec<f64>,
    /// Price per type.
    pub prices: Vec<f64>,
}

/// Work of one iteration (traders times types squared) up to which the program is tried: 25,000 tenants
/// with ten types take two to three seconds in all, and an audit should not take longer than the
/// answer. Beyond it the audit reports the bound that prices prove, and a gain that needs no program.
const WORK_MAX: usize = 2_500_000;
/// Far above the 20-40 iterations that instances take; a run that needs more has stalled.
const ITERATIONS_MAX: usize = 150;
/// Iterations without much progress after which the best answer so far is taken.
const STALLED_MAX: usize = 25;
/// Relative gap and residuals at which the iteration ends: below what the audit distinguishes.
const TARGET: f64 = 1e-11;
/// The primal residuals count less, since the last digits of them are polished away afterwards, while
/// waiting for them would spoil the rest.
const PRIMAL_WEIGHT: f64 = 1e-3;
/// A part of a type's capacity that is no answer but what an interior point keeps off the boundary.
const DUST: f64 = 1e-11;

/// Whether the program is small enough to be tried.
pub(super) fn fits(exchange: &Exchange) -> bool {
    let k = exchange.types.len();
    exchange.traders().saturating_mul(k * k) <= WORK_MAX
}

/// Solves the program from a start near the given prices (any will do).
pub(super) fn solve(exchange: &Exchange, prices: &[f64]) -> Option<Answer> {
    if exchange.traders() == 0 || exchange.types.is_empty() {
        return None;
    }
    let program = Program::new(exchange);
    let mut point = program.start(exchange, prices);
    // Near the end rounding may spoil what was reached: the best iterate counts, not the last.
    let mut best = (f64::INFINITY, point.clone());
    let mut stalled = 0;
    for _ in 0..ITERATIONS_MAX {
        let residual = program.residual(&point);
        let merit = residual.merit();
        if !merit.is_finite() {
            break;
        }
        if merit < best.0 {
            stalled = if merit < 0.9 * best.0 { 0 } else { stalled + 1 };
            best = (merit, point.clone());
        } else {
            stalled += 1;
        }
        if merit <= TARGET || stalled > STALLED_MAX || !program.step(&mut point, &residual) {
            break;
        }
    }
    let mut point = best.1;
    let prices: Vec<f64> =
        (0..program.k).map(|j| point.p[j] * program.unit / exchange.capacity[j]).collect();
    point.x.iter_mut().for_each(|x| *x = if *x > DUST { *x } else { DUST * DUST });
    program.polish(&mut point);
    let k = program.k;
    let amounts: Vec<f64> =
        point.x.iter().enumerate().map(|(at, x)| x * exchange.capacity[at % k]).collect();
    let sound = amounts.iter().chain(&prices).all(|v| v.is_finite());
    sound.then_some(Answer { amounts, prices })
}

/// The scaled program.
pub(super) struct Program {
    pub k: usize,
    /// Scaled values, 0 where a trader cannot use a type.
    pub w: Vec<f64>,
    pub floor: Vec<f64>,
    /// What one scaled unit of each trader's throughput counts, at most 1.
    pub c: Vec<f64>,
    /// One unit of the objective in throughput.
    pub unit: f64,
    /// Where each trader's demand is in the list of demands.
    pub limit: Vec<Option<usize>>,
    pub demand: Vec<f64>,
    /// What a (scaled) type counts against each (scaled) demand.
    pub a: Vec<f64>,
}

/// An iterate: primal x, r, z, y and dual v, l, p, q; also a direction.
#[derive(Clone)]
pub(super) struct Iterate {
    pub x: Vec<f64>,
    pub v: Vec<f64>,
    pub r: Vec<f64>,
    pub l: Vec<f64>,
    pub z: Vec<f64>,
    pub p: Vec<f64>,
    pub y: Vec<f64>,
    pub q: Vec<f64>,
}

/// How far an iterate is from solving the equations.
pub(super) struct Residual {
    pub floor: Vec<f64>,
    pub capacity: Vec<f64>,
    pub demand: Vec<f64>,
    /// Dual residuals, entry by entry.
    pub price: Vec<f64>,
    /// Mean complementarity.
    pub mu: f64,
    pub relative_gap: f64,
    pub primal: f64,
    pub dual: f64,
}

impl Residual {
    fn merit(&self) -> f64 {
        worse(worse(self.relative_gap, self.dual), self.primal * PRIMAL_WEIGHT)
    }
}

impl Program {
    fn new(exchange: &Exchange) -> Self {
        let k = exchange.types.len();
        let n = exchange.traders();
        let mut w = exchange.value.clone();
        let (mut floor, mut c) = (exchange.floor.clone(), vec![0.0; n]);
        for i in 0..n {
            let row = &mut w[i * k..][..k];
            row.iter_mut().zip(&exchange.capacity).for_each(|(w, m)| *w *= m);
            let most = row.iter().copied().fold(0.0, f64::max);
            row.iter_mut().for_each(|w| *w /= most);
            floor[i] /= most;
            c[i] = most;
        }
        let unit = c.iter().copied().fold(0.0, f64::max);
        c.iter_mut().for_each(|c| *c /= unit);
        let mut program = Program {
            k,
            w,
            floor,
            c,
            unit,
            limit: Vec::with_capacity(n),
            demand: Vec::new(),
            a: Vec::new(),
        };
        let largest = exchange.capacity.iter().copied().fold(0.0, f64::max);
        for demand in &exchange.demand {
            program.limit.push(demand.map(|_| program.demand.len()));
            let Some(demand) = demand else { continue };
            let scale = largest.min(demand.max(largest * 1e-6));
            program.demand.push(demand / scale);
            program.a.extend(exchange.capacity.iter().map(|m| m / scale));
        }
        program
    }

    fn row(&self, i: usize) -> std::ops::Range<usize> {
        i * self.k..(i + 1) * self.k
    }

    fn charge(&self, point: &Iterate, i: usize, j: usize) -> f64 {
        point.p[j] + self.limit[i].map_or(0.0, |g| self.a[g * self.k + j] * point.q[g])
    }

    /// A strictly dual feasible start: prices three times those that make every trader's rate at least
    /// 1, rates at half of what the prices allow; the primal side perfectly centred on it.
    fn start(&self, exchange: &Exchange, prices: &[f64]) -> Iterate {
        let (k, n) = (self.k, self.c.len());
        let scaled = |j: usize| prices.get(j).map_or(0.0, |p| p * exchange.capacity[j] / self.unit);
        let greatest: Vec<f64> = (0..k)
            .map(|j| (0..n).map(|i| self.c[i] * self.w[i * k + j]).fold(0.0, f64::max))
            .collect();
        let fallback = greatest.iter().copied().fold(0.0, f64::max);
        let usable =
            (0..k).all(|j| scaled(j).is_finite() && scaled(j) >= START_PRICE_MIN * greatest[j]);
        let p: Vec<f64> = (0..k)
            .map(|j| {
                let known = if usable { scaled(j) } else { 0.0 };
                3.0 * known.max(greatest[j]).max(fallback * START_PRICE_MIN)
            })
            .collect();
        let mu = p.iter().sum::<f64>() / (n * k) as f64;
        let y: Vec<f64> = self.demand.iter().map(|d| 0.5 * d).collect();
        let q: Vec<f64> = y.iter().map(|y| mu / y).collect();
        let mut point = Iterate {
            x: vec![0.0; n * k],
            v: vec![1.0; n * k],
            r: vec![0.0; n],
            l: vec![0.0; n],
            z: p.iter().map(|p| mu / p).collect(),
            p,
            y,
            q,
        };
        for i in 0..n {
            let allowed = (self.row(i).zip(&point.p))
                .filter(|(at, _)| self.w[*at] > 0.0)
                .map(|(at, p)| p / self.w[at])
                .fold(f64::INFINITY, f64::min);
            point.l[i] = 0.5 * allowed - self.c[i];
            point.r[i] = mu / point.l[i];
            for j in 0..k {
                let at = i * k + j;
                if self.w[at] > 0.0 {
                    point.v[at] = self.charge(&point, i, j) - 0.5 * allowed * self.w[at];
                    point.x[at] = mu / point.v[at];
                }
            }
        }
        point
    }

    fn residual(&self, point: &Iterate) -> Residual {
        let k = self.k;
        let mut capacity: Vec<f64> = point.z.iter().map(|z| z - 1.0).collect();
        let mut demand: Vec<f64> = point.y.iter().zip(&self.demand).map(|(y, d)| y - d).collect();
        let mut floor = Vec::with_capacity(self.c.len());
        let mut price = vec![0.0; point.x.len()];
        let (mut products, mut count) = (0.0, 0);
        let (mut dual, mut primal) = (0.0_f64, 0.0_f64);
        let (mut worth, mut gained) = (0.0, 0.0);
        for i in 0..self.c.len() {
            let s = self.c[i] + point.l[i];
            let mut has = 0.0;
            for j in 0..k {
                let at = i * k + j;
                if self.w[at] == 0.0 {
                    continue;
                }
                let x = point.x[at];
                has += self.w[at] * x;
                capacity[j] += x;
                if let Some(g) = self.limit[i] {
                    demand[g] += self.a[g * k + j] * x;
                }
                let charge = self.charge(point, i, j);
                price[at] = charge - s * self.w[at] - point.v[at];
                dual = worse(dual, price[at].abs() / charge);
                products += x * point.v[at];
                count += 1;
            }
            gained += self.c[i] * has;
            worth -= s * self.floor[i] - self.c[i] * self.floor[i];
            floor.push(has - point.r[i] - self.floor[i]);
            primal = primal.max(
                (has - point.r[i] - self.floor[i]).abs()
                    / self.floor[i].max(1e-3 / self.c.len() as f64),
            );
            products += point.r[i] * point.l[i];
            count += 1;
        }
        for j in 0..k {
            products += point.z[j] * point.p[j];
            worth += point.p[j];
            primal = worse(primal, capacity[j].abs());
        }
        for (g, d) in self.demand.iter().enumerate() {
            products += point.y[g] * point.q[g];
            worth += point.q[g] * d;
            primal = worse(primal, demand[g].abs() / d);
        }
        let mu = products / (count + k + self.demand.len()) as f64;
        let relative_gap = products / gained.abs().max(worth.abs()).max(f64::MIN_POSITIVE);
        Residual { floor, capacity, demand, price, mu, relative_gap, primal, dual }
    }

    /// One predictor-corrector step; false when no step can be made.
    fn step(&self, point: &mut Iterate, residual: &Residual) -> bool {
        let Some(system) = System::new(self, point) else { return false };
        let predictor = system.direction(self, point, residual, &wanted(point, 0.0, None));
        let (primal, dual) = lengths(point, &predictor);
        let mu = mean_after(point, &predictor, primal, dual);
        let target = (mu / residual.mu).clamp(0.0, 1.0).powi(3) * residual.mu;
        let products = wanted(point, target, Some(&predictor));
        let mut direction = system.direction(self, point, residual, &products);
        let (mut primal, mut dual) = lengths(point, &direction);
        if primal.min(dual) < SHORT_STEP {
            // Too near to some boundary for second-order terms: make for the centre instead.
            let products = wanted(point, RECENTRING * residual.mu, None);
            let centred = system.direction(self, point, residual, &products);
            let lengths = lengths(point, &centred);
            if lengths.0.min(lengths.1) > primal.min(dual) {
                (direction, (primal, dual)) = (centred, lengths);
            }
        }
        let (primal, dual) = ((primal * STEP_BACK).min(1.0), (dual * STEP_BACK).min(1.0));
        if !(primal > STEP_MIN || dual > STEP_MIN) {
            return false;
        }
        advance(point, &direction, primal, dual);
        true
    }

    /// Moves the primal side onto its equations, each amount in proportion to itself, so that what is
    /// nothing stays nothing: the Newton steps lose digits as the complementarity vanishes.
    fn polish(&self, point: &mut Iterate) {
        let ones = |of: &[f64]| vec![1.0; of.len()];
        (point.v, point.l) = (ones(&point.v), ones(&point.l));
        (point.p, point.q) = (ones(&point.p), ones(&point.q));
        let still = Products {
            x: vec![0.0; point.x.len()],
            r: vec![0.0; point.r.len()],
            z: vec![0.0; point.z.len()],
            y: vec![0.0; point.y.len()],
        };
        let mut residual = self.residual(point);
        for _ in 0..POLISHES {
            residual.price.fill(0.0);
            let Some(system) = System::new(self, point) else { return };
            let direction = system.direction(self, point, &residual, &still);
            let (primal, _) = lengths(point, &direction);
            let mut next = point.clone();
            advance(&mut next, &direction, (primal * STEP_BACK).min(1.0), 0.0);
            residual = self.residual(&next);
            let before = self.residual(point).primal;
            let moved =
                (next.x.iter().zip(&point.x)).fold(0.0, |m, (a, b)| worse(m, (a - b).abs()));
            // Also false for a residual that is not a number.
            if residual.primal < before && moved < POLISH_REACH {
                *point = next;
            } else {
                return;
            }
        }
    }
}

/// The greater of two residuals, NaN if either is: unlike `f64::max`, it does not look away.
fn worse(a: f64, b: f64) -> f64 {
    if a.is_nan() || a >= b { a } else { b }
}

/// The changes of the products x v, r l, z p, y q towards `target`, less the second-order terms of a
/// direction that was tried before.
fn wanted(point: &Iterate, target: f64, before: Option<&Iterate>) -> Products {
    let change = |a: &[f64], b: &[f64], da: Option<&[f64]>, db: Option<&[f64]>| -> Vec<f64> {
        let second = |at: usize| da.zip(db).map_or(0.0, |(da, db)| da[at] * db[at]);
        (0..a.len()).map(|at| target - a[at] * b[at] - second(at)).collect()
    };
    let old = |f: fn(&Iterate) -> &[f64]| before.map(f);
    Products {
        x: change(&point.x, &point.v, old(|b| &b.x), old(|b| &b.v)),
        r: change(&point.r, &point.l, old(|b| &b.r), old(|b| &b.l)),
        z: change(&point.z, &point.p, old(|b| &b.z), old(|b| &b.p)),
        y: change(&point.y, &point.q, old(|b| &b.y), old(|b| &b.q)),
    }
}

/// A start price below this part of the greatest value would start on the boundary.
const START_PRICE_MIN: f64 = 1e-6;
/// A polish that moves more than this part of a type's capacity is not one, but a singular system.
const POLISH_REACH: f64 = 1e-5;
/// The first brings the residuals to rounding, the second repairs what its own rounding left.
const POLISHES: usize = 3;
/// A corrector that gets no further than this is held against a centring direction.
const SHORT_STEP: f64 = 0.3;
/// The part of the complementarity that the centring direction keeps.
const RECENTRING: f64 = 0.3;
/// How much of the way to the boundary a step goes.
const STEP_BACK: f64 = 0.9995;
/// A step shorter than this is no progress.
const STEP_MIN: f64 = 1e-9;

/// The longest primal and dual steps, up to 1 after stepping back, that stay in the interior.
fn lengths(point: &Iterate, d: &Iterate) -> (f64, f64) {
    let longest = |at: &[f64], by: &[f64]| {
        at.iter().zip(by).filter(|(_, d)| **d < 0.0).map(|(a, d)| -a / d).fold(LONGEST, f64::min)
    };
    let primal = longest(&point.x, &d.x).min(longest(&point.r, &d.r));
    let dual = longest(&point.v, &d.v).min(longest(&point.l, &d.l));
    (
        primal.min(longest(&point.z, &d.z)).min(longest(&point.y, &d.y)),
        dual.min(longest(&point.p, &d.p)).min(longest(&point.q, &d.q)),
    )
}

/// Beyond this the full step is taken after stepping back.
const LONGEST: f64 = 1.0 / STEP_BACK;

/// The mean complementarity after a step.
fn mean_after(point: &Iterate, d: &Iterate, primal: f64, dual: f64) -> f64 {
    let (primal, dual) = (primal.min(1.0), dual.min(1.0));
    let pairs = [
        (&point.x, &d.x, &point.v, &d.v),
        (&point.r, &d.r, &point.l, &d.l),
        (&point.z, &d.z, &point.p, &d.p),
        (&point.y, &d.y, &point.q, &d.q),
    ];
    let (mut sum, mut count) = (0.0, 0);
    for (a, da, b, db) in pairs {
        for at in 0..a.len() {
            if a[at] > 0.0 {
                sum += (a[at] + primal * da[at]) * (b[at] + dual * db[at]);
                count += 1;
            }
        }
    }
    sum / count.max(1) as f64
}

fn advance(point: &mut Iterate, d: &Iterate, primal: f64, dual: f64) {
    let walk = |at: &mut [f64], by: &[f64], step: f64| {
        at.iter_mut().zip(by).for_each(|(a, d)| *a += step * d);
    };
    walk(&mut point.x, &d.x, primal);
    walk(&mut point.r, &d.r, primal);
    walk(&mut point.z, &d.z, primal);
    walk(&mut point.y, &d.y, primal);
    walk(&mut point.v, &d.v, dual);
    walk(&mut point.l, &d.l, dual);
    walk(&mut point.p, &d.p, dual);
    walk(&mut point.q, &d.q, dual);
}
