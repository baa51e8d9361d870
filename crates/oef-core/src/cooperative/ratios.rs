//! What the Newton system has of the primal variables and their multipliers.

use super::data::Data;
use super::point::Point;
use super::rhs::Rhs;

/// Reciprocals of the primal variables, and the multipliers over them.
pub(super) struct Ratios {
    pub per_y: Vec<f64>,
    pub per_a: Vec<f64>,
    /// The ratio of a pair over its multiplier, and over what is left of that; nothing where there is no limit.
    pub per_z: Vec<f64>,
    pub per_w: Vec<f64>,
    /// Nothing where there is no cap.
    pub per_r: Vec<f64>,
    pub own: Vec<f64>,
    pub envy: Vec<f64>,
    pub cap: Vec<f64>,
}

impl Ratios {
    pub fn new(data: &Data<'_>, point: &Point) -> Self {
        let per = |x: &[f64]| -> Vec<f64> { x.iter().map(|x| 1.0 / x).collect() };
        let ratio =
            |m: &[f64], x: &[f64]| -> Vec<f64> { m.iter().zip(x).map(|(m, x)| m / x).collect() };
        let mut per_y = per(&point.y);
        for (i, row) in per_y.chunks_exact_mut(data.k).enumerate() {
            data.mask(i, row);
        }
        let pairs = &point.pairs;
        let room = |r: usize| pairs.s[r] / pairs.z[r] + pairs.e[r] / pairs.w[r];
        let envy: Vec<f64> = (0..pairs.s.len()).map(|r| 1.0 / room(r)).collect();
        let limited = |r: usize| if pairs.e[r] > 0.0 { envy[r] / pairs.w[r] } else { 0.0 };
        Ratios {
            per_y,
            per_a: per(&point.a),
            per_z: ratio(&envy, &pairs.z),
            per_w: (0..envy.len()).map(limited).collect(),
            per_r: (0..data.n)
                .map(|l| if data.is_capped(l) { 1.0 / point.r[l] } else { 0.0 })
                .collect(),
            own: ratio(&point.alpha, &point.a),
            envy,
            cap: ratio(&point.lambda, &point.r),
        }
    }

    /// What the products of pair `r` that are aimed at make of its multiplier.
    pub fn aimed(&self, t: &Rhs, r: usize) -> f64 {
        t.product_s[r] * self.per_z[r] - t.product_e[r] * self.per_w[r]
    }
}
