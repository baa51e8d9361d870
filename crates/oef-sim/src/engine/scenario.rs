//! What is simulated.

use crate::input::{ClusterSpec, ProfileTable, Trace};
use crate::world::{Failures, Lie};
use oef_sched::guard::Policy;
use oef_sched::{Order, Settings};

/// The cluster, the speeds and the jobs. The types of the profiles are those of the cluster, in its order
/// ([`match_types`](crate::input::match_types) makes them so), and every job names a model that they know.
#[derive(Clone, Debug)]
pub struct Inputs<'a> {
    /// The machines.
    pub cluster: &'a ClusterSpec,
    /// The true speeds.
    pub profiles: &'a ProfileTable,
    /// The jobs, by the time of submission.
    pub trace: &'a Trace,
}

/// How it is simulated.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The scheduler's settings, the mechanism among them.
    pub settings: Settings,
    /// Seed of everything random.
    pub seed: u64,
    /// Told profiles are off by up to this part (0.2: 20 %) in either direction.
    pub profile_error: f64,
    /// Who lies.
    pub lies: Vec<Lie>,
    /// What is done about profiles that are not what jobs show.
    pub guard: Policy,
    /// In which order each tenant's waiting jobs start.
    pub order: Order,
    /// How nodes fail.
    pub failures: Option<Failures>,
    /// What happens beside the trace.
    pub happenings: Vec<(f64, Happening)>,
    /// The end in seconds; `None`: when all jobs have ended.
    pub until_s: Option<f64>,
    /// How much is written down.
    pub detail: Detail,
}

/// Something that happens at a given time.
#[derive(Clone, Debug, PartialEq)]
pub enum Happening {
    /// A tenant cancels all that it has submitted so far.
    Leaves {
        /// Who.
        tenant: String,
    },
    /// A tenant's weight changes.
    Weight {
        /// Whose.
        tenant: String,
        /// To what.
        weight: f64,
    },
    /// A node goes down.
    NodeDown {
        /// Its name.
        node: String,
    },
    /// A node comes back.
    NodeUp {
        /// Its name.
        node: String,
    },
}

/// How much of a run is written down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// What the table of results needs.
    #[default]
    Summary,
    /// Everything that a report shows: series per tenant and round, and who ran where.
    Full,
}

impl Scenario {
    /// A plain scenario with these settings.
    pub fn new(settings: Settings, seed: u64) -> Self {
        Scenario {
            settings,
            seed,
            profile_error: 0.0,
            lies: Vec::new(),
            guard: Policy::Off,
            order: Order::Fair,
            failures: None,
            happenings: Vec::new(),
            until_s: None,
            detail: Detail::Summary,
        }
    }
}
