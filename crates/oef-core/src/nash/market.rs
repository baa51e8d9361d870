//! The market in units in which everything is of order one, and what its prices prove.
//!
//! Bundles are counted per weight and in parts of the cluster: a row's equal split is `y = supply`, which
//! adds up to 1. Everybody has an income of 1 per weight. A price is for the whole cluster's number of GPUs.

use crate::instance::Instance;

/// What the rows want, have and are offered.
#[derive(Clone, Debug)]
pub(super) struct Market {
    pub n: usize,
    pub k: usize,
    /// `v_lj`: speed as a part of the row's fastest.
    pub speed: Vec<f64>,
    /// The rows' weights, adding up to 1.
    pub weight: Vec<f64>,
    /// The types' capacities, adding up to 1.
    pub supply: Vec<f64>,
    /// The rows' demands in equal splits; infinite without one.
    pub demand: Vec<f64>,
    /// A mean speed of each type times its supply: what its price and its rest are measured by.
    pub unit: Vec<f64>,
    /// GPUs of all types together.
    gpus: f64,
}

impl Market {
    pub fn new(instance: &Instance) -> Self {
        let (n, k) = (instance.rows(), instance.width());
        let gpus: f64 = instance.capacity.iter().sum();
        let all: f64 = instance.weight.iter().sum();
        let mut speed = Vec::with_capacity(n * k);
        for l in 0..n {
            let profile = instance.profile(l);
            let fastest = profile.iter().copied().fold(0.0, f64::max);
            speed.extend(profile.iter().map(|w| w / fastest));
        }
        let weight: Vec<f64> = instance.weight.iter().map(|w| w / all).collect();
        let demand = instance.demand.iter().zip(&weight).map(|(d, w)| d / (w * gpus)).collect();
        let supply: Vec<f64> = instance.capacity.iter().map(|m| m / gpus).collect();
        let mean = |j: usize| -> f64 { (0..n).map(|l| weight[l] * speed[l * k + j]).sum() };
        let unit = (0..k).map(|j| mean(j) * supply[j]).collect();
        Market { n, k, speed, weight, supply, demand, unit, gpus }
    }

    pub fn speed(&self, l: usize) -> &[f64] {
        &self.speed[l * self.k..][..self.k]
    }

    pub fn is_limited(&self, l: usize) -> bool {
        self.demand[l].is_finite()
    }

    /// GPUs of bundles.
    pub fn shares(&self, y: &[f64]) -> Vec<f64> {
        y.iter().enumerate().map(|(e, y)| y * self.weight[e / self.k] * self.gpus).collect()
    }

    /// Bundles of GPUs.
    pub fn bundles(&self, x: &[f64]) -> Vec<f64> {
        x.iter().enumerate().map(|(e, x)| x / (self.weight[e / self.k] * self.gpus)).collect()
    }

    /// Total throughput per GPU from prices: all money is worth the total throughput.
    pub fn prices(&self, instance: &Instance, price: &[f64], x: &[f64]) -> Vec<f64> {
        let total: f64 = instance.speedup.iter().zip(x).map(|(w, x)| w * x).sum();
        price.iter().map(|p| p * total / self.gpus).collect()
    }

    /// The best that a row can buy at these prices.
    pub fn choice(&self, l: usize, price: &[f64]) -> Choice {
        choice(self.speed(l), price, self.demand[l])
    }

    /// How far bundles within supply and demand are from an equilibrium at these prices: the greatest part
    /// that a row lacks of the best that it can buy, or the part of all money that is paid for nothing (for
    /// what nobody has, and above the least that a row's throughput costs), whichever is more. No row envies
    /// another or falls short of its equal split by more than this part of its throughput.
    pub fn gap(&self, price: &[f64], y: &[f64]) -> f64 {
        let k = self.k;
        let money: f64 = price.iter().zip(&self.supply).map(|(p, m)| p * m).sum();
        let (mut lacks, mut spent) = (0.0_f64, 0.0);
        for l in 0..self.n {
            let speed = self.speed(l);
            let own: f64 = speed.iter().zip(&y[l * k..][..k]).map(|(v, y)| v * y).sum();
            lacks = lacks.max(1.0 - own / self.choice(l, price).speed);
            spent += self.weight[l] * least_cost(speed, price, self.demand[l], own);
        }
        let wasted = if money > 0.0 { (money - spent) / money } else { 0.0 };
        let gap = lacks.max(wasted);
        if gap.is_nan() { f64::INFINITY } else { gap.max(0.0) }
    }
}

/// A best bundle of a row: of one type, or of a dear and a cheap one that use up income and demand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Choice {
    pub speed: f64,
    pub cost: f64,
    pub types: (usize, Option<usize>),
}

/// The choice with the most speed that an income of 1 buys within a demand, the cheapest of these.
fn choice(speed: &[f64], price: &[f64], demand: f64) -> Choice {
    let mut best = Choice { speed: 0.0, cost: 0.0, types: (0, None) };
    let mut consider = |speed: f64, cost: f64, types: (usize, Option<usize>)| {
        if speed > best.speed || (speed == best.speed && cost < best.cost) {
            best = Choice { speed, cost, types };
        }
    };
    for (j, (v, p)) in speed.iter().zip(price).enumerate() {
        let amount = demand.min(1.0 / p);
        consider(v * amount, p * amount, (j, None));
    }
    if demand.is_finite() {
        for (i, &dear) in price.iter().enumerate().filter(|(_, p)| **p * demand > 1.0) {
            for (j, &cheap) in price.iter().enumerate().filter(|(_, p)| **p * demand < 1.0) {
                let part = (1.0 - cheap * demand) / (dear - cheap);
                consider(speed[i] * part + speed[j] * (demand - part), 1.0, (i, Some(j)));
            }
        }
    }
    best
}

/// The least that a speed costs within a demand, likewise; not less than nothing.
fn least_cost(speed: &[f64], price: &[f64], demand: f64, wanted: f64) -> f64 {
    let enough = |v: f64| v * demand >= wanted * (1.0 - 1e-14);
    let mut least = f64::INFINITY;
    for (v, p) in speed.iter().zip(price).filter(|(v, _)| **v > 0.0 && enough(**v)) {
        least = least.min(p * wanted / v);
    }
    if demand.is_finite() {
        let rate = wanted / demand;
        for (i, &fast) in speed.iter().enumerate().filter(|(_, v)| **v > rate) {
            for (j, &slow) in speed.iter().enumerate().filter(|(_, v)| **v < rate) {
                let part = demand * (rate - slow) / (fast - slow);
                least = least.min(price[i] * part + price[j] * (demand - part));
            }
        }
    }
    least
}
