//! Fairness as delivered, day by day.

use oef_core::audit::{OverTime, Presence};

/// Every pair is compared up to so many tenants; beyond, only equal splits are.
const PAIRS_OF_TENANTS_MAX: usize = 128;
/// Rounds that a tenant must have been there on a day before it is judged: a gang that saves up for its turn gets
/// nothing at first, and all of it later.
const ROUNDS_MIN: u64 = 12;
const DAY_SECONDS: f64 = 86_400.0;

/// One tenant on one day.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TenantDay {
    /// The day, from 0.
    pub day: usize,
    /// By its position among the tenants of the result.
    pub tenant: usize,
    /// What it got over its equal split.
    pub incentive: f64,
    /// What the GPUs of the tenant whose were worth most to it would have given it, over what it got; above 1 is envy.
    pub envy: Option<f64>,
}

/// Sums up rounds until a day is over.
#[derive(Debug, Default)]
pub(crate) struct Days {
    done: Vec<TenantDay>,
    today: Option<(usize, OverTime)>,
}

impl Days {
    /// Adds a round that ended at an instant.
    pub fn add(&mut self, end_s: f64, seconds: f64, tenants: usize, present: &[Presence<'_>]) {
        let day = ((end_s - seconds) / DAY_SECONDS).floor().max(0.0) as usize;
        let pairs = tenants.min(PAIRS_OF_TENANTS_MAX);
        if self.today.as_ref().is_none_or(|(today, over)| *today != day || over.tenants() < pairs) {
            self.close();
            self.today = Some((day, OverTime::new(pairs)));
        }
        if let Some((_, over)) = &mut self.today {
            over.add(present);
        }
    }

    fn close(&mut self) {
        let Some((day, over)) = self.today.take() else { return };
        for tenant in (0..over.tenants()).filter(|&t| over.rounds(t) >= ROUNDS_MIN) {
            if let Some(incentive) = over.sharing_incentive(tenant) {
                let envy = over.envy(tenant).map(|envy| envy.ratio);
                self.done.push(TenantDay { day, tenant, incentive, envy });
            }
        }
    }

    /// Every tenant on every day that it was there for long enough.
    pub fn finish(mut self) -> Vec<TenantDay> {
        self.close();
        self.done
    }
}
