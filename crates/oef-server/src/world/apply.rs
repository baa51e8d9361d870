//! One record in, actions out.

use super::settings::follow_round;
use super::{Action, Change, Due, MEANING, Record, Rejection, SettingsEntry, World};
use oef_sched::{Event, EventKind, Settings, State, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

impl World {
    /// A world in which nothing has happened yet.
    pub fn new(sched: Settings, settings: SettingsEntry) -> World {
        World {
            meaning: MEANING,
            sched: State::new(sched),
            tenants: BTreeMap::new(),
            groups: BTreeMap::new(),
            workloads: BTreeMap::new(),
            tenant_names: BTreeMap::new(),
            jobs: BTreeMap::new(),
            ended: VecDeque::new(),
            next_job: 1,
            tokens: BTreeMap::new(),
            next_token: 1,
            settings,
            drained: BTreeSet::new(),
            drains: BTreeMap::new(),
            windows: BTreeMap::new(),
            next_window: 1,
            node_reasons: BTreeMap::new(),
            halted: false,
            keys: BTreeMap::new(),
            key_order: VecDeque::new(),
            events: VecDeque::new(),
            next_event: 1,
            guard: Default::default(),
            round: Default::default(),
            totals: Default::default(),
            usage: Default::default(),
            notifications: Default::default(),
            index: Default::default(),
            due: Due::default(),
            at: Time(0),
            actions: Vec::new(),
            observes: false,
        }
    }

    /// Lets something happen, and says what is to be done. A record that cannot have happened changes
    /// nothing.
    pub fn apply(&mut self, record: &Record) -> Result<Vec<Action>, Rejection> {
        let (at, now) = (record.at, self.sched.now());
        if at < now {
            return Err(Rejection::TimeWentBack(now.0 - at.0));
        }
        self.at = at;
        let applied = self.change(&record.change);
        let actions = std::mem::take(&mut self.actions);
        applied.map(|()| actions)
    }

    fn change(&mut self, change: &Change) -> Result<(), Rejection> {
        match change {
            Change::Began { meaning, sched, settings, whole } => {
                self.began(*meaning, sched, settings, *whole)
            }
            Change::Meaning { version } => self.set_meaning(*version),
            Change::Planned { plan } => self.planned(plan),
            Change::Judged { judgements } => self.judged(judgements),
            Change::TenantCreated { name, weight, group, limits } => {
                self.tenant_created(name, *weight, group.as_deref(), limits)
            }
            Change::TenantChanged(change) => self.tenant_changed(change),
            Change::TenantUser { name, user } => self.tenant_user(name, user.as_deref()),
            Change::TenantPromises { name, promises } => self.tenant_promises(name, promises),
            Change::GroupPromises { name, promises } => self.group_promises(name, promises),
            Change::TenantRemoved { name } => self.tenant_removed(name),
            Change::GroupPut { name, weight, parent } => {
                self.group_put(name, *weight, parent.as_deref())
            }
            Change::GroupRemoved { name } => self.group_removed(name),
            Change::WorkloadPut { tenant, name, weight, profile, told } => {
                let profile = profile.as_deref().map(|profile| (profile, told.as_deref()));
                self.workload_put(tenant, name, *weight, profile)
            }
            Change::Submitted { jobs, key, sweep } => self.submitted(jobs, key.as_ref(), *sweep),
            Change::JobChanged { job, by, patch } => self.job_changed(*job, by, patch),
            Change::Cancelled { job, by, why } => self.cancelled(*job, by, why.as_ref()),
            Change::Noticed { job, origin } => self.noticed_job(job, origin),
            Change::NodeReason { node, reason } => {
                self.node_reason(node, reason.as_deref());
                Ok(())
            }
            Change::TokenCreated { id, token } => self.token_created(*id, token),
            Change::TokenRevoked { id } => self.token_revoked(*id),
            Change::Settings(patch) => self.change_settings(patch),
            Change::SettingsSet { sched, settings } => {
                self.settings_set(Settings::clone(sched), settings.clone());
                Ok(())
            }
            Change::Memory { ended_jobs_max, events_max } => {
                self.settings.ended_jobs_max = *ended_jobs_max;
                self.settings.events_max = *events_max;
                self.forget_events();
                self.forget_ended();
                Ok(())
            }
            Change::NodeUp(spec) => self.node_up(spec),
            Change::NodeDown { node } => self.node_down(node),
            Change::NodeDrained { node, drained, drain } => {
                self.node_drained(node, *drained, drain.as_ref())
            }
            Change::WindowPlanned { id, window } => self.window_planned(*id, window),
            Change::WindowDropped { id } => self.window_dropped(*id),
            Change::NotificationAdded { id, spec } => self.notification_added(*id, spec),
            Change::NotificationRemoved { id } => self.notification_removed(*id),
            Change::NotificationTested { id, notice } => self.notification_tested(*id, notice),
            Change::Notified { id, notice, delivered, detail } => {
                self.notified(*id, notice, *delivered, detail)
            }
            Change::Preparing { job, generation, detail } => {
                self.preparing(*job, *generation, detail)
            }
            Change::Started { job, generation, at_ms, host } => {
                self.started(*job, *generation, *at_ms, host.as_ref())
            }
            Change::Progress { job, generation, telemetry } => {
                self.progress(*job, *generation, telemetry)
            }
            Change::WorkersFinished { job, generation, ranks } => {
                self.workers_finished(*job, *generation, ranks)
            }
            Change::Ended(end) => self.run_ended(end),
            Change::Released { job } => self.released(*job),
            Change::Shares { answer, solve_ms } => self.shares(answer, *solve_ms),
            Change::Halted { halted } => self.halt(*halted),
            Change::Utilised { rows } => {
                self.usage.utilised(self.at, rows);
                Ok(())
            }
            Change::Round { kept } => self.round_began(*kept),
        }
    }

    /// The first record: only where nothing has happened yet.
    fn began(
        &mut self,
        meaning: u32,
        sched: &Settings,
        settings: &SettingsEntry,
        whole: bool,
    ) -> Result<(), Rejection> {
        let is_new = self.next_event == 1 && self.sched.round().0 == 0 && self.jobs.is_empty();
        if !is_new {
            return Err(Rejection::Bad("the journal has begun already".into()));
        }
        let mut sched = sched.clone();
        if !whole {
            follow_round(&mut sched, settings.min_run_ms);
        }
        // Whether it observes is this start's, and not the journal's.
        let (at, observes) = (self.at, self.observes);
        *self = World { at, observes, ..World::new(sched, settings.clone()) };
        self.set_meaning(meaning)
    }

    /// A rule about values. It is kept where a command is taken, and not by whoever reads the record: a rule that becomes
    /// stricter must not make an older folder unreadable. Before records meant 2 readers kept it, and what they refused
    /// stands in journals.
    pub(super) fn rule_of_readers(
        &self,
        rule: impl FnOnce() -> Result<(), String>,
    ) -> Result<(), Rejection> {
        match self.meaning {
            1 => rule().map_err(Rejection::Bad),
            _ => Ok(()),
        }
    }

    /// One step of the scheduler. Refused: nothing has changed.
    pub(super) fn step(&mut self, kind: EventKind) -> Result<Vec<oef_sched::Action>, Rejection> {
        if self.meaning == 1 {
            return Ok(oef_sched::step_without_displacing(
                &mut self.sched,
                Event { at: self.at, kind },
            )?);
        }
        let scope = kind.calls_for();
        let actions = oef_sched::apply(&mut self.sched, Event { at: self.at, kind })?;
        self.due.plan(scope);
        Ok(actions)
    }

    /// One step of the scheduler, with what it wants done.
    pub(super) fn step_and_follow(&mut self, kind: EventKind) -> Result<(), Rejection> {
        let actions = self.step(kind)?;
        self.follow(actions);
        Ok(())
    }
}
