//! Multipliers of the constraints, and what they prove.

use super::data::Data;
use super::point::Point;

/// A multiplier of the envy of one row towards another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Envy {
    pub envious: usize,
    pub envied: usize,
    pub z: f64,
}

/// Multipliers of all constraints but the capacities, in units of `n` rows.
#[derive(Clone, Debug)]
pub(super) struct Multipliers {
    pub envy: Vec<Envy>,
    /// Of the caps and of the floors, by row.
    pub cap: Vec<f64>,
    pub floor: Vec<f64>,
}

impl Multipliers {
    /// Those of `n` rows without caps.
    pub fn of_envy(envy: Vec<Envy>, n: usize) -> Self {
        Multipliers { envy, cap: vec![0.0; n], floor: vec![0.0; n] }
    }

    /// The multipliers of a point of an interior path.
    pub fn at(point: &Point) -> Self {
        Self::of_pairs(point, |_, _| true)
    }

    /// The multipliers of what is tight at the end of an interior path.
    pub fn tight(point: &Point) -> Self {
        Self::of_pairs(point, |s, z| z > s)
    }

    fn of_pairs(point: &Point, counts: impl Fn(f64, f64) -> bool) -> Self {
        let (pairs, n) = (&point.pairs, point.u.len());
        let mut envy = Vec::with_capacity(pairs.z.len());
        for i in 0..n {
            let range = pairs.range(i).filter(|&r| counts(pairs.s[r], pairs.z[r]));
            envy.extend(range.map(|r| Envy {
                envious: pairs.envious[r],
                envied: i,
                z: pairs.z[r],
            }));
        }
        Multipliers { envy, cap: point.lambda.clone(), floor: vec![0.0; n] }
    }

    /// What multipliers that are not negative prove, whatever they are: no feasible bundles have a greater total.
    pub fn bound(&self, data: &Data<'_>) -> f64 {
        let rows = data.rows;
        let prices: f64 = prices(data, &self.gain(data)).iter().sum();
        let caps = (0..data.n).filter(|&l| data.is_capped(l)).map(|l| self.cap[l] * rows.cap[l]);
        let floors = self.floor.iter().zip(&rows.floor).map(|(phi, floor)| phi * floor);
        let bases = self.envy.iter().map(|e| e.z * rows.base[e.envious]);
        let rest = caps.sum::<f64>() - floors.sum::<f64>() - bases.sum::<f64>();
        prices + rest / data.n as f64
    }

    /// `alpha_i v_i - sum_l z_li c_l - lambda_i g` per bundle: what a unit of each type is worth there.
    pub fn gain(&self, data: &Data<'_>) -> Vec<f64> {
        let (k, rows) = (data.k, data.rows);
        let mut alpha: Vec<f64> = data.worth.iter().zip(&self.floor).map(|(w, f)| w + f).collect();
        for e in &self.envy {
            alpha[e.envious] += e.z;
        }
        let own = |e: usize| alpha[e / k] * rows.value[e] - self.cap[e / k] * rows.size[e % k];
        let mut gain: Vec<f64> = (0..data.n * k).map(own).collect();
        for e in &self.envy {
            let row = &mut gain[e.envied * k..][..k];
            for (g, c) in row.iter_mut().zip(rows.compare(e.envious)) {
                *g -= e.z * c;
            }
        }
        gain
    }
}

/// The least prices that cover what a unit of each type is worth in every bundle. What must be used up may cost less
/// than nothing.
pub(super) fn prices(data: &Data<'_>, gain: &[f64]) -> Vec<f64> {
    let (n, k) = (data.n, data.k);
    let price = |j: usize| {
        let users = (0..n).filter(|&i| data.usable(i, j));
        let least = if data.rows.used_up[j] { f64::NEG_INFINITY } else { 0.0 };
        users.map(|i| gain[i * k + j] / data.weight[i]).fold(least, f64::max)
    };
    (0..k).map(price).collect()
}
