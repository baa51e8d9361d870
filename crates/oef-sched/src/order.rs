//! In which order the waiting jobs of a workload start.

use crate::ids::Slot;
use crate::state::State;
use crate::time::Time;
use std::str::FromStr;

/// The order of a tenant's waiting jobs of equal priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Order {
    /// The longest-starved first; a running job that has had its turn gives way.
    #[default]
    Fair,
    /// The oldest first; who runs stays.
    Fifo,
    /// The one with the least left to do first; who runs stays. Jobs that do not say how many steps they have come last.
    Shortest,
}

impl Order {
    /// All of them.
    pub const ALL: [Order; 3] = [Order::Fair, Order::Fifo, Order::Shortest];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Order::Fair => "fair",
            Order::Fifo => "fifo",
            Order::Shortest => "shortest",
        }
    }
}

impl FromStr for Order {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Order::ALL.into_iter().find(|order| order.name() == text);
        known.ok_or_else(|| "the orders are fair, fifo and shortest".into())
    }
}

impl State {
    /// What a job that begins to wait is ordered by among those of its priority; `None`: by the time of its wait.
    pub(crate) fn rank(&self, slot: Slot) -> Option<Time> {
        let job = self.at(slot);
        match self.tenants()[job.spec.tenant.0].order {
            Order::Fair => None,
            Order::Fifo => Some(job.submitted),
            Order::Shortest => {
                // Jobs of one queue have equally many workers and one profile: the steps that are left decide.
                let left = job.spec.steps.map(|steps| (steps - job.steps).max(0.0) * 1000.0);
                Some(left.map_or(Time(u64::MAX), |left| Time(left as u64)))
            }
        }
    }
}
