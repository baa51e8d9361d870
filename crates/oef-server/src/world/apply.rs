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
        let mut out = Vec::new();
        match &record.change {
            Change::Began { meaning, sched, settings } => self.began(*meaning, sched, settings)?,
            Change::Meaning { version } => self.set_meaning(*version)?,
            Change::Planned { plan } => self.planned(at, plan, &mut out)?,
            Change::Judged { judgements } => self.judged(at, judgements, &mut out)?,
            Change::TenantCreated { name, weight, group, limits } => {
                self.tenant_created(at, name, *weight, group.as_deref(), limits, &mut out)?;
            }
            Change::TenantChanged { name, weight, group, limits, suspended, order } => {
                let change = super::tenancy::TenantChange {
                    weight: *weight,
                    group: group.as_ref(),
                    limits: limits.as_ref(),
                    suspended: *suspended,
                    order: *order,
                };
                self.tenant_changed(at, name, &change, &mut out)?;
            }
            Change::TenantUser { name, user } => self.tenant_user(at, name, user.as_deref())?,
            Change::TenantPromises { name, promises } => {
                self.tenant_promises(at, name, promises, &mut out)?;
            }
            Change::GroupPromises { name, promises } => {
                self.group_promises(at, name, promises, &mut out)?;
            }
            Change::TenantRemoved { name } => self.tenant_removed(at, name, &mut out)?,
            Change::GroupPut { name, weight, parent } => {
                self.group_put(at, name, *weight, parent.as_deref())?;
            }
            Change::GroupRemoved { name } => self.group_removed(at, name)?,
            Change::WorkloadPut { tenant, name, weight, profile } => {
                self.workload_put(at, tenant, name, *weight, profile.as_deref(), &mut out)?;
            }
            Change::Submitted { jobs, key, sweep } => {
                self.submitted(at, jobs, key.as_ref(), *sweep, &mut out)?;
            }
            Change::JobChanged { job, by, patch } => {
                self.job_changed(at, *job, by, patch, &mut out)?;
            }
            Change::Cancelled { job, by, why } => {
                self.cancelled(at, *job, by, why.as_ref(), &mut out)?;
            }
            Change::Noticed { job, origin } => self.noticed_job(at, job, origin, &mut out)?,
            Change::NodeReason { node, reason } => self.node_reason(at, node, reason.as_deref()),
            Change::TokenCreated { id, token } => self.token_created(at, *id, token)?,
            Change::TokenRevoked { id } => self.token_revoked(at, *id)?,
            Change::Settings(patch) => self.change_settings(at, patch)?,
            Change::Memory { ended_jobs_max, events_max } => {
                self.settings.ended_jobs_max = *ended_jobs_max;
                self.settings.events_max = *events_max;
                self.forget_events();
                self.forget_ended(&mut out);
            }
            Change::NodeUp(spec) => self.node_up(at, spec, &mut out)?,
            Change::NodeDown { node } => self.node_down(at, node, &mut out)?,
            Change::NodeDrained { node, drained, drain } => {
                self.node_drained(at, node, *drained, drain.as_ref(), &mut out)?;
            }
            Change::WindowPlanned { id, window } => self.window_planned(at, *id, window)?,
            Change::WindowDropped { id } => self.window_dropped(at, *id)?,
            Change::NotificationAdded { id, spec } => self.notification_added(at, *id, spec)?,
            Change::NotificationRemoved { id } => self.notification_removed(at, *id)?,
            Change::NotificationTested { id, notice } => {
                self.notification_tested(at, *id, notice)?;
            }
            Change::Notified { id, notice, delivered, detail } => {
                self.notified(at, *id, notice, *delivered, detail)?;
            }
            Change::Preparing { job, generation, detail } => {
                self.preparing(at, *job, *generation, detail, &mut out)?;
            }
            Change::Started { job, generation, at_ms, host } => {
                self.started(at, *job, *generation, *at_ms, host.as_ref())?;
            }
            Change::Progress { job, generation, telemetry } => {
                self.progress(at, *job, *generation, telemetry)?;
            }
            Change::WorkersFinished { job, generation, ranks } => {
                self.workers_finished(*job, *generation, ranks)?;
            }
            Change::Ended { job, generation, ending, detail, last_lines, at_ms, exit, outcome } => {
                let end = super::endings::End {
                    job: *job,
                    generation: *generation,
                    ending: *ending,
                    detail,
                    last_lines: last_lines.as_deref(),
                    at_ms: *at_ms,
                    exit: *exit,
                };
                self.run_ended(at, &end, outcome.as_ref(), &mut out)?;
            }
            Change::Released { job } => self.released(at, *job, &mut out)?,
            Change::Shares { answer, solve_ms } => self.shares(at, answer, *solve_ms)?,
            Change::Halted { halted } => self.halt(at, *halted, &mut out)?,
            Change::Utilised { rows } => self.usage.utilised(at, rows),
            Change::Round { kept } => self.round_began(at, *kept, &mut out)?,
        }
        Ok(out)
    }

    /// The first record: only where nothing has happened yet.
    fn began(
        &mut self,
        meaning: u32,
        sched: &Settings,
        settings: &SettingsEntry,
    ) -> Result<(), Rejection> {
        let is_new = self.next_event == 1 && self.sched.round().0 == 0 && self.jobs.is_empty();
        if !is_new {
            return Err(Rejection::Bad("the journal has begun already".into()));
        }
        let mut sched = sched.clone();
        follow_round(&mut sched, settings.min_run_ms);
        // Whether it observes is this start's, and not the journal's.
        let observes = self.observes;
        *self = World { observes, ..World::new(sched, settings.clone()) };
        self.set_meaning(meaning)
    }

    /// One step of the scheduler. Refused: nothing has changed.
    pub(super) fn step(
        &mut self,
        at: Time,
        kind: EventKind,
    ) -> Result<Vec<oef_sched::Action>, Rejection> {
        if self.meaning == 1 {
            return Ok(oef_sched::step_without_displacing(&mut self.sched, Event { at, kind })?);
        }
        let scope = kind.calls_for();
        let actions = oef_sched::apply(&mut self.sched, Event { at, kind })?;
        self.due.plan(scope);
        Ok(actions)
    }

    /// One step of the scheduler, with what it wants done.
    pub(super) fn step_and_follow(
        &mut self,
        at: Time,
        kind: EventKind,
        out: &mut Vec<Action>,
    ) -> Result<(), Rejection> {
        let actions = self.step(at, kind)?;
        self.follow(at, actions, out);
        Ok(())
    }
}
