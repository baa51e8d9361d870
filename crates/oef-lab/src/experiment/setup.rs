//! How much is run, and on what data.

use super::models::SpeedupTable;
use oef_sim::input::Trace;

/// What all experiments share.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// Seed of everything random.
    pub seed: u64,
    /// How much is run.
    pub size: Size,
    /// Measured tables beside the paper's models and our own measurements.
    pub tables: Vec<SpeedupTable>,
    /// A real trace of about three days, whose durations are scaled to the load; else one is generated.
    pub trace: Option<(String, Trace)>,
}

/// How much is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Size {
    /// For tests: a second or two.
    Tiny,
    /// A first look: well under a minute.
    Quick,
    /// A few minutes.
    #[default]
    Full,
}

/// Factors by which the gains of all models are scaled, to see how conclusions move.
const SPREADS: [f64; 3] = [0.5, 1.5, 2.0];

impl Setup {
    /// The speedups beside the paper's models as they are: those with other gains, and the measured ones.
    pub(super) fn other_tables(&self) -> Vec<SpeedupTable> {
        let spread = SPREADS.map(|s| SpeedupTable::paper().spread(s));
        let measured = SpeedupTable::measured();
        spread.into_iter().chain(measured).chain(self.tables.iter().cloned()).collect()
    }

    /// All speedups, the paper's models first.
    pub(super) fn all_tables(&self) -> Vec<SpeedupTable> {
        std::iter::once(SpeedupTable::paper()).chain(self.other_tables()).collect()
    }
}

impl Size {
    /// Draws of models, job sizes and durations for the small experiments.
    pub(super) fn draws(self) -> u64 {
        self.pick(3, 10, 40)
    }

    /// Draws for the runs with 20 tenants.
    pub(super) fn twenty_draws(self) -> u64 {
        self.pick(2, 6, 24)
    }

    /// Draws of 20 tenants for each other table of speedups.
    pub(super) fn range_draws(self) -> u64 {
        self.pick(1, 2, 10)
    }

    /// Draws of the three-day load.
    pub(super) fn three_day_draws(self) -> u64 {
        self.pick(1, 4, 16)
    }

    /// Draws of the three-day load for every other load and table of speedups.
    pub(super) fn three_day_range_draws(self) -> u64 {
        self.pick(1, 1, 5)
    }

    /// Hours that the runs with 20 tenants go on.
    pub(super) fn hours(self) -> f64 {
        self.pick(1.5, 4.0, 8.0)
    }

    /// Jobs of a tenant in the three-day load; the paper's is 20.
    pub(super) fn jobs_per_tenant(self) -> u32 {
        self.pick(2, 8, 20)
    }

    /// Days of the load: with fewer jobs it is shorter.
    pub(super) fn days(self) -> f64 {
        self.pick(0.3, 1.2, 3.0)
    }

    fn pick<T>(self, tiny: T, quick: T, full: T) -> T {
        match self {
            Size::Tiny => tiny,
            Size::Quick => quick,
            Size::Full => full,
        }
    }
}
