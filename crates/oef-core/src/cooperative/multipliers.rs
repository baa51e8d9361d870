//! Multipliers of the envy between rows, and what they prove.

use super::data::Data;
use super::interior::Point;

/// A multiplier of the envy of one row towards another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Envy {
    pub envious: usize,
    pub envied: usize,
    pub z: f64,
}

/// The multipliers of the pairs that are tight at the end of an interior path.
pub(super) fn at(point: &Point) -> Vec<Envy> {
    let pairs = &point.pairs;
    let towards = |i: usize| {
        let tight = pairs.range(i).filter(|&r| pairs.z[r] > pairs.s[r]);
        tight.map(move |r| Envy { envious: pairs.envious[r], envied: i, z: pairs.z[r] })
    };
    (0..point.u.len()).flat_map(towards).collect()
}

/// What multipliers prove, whatever they are: no envy-free bundles have a greater total.
pub(super) fn bound(data: &Data<'_>, z: &[Envy]) -> f64 {
    prices(data, &gain(data, z)).iter().sum()
}

/// The least prices that cover what a unit of each type is worth in every bundle.
pub(super) fn prices(data: &Data<'_>, gain: &[f64]) -> Vec<f64> {
    let (n, k) = (data.n, data.k);
    let price = |j: usize| {
        let users = (0..n).filter(|&i| data.usable(i, j));
        users.map(|i| gain[i * k + j] / data.weight[i]).fold(0.0, f64::max)
    };
    (0..k).map(price).collect()
}

/// `alpha_i v_i - sum_l z_li v_l` per bundle: what a unit of each type is worth there.
pub(super) fn gain(data: &Data<'_>, z: &[Envy]) -> Vec<f64> {
    let (n, k) = (data.n, data.k);
    let mut alpha = data.worth.clone();
    for e in z {
        alpha[e.envious] += e.z;
    }
    let mut gain: Vec<f64> = (0..n * k).map(|e| alpha[e / k] * data.scaled.value[e]).collect();
    for e in z {
        let row = &mut gain[e.envied * k..][..k];
        for (g, v) in row.iter_mut().zip(data.value(e.envious)) {
            *g -= e.z * v;
        }
    }
    gain
}
