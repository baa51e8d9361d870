//! Memory of past usage: who has used little lately counts more, within bounds.
//!
//! With a half-life `H` every tenant has two sums of GPU-hours in which what lies back by `H` counts half: what its jobs
//! held, and what its equal split among all tenants that exist would have been. Their quotient is its *usage*: 1 for a
//! tenant that used its equal split, 0 for one that was idle. A weight counts times
//!
//! ```text
//! f = b^(1 - min(usage / mean, 2))
//! ```
//!
//! where the mean is that of the siblings with live jobs, by weight, and `b` the bound: `b` for a tenant that was idle, `1/b`
//! for one that used twice the mean, 1 for one that used as much as the others. The book derives what follows from it.
//!
//! * *GPUs of a type* count what the tenants of the last shares get out of one on average, in GPUs of the reference type: what
//!   one tenant says about itself moves that by its part of the weight only.
//! * *A new tenant* starts at the mean of those with live jobs, as if it had used that for ever: it wins nothing by being new,
//!   and is not at the top after an idle hour. So does everybody when the memory is switched on.
//! * *While there is no healthy GPU*, and for a suspended tenant, time stands still.
//! * *Groups* count by the sums of all tenants below them, beside their own siblings: the same rule at every level.

use crate::ids::TenantKey;
use crate::settings::Settings;
use crate::state::State;
use crate::time::Span;

/// A multiplier moves in so many steps to its bound, so that shares are not computed again for nothing, and users that are
/// equal but for some minutes count alike.
const STEPS: f64 = 64.0;

/// What a tenant used, in GPU-hours of the reference type, the older the less.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Past {
    pub now: Sums,
    /// The same when the round began: what counts until the next.
    pub counted: Sums,
}

/// What was used, and what an equal split would have been.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Sums {
    pub used: f64,
    pub split: f64,
}

impl Past {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Past::default()
    }
}

impl Sums {
    /// Lets time pass in which so many GPUs were used, and would have been by an equal split.
    pub fn pass(&mut self, span: Span, half_life: Span, used: f64, split: f64) {
        let keeps = libm::exp2(-(span.0 as f64) / half_life.0 as f64);
        let hours = mean_hours(half_life) * (1.0 - keeps);
        self.used = self.used * keeps + used * hours;
        self.split = self.split * keeps + split * hours;
    }

    /// Both sums, so many times.
    pub fn times(self, factor: f64) -> Sums {
        Sums { used: self.used * factor, split: self.split * factor }
    }

    /// What was used over the equal split; `None`: there was nothing to split yet.
    fn usage(self) -> Option<f64> {
        (self.split > 0.0).then(|| self.used / self.split)
    }

    fn add(&mut self, other: Sums) {
        self.used += other.used;
        self.split += other.split;
    }
}

/// The hours that count of an endless past: `H / ln 2`.
pub(crate) fn mean_hours(half_life: Span) -> f64 {
    half_life.seconds() / 3600.0 / std::f64::consts::LN_2
}

/// What a tenant's past does to its weight.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PastUsage {
    /// GPU-hours of the reference type that its jobs held, what lies back by a half-life counted half.
    pub used_hours: f64,
    /// What its equal split among all tenants would have been, counted in the same way.
    pub split_hours: f64,
    /// The first over the second: 1 for a tenant that used its equal split.
    pub usage: f64,
    /// What its weight is multiplied by beside its siblings, in this round.
    pub factor: f64,
}

impl Settings {
    /// The half-life of the memory of usage, if there is one.
    pub(crate) fn half_life(&self) -> Option<Span> {
        self.usage_half_life.filter(|half_life| half_life.0 > 0)
    }
}

/// What the weights of tenants and groups are multiplied by.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Factors {
    pub tenants: Vec<f64>,
    pub groups: Vec<f64>,
}

/// The siblings with live jobs below a group or at the top: their weights, and these times their usage.
#[derive(Clone, Copy, Default)]
struct Siblings {
    weight: f64,
    used: f64,
}

impl Factors {
    /// Those of this round; `None`: nothing is remembered.
    pub fn of(state: &State) -> Option<Factors> {
        state.settings().half_life()?;
        let (tenants, groups) = (state.tenants(), state.groups());
        let mut sums = vec![Sums::default(); groups.len()];
        let mut has_jobs = vec![false; tenants.len()];
        let mut entered = vec![false; groups.len()];
        for w in state.active_workloads() {
            has_jobs[state.workloads()[w.0].tenant.0] = true;
        }
        for (tenant, &has_jobs) in tenants.iter().zip(&has_jobs) {
            let mut at = tenant.group;
            while let Some(group) = at {
                sums[group.0].add(tenant.past.counted);
                entered[group.0] |= has_jobs;
                at = groups[group.0].parent;
            }
        }
        // One place beyond the groups: the top.
        let place = |parent: Option<crate::ids::GroupKey>| parent.map_or(groups.len(), |g| g.0);
        let of_tenants = tenants.iter().zip(&has_jobs).map(|(tenant, &here)| {
            (place(tenant.group), tenant.weight, tenant.past.counted.usage(), here)
        });
        let of_groups =
            groups.iter().zip(&sums).zip(&entered).map(|((group, sums), &here)| {
                (place(group.parent), group.weight, sums.usage(), here)
            });
        let parties: Vec<(usize, f64, Option<f64>, bool)> = of_tenants.chain(of_groups).collect();
        let mut siblings = vec![Siblings::default(); groups.len() + 1];
        for &(place, weight, usage, _) in parties.iter().filter(|(.., here)| *here) {
            if let Some(usage) = usage {
                siblings[place].weight += weight;
                siblings[place].used += weight * usage;
            }
        }
        let bound = state.settings().usage_bound;
        let factor = |&(place, weight, usage, here): &(usize, f64, Option<f64>, bool)| {
            let Some(usage) = usage else { return 1.0 };
            let mut all = siblings[place];
            if !here {
                all.weight += weight;
                all.used += weight * usage;
            }
            multiplier(usage, all.used / all.weight, bound)
        };
        let mut tenants: Vec<f64> = parties.iter().map(factor).collect();
        let groups = tenants.split_off(has_jobs.len());
        Some(Factors { tenants, groups })
    }
}

/// What a weight counts times, for a usage beside the mean of all.
fn multiplier(usage: f64, mean: f64, bound: f64) -> f64 {
    if mean.is_nan() || mean <= 0.0 || bound.is_nan() || bound <= 1.0 {
        return 1.0;
    }
    let steps = ((1.0 - (usage / mean).min(2.0)) * STEPS).round();
    libm::exp2(steps / STEPS * libm::log2(bound))
}

impl State {
    /// What the weight of each tenant is multiplied by in this round, because of past usage; `None`: nothing is remembered.
    pub fn past_factors(&self) -> Option<Vec<f64>> {
        Factors::of(self).map(|factors| factors.tenants)
    }

    /// What is remembered of a tenant's usage, and what follows from it; `None`: nothing is.
    pub fn past_usage(&self, tenant: TenantKey) -> Option<PastUsage> {
        let of = self.tenants().get(tenant.0)?;
        let Sums { used, split } = of.past.counted;
        let usage = of.past.counted.usage()?;
        let factor = *Factors::of(self)?.tenants.get(tenant.0)?;
        Some(PastUsage { used_hours: used, split_hours: split, usage, factor })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Span = Span(24 * 3600 * 1000);

    #[test]
    fn the_sums_do_not_depend_on_how_time_is_cut() {
        let start = Sums { used: 4.0 * mean_hours(DAY), split: 4.0 * mean_hours(DAY) };
        let (mut whole, mut parts) = (start, start);
        whole.pass(DAY, DAY, 2.0, 4.0);
        (0..1000).for_each(|_| parts.pass(Span(DAY.0 / 1000), DAY, 2.0, 4.0));
        assert!((whole.used - parts.used).abs() < 1e-9 && (whole.split - parts.split).abs() < 1e-9);
        // After a half-life in which it used half of its split, half of the way from 1 to 1/2 is gone.
        assert!((whole.usage().unwrap_or(0.0) - 0.75).abs() < 1e-12);
    }

    #[test]
    fn the_multiplier_is_the_bound_for_idle_ones_and_one_for_equals() {
        assert_eq!(multiplier(0.0, 1.0, 2.0), 2.0);
        assert_eq!(multiplier(1.0, 1.0, 2.0), 1.0);
        assert_eq!(multiplier(2.0, 1.0, 2.0), 0.5);
        assert_eq!(multiplier(9.0, 1.0, 4.0), 0.25);
        assert_eq!(multiplier(0.5, 0.5000001, 2.0), 1.0);
        assert_eq!(multiplier(0.0, 0.0, 2.0), 1.0);
        assert_eq!(multiplier(f64::NAN, f64::NAN, 2.0), 1.0);
        let more = (0..300).map(|i| multiplier(f64::from(i) / 100.0, 1.0, 2.0));
        assert!(more.collect::<Vec<_>>().is_sorted_by(|a, b| a >= b));
    }
}
