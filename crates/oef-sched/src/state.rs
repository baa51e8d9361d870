//! Everything that the scheduler knows. Only [`apply`](crate::apply()) changes it, in the modules below this one.

mod apply;
mod commands;
mod entitle;
mod gangs;
#[cfg(test)]
pub(crate) mod invariants;
mod leases;
pub(crate) mod ledger;
mod lifecycle;
mod registry;
mod remember;
pub(crate) mod restarts;

pub use apply::{apply, step, step_without_displacing};
pub use entitle::refresh_shares;

use crate::class::WaitingKey;
use crate::cluster::{Cluster, Health, NodeSpec};
use crate::entitlement::Entitlement;
use crate::event::{Event, EventKind};
use crate::gate::{Obstacle, Sweep};
use crate::ids::{GpuId, GroupKey, JobId, RoundId, Slot, TenantKey, WorkloadKey};
use crate::job::{Job, Lease, NOBODY, Next, Phase};
use crate::order::Order;
use crate::plan::{Grant, Placement, PlannedRound};
use crate::profile::Profile;
use crate::reason::StartReason;
use crate::settings::Settings;
use crate::tenant::{Group, Tenant, Workload};
use crate::time::{Span, Time};
use oef_core::TypeId;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The scheduler's state: a value, to be cloned, compared by replay, and handed to [`step`](crate::step()).
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct State {
    settings: Settings,
    cluster: Cluster,
    tenants: Vec<Tenant>,
    groups: Vec<Group>,
    workloads: Vec<Workload>,
    jobs: Vec<Option<Job>>,
    vacant: Vec<Slot>,
    by_id: BTreeMap<JobId, Slot>,
    last_job: Option<JobId>,
    /// Sweeps with a limit, by their first job.
    #[cfg_attr(feature = "serde", serde(default))]
    sweeps: BTreeMap<JobId, Sweep>,
    /// Workloads with live jobs.
    active: BTreeSet<WorkloadKey>,
    ledger: Ledger,
    entitlement: Entitlement,
    now: Time,
    round: RoundId,
    round_began: Time,
    plan: PlannedRound,
}

/// The time up to which the accounts are settled.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Ledger {
    pub settled: Time,
    /// The same for past usage, where it is remembered.
    #[cfg_attr(feature = "serde", serde(default))]
    pub remembered: Time,
    /// What a GPU of each type counts in it.
    #[cfg_attr(feature = "serde", serde(default))]
    pub values: Vec<f64>,
}

impl State {
    /// An empty cluster.
    pub fn new(settings: Settings) -> Self {
        State {
            settings,
            cluster: Cluster::default(),
            tenants: Vec::new(),
            groups: Vec::new(),
            workloads: Vec::new(),
            jobs: Vec::new(),
            vacant: Vec::new(),
            by_id: BTreeMap::new(),
            last_job: None,
            sweeps: BTreeMap::new(),
            active: BTreeSet::new(),
            ledger: Ledger::default(),
            entitlement: Entitlement::default(),
            now: Time(0),
            round: RoundId(0),
            round_began: Time(0),
            plan: PlannedRound::default(),
        }
    }

    /// A cluster of these nodes. Names that occur twice are counted as one machine each.
    pub fn with_nodes(settings: Settings, nodes: &[NodeSpec]) -> Self {
        let mut state = State::new(settings);
        for node in nodes {
            state.cluster.add_node(node);
        }
        state
    }

    /// Adds a tenant, or finds the one of that name. A weight that makes no sense counts as 1.
    pub fn tenant(&mut self, name: &str, weight: f64) -> TenantKey {
        let weight = if weight.is_finite() && weight > 0.0 { weight } else { 1.0 };
        self.happen(EventKind::TenantAdded { name: name.into(), weight });
        self.tenant_named(name).unwrap_or_default()
    }

    /// Adds a group, or finds the one of that name. `None`: there is no such parent.
    pub fn group(&mut self, name: &str, weight: f64, parent: Option<GroupKey>) -> Option<GroupKey> {
        let weight = if weight.is_finite() && weight > 0.0 { weight } else { 1.0 };
        self.happen(EventKind::GroupAdded { name: name.into(), weight, parent });
        self.group_named(name)
    }

    /// Adds a workload to a tenant, or finds the one of that name. `None`: there is no such tenant.
    pub fn workload(
        &mut self,
        tenant: TenantKey,
        name: &str,
        weight: f64,
        profile: Profile,
    ) -> Option<WorkloadKey> {
        let weight = if weight.is_finite() && weight > 0.0 { weight } else { 1.0 };
        self.happen(EventKind::WorkloadAdded { tenant, name: name.into(), weight, profile });
        self.workload_named(tenant, name)
    }

    /// Changes the settings from the next round on.
    pub fn set_settings(&mut self, settings: Settings) {
        self.happen(EventKind::Settings(Box::new(settings)));
    }

    /// Changes the order in which a tenant's waiting jobs start.
    pub fn set_order(&mut self, tenant: TenantKey, order: Order) {
        self.happen(EventKind::Order { tenant, order });
    }

    /// An event of this very instant. What is known already is refused, and found by its name.
    fn happen(&mut self, kind: EventKind) {
        let _ = apply(self, Event { at: self.now, kind });
    }

    /// The tenant of that name.
    pub fn tenant_named(&self, name: &str) -> Option<TenantKey> {
        self.tenants.iter().position(|t| t.name == name).map(TenantKey)
    }

    /// The group of that name.
    pub fn group_named(&self, name: &str) -> Option<GroupKey> {
        self.groups.iter().position(|g| g.name == name).map(GroupKey)
    }

    /// The workload of a tenant of that name.
    pub fn workload_named(&self, tenant: TenantKey, name: &str) -> Option<WorkloadKey> {
        let own = &self.tenants.get(tenant.0)?.workloads;
        own.iter().copied().find(|w| self.workloads[w.0].name == name)
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The machines.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// All tenants that were ever added.
    pub fn tenants(&self) -> &[Tenant] {
        &self.tenants
    }

    /// All groups that were ever added.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// All workloads that were ever added.
    pub fn workloads(&self) -> &[Workload] {
        &self.workloads
    }

    /// The workloads with live jobs.
    pub fn active(&self) -> impl Iterator<Item = WorkloadKey> + '_ {
        self.active.iter().copied()
    }

    /// A live job.
    pub fn job(&self, id: JobId) -> Option<&Job> {
        self.by_id.get(&id).map(|&slot| self.at(slot))
    }

    /// All live jobs, the oldest first.
    pub fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.by_id.values().map(|&slot| self.at(slot))
    }

    /// The shares of the current round.
    pub fn entitlement(&self) -> &Entitlement {
        &self.entitlement
    }

    /// The whole GPUs that each workload has now, by workload and type.
    pub fn grants(&self) -> Vec<Grant> {
        let mut grants = Vec::new();
        for &workload in &self.active {
            let used = self.workloads[workload.0].used.iter().enumerate();
            let some = used.filter(|&(_, &gpus)| gpus > 0);
            grants.extend(some.map(|(j, &gpus)| Grant { workload, gpu: TypeId(j), gpus }));
        }
        grants
    }

    /// Which job is where now, or will be as soon as its GPUs are free, and why; by job.
    pub fn placements(&self) -> Vec<Placement> {
        let placed = self.by_id.iter().filter_map(|(&job, &slot)| {
            let why = self.start_reason(slot)?;
            let gpus = self.target(slot)?.gpus.clone();
            Some(Placement { job, gpus, why })
        });
        placed.collect()
    }

    /// The round that was planned last.
    pub fn plan(&self) -> &PlannedRound {
        &self.plan
    }

    /// The current round.
    pub fn round(&self) -> RoundId {
        self.round
    }

    /// The time of the last event.
    pub fn now(&self) -> Time {
        self.now
    }

    /// When the current round began.
    pub(crate) fn round_began(&self) -> Time {
        self.round_began
    }

    /// The workloads with live jobs, to be looked at more than once.
    pub(crate) fn active_workloads(&self) -> &BTreeSet<WorkloadKey> {
        &self.active
    }

    /// The slot of a live job.
    pub(crate) fn slot_of(&self, id: JobId) -> Option<Slot> {
        self.by_id.get(&id).copied()
    }

    /// Slots that there are, in use or not.
    pub(crate) fn slots(&self) -> usize {
        self.jobs.len()
    }

    /// The job of a slot in use. Should there be none, it is one that wants nothing.
    pub(crate) fn at(&self, slot: Slot) -> &Job {
        let job = self.jobs.get(slot.0).and_then(Option::as_ref);
        debug_assert!(job.is_some(), "slots in use hold a job");
        job.unwrap_or(&NOBODY)
    }

    fn at_mut(&mut self, slot: Slot) -> &mut Job {
        let job = &mut self.jobs[slot.0];
        debug_assert!(job.is_some(), "slots in use hold a job");
        job.get_or_insert_with(|| NOBODY.clone())
    }

    /// The GPUs that a job holds or will go to: none for one that waits or is on its way out.
    pub(crate) fn target(&self, slot: Slot) -> Option<&Lease> {
        match &self.at(slot).phase {
            Phase::Assigned { lease, .. } | Phase::Running { lease, .. } => Some(lease),
            Phase::Stopping { next: Next::Move { lease, .. }, .. } => Some(lease),
            Phase::Stopping { .. } | Phase::Queued | Phase::Held => None,
        }
    }

    /// Why a job has, or will have, its GPUs.
    pub(crate) fn start_reason(&self, slot: Slot) -> Option<StartReason> {
        match &self.at(slot).phase {
            Phase::Assigned { why, .. } | Phase::Running { why, .. } => Some(*why),
            Phase::Stopping { next: Next::Move { why, .. }, .. } => Some(*why),
            Phase::Stopping { .. } | Phase::Queued | Phase::Held => None,
        }
    }

    /// The live jobs of a sweep with a limit.
    pub(crate) fn sweep(&self, first: JobId) -> Option<&Sweep> {
        self.sweeps.get(&first)
    }

    /// Why a live job may not start now; `None`: it may, or there is no such job.
    pub fn obstacle_of(&self, id: JobId) -> Option<Obstacle> {
        self.obstacle(self.slot_of(id)?)
    }

    /// The GPUs that a tenant's jobs own: have, or will have when others have left them.
    pub(crate) fn owned_by(&self, tenant: TenantKey) -> u32 {
        let own = self.tenants[tenant.0].workloads.iter();
        own.flat_map(|w| &self.workloads[w.0].used).sum()
    }

    /// The jobs of a tenant that own GPUs.
    pub(crate) fn placed_of(&self, tenant: TenantKey) -> impl Iterator<Item = Slot> + '_ {
        let own = self.tenants[tenant.0].workloads.iter();
        own.flat_map(|w| &self.workloads[w.0].placed).copied()
    }

    /// Whether a job of a tenant waits that displaces others at once, and none did so in this round.
    pub(crate) fn may_displace_now(&self, tenant: TenantKey) -> bool {
        let tenant = &self.tenants[tenant.0];
        tenant.waits_now > 0 && tenant.displaced_in < self.round
    }

    /// How many more GPUs a tenant may be given.
    pub(crate) fn room(&self, tenant: TenantKey) -> u32 {
        let limit = self.tenants[tenant.0].limit;
        limit.map_or(u32::MAX, |limit| limit.saturating_sub(self.owned_by(tenant)))
    }

    /// Whether a placed job may not be stopped now: it is on its way, has just begun, or has been
    /// stopped so often that it may not lose more, or ends on a node that closes.
    pub(crate) fn is_protected(&self, slot: Slot) -> bool {
        let job = self.at(slot);
        let Phase::Running { since, why, .. } = &job.phase else { return true };
        let young = !why.is_borrowed() && self.now.since(*since) < self.least_run(job);
        young || !self.may_restart(job) || self.is_finishing(slot)
    }

    /// How long a job may not be stopped for others, once it was started.
    fn least_run(&self, job: &Job) -> Span {
        job.spec.min_run.unwrap_or_else(|| self.settings.min_run.max(self.turn_of(job)))
    }

    /// How long a placed job may still not be stopped for others.
    pub(crate) fn protected_for(&self, slot: Slot) -> Span {
        let job = self.at(slot);
        let young = match &job.phase {
            Phase::Running { why, .. } if why.is_borrowed() => Span(0),
            Phase::Running { since, .. } => self.least_run(job) - self.now.since(*since),
            _ => self.least_run(job),
        };
        young.max(self.next_restart_in(job))
    }

    /// Whether a job has GPUs that are not part of the capacity any more: it may end there.
    pub(crate) fn is_finishing(&self, slot: Slot) -> bool {
        let gpus = self.target(slot).map_or(&[][..], |lease| &lease.gpus);
        gpus.iter().any(|&gpu| !self.cluster.counts(gpu))
    }

    /// The type of a gang's GPUs, if they are of one.
    pub(crate) fn single_type(&self, gpus: &[GpuId]) -> Option<usize> {
        let first = self.cluster.type_of(*gpus.first()?);
        gpus.iter().all(|&g| self.cluster.type_of(g) == first).then_some(first.0)
    }

    /// Whether a job may be given GPUs of a type.
    pub(crate) fn may_use(&self, job: &Job, gpu: usize) -> bool {
        let workload = &self.workloads[job.row().0];
        workload.profile.on(gpu) > 0.0 && workload.classes[job.class].may_use(gpu)
    }

    /// Throughput per GPU of a job's gang on a type over so many hosts.
    pub(crate) fn gang_speed(&self, job: &Job, gpu: usize, hosts: u32) -> f64 {
        let profile = &self.workloads[job.spec.workload.0].profile;
        profile.of_gang(gpu, job.spec.workers, hosts)
    }

    /// Whether a placed job could be stopped to go on elsewhere: it runs, was not promised a longer run, and may lose one
    /// more restart.
    pub(crate) fn may_move(&self, slot: Slot) -> bool {
        let job = self.at(slot);
        let Phase::Running { since, .. } = &job.phase else { return false };
        let promised = job.spec.min_run.unwrap_or(Span(0));
        self.now.since(*since) >= promised && self.may_restart(job) && !self.is_finishing(slot)
    }

    /// The place of a job in its queue.
    pub(crate) fn waiting_key(&self, slot: Slot) -> WaitingKey {
        waiting_key(self.at(slot), slot)
    }

    /// A job waits from now on.
    fn enqueue(&mut self, slot: Slot) {
        let now = self.now;
        let rank = self.rank(slot);
        let job = self.at_mut(slot);
        (job.waiting_since, job.rank) = (now, rank);
        self.requeue(slot);
    }

    /// Puts a job whose promise was taken back where it was in its queue: it has not run meanwhile.
    fn requeue(&mut self, slot: Slot) {
        let job = self.at_mut(slot);
        job.phase = Phase::Queued;
        let (key, class) = (waiting_key(job, slot), job.class);
        let (workload, tenant, now) = (job.row(), job.spec.tenant, job.spec.now);
        let workload = &mut self.workloads[workload.0];
        let is_new = u32::from(workload.classes[class].waiting.insert(key));
        workload.waits += is_new;
        self.tenants[tenant.0].waits_now += if now { is_new } else { 0 };
    }

    fn dequeue(&mut self, slot: Slot) {
        let job = self.at(slot);
        let (key, class) = (waiting_key(job, slot), job.class);
        let (workload, tenant, now) = (job.row(), job.spec.tenant, job.spec.now);
        let workload = &mut self.workloads[workload.0];
        let was_there = u32::from(workload.classes[class].waiting.remove(&key));
        workload.waits -= was_there;
        self.tenants[tenant.0].waits_now -= if now { was_there } else { 0 };
    }

    /// Whether a node is healthy.
    pub fn is_up(&self, node: &str) -> bool {
        self.cluster
            .node_named(node)
            .is_some_and(|id| self.cluster.nodes()[id.0].health() == Health::Up)
    }
}

fn waiting_key(job: &Job, slot: Slot) -> WaitingKey {
    (Reverse(job.spec.priority), job.rank.unwrap_or(job.waiting_since), job.spec.id, slot)
}
