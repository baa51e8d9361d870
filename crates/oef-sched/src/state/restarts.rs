//! What a restart costs a job, how long its turn is, and how many restarts it may have.

use super::State;
use crate::ids::{JobId, Slot};
use crate::job::{Job, Phase};
use crate::time::Span;

/// The restarts of a job, and what it may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RestartBudget {
    /// How often it was stopped and had to start again.
    pub restarts: u32,
    /// How many of them are free.
    pub free: u32,
    /// What one costs it.
    pub cost: Span,
    /// Whether that was measured, or is the setting.
    pub is_measured: bool,
    /// How long it has run, up to now.
    pub ran: Span,
    /// The part of its running time that restarts may cost beyond the free ones.
    pub bound: f64,
    /// Whether it may be stopped once more within the bound.
    pub may_restart: bool,
    /// How long it runs at least, once it was started.
    pub turn: Span,
}

impl RestartBudget {
    /// The time that its restarts have cost.
    pub fn lost(&self) -> Span {
        self.cost.times(u64::from(self.restarts))
    }

    /// The same as a part of its running time.
    pub fn lost_part(&self) -> f64 {
        let lost = self.lost().seconds();
        if lost > 0.0 { lost / self.ran.seconds().max(lost) } else { 0.0 }
    }
}

impl State {
    /// What the restarts of a live job are like.
    pub fn restart_budget(&self, id: JobId) -> Option<RestartBudget> {
        let job = self.job(id)?;
        let row = &self.workloads[job.row().0];
        Some(RestartBudget {
            restarts: job.restarts,
            free: self.settings.free_restarts,
            cost: row.restart_cost(&self.settings),
            is_measured: row.restart_cost.is_some(),
            ran: job.ran + self.running_for(job),
            bound: self.settings.waste_budget,
            may_restart: self.may_restart(job),
            turn: self.turn_of(job),
        })
    }

    /// What a restart of a job costs.
    pub(crate) fn restart_cost(&self, slot: Slot) -> Span {
        self.workloads[self.at(slot).row().0].restart_cost(&self.settings)
    }

    /// How long a job runs at least, once it was started.
    pub(crate) fn turn_of(&self, job: &Job) -> Span {
        let cost = self.workloads[job.row().0].restart_cost(&self.settings);
        self.settings.turn_at(cost, job.spec.workers)
    }

    /// How long it runs before a waiting job of its own workload has its turn.
    pub(crate) fn own_turn_of(&self, job: &Job) -> Span {
        self.settings.own_turn(self.turn_of(job))
    }

    /// How strongly a running job holds its GPUs, in its own gangs of deficit.
    pub(crate) fn stickiness_of(&self, slot: Slot) -> f64 {
        let job = self.at(slot);
        self.workloads[job.row().0].stickiness(&self.settings, job.spec.workers)
    }

    /// Whether one more restart stays within the budget of wasted work.
    pub(crate) fn may_restart(&self, job: &Job) -> bool {
        self.may_restart_after(job, 1)
    }

    /// Whether a waiting job could be started and stopped once more within the budget.
    pub(crate) fn may_be_stopped_again(&self, job: &Job) -> bool {
        self.may_restart_after(job, 1 + u32::from(job.started_before))
    }

    fn may_restart_after(&self, job: &Job, more: u32) -> bool {
        let (cost, ran) = (self.cost_beyond_free(job, more), job.ran + self.running_for(job));
        cost <= 0.0 || cost <= self.settings.waste_budget * ran.seconds()
    }

    /// How long a job must still run before one more restart is within its budget.
    pub(crate) fn next_restart_in(&self, job: &Job) -> Span {
        let ran = job.ran + self.running_for(job);
        Span::from_seconds(self.cost_beyond_free(job, 1) / self.settings.waste_budget) - ran
    }

    /// What so many more restarts of a job, and those it had, cost beyond the free ones, in seconds.
    fn cost_beyond_free(&self, job: &Job, more: u32) -> f64 {
        let beyond =
            f64::from(job.restarts) + f64::from(more) - f64::from(self.settings.free_restarts);
        beyond * self.workloads[job.row().0].restart_cost(&self.settings).seconds()
    }

    pub(crate) fn running_for(&self, job: &Job) -> Span {
        match job.phase {
            Phase::Running { since, .. } => self.now.since(since),
            _ => Span(0),
        }
    }
}
