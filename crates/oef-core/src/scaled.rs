//! An instance in units in which everything is of order one.

use crate::instance::Instance;

/// Bundles in units of the equal split: `y = 1` everywhere is the equal split, at which every row has
/// utility 1 and the total is 1.
#[derive(Clone, Debug)]
pub(crate) struct Scaled {
    pub n: usize,
    pub k: usize,
    /// `v_lj`: what a unit of type `j` adds to the utility of row `l`; each row adds up to 1.
    pub value: Vec<f64>,
    /// The rows' weights, adding up to 1: what a unit of a row's bundle takes of the capacity.
    pub weight: Vec<f64>,
    /// What a unit of a row's utility adds to the total; adds up to 1.
    pub worth: Vec<f64>,
    /// The total throughput of the equal split: one unit of the scaled total.
    pub unit: f64,
}

impl Scaled {
    pub fn new(instance: &Instance) -> Self {
        let (n, k) = (instance.rows(), instance.width());
        let all: f64 = instance.weight.iter().sum();
        let mut value = Vec::with_capacity(n * k);
        let mut worth = Vec::with_capacity(n);
        for l in 0..n {
            let row = instance.profile(l).iter().zip(&instance.capacity).map(|(w, m)| w * m);
            let whole: f64 = row.clone().sum();
            value.extend(row.map(|v| v / whole));
            worth.push(instance.weight[l] / all * whole);
        }
        let unit: f64 = worth.iter().sum();
        for w in &mut worth {
            *w /= unit;
        }
        let weight = instance.weight.iter().map(|w| w / all).collect();
        Scaled { n, k, value, weight, worth, unit }
    }

    pub fn value(&self, l: usize) -> &[f64] {
        &self.value[l * self.k..][..self.k]
    }

    /// Utility of row `l` with bundle `i` of `y`.
    pub fn utility(&self, l: usize, y: &[f64], i: usize) -> f64 {
        self.value(l).iter().zip(&y[i * self.k..][..self.k]).map(|(v, y)| v * y).sum()
    }

    /// The scaled total.
    pub fn total(&self, y: &[f64]) -> f64 {
        (0..self.n).map(|l| self.worth[l] * self.utility(l, y, l)).sum()
    }

    /// For every row its nearest rows by the logarithms of the values (unusable counts as far away).
    pub fn neighbours(&self, count: usize) -> Vec<(usize, usize)> {
        let logs: Vec<f64> =
            self.value.iter().map(|v| if *v > 0.0 { v.ln() } else { -30.0 }).collect();
        let mut pairs = Vec::with_capacity(self.n * count);
        let mut distance: Vec<(f64, usize)> = Vec::with_capacity(self.n);
        for l in 0..self.n {
            let own = &logs[l * self.k..][..self.k];
            distance.clear();
            distance.extend((0..self.n).filter(|&i| i != l).map(|i| {
                let other = &logs[i * self.k..][..self.k];
                (own.iter().zip(other).map(|(a, b)| (a - b) * (a - b)).sum::<f64>(), i)
            }));
            let count = count.min(distance.len());
            if count == 0 {
                continue;
            }
            distance
                .select_nth_unstable_by(count - 1, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let mut nearest: Vec<usize> = distance[..count].iter().map(|d| d.1).collect();
            nearest.sort_unstable();
            pairs.extend(nearest.into_iter().map(|i| (l, i)));
        }
        pairs
    }

    /// GPUs from scaled bundles.
    pub fn to_shares(&self, instance: &Instance, y: &[f64]) -> Vec<f64> {
        (0..self.n * self.k)
            .map(|e| y[e] * self.weight[e / self.k] * instance.capacity[e % self.k])
            .collect()
    }

    /// Scaled bundles from GPUs.
    pub fn to_bundles(&self, instance: &Instance, x: &[f64]) -> Vec<f64> {
        (0..self.n * self.k)
            .map(|e| x[e] / (self.weight[e / self.k] * instance.capacity[e % self.k]))
            .collect()
    }

    /// Total throughput per GPU from the price of a type's whole capacity.
    pub fn to_prices(&self, instance: &Instance, price: &[f64]) -> Vec<f64> {
        price.iter().zip(&instance.capacity).map(|(p, m)| p * self.unit / m).collect()
    }
}
