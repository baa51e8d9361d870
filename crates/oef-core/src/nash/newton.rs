//! One Newton step of the market's equations, eliminated row by row down to the prices.
//!
//! For every row the unknowns are the changes of its bundle, of its price of money `alpha` and of its price
//! of demand `lambda`; all rows share the changes of the prices. With `D` diagonal and `kappa` the price of
//! money that counts, the equations are
//!
//! ```text
//! y + dy = beta - D (kappa dp + p dalpha + dlambda)
//! p.(y + dy) + y.dp - g dalpha  = income                 unless the income does not bind (g infinite)
//! 1.(y + dy)        - h dlambda = room                   unless the demand does not bind (h infinite)
//! sum_l weight_l (y + dy)_l - f dp = supply              unless the type is free (f infinite: dp = 0)
//! ```
//!
//! A row's two equations have the matrix `sum_j D_j (p_j, 1)(p_j, 1)' + diag(g, h)`. Where one type outweighs
//! the others its determinant cancels; so `dlambda` is counted from the mean price `c = sum D p / sum D`,
//! which makes the first part diagonal. What remains is one `k x k` system for the prices,
//!
//! ```text
//! sum_l weight_l (kappa D + u1 g1' + u2 g2') + diag(f),   u1 = D (p - c),  u2 = D 1,
//! (g1, g2)' = K^-1 (y - kappa u1, -kappa u2)'
//! ```
//!
//! which is not symmetric: a price takes money from its buyers besides turning them to other types.

use super::market::Market;

/// Pivots below this part of the first are rounding: their unknowns stay as they are.
const PIVOT: f64 = 1e-13;

/// Where a step begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin<'a> {
    pub market: &'a Market,
    pub y: &'a [f64],
    pub price: &'a [f64],
}

/// The left-hand side, with the system of the prices factored. Its lists are kept from step to step.
#[derive(Clone, Debug, Default)]
pub(super) struct System {
    /// `D`, row after row.
    pub response: Vec<f64>,
    pub kappa: Vec<f64>,
    /// `g`, `h` and `f`.
    pub income_slope: Vec<f64>,
    pub demand_slope: Vec<f64>,
    pub price_slope: Vec<f64>,
    pairs: Vec<Pair>,
    factors: Factors,
}

/// A right-hand side; `income` and `room` are any finite number where they do not bind.
#[derive(Clone, Debug, Default)]
pub(super) struct Goal {
    pub beta: Vec<f64>,
    pub income: Vec<f64>,
    pub room: Vec<f64>,
    pub supply: Vec<f64>,
}

/// The changes.
#[derive(Clone, Debug, Default)]
pub(super) struct Step {
    pub y: Vec<f64>,
    pub alpha: Vec<f64>,
    pub lambda: Vec<f64>,
    pub price: Vec<f64>,
}

/// The inverse of a row's two equations, with the price that `dlambda` is counted from.
#[derive(Clone, Copy, Debug)]
struct Pair {
    centre: f64,
    inverse: [f64; 3],
}

impl System {
    /// Eliminates the rows and factors what remains, once `D`, `kappa` and the slopes are there.
    pub fn factor(&mut self, Origin { market, y, price }: Origin<'_>) {
        let (n, k) = (market.n, market.k);
        let mut matrix = vec![0.0; k * k];
        let (mut first, mut second) = (vec![0.0; k], vec![0.0; k]);
        self.pairs.clear();
        for l in 0..n {
            let (d, y) = (&self.response[l * k..][..k], &y[l * k..][..k]);
            let pair = Pair::new(d, &price[..k], self.income_slope[l], self.demand_slope[l]);
            self.pairs.push(pair);
            let (weight, kappa) = (market.weight[l], self.kappa[l]);
            let [i11, i12, i22] = pair.inverse;
            for j in 0..k {
                let along = y[j] - kappa * d[j] * (price[j] - pair.centre);
                let level = -kappa * d[j];
                first[j] = weight * (i11 * along + i12 * level);
                second[j] = weight * (i12 * along + i22 * level);
            }
            for (a, row) in matrix.chunks_exact_mut(k).enumerate() {
                let (u1, u2) = (d[a] * (price[a] - pair.centre), d[a]);
                for ((m, f), s) in row.iter_mut().zip(&first).zip(&second) {
                    *m += u1 * f + u2 * s;
                }
                row[a] += weight * kappa * d[a];
            }
        }
        for (j, f) in self.price_slope.iter().enumerate() {
            if f.is_finite() {
                matrix[j * k + j] += f;
            } else {
                matrix[j * k..][..k].fill(0.0);
                (0..k).for_each(|i| matrix[i * k + j] = 0.0);
                matrix[j * k + j] = 1.0;
            }
        }
        self.factors = Factors::new(matrix, k);
    }

    /// The changes that reach a goal.
    pub fn solve(&self, origin: Origin<'_>, goal: &Goal, change: &mut Step) {
        let Origin { market, y, price } = origin;
        let (n, k) = (market.n, market.k);
        change.price = self.factors.solve(&self.price_goal(origin, goal, change));
        let dp = &change.price;
        change.y.resize(n * k, 0.0);
        for l in 0..n {
            let (d, y) = (&self.response[l * k..][..k], &y[l * k..][..k]);
            let (kappa, Pair { centre, inverse: [i11, i12, i22] }) = (self.kappa[l], self.pairs[l]);
            let (mut along, mut level) = (0.0, 0.0);
            for j in 0..k {
                let pull = kappa * d[j] * dp[j];
                along += y[j] * dp[j] - pull * (price[j] - centre);
                level -= pull;
            }
            let alpha = change.alpha[l] + i11 * along + i12 * level;
            let level = change.lambda[l] + i12 * along + i22 * level;
            let (beta, dy) = (&goal.beta[l * k..][..k], &mut change.y[l * k..][..k]);
            for j in 0..k {
                let cost = kappa * dp[j] + (price[j] - centre) * alpha + level;
                dy[j] = beta[j] - y[j] - d[j] * cost;
            }
            change.alpha[l] = alpha;
            change.lambda[l] = level - centre * alpha;
        }
    }

    /// The right-hand side of the system of the prices. Leaves in `change` what `alpha` and `lambda` (counted
    /// from the mean price) change by at unchanged prices.
    fn price_goal(&self, origin: Origin<'_>, goal: &Goal, change: &mut Step) -> Vec<f64> {
        let Origin { market, price, .. } = origin;
        let k = market.k;
        change.alpha.clear();
        change.lambda.clear();
        let mut rhs: Vec<f64> = goal.supply.iter().map(|m| -m).collect();
        for l in 0..market.n {
            let (d, beta) = (&self.response[l * k..][..k], &goal.beta[l * k..][..k]);
            let Pair { centre, inverse: [i11, i12, i22] } = self.pairs[l];
            let (mut spent, mut held) = (0.0, 0.0);
            for j in 0..k {
                spent += beta[j] * (price[j] - centre);
                held += beta[j];
            }
            let over = held - goal.room[l];
            let above = spent + centre * goal.room[l] - goal.income[l];
            let (alpha, level) = (i11 * above + i12 * over, i12 * above + i22 * over);
            change.alpha.push(alpha);
            change.lambda.push(level);
            let weight = market.weight[l];
            for j in 0..k {
                rhs[j] += weight * (beta[j] - d[j] * ((price[j] - centre) * alpha + level));
            }
        }
        let slopes = rhs.iter_mut().zip(&self.price_slope);
        slopes.filter(|(_, f)| f.is_infinite()).for_each(|(b, _)| *b = 0.0);
        rhs
    }
}

impl Pair {
    fn new(d: &[f64], price: &[f64], g: f64, h: f64) -> Self {
        let (mut sum, mut first, mut second) = (0.0, 0.0, 0.0);
        for (d, p) in d.iter().zip(price) {
            sum += d;
            first += d * p;
            second += d * p * p;
        }
        match (g.is_finite(), h.is_finite()) {
            (true, true) => {}
            (true, false) => return Pair { centre: 0.0, inverse: [1.0 / (second + g), 0.0, 0.0] },
            (false, true) => return Pair { centre: 0.0, inverse: [0.0, 0.0, 1.0 / (sum + h)] },
            (false, false) => return Pair { centre: 0.0, inverse: [0.0; 3] },
        }
        let centre = if sum > 0.0 { first / sum } else { 0.0 };
        let square = |(d, p): (&f64, &f64)| d * (p - centre) * (p - centre);
        let spread = d.iter().zip(price).map(square).sum::<f64>() + g;
        let determinant = spread * (sum + h) + centre * centre * h * sum;
        let inverse = [sum + h, centre * h, spread + centre * centre * h];
        Pair { centre, inverse: inverse.map(|x| x / determinant) }
    }
}

/// Gauss's elimination with complete pivoting, rows and columns scaled alike.
#[derive(Clone, Debug, Default)]
struct Factors {
    k: usize,
    matrix: Vec<f64>,
    scale: Vec<f64>,
    rows: Vec<usize>,
    columns: Vec<usize>,
    rank: usize,
}

impl Factors {
    fn new(mut matrix: Vec<f64>, k: usize) -> Self {
        let scale: Vec<f64> =
            (0..k).map(|j| matrix[j * k + j].abs().max(1e-300).sqrt().recip()).collect();
        for a in 0..k {
            (0..k).for_each(|b| matrix[a * k + b] *= scale[a] * scale[b]);
        }
        let (mut rows, mut columns): (Vec<usize>, Vec<usize>) =
            ((0..k).collect(), (0..k).collect());
        let mut rank = k;
        let mut least = 0.0;
        for step in 0..k {
            let (mut best, mut at) = (0.0, (step, step));
            for a in step..k {
                for b in step..k {
                    let size = matrix[rows[a] * k + columns[b]].abs();
                    if size > best {
                        (best, at) = (size, (a, b));
                    }
                }
            }
            if step == 0 {
                least = best * PIVOT;
            }
            if best.is_nan() || best <= least {
                rank = step;
                break;
            }
            rows.swap(step, at.0);
            columns.swap(step, at.1);
            let pivot_row = rows[step] * k;
            for &row in &rows[step + 1..] {
                let factor = matrix[row * k + columns[step]] / matrix[pivot_row + columns[step]];
                matrix[row * k + columns[step]] = factor;
                for &b in &columns[step + 1..] {
                    matrix[row * k + b] -= factor * matrix[pivot_row + b];
                }
            }
        }
        Factors { k, matrix, scale, rows, columns, rank }
    }

    fn solve(&self, rhs: &[f64]) -> Vec<f64> {
        let k = self.k;
        let mut b: Vec<f64> = self.rows.iter().map(|&r| rhs[r] * self.scale[r]).collect();
        for a in 0..self.rank {
            for c in a + 1..k {
                b[c] -= self.matrix[self.rows[c] * k + self.columns[a]] * b[a];
            }
        }
        let mut x = vec![0.0; k];
        for a in (0..self.rank).rev() {
            let row = self.rows[a] * k;
            let known: f64 = (a + 1..self.rank)
                .map(|c| self.matrix[row + self.columns[c]] * x[self.columns[c]])
                .sum();
            x[self.columns[a]] = (b[a] - known) / self.matrix[row + self.columns[a]];
        }
        x.iter().zip(&self.scale).map(|(x, s)| x * s).collect()
    }
}
