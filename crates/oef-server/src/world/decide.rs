//! What has to be decided, and the decisions as records.
//!
//! A record only keeps books. Where it leaves something to be decided (GPUs are idle, a round began, a run ended), the
//! decision is made once, by whoever writes the journal, and is a record like any other.

use super::settings::follow_round;
use super::{Action, Change, MEANING, ProfileEntry, Record, Rejection, RunEnd, World, endings};
use oef_sched::{
    Event, EventKind, GpuId, JobId, Origin, Plan, PlannedStart, Scope, Span, StartReason, Time,
    plan,
};
use std::collections::BTreeSet;

/// What is to be decided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Due {
    plan: Option<Scope>,
    judgements: bool,
    /// Jobs that wait for one that ended otherwise.
    never: BTreeSet<JobId>,
}

impl Due {
    /// A plan is to be made; a round's counts for everything.
    pub fn plan(&mut self, scope: Option<Scope>) {
        if self.plan != Some(Scope::Round) {
            self.plan = scope.or(self.plan);
        }
    }

    /// A job can never start: it is to be cancelled.
    pub fn never_starts(&mut self, job: JobId) {
        self.never.insert(job);
    }

    /// What jobs showed is to be looked at.
    pub fn judgements(&mut self) {
        self.judgements = true;
    }
}

impl World {
    /// The next decision that is to be made, as a change to be written down and applied; `None`: there is none.
    pub fn decide(&mut self) -> Option<Change> {
        while let Some(job) = self.due.never.pop_first() {
            if let Some(why) = self.unmet_dependency(job) {
                let by = "what it depends on".into();
                return Some(Change::Cancelled { job, by, why: Some(why) });
            }
        }
        if let Some(scope) = self.due.plan.take() {
            let plan = match self.observes {
                true => self.as_it_is(scope),
                false => plan(&self.sched, scope),
            };
            if !plan.is_empty() {
                return Some(Change::Planned { plan: Box::new(plan) });
            }
        }
        if std::mem::take(&mut self.due.judgements) {
            let judgements = self.judgements();
            if !judgements.is_empty() {
                return Some(Change::Judged { judgements });
            }
        }
        None
    }

    /// The plan of a world in which somebody else decides: everything stays as it is.
    fn as_it_is(&self, scope: Scope) -> Plan {
        let round = self.sched.settings().round;
        Plan {
            round: self.sched.round(),
            scope,
            // Leases outlive their round by half of one.
            until: self.sched.now() + round + Span(round.0 / 2),
            stops: Vec::new(),
            starts: Vec::new(),
            waits: Vec::new(),
            keeps: Vec::new(),
            balances: Vec::new(),
            overcommitted: 0,
        }
    }

    /// Notes that the cluster's own scheduler has given a job these GPUs.
    pub(crate) fn noticed_start(&self, job: JobId, gpus: Vec<GpuId>) -> Change {
        let (why, from) = (StartReason::Observed, Origin::Queue);
        let start = PlannedStart { job, gpus, why, from, serves: None };
        let plan = Plan { starts: vec![start], ..self.as_it_is(Scope::Fill) };
        Change::Planned { plan: Box::new(plan) }
    }

    /// A change as it is to be written down: with what follows from it, where that is a decision.
    pub fn complete(&self, at: Time, change: Change) -> Change {
        match change {
            Change::Ended(end) if end.outcome.is_none() => {
                let entry = self.jobs.get(&end.job);
                let outcome = entry.map(|entry| endings::decide(entry, &end, at));
                Change::Ended(RunEnd { outcome, ..end })
            }
            Change::Began { meaning, mut sched, settings, whole: false } => {
                follow_round(&mut sched, settings.min_run_ms);
                Change::Began { meaning, sched, settings, whole: true }
            }
            Change::Settings(patch) => match self.patched(&patch) {
                Ok((sched, settings)) => Change::SettingsSet { sched: Box::new(sched), settings },
                // Refused with the reason.
                Err(_) => Change::Settings(patch),
            },
            Change::WorkloadPut { tenant, name, weight, profile, told: None } => {
                let of = |profile: &ProfileEntry| self.told_judgement(&tenant, &name, profile);
                let told = profile.as_deref().and_then(of).map(Box::new);
                Change::WorkloadPut { tenant, name, weight, profile, told }
            }
            other => other,
        }
    }

    /// Lets something happen with all that is to be decided after it, for whoever writes nothing down. What was decided
    /// comes back as well.
    pub fn happen(
        &mut self,
        at: Time,
        change: Change,
    ) -> Result<(Vec<Record>, Vec<Action>), Rejection> {
        let mut records = Vec::new();
        let mut actions = Vec::new();
        let mut next = Some(self.complete(at, change));
        while let Some(change) = next {
            let record = Record { at, change };
            actions.extend(self.apply(&record)?);
            records.push(record);
            next = self.decide();
        }
        Ok((records, actions))
    }

    /// What the records after this one mean.
    pub(super) fn set_meaning(&mut self, version: u32) -> Result<(), Rejection> {
        if !(1..=MEANING).contains(&version) {
            return Err(Rejection::UnknownMeaning(version));
        }
        self.meaning = version;
        Ok(())
    }

    /// It was decided who runs where.
    pub(super) fn planned(&mut self, plan: &Plan) -> Result<(), Rejection> {
        let kind = EventKind::Planned(Box::new(plan.clone()));
        let actions = oef_sched::apply(&mut self.sched, Event { at: self.at, kind })?;
        self.follow(actions);
        Ok(())
    }
}
