//! The Newton system of the interior-point method, reduced to the prices.
//!
//! With theta = x / v, a trader's rate follows from the prices:
//! ds_i = (beta_i + sum_j W theta (dp_j + a_j dq)) / h_i, h_i = sum_j W^2 theta + r / l.
//! What remains is, per demand, one pivot for q, and for the prices the matrix
//! diag(z / p) + sum_i (diag(theta_i) - (W theta)(W theta)' / h_i - column_i column_i' / kappa_i).

use super::dense::{cholesky, solve_refined};
use super::program::{Iterate, Program, Residual};

/// The wanted changes of the products x v, r l, z p and y q.
pub(super) struct Products {
    pub x: Vec<f64>,
    pub r: Vec<f64>,
    pub z: Vec<f64>,
    pub y: Vec<f64>,
}

/// The matrix of one iterate, factorised.
pub(super) struct System {
    h: Vec<f64>,
    /// Per demand: the pivot of q and its column in the prices.
    kappa: Vec<f64>,
    column: Vec<f64>,
    matrix: Vec<f64>,
    factor: Vec<f64>,
}

impl System {
    pub fn new(program: &Program, point: &Iterate) -> Option<Self> {
        let k = program.k;
        let (n, demands) = (program.c.len(), program.demand.len());
        let mut system = System {
            h: vec![0.0; n],
            kappa: point.y.iter().zip(&point.q).map(|(y, q)| y / q).collect(),
            column: vec![0.0; demands * k],
            matrix: vec![0.0; k * k],
            factor: Vec::new(),
        };
        let mut block = vec![0.0; k * k];
        for i in 0..n {
            system.add_party(program, point, i, &mut block);
            system.add_block(program, program.limit[i], &mut block);
        }
        for j in 0..k {
            system.matrix[j * k + j] += point.z[j] / point.p[j];
        }
        system.factor = cholesky(&system.matrix, k)?;
        Some(system)
    }

    /// Makes diag(theta) - (W theta)(W theta)' / h of one trader its block, and the pivot and the column of
    /// its q. With g = W^2 theta and y = a / W these are sums of positive terms, without the
    /// cancellation of the plain formulas: theta (h - g) / h on the diagonal,
    /// W theta (sum_o g_o (y_j - y_o) + rest y_j) / h in the column.
    fn add_party(&mut self, program: &Program, point: &Iterate, i: usize, block: &mut [f64]) {
        let k = program.k;
        let values = &program.w[i * k..][..k];
        let rest = point.r[i] / point.l[i];
        let theta: Vec<f64> = (0..k)
            .map(|j| if values[j] > 0.0 { point.x[i * k + j] / point.v[i * k + j] } else { 0.0 })
            .collect();
        let g: Vec<f64> = values.iter().zip(&theta).map(|(w, t)| w * w * t).collect();
        let h = g.iter().sum::<f64>() + rest;
        self.h[i] = h;
        for j in (0..k).filter(|&j| values[j] > 0.0) {
            let others: f64 = (0..k).filter(|&o| o != j).map(|o| g[o]).sum::<f64>() + rest;
            block[j * k + j] += theta[j] * (others / h);
            for o in 0..j {
                block[j * k + o] -= values[j] * theta[j] / h * (values[o] * theta[o]);
            }
        }
        let Some(t) = program.limit[i] else { return };
        let y: Vec<f64> = (0..k)
            .map(|j| if values[j] > 0.0 { program.a[t * k + j] / values[j] } else { 0.0 })
            .collect();
        for j in (0..k).filter(|&j| values[j] > 0.0) {
            let spread: f64 = (0..k).map(|o| g[o] * (y[j] - y[o])).sum();
            self.column[t * k + j] += values[j] * theta[j] * ((spread + rest * y[j]) / h);
            let pairs: f64 = (0..j).map(|o| g[o] * (y[j] - y[o]).powi(2)).sum();
            self.kappa[t] += g[j] * ((pairs + rest * y[j] * y[j]) / h);
        }
    }

    /// Adds a trader's block, less what the elimination of its q takes off, and clears it.
    fn add_block(&mut self, program: &Program, limit: Option<usize>, block: &mut [f64]) {
        let k = program.k;
        for j in 0..k {
            for o in 0..=j {
                let at = j * k + o;
                let off = limit.map_or(0.0, |t| {
                    self.column[t * k + j] * self.column[t * k + o] / self.kappa[t]
                });
                let left = block[at] - off;
                self.matrix[at] += if o == j { left.max(0.0) } else { left };
                block[at] = 0.0;
            }
        }
    }

    /// The direction that removes the residuals and changes the products as wanted.
    pub fn direction(
        &self,
        program: &Program,
        point: &Iterate,
        residual: &Residual,
        products: &Products,
    ) -> Iterate {
        let (k, n) = (program.k, program.c.len());
        let mut d = point.clone();
        let mut beta = vec![0.0; n];
        let mut right: Vec<f64> =
            (0..k).map(|j| residual.capacity[j] + products.z[j] / point.p[j]).collect();
        let mut right_q: Vec<f64> = (0..program.demand.len())
            .map(|g| residual.demand[g] + products.y[g] / point.q[g])
            .collect();
        for i in 0..n {
            beta[i] = products.r[i] / point.l[i] - residual.floor[i];
            for at in i * k..(i + 1) * k {
                // What x would change by if no dual but v moved.
                d.x[at] = 0.0;
                if program.w[at] > 0.0 {
                    d.x[at] = (products.x[at] - point.x[at] * residual.price[at]) / point.v[at];
                    beta[i] -= program.w[at] * d.x[at];
                }
            }
            let rate = beta[i] / self.h[i];
            for j in 0..k {
                let at = i * k + j;
                if program.w[at] > 0.0 {
                    let change = d.x[at] + point.x[at] / point.v[at] * program.w[at] * rate;
                    right[j] += change;
                    if let Some(g) = program.limit[i] {
                        right_q[g] += program.a[g * k + j] * change;
                    }
                }
            }
        }
        self.prices(program, &mut right, &right_q, &mut d);
        self.back_substitute(program, point, residual, products, &beta, &mut d);
        d
    }

    /// Solves for the changes of p and q.
    fn prices(&self, program: &Program, right: &mut [f64], right_q: &[f64], d: &mut Iterate) {
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

    /// The other changes from those of the prices; on entry `d.x` holds what x would change by alone.
    fn back_substitute(
        &self,
        program: &Program,
        point: &Iterate,
        residual: &Residual,
        products: &Products,
        beta: &[f64],
        d: &mut Iterate,
    ) {
        let k = program.k;
        let mut charge = vec![0.0; k];
        for i in 0..beta.len() {
            charge.clone_from(&d.p);
            if let Some(g) = program.limit[i] {
                (0..k).for_each(|j| charge[j] += program.a[g * k + j] * d.q[g]);
            }
            let mut along = beta[i];
            for j in 0..k {
                let at = i * k + j;
                if program.w[at] > 0.0 {
                    along += program.w[at] * point.x[at] / point.v[at] * charge[j];
                }
            }
            let rate = along / self.h[i];
            d.l[i] = rate;
            d.r[i] = (products.r[i] - point.r[i] * rate) / point.l[i];
            for j in 0..k {
                let at = i * k + j;
                d.v[at] = 0.0;
                if program.w[at] > 0.0 {
                    let change = charge[j] - program.w[at] * rate;
                    d.x[at] -= point.x[at] / point.v[at] * change;
                    d.v[at] = change + residual.price[at];
                }
            }
        }
        for j in 0..k {
            d.z[j] = (products.z[j] - point.z[j] * d.p[j]) / point.p[j];
        }
        for g in 0..program.demand.len() {
            d.y[g] = (products.y[g] - point.y[g] * d.q[g]) / point.q[g];
        }
    }
}
