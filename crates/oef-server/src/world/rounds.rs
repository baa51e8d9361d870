//! Shares and rounds.

use super::{Rejection, World};
use oef_api::types::{Event, EventTopic};
use oef_sched::{Answer, EventKind};

impl World {
    /// Shares that were computed aside; they count from the next round on.
    pub(super) fn shares(&mut self, answer: &Answer, solve_ms: u64) -> Result<(), Rejection> {
        let before = self.sched.entitlement().left_out().to_vec();
        let trouble_before = self.sched.entitlement().trouble().is_some();
        self.step(EventKind::Shares(Box::new(answer.clone())))?;
        // A solve of no time is none: the shares are still those of an earlier round.
        if answer.solves() > 0 || answer.trouble().is_none() {
            self.round.shares_of = self.sched.round().0 + 1;
            self.round.solve_ms = solve_ms;
        }
        if let Some(trouble) = answer.trouble().filter(|_| !trouble_before) {
            self.note(EventTopic::Cluster, None, trouble.into());
        }
        for (key, reason) in answer.left_out() {
            if before.iter().any(|(known, _)| known == key) {
                continue;
            }
            let Some(workload) = self.sched.workloads().get(key.0) else { continue };
            let tenant = self.tenant_names.get(&workload.tenant).cloned().unwrap_or_default();
            let message = format!("workload {tenant}/{} has no share: {reason}", workload.name);
            self.note(EventTopic::Tenant, Some(&tenant), message);
        }
        Ok(())
    }

    /// Everybody is set aside, and what runs saves its work; or all go on as they were.
    pub(super) fn halt(&mut self, halted: bool) -> Result<(), Rejection> {
        self.halted = halted;
        let tenants: Vec<_> = self.tenants.values().map(|t| (t.key, t.suspended)).collect();
        for (tenant, suspended) in tenants {
            let suspended = suspended || halted;
            self.step_and_follow(EventKind::Suspend { tenant, suspended })?;
        }
        let message = if halted { "the daemon stops" } else { "the daemon goes on" };
        self.note(EventTopic::Cluster, None, message.into());
        Ok(())
    }

    pub(super) fn round_began(&mut self, kept: bool) -> Result<(), Rejection> {
        self.close_round();
        let actions = self.step(EventKind::Tick)?;
        self.round.kept = kept;
        self.totals.kept += u64::from(kept);
        self.count_rates();
        self.follow(actions);
        let round = self.sched.round().0;
        let kept = if kept { ", with last round's shares" } else { "" };
        let message = format!("round {round} began{kept}");
        self.push_event(Event { round: Some(round), ..self.event(EventTopic::Round, message) });
        match self.meaning {
            1 => self.judge(),
            _ => {
                self.due.judgements();
                Ok(())
            }
        }
    }
}
