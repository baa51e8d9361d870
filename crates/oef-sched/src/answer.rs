//! The answer to a [`Question`](crate::Question): the shares of one problem, and for whom they are.

use crate::ids::{TenantKey, WorkloadKey};
use oef_core::{Outcome, Problem, Solver};
use std::fmt;

/// About whom a question was asked, and when.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Asked {
    /// How many changes there had been that call for new shares.
    pub version: u64,
    /// The tenants of the problem, in its order.
    pub tenants: Vec<TenantKey>,
    /// The workloads of the problem, in its order.
    pub workloads: Vec<WorkloadKey>,
    /// The workloads that had live jobs.
    pub active: Vec<WorkloadKey>,
    /// GPUs that each of these could use. Answers that were written down before there were such figures have none.
    #[cfg_attr(feature = "serde", serde(default))]
    pub demands: Vec<u32>,
    /// What each tenant of the problem counted.
    pub weights: Vec<f64>,
}

/// The answer to a [`Question`](crate::Question): shares, for whom they are, and what went wrong if anything did.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Answer {
    pub(crate) asked: Asked,
    pub(crate) solved: Option<(Problem, Outcome)>,
    pub(crate) trouble: Option<String>,
    #[cfg_attr(feature = "serde", serde(default))]
    pub(crate) left_out: Vec<(WorkloadKey, String)>,
    pub(crate) solves: u64,
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) warm: WarmStart,
}

impl Answer {
    /// The problem of the moment and its shares; `None` where there is nothing to share.
    pub fn solved(&self) -> Option<(&Problem, &Outcome)> {
        self.solved.as_ref().map(|(problem, outcome)| (problem, outcome))
    }

    /// The tenants of the problem, in its order.
    pub fn tenants(&self) -> &[TenantKey] {
        &self.asked.tenants
    }

    /// The workloads of the problem, in its order.
    pub fn workloads(&self) -> &[WorkloadKey] {
        &self.asked.workloads
    }

    /// Why the shares are not those of the mechanism, and what they are instead; `None`: they are.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Workloads with live jobs that have no share because they cannot be part of a problem, each with the reason.
    pub fn left_out(&self) -> &[(WorkloadKey, String)] {
        &self.left_out
    }

    /// How often the mechanism was solved for it.
    pub fn solves(&self) -> u64 {
        self.solves
    }
}

/// What the last solve learned. It makes the next one faster and changes no answer, so that it is neither
/// compared nor written down.
#[derive(Clone, Default)]
pub(crate) struct WarmStart(pub Option<Solver>);

impl fmt::Debug for WarmStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("..")
    }
}

impl PartialEq for WarmStart {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
