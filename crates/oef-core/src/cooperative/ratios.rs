//! What the Newton system has of the primal variables and their multipliers.

use super::data::Data;
use super::point::Point;

/// Reciprocals of the primal variables, and the multipliers over them.
pub(super) struct Ratios {
    pub per_y: Vec<f64>,
    pub per_a: Vec<f64>,
    pub per_s: Vec<f64>,
    /// Nothing where there is no cap.
    pub per_r: Vec<f64>,
    pub own: Vec<f64>,
    pub envy: Vec<f64>,
    pub cap: Vec<f64>,
}

impl Ratios {
    pub fn new(data: &Data<'_>, point: &Point) -> Self {
        let per = |x: &[f64]| -> Vec<f64> { x.iter().map(|x| 1.0 / x).collect() };
        let ratio = |m: &[f64], x: &[f64]| m.iter().zip(x).map(|(m, x)| m / x).collect();
        let mut per_y = per(&point.y);
        for (i, row) in per_y.chunks_exact_mut(data.k).enumerate() {
            data.mask(i, row);
        }
        Ratios {
            per_y,
            per_a: per(&point.a),
            per_s: per(&point.pairs.s),
            per_r: (0..data.n)
                .map(|l| if data.is_capped(l) { 1.0 / point.r[l] } else { 0.0 })
                .collect(),
            own: ratio(&point.alpha, &point.a),
            envy: ratio(&point.pairs.z, &point.pairs.s),
            cap: ratio(&point.lambda, &point.r),
        }
    }
}
