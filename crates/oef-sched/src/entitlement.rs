//! The shares of a round, with the problem that they answer.

use crate::answer::{Answer, WarmStart};
use crate::ids::{TenantKey, WorkloadKey};
use oef_core::{Outcome, Problem};

/// The shares of a round, with the problem that they answer.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Entitlement {
    pub(crate) answer: Answer,
    /// Changes so far that call for new shares, whatever the demands are.
    pub(crate) version: u64,
    pub(crate) solves: u64,
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) warm: WarmStart,
}

impl Entitlement {
    /// The problem of the round and its shares; `None` while there is nothing to share.
    pub fn answer(&self) -> Option<(&Problem, &Outcome)> {
        self.answer.solved()
    }

    /// The tenants of the problem, in its order.
    pub fn tenants(&self) -> &[TenantKey] {
        self.answer.tenants()
    }

    /// The workloads of the problem, in its order.
    pub fn workloads(&self) -> &[WorkloadKey] {
        self.answer.workloads()
    }

    /// Why the shares are not those of the mechanism, and what they are instead; `None`: they are.
    pub fn trouble(&self) -> Option<&str> {
        self.answer.trouble()
    }

    /// Workloads with live jobs that have no share because they cannot be part of a problem, each with the reason.
    pub fn left_out(&self) -> &[(WorkloadKey, String)] {
        self.answer.left_out()
    }

    /// Why a workload is left out of the shares; `None`: it is not.
    pub fn why_left_out(&self, workload: WorkloadKey) -> Option<&str> {
        let found = self.left_out().iter().find(|(key, _)| *key == workload);
        found.map(|(_, reason)| reason.as_str())
    }

    /// How often the mechanism was solved so far.
    pub fn solves(&self) -> u64 {
        self.solves
    }

    /// The next round solves again, whatever the demands are.
    pub(crate) fn invalidate(&mut self) {
        self.version += 1;
    }
}
