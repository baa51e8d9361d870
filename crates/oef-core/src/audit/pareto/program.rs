//! A primal-dual interior-point method for the exchange program.
//!
//! Unknowns: amounts x_ij, surplus r_i over the floor, spare capacity z_j, spare demand y_t, and their
//! duals v_ij, l_i = s_i - c_i, p_j, q_t. Everything is scaled: types to capacity 1, each party's
//! values to at most 1 (c_i is what this unit counts in the objective, at most 1). In the Newton
//! system each s_i and each q_t is eliminated on its own, and a k x k system in the prices remains:
//! one iteration takes O(n k^2), so a hundred thousand parties are no obstacle.

use super::dense::{cholesky, solve_refined};
use super::exchange::Exchange;

/// What the program answers, unchecked.
pub(super) struct Answer {
    /// Amounts per party and type.
    pub amounts: Vec<f64>,
    /// Price per type.
    pub prices: Vec<f64>,
}

/// Work of one iteration (parties times types squared) up to which the program is tried: about a
/// second per iteration. Beyond it the audit reports the bound that prices prove.
const WORK_MAX: usize = 400_000_000;
/// Far above the 20-40 iterations that instances take; a run that needs more has stalled.
const ITERATIONS_MAX: usize = 100;
/// Relative gap and residuals at which the iteration ends: below what the audit distinguishes.
const TARGET: f64 = 1e-11;

/// Whether the program is small enough to be tried.
pub(super) fn fits(exchange: &Exchange) -> bool {
    let k = exchange.types.len();
    exchange.parties().saturating_mul(k * k) <= WORK_MAX
}

/// Solves the program from a start near the given prices (any will do).
pub(super) fn solve(exchange: &Exchange, prices: &[f64]) -> Option<Answer> {
    if exchange.parties() == 0 || exchange.types.is_empty() {
        return None;
    }
    let program = Program::new(exchange);
    let mut point = program.start(exchange, prices);
    let mut best = f64::INFINITY;
    let mut stalled = 0;
    for _ in 0..ITERATIONS_MAX {
        let residual = program.residual(&point);
        let merit = residual.merit();
        if !merit.is_finite() || merit <= TARGET {
            break;
        }
        stalled = if merit < 0.9 * best { 0 } else { stalled + 1 };
        best = best.min(merit);
        if stalled > 8 || !program.step(&mut point, &residual) {
            break;
        }
    }
    let k = program.k;
    let amounts: Vec<f64> =
        point.x.iter().enumerate().map(|(at, x)| x * exchange.capacity[at % k]).collect();
    let prices: Vec<f64> =
        (0..k).map(|j| point.p[j] * program.unit / exchange.capacity[j]).collect();
    let sound = amounts.iter().chain(&prices).all(|v| v.is_finite());
    sound.then_some(Answer { amounts, prices })
}

/// The scaled program.
struct Program {
    k: usize,
    /// Scaled values, 0 where a party cannot use a type.
    w: Vec<f64>,
    floor: Vec<f64>,
    /// What one scaled unit of each party's throughput counts, at most 1.
    c: Vec<f64>,
    /// One unit of the objective in throughput.
    unit: f64,
    /// The demand group of each party.
    group: Vec<Option<usize>>,
    demand: Vec<f64>,
    /// What a (scaled) type counts against each group's (scaled) demand.
    a: Vec<f64>,
}

/// An iterate: primal x, r, z, y and dual v, l, p, q; also a direction.
#[derive(Clone)]
struct Point {
    x: Vec<f64>,
    v: Vec<f64>,
    r: Vec<f64>,
    l: Vec<f64>,
    z: Vec<f64>,
    p: Vec<f64>,
    y: Vec<f64>,
    q: Vec<f64>,
}

/// How far an iterate is from solving the equations.
struct Residual {
    floor: Vec<f64>,
    capacity: Vec<f64>,
    demand: Vec<f64>,
    /// Dual residuals, entry by entry.
    price: Vec<f64>,
    /// Mean complementarity.
    mu: f64,
    relative_gap: f64,
    primal: f64,
    dual: f64,
}

impl Residual {
    fn merit(&self) -> f64 {
        self.relative_gap.max(self.primal).max(self.dual)
    }
}

impl Program {
    fn new(exchange: &Exchange) -> Self {
        let k = exchange.types.len();
        let n = exchange.parties();
        let mut w = exchange.value.clone();
        let (mut floor, mut c) = (exchange.floor.clone(), vec![0.0; n]);
        for i in 0..n {
            let row = &mut w[i * k..][..k];
            row.iter_mut().zip(&exchange.capacity).for_each(|(w, m)| *w *= m);
            let most = row.iter().copied().fold(0.0, f64::max);
            row.iter_mut().for_each(|w| *w /= most);
            // A hair below what everybody has, so that the program has an interior to walk in.
            floor[i] = floor[i] / most * (1.0 - INTERIOR);
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
            group: vec![None; n],
            demand: Vec::new(),
            a: Vec::new(),
        };
        let largest = exchange.capacity.iter().copied().fold(0.0, f64::max);
        for group in &exchange.groups {
            let Some(demand) = group.demand else { continue };
            if group.parties.is_empty() {
                continue;
            }
            let scale = largest.min(demand.max(largest * 1e-6));
            group.parties.clone().for_each(|i| program.group[i] = Some(program.demand.len()));
            program.demand.push(demand / scale);
            program.a.extend(exchange.capacity.iter().map(|m| m / scale));
        }
        program
    }

    fn row(&self, i: usize) -> std::ops::Range<usize> {
        i * self.k..(i + 1) * self.k
    }

    /// What type `j` counts against the demand of party `i`'s tenant.
    fn counts(&self, i: usize, j: usize) -> f64 {
        self.group[i].map_or(0.0, |g| self.a[g * self.k + j])
    }

    fn charge(&self, point: &Point, i: usize, j: usize) -> f64 {
        point.p[j] + self.group[i].map_or(0.0, |g| self.a[g * self.k + j] * point.q[g])
    }

    /// A strictly dual feasible start: prices three times those that make every party's rate at least
    /// 1, rates at half of what the prices allow; the primal side perfectly centred on it.
    fn start(&self, exchange: &Exchange, prices: &[f64]) -> Point {
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
        let mut point = Point {
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

    fn residual(&self, point: &Point) -> Residual {
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
                if let Some(g) = self.group[i] {
                    demand[g] += self.a[g * k + j] * x;
                }
                let charge = self.charge(point, i, j);
                price[at] = charge - s * self.w[at] - point.v[at];
                dual = dual.max(price[at].abs() / charge);
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
            primal = primal.max(capacity[j].abs());
        }
        for (g, d) in self.demand.iter().enumerate() {
            products += point.y[g] * point.q[g];
            worth += point.q[g] * d;
            primal = primal.max(demand[g].abs() / d);
        }
        let mu = products / (count + k + self.demand.len()) as f64;
        let relative_gap = products / gained.abs().max(worth.abs()).max(f64::MIN_POSITIVE);
        Residual { floor, capacity, demand, price, mu, relative_gap, primal, dual }
    }

    /// One predictor-corrector step; false when no step can be made.
    fn step(&self, point: &mut Point, residual: &Residual) -> bool {
        let Some(system) = System::new(self, point) else { return false };
        let predictor = system.direction(self, point, residual, 0.0, None);
        let (primal, dual) = lengths(point, &predictor);
        let mu = mean_after(point, &predictor, primal, dual);
        let centring = (mu / residual.mu).clamp(0.0, 1.0).powi(3);
        let direction =
            system.direction(self, point, residual, centring * residual.mu, Some(&predictor));
        let (primal, dual) = lengths(point, &direction);
        let shorten = |step: f64| (step * STEP_BACK).min(1.0);
        let (primal, dual) = (shorten(primal), shorten(dual));
        if !(primal > STEP_MIN || dual > STEP_MIN) {
            return false;
        }
        advance(point, &direction, primal, dual);
        true
    }
}

/// The floors are lowered by this part; gains that small are far below what the audit distinguishes.
const INTERIOR: f64 = 1e-10;
/// A start price below this part of the greatest value would start on the boundary.
const START_PRICE_MIN: f64 = 1e-6;
/// How much of the way to the boundary a step goes.
const STEP_BACK: f64 = 0.9995;
/// A step shorter than this is no progress.
const STEP_MIN: f64 = 1e-9;

/// The Newton matrix of one iterate, reduced to the prices and factorised.
struct System {
    /// h_i = sum_j W^2 theta + r / l.
    h: Vec<f64>,
    /// Per demand group: the pivot of q and its column in the prices.
    kappa: Vec<f64>,
    column: Vec<f64>,
    matrix: Vec<f64>,
    factor: Vec<f64>,
}

impl System {
    fn new(program: &Program, point: &Point) -> Option<Self> {
        let k = program.k;
        let (n, groups) = (program.c.len(), program.demand.len());
        let mut matrix = vec![0.0; k * k];
        let mut kappa: Vec<f64> = point.y.iter().zip(&point.q).map(|(y, q)| y / q).collect();
        let mut column = vec![0.0; groups * k];
        let mut h = vec![0.0; n];
        let (mut theta, mut w) = (vec![0.0; k], vec![0.0; k]);
        for i in 0..n {
            let rest = point.r[i] / point.l[i];
            let mut squares = rest;
            for j in 0..k {
                let at = i * k + j;
                theta[j] = if program.w[at] > 0.0 { point.x[at] / point.v[at] } else { 0.0 };
                w[j] = program.w[at] * theta[j];
                squares += program.w[at] * w[j];
            }
            h[i] = squares;
            for j in (0..k).filter(|&j| w[j] > 0.0) {
                // theta - w^2 / h without the cancellation: theta times what the others add to h.
                let others: f64 =
                    (0..k).filter(|&o| o != j).map(|o| program.w[i * k + o] * w[o]).sum::<f64>()
                        + rest;
                matrix[j * k + j] += theta[j] * (others / squares);
                let scaled = w[j] / squares;
                for o in 0..j {
                    matrix[j * k + o] -= scaled * w[o];
                }
            }
            if let Some(g) = program.group[i] {
                let a = &program.a[g * k..][..k];
                let along: f64 = a.iter().zip(&w).map(|(a, w)| a * w).sum();
                kappa[g] += a.iter().zip(&theta).map(|(a, t)| a * a * t).sum::<f64>();
                kappa[g] -= along * along / squares;
                for j in 0..k {
                    column[g * k + j] += a[j] * theta[j] - w[j] * along / squares;
                }
            }
        }
        for j in 0..k {
            matrix[j * k + j] += point.z[j] / point.p[j];
        }
        for g in 0..groups {
            let c = &column[g * k..][..k];
            for j in 0..k {
                for o in 0..=j {
                    matrix[j * k + o] -= c[j] * c[o] / kappa[g];
                }
            }
        }
        let factor = cholesky(&matrix, k)?;
        Some(System { h, kappa, column, matrix, factor })
    }

    /// The Newton direction towards complementarity `target`, with the second-order terms of `before`.
    fn direction(
        &self,
        program: &Program,
        point: &Point,
        residual: &Residual,
        target: f64,
        before: Option<&Point>,
    ) -> Point {
        let (k, n) = (program.k, program.c.len());
        let second = |f: &dyn Fn(&Point) -> f64| before.map_or(0.0, f);
        let mut d = point.clone();
        // e = what x would change by if no dual moved.
        let mut beta = vec![0.0; n];
        let mut right: Vec<f64> = (0..k)
            .map(|j| {
                let rc = target - point.z[j] * point.p[j] - second(&|b| b.z[j] * b.p[j]);
                residual.capacity[j] + rc / point.p[j]
            })
            .collect();
        let mut right_q: Vec<f64> = (0..program.demand.len())
            .map(|g| {
                let rc = target - point.y[g] * point.q[g] - second(&|b| b.y[g] * b.q[g]);
                residual.demand[g] + rc / point.q[g]
            })
            .collect();
        for i in 0..n {
            let rc = target - point.r[i] * point.l[i] - second(&|b| b.r[i] * b.l[i]);
            beta[i] = rc / point.l[i] - residual.floor[i];
            for j in 0..k {
                let at = i * k + j;
                d.x[at] = 0.0;
                if program.w[at] > 0.0 {
                    let rc = target - point.x[at] * point.v[at] - second(&|b| b.x[at] * b.v[at]);
                    d.x[at] = (rc - point.x[at] * residual.price[at]) / point.v[at];
                    beta[i] -= program.w[at] * d.x[at];
                }
            }
            let share = beta[i] / self.h[i];
            for j in 0..k {
                let at = i * k + j;
                if program.w[at] > 0.0 {
                    let change = d.x[at] + point.x[at] / point.v[at] * program.w[at] * share;
                    right[j] += change;
                    if let Some(g) = program.group[i] {
                        right_q[g] += program.a[g * k + j] * change;
                    }
                }
            }
        }
        self.prices(program, &mut right, &right_q, &mut d);
        self.back_substitute(program, point, residual, target, before, &beta, &mut d);
        d
    }

    /// Solves for the changes of p and q.
    fn prices(&self, program: &Program, right: &mut [f64], right_q: &[f64], d: &mut Point) {
        let k = program.k;
        for (g, rq) in right_q.iter().enumerate() {
            for j in 0..k {
                right[j] -= self.column[g * k + j] * rq / self.kappa[g];
            }
        }
        d.p = solve_refined(&self.matrix, &self.factor, right, k);
        for (g, rq) in right_q.iter().enumerate() {
            let along: f64 = (0..k).map(|j| self.column[g * k + j] * d.p[j]).sum();
            d.q[g] = (rq - along) / self.kappa[g];
        }
    }

    /// The other changes from those of the prices; on entry `d.x` holds e.
    #[expect(clippy::too_many_arguments, reason = "the parts of one Newton system")]
    fn back_substitute(
        &self,
        program: &Program,
        point: &Point,
        residual: &Residual,
        target: f64,
        before: Option<&Point>,
        beta: &[f64],
        d: &mut Point,
    ) {
        let k = program.k;
        let second = |f: &dyn Fn(&Point) -> f64| before.map_or(0.0, f);
        for i in 0..beta.len() {
            let moved = |d: &Point, j: usize| {
                d.p[j] + program.group[i].map_or(0.0, |g| program.counts(i, j) * d.q[g])
            };
            let mut along = beta[i];
            for j in 0..k {
                let at = i * k + j;
                if program.w[at] > 0.0 {
                    along += program.w[at] * point.x[at] / point.v[at] * moved(d, j);
                }
            }
            let ds = along / self.h[i];
            d.l[i] = ds;
            let rc = target - point.r[i] * point.l[i] - second(&|b| b.r[i] * b.l[i]);
            d.r[i] = (rc - point.r[i] * ds) / point.l[i];
            for j in 0..k {
                let at = i * k + j;
                d.v[at] = 0.0;
                if program.w[at] > 0.0 {
                    let change = moved(d, j) - program.w[at] * ds;
                    d.x[at] -= point.x[at] / point.v[at] * change;
                    d.v[at] = change + residual.price[at];
                }
            }
        }
        for j in 0..k {
            let rc = target - point.z[j] * point.p[j] - second(&|b| b.z[j] * b.p[j]);
            d.z[j] = (rc - point.z[j] * d.p[j]) / point.p[j];
        }
        for g in 0..program.demand.len() {
            let rc = target - point.y[g] * point.q[g] - second(&|b| b.y[g] * b.q[g]);
            d.y[g] = (rc - point.y[g] * d.q[g]) / point.q[g];
        }
    }
}

/// The longest primal and dual steps, up to 1 after stepping back, that stay in the interior.
fn lengths(point: &Point, d: &Point) -> (f64, f64) {
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
fn mean_after(point: &Point, d: &Point, primal: f64, dual: f64) -> f64 {
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

fn advance(point: &mut Point, d: &Point, primal: f64, dual: f64) {
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
