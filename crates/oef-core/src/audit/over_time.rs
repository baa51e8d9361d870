//! Fairness as delivered over time, not as promised for an instant.
//!
//! Shares are rounded to whole GPUs and gangs take turns, so that a single round may be far from its shares. Over a
//! day it has to even out. For the rounds in which a tenant had jobs this compares what it got with its equal split;
//! and, for the rounds that it had in common with another tenant, with what it would have made of the GPUs that the
//! other held, scaled by their weights: `sum over rounds of v_t(pi_t / pi_s held_s)` over `sum of what t got`.

use crate::shares::usable_value;

/// What one tenant had in one round, or another stretch of time.
#[derive(Clone, Copy, Debug)]
pub struct Presence<'a> {
    /// Who, by any numbering of the tenants.
    pub tenant: usize,
    /// For how long it had jobs, in any unit.
    pub length: f64,
    /// What it counted.
    pub weight: f64,
    /// Mean normalised throughput that it got.
    pub delivered: f64,
    /// Normalised throughput of its equal split.
    pub equal_split: f64,
    /// GPUs that it could use.
    pub demand: f64,
    /// What a GPU of each type is worth to it.
    pub speedup: &'a [f64],
    /// Mean GPUs of each type that it held.
    pub held: &'a [f64],
}

/// Sums over rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct OverTime {
    tenants: usize,
    rounds: Vec<u64>,
    delivered: Vec<f64>,
    equal_split: Vec<f64>,
    /// By pair (t, s): what t got while s was there, and what it would have made of the GPUs of s.
    own: Vec<f64>,
    other: Vec<f64>,
}

/// A tenant compared with another over time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EnvyOverTime {
    /// With whom.
    pub other: usize,
    /// What the other's GPUs would have been worth over what it got; above 1 is envy.
    pub ratio: f64,
}

impl OverTime {
    /// Nothing yet, for so many tenants.
    pub fn new(tenants: usize) -> Self {
        let pairs = vec![0.0; tenants * tenants];
        OverTime {
            tenants,
            rounds: vec![0; tenants],
            delivered: vec![0.0; tenants],
            equal_split: vec![0.0; tenants],
            own: pairs.clone(),
            other: pairs,
        }
    }

    /// Adds a round (or another stretch of time), with everybody who had jobs in it. Two tenants are compared for as
    /// long as both had. Tenants beyond the number that this was made for are passed over.
    pub fn add(&mut self, present: &[Presence<'_>]) {
        let n = self.tenants;
        let known = || present.iter().filter(|p| p.tenant < n && p.weight > 0.0);
        let mut bundle: Vec<f64> = Vec::new();
        for t in known() {
            self.rounds[t.tenant] += 1;
            self.delivered[t.tenant] += t.delivered * t.length;
            self.equal_split[t.tenant] += t.equal_split * t.length;
            for s in known().filter(|s| s.tenant != t.tenant) {
                bundle.clear();
                bundle.extend(s.held.iter().map(|x| x * t.weight / s.weight));
                let both = t.length.min(s.length);
                let pair = t.tenant * n + s.tenant;
                self.own[pair] += t.delivered * both;
                self.other[pair] += usable_value(t.speedup, &bundle, Some(t.demand)) * both;
            }
        }
    }

    /// For how many tenants this was made.
    pub fn tenants(&self) -> usize {
        self.tenants
    }

    /// Rounds in which a tenant had jobs.
    pub fn rounds(&self, tenant: usize) -> u64 {
        self.rounds[tenant]
    }

    /// What a tenant got over its equal split; `None` where it had none.
    pub fn sharing_incentive(&self, tenant: usize) -> Option<f64> {
        let split = self.equal_split[tenant];
        (split > 0.0).then(|| self.delivered[tenant] / split)
    }

    /// Whose GPUs would have been worth most to a tenant; `None` where there was nobody to compare with, or it got
    /// nothing that could be compared.
    pub fn envy(&self, tenant: usize) -> Option<EnvyOverTime> {
        let row = tenant * self.tenants..(tenant + 1) * self.tenants;
        let pairs = self.own[row.clone()].iter().zip(&self.other[row]).enumerate();
        let ratios = pairs.filter(|(_, (own, _))| **own > 0.0);
        let ratios = ratios.map(|(other, (own, value))| EnvyOverTime { other, ratio: value / own });
        ratios.max_by(|a, b| a.ratio.total_cmp(&b.ratio).then(b.other.cmp(&a.other)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn presence<'a>(tenant: usize, delivered: f64, held: &'a [f64]) -> Presence<'a> {
        let (speedup, demand): (&[f64], f64) = (&[1.0, 2.0], 2.0);
        Presence {
            tenant,
            length: 1.0,
            weight: 1.0,
            delivered,
            equal_split: 1.5,
            demand,
            speedup,
            held,
        }
    }

    #[test]
    fn turns_even_out_and_absence_counts_for_nothing() {
        let mut over = OverTime::new(2);
        let (slow, fast, none): (&[f64], &[f64], &[f64]) = (&[1.0, 0.0], &[0.0, 1.0], &[0.0, 0.0]);
        over.add(&[presence(0, 1.0, slow), presence(1, 2.0, fast)]);
        assert_eq!(over.envy(0), Some(EnvyOverTime { other: 1, ratio: 2.0 }));
        over.add(&[presence(0, 2.0, fast), presence(1, 1.0, slow)]);
        assert_eq!(over.envy(0), Some(EnvyOverTime { other: 1, ratio: 1.0 }));
        assert_eq!(over.sharing_incentive(0), Some(1.0));
        // While the other is away, what it does not have is nobody's envy.
        over.add(&[presence(0, 0.0, none)]);
        assert_eq!(over.envy(0), Some(EnvyOverTime { other: 1, ratio: 1.0 }));
        assert_eq!((over.rounds(0), over.rounds(1)), (3, 2));
        assert_eq!(over.sharing_incentive(0), Some(2.0 / 3.0));
    }

    #[test]
    fn only_what_can_be_used_is_envied() {
        let mut over = OverTime::new(2);
        over.add(&[presence(0, 4.0, &[0.0, 2.0]), presence(1, 9.0, &[3.0, 3.0])]);
        assert_eq!(over.envy(0), Some(EnvyOverTime { other: 1, ratio: 1.0 }));
        let lighter = Presence { weight: 0.5, ..presence(1, 1.0, &[1.0, 0.0]) };
        let mut over = OverTime::new(2);
        over.add(&[presence(0, 4.0, &[0.0, 2.0]), lighter]);
        assert_eq!(over.envy(0), Some(EnvyOverTime { other: 1, ratio: 0.5 }));
    }
}
