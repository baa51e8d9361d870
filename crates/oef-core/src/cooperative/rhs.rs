//! Right hand sides of the Newton system.

use super::data::Data;
use super::lanes;
use super::point::Point;
use crate::linalg::dot;

/// Residuals of the equations, and what each complementarity product should become.
pub(super) struct Rhs {
    pub own: Vec<f64>,
    pub envy: Vec<f64>,
    pub cap: Vec<f64>,
    pub capacity: Vec<f64>,
    pub bundle: Vec<f64>,
    pub utility: Vec<f64>,
    pub product_y: Vec<f64>,
    pub product_a: Vec<f64>,
    pub product_r: Vec<f64>,
    pub product_c: Vec<f64>,
    pub product_s: Vec<f64>,
    pub product_e: Vec<f64>,
}

impl Rhs {
    /// How far a point is from satisfying its equations.
    pub fn residuals(data: &Data<'_>, point: &Point) -> Self {
        let (n, k) = (data.n, data.k);
        let bundles = data.widened(&point.y);
        let bundle_of = |i: usize| &bundles[i * data.width..][..data.width];
        let own = (0..n)
            .map(|l| lanes::product(data.wide(l), bundle_of(l)) - point.u[l] - point.a[l])
            .collect();
        let over = |l: usize| match data.is_capped(l) {
            true => data.rows.cap[l] - lanes::product(&data.wide_size, bundle_of(l)) - point.r[l],
            false => 0.0,
        };
        let cap = (0..n).map(over).collect();
        let mut envy = vec![0.0; point.pairs.s.len()];
        let mut capacity: Vec<f64> = point.c.iter().map(|c| n as f64 - c).collect();
        for i in 0..n {
            for r in point.pairs.range(i) {
                let l = point.pairs.envious[r];
                let other = lanes::product(data.wide_compare(l), bundle_of(i));
                envy[r] =
                    point.u[l] - data.rows.base[l] - other - point.pairs.s[r] + point.pairs.e[r];
            }
            for (capacity, y) in capacity.iter_mut().zip(&point.y[i * k..][..k]) {
                *capacity -= data.weight[i] * y;
            }
        }
        let (bundle, utility) = dual_residuals(data, point, &data.worth);
        Rhs {
            own,
            envy,
            cap,
            capacity,
            bundle,
            utility,
            product_y: Vec::new(),
            product_a: Vec::new(),
            product_r: Vec::new(),
            product_c: Vec::new(),
            product_s: Vec::new(),
            product_e: Vec::new(),
        }
    }

    /// Largest residual of the primal and of the dual equations.
    pub fn norms(&self) -> (f64, f64) {
        let most = |x: &[f64]| x.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        let primal =
            most(&self.own).max(most(&self.envy)).max(most(&self.cap)).max(most(&self.capacity));
        (primal, most(&self.bundle).max(most(&self.utility)))
    }

    /// Aims the products at `mu`, less the second-order term of a direction.
    pub fn aim(&mut self, point: &Point, mu: f64, affine: Option<&Point>) {
        let aim = |to: &mut Vec<f64>, x: &[f64], m: &[f64], d: Option<(&[f64], &[f64])>| {
            to.clear();
            match d {
                None => to.extend(x.iter().zip(m).map(|(x, m)| mu - x * m)),
                Some((dx, dm)) => {
                    let moves = dx.iter().zip(dm);
                    let all = x.iter().zip(m).zip(moves);
                    to.extend(all.map(|((x, m), (dx, dm))| mu - x * m - dx * dm));
                }
            }
        };
        let d = affine;
        aim(&mut self.product_y, &point.y, &point.v, d.map(|d| (&d.y[..], &d.v[..])));
        aim(&mut self.product_a, &point.a, &point.alpha, d.map(|d| (&d.a[..], &d.alpha[..])));
        aim(&mut self.product_r, &point.r, &point.lambda, d.map(|d| (&d.r[..], &d.lambda[..])));
        aim(&mut self.product_c, &point.c, &point.p, d.map(|d| (&d.c[..], &d.p[..])));
        let moves = d.map(|d| (&d.pairs.s[..], &d.pairs.z[..]));
        aim(&mut self.product_s, &point.pairs.s, &point.pairs.z, moves);
        let moves = d.map(|d| (&d.pairs.e[..], &d.pairs.w[..]));
        aim(&mut self.product_e, &point.pairs.e, &point.pairs.w, moves);
    }

    /// What a direction leaves of these. The primal equations and all products but those of
    /// the capacities hold by construction.
    pub fn left_by(&self, data: &Data<'_>, point: &Point, d: &Point) -> Self {
        let (n, k) = (data.n, data.k);
        let (mut bundle, utility) = dual_residuals(data, d, &self.utility);
        for (left, wanted) in bundle.iter_mut().zip(&self.bundle) {
            *left += wanted;
        }
        let product = |j: usize| self.product_c[j] - point.p[j] * d.c[j] - point.c[j] * d.p[j];
        let (mut product_c, mut capacity): (Vec<f64>, _) =
            ((0..k).map(product).collect(), vec![0.0; k]);
        for j in (0..k).filter(|&j| data.rows.used_up[j]) {
            let used: f64 = (0..n).map(|i| data.weight[i] * d.y[i * k + j]).sum();
            (product_c[j], capacity[j]) = (0.0, self.capacity[j] - used);
        }
        Rhs {
            own: vec![0.0; n],
            envy: vec![0.0; point.pairs.s.len()],
            cap: vec![0.0; n],
            capacity,
            bundle,
            utility,
            product_y: vec![0.0; n * k],
            product_a: vec![0.0; n],
            product_r: vec![0.0; n],
            product_c,
            product_s: vec![0.0; point.pairs.s.len()],
            product_e: vec![0.0; point.pairs.s.len()],
        }
    }

    /// The blocks in which a direction leaves something.
    fn blocks(&mut self) -> [&mut [f64]; 4] {
        [&mut self.bundle, &mut self.utility, &mut self.capacity, &mut self.product_c]
    }

    /// Product of what two directions leave.
    pub fn dot(&self, other: &Rhs) -> f64 {
        let whole = self.utility.len() as f64;
        dot(&self.bundle, &other.bundle)
            + dot(&self.utility, &other.utility)
            + (dot(&self.capacity, &other.capacity) + dot(&self.product_c, &other.product_c))
                / (whole * whole)
    }

    pub fn add(&mut self, factor: f64, other: &Rhs) {
        let others = [&other.bundle, &other.utility, &other.capacity, &other.product_c];
        for (x, y) in self.blocks().into_iter().zip(others) {
            x.iter_mut().zip(y).for_each(|(x, y)| *x += factor * y);
        }
    }

    pub fn scale(&mut self, factor: f64) {
        self.blocks().into_iter().flatten().for_each(|x| *x *= factor);
    }

    /// Corrections for products that a step would leave far below or above the target.
    pub fn pull_back(
        data: &Data<'_>,
        point: &Point,
        d: &Point,
        primal: f64,
        dual: f64,
        target: f64,
    ) -> Self {
        let pull = |x: &[f64], dx: &[f64], m: &[f64], dm: &[f64]| -> Vec<f64> {
            let all = x.iter().zip(dx).zip(m.iter().zip(dm));
            all.map(|((x, dx), (m, dm))| {
                let product = (x + primal * dx) * (m + dual * dm);
                let wanted = product.clamp(0.1 * target, 10.0 * target);
                (wanted - product).max(-10.0 * target)
            })
            .collect()
        };
        Rhs {
            own: vec![0.0; data.n],
            envy: vec![0.0; point.pairs.s.len()],
            cap: vec![0.0; data.n],
            capacity: vec![0.0; data.k],
            bundle: vec![0.0; data.n * data.k],
            utility: vec![0.0; data.n],
            product_y: pull(&point.y, &d.y, &point.v, &d.v),
            product_a: pull(&point.a, &d.a, &point.alpha, &d.alpha),
            product_r: pull(&point.r, &d.r, &point.lambda, &d.lambda),
            product_c: pull(&point.c, &d.c, &point.p, &d.p),
            product_s: pull(&point.pairs.s, &d.pairs.s, &point.pairs.z, &d.pairs.z),
            product_e: pull(&point.pairs.e, &d.pairs.e, &point.pairs.w, &d.pairs.w),
        }
    }
}

/// `gain + v - weight p` of every bundle, and `worth - alpha + sum z` of every row.
fn dual_residuals(data: &Data<'_>, point: &Point, worth: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (n, k) = (data.n, data.k);
    let mut utility: Vec<f64> = worth.iter().zip(&point.alpha).map(|(w, a)| w - a).collect();
    for (&l, z) in point.pairs.envious.iter().zip(&point.pairs.z) {
        utility[l] += z;
    }
    let mut bundle = point.gain(data);
    for i in 0..n {
        let row = &mut bundle[i * k..][..k];
        for (x, (v, p)) in row.iter_mut().zip(point.v[i * k..][..k].iter().zip(&point.p)) {
            *x += v - data.weight[i] * p;
        }
        data.mask(i, row);
    }
    (bundle, utility)
}
