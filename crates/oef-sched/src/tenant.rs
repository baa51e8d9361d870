//! Who owns jobs, and how fast their workloads run.

use crate::class::Class;
use crate::ids::{GroupKey, RoundId, Slot, TenantKey, WorkloadKey};
use crate::order::Order;
use crate::past::Past;
use crate::profile::Profile;
use crate::promise::Promises;
use crate::settings::Settings;
use crate::time::Span;

/// A party that owns weight and jobs.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Tenant {
    /// Unique name.
    pub name: String,
    /// What it counts, `> 0`.
    pub weight: f64,
    pub(crate) workloads: Vec<WorkloadKey>,
    pub(crate) group: Option<GroupKey>,
    /// What it counted in the last shares.
    pub(crate) effective: Option<f64>,
    pub(crate) suspended: bool,
    /// The order of its waiting jobs.
    #[cfg_attr(feature = "serde", serde(default))]
    pub(crate) order: Order,
    /// GPUs that it may have at once.
    pub(crate) limit: Option<u32>,
    /// GPUs that its jobs hold now, those of jobs that are being stopped included.
    pub(crate) holds: u32,
    /// Its waiting jobs that would displace others at once.
    #[cfg_attr(feature = "serde", serde(default))]
    pub(crate) waits_now: u32,
    /// The round in which one did so last.
    #[cfg_attr(feature = "serde", serde(default))]
    pub(crate) displaced_in: RoundId,
    /// What it used so far, where that is remembered.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Past::is_empty"))]
    pub(crate) past: Past,
    /// Its guarantees and limits by gpu type.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Promises::is_empty"))]
    pub(crate) promises: Promises,
}

impl Tenant {
    /// Its own guarantees and limits by gpu type.
    pub fn promises(&self) -> &Promises {
        &self.promises
    }

    /// Whether its jobs are held, all of them.
    pub fn is_suspended(&self) -> bool {
        self.suspended
    }

    /// The order of its waiting jobs.
    pub fn order(&self) -> Order {
        self.order
    }

    /// The group that it stands in.
    pub fn group(&self) -> Option<GroupKey> {
        self.group
    }

    /// The weight that counted in the last shares: its part of its group's, and its own if it stands in none.
    /// `None`: it had no jobs then.
    pub fn effective_weight(&self) -> Option<f64> {
        self.effective
    }

    /// The GPUs that it may have at once; `None`: any number.
    pub fn limit(&self) -> Option<u32> {
        self.limit
    }

    /// The GPUs that its jobs hold now, those of jobs that are being stopped included.
    pub fn holds(&self) -> u32 {
        self.holds
    }

    /// Its workloads.
    pub fn workloads(&self) -> &[WorkloadKey] {
        &self.workloads
    }
}

/// Tenants that share one weight, or groups of them.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Group {
    /// Unique name.
    pub name: String,
    /// What it counts beside its siblings, `> 0`.
    pub weight: f64,
    /// The group that it stands in.
    pub parent: Option<GroupKey>,
    /// Guarantees and limits by gpu type, of all tenants below it together.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Promises::is_empty"))]
    pub promises: Promises,
}

/// A kind of job of one tenant with one profile: a row of the problem.
///
/// Jobs of several workers are rows of their own beside the workload that they were submitted to, one for each number of
/// workers: how fast they are on a type depends on whether a host there has room for them.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Workload {
    /// Unique within its tenant.
    pub name: String,
    /// Who owns it.
    pub tenant: TenantKey,
    /// Its part in the tenant's weight, relative to the tenant's other workloads.
    pub weight: f64,
    /// How fast it runs; of gangs: per GPU, as they can stand on the hosts that there are.
    pub profile: Profile,
    /// Of a row of gangs: the workload that its jobs were submitted to, and the workers of each.
    #[cfg_attr(feature = "serde", serde(default))]
    pub(crate) gang: Option<GangOf>,
    /// The rows of its gangs.
    #[cfg_attr(feature = "serde", serde(default))]
    pub(crate) gangs: Vec<WorkloadKey>,
    /// GPUs that it is entitled to in this round, by type.
    pub(crate) share: Vec<f64>,
    /// Shares owed minus GPUs received, in GPU-rounds, by type.
    pub(crate) deficit: Vec<f64>,
    /// GPU-rounds received beyond any entitlement.
    pub(crate) extra: f64,
    /// GPU-rounds owed beyond the limit of its accounts, which it will not get.
    #[cfg_attr(feature = "serde", serde(default))]
    pub(crate) cut: f64,
    /// GPUs that its jobs hold now, by type.
    pub(crate) used: Vec<u32>,
    /// Its live jobs by kind. A kind without jobs is used again by the next that comes.
    pub(crate) classes: Vec<Class>,
    /// Jobs that wait.
    pub(crate) waits: u32,
    /// Jobs that own GPUs.
    pub(crate) placed: Vec<Slot>,
    /// Workers of its live jobs together.
    pub(crate) wanted: u64,
    /// The largest gang among its live jobs.
    pub(crate) gang_max: u32,
    /// GPUs that its tenant may have at once: a larger gang never runs.
    pub(crate) cap: u32,
    /// What a restart of its jobs costs, as it was measured.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub(crate) restart_cost: Option<Span>,
}

/// Whose gangs a row is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct GangOf {
    pub workload: WorkloadKey,
    pub workers: u32,
}

impl Workload {
    /// Without jobs, and with empty accounts.
    pub(crate) fn new(name: String, tenant: TenantKey, weight: f64, profile: Profile) -> Self {
        Workload {
            name,
            tenant,
            weight,
            profile,
            gang: None,
            gangs: Vec::new(),
            share: Vec::new(),
            deficit: Vec::new(),
            extra: 0.0,
            cut: 0.0,
            used: Vec::new(),
            classes: Vec::new(),
            waits: 0,
            placed: Vec::new(),
            wanted: 0,
            gang_max: 0,
            cap: u32::MAX,
            restart_cost: None,
        }
    }

    /// What a restart of its jobs costs: as measured, within the bounds of the setting; else the setting.
    pub(crate) fn restart_cost(&self, settings: &Settings) -> Span {
        self.restart_cost.map_or(settings.restart_cost, |cost| settings.counted_cost(cost))
    }

    /// What a restart of its jobs costs, as it was measured; `None`: the setting counts.
    pub fn measured_restart(&self) -> Option<Span> {
        self.restart_cost
    }

    /// How strongly a running job of so many workers holds its GPUs.
    pub(crate) fn stickiness(&self, settings: &Settings, workers: u32) -> f64 {
        settings.stickiness_for(settings.turn_at(self.restart_cost(settings), workers))
    }

    /// The workload whose gangs it is a row of; `None`: it is one itself.
    pub fn gang_of(&self) -> Option<WorkloadKey> {
        self.gang.map(|gang| gang.workload)
    }

    /// The workers of each of its jobs, where it is a row of gangs.
    pub fn gang_workers(&self) -> Option<u32> {
        self.gang.map(|gang| gang.workers)
    }

    /// The rows of its gangs.
    pub fn gangs(&self) -> &[WorkloadKey] {
        &self.gangs
    }

    /// Shares owed minus GPUs received, in GPU-rounds of each gpu type (0 beyond the end).
    pub fn deficits(&self) -> &[f64] {
        &self.deficit
    }

    /// GPUs of a type that it is entitled to in this round.
    pub fn share_on(&self, gpu: usize) -> f64 {
        self.share.get(gpu).copied().unwrap_or(0.0)
    }

    /// GPUs of a type that its jobs hold now.
    pub fn used_on(&self, gpu: usize) -> u32 {
        self.used.get(gpu).copied().unwrap_or(0)
    }

    /// GPU-rounds received beyond any entitlement.
    pub fn extra(&self) -> f64 {
        self.extra
    }

    /// GPU-rounds owed beyond the limit of its accounts: entitlement that was lost. 0 unless GPUs could not be used
    /// together as promised.
    pub fn cut(&self) -> f64 {
        self.cut
    }

    /// GPUs that its live jobs could use together.
    pub fn wanted(&self) -> u32 {
        u32::try_from(self.wanted).unwrap_or(u32::MAX)
    }

    /// GPUs that its live jobs could use together on what there is: a gang that fits nowhere wants nothing.
    pub(crate) fn usable(&self, capacity: &[u32]) -> u64 {
        let fits = |class: &&Class| {
            let first_look = capacity.first().is_some_and(|&c| {
                class.workers <= c && self.profile.on(0) > 0.0 && class.may_use(0)
            });
            first_look || class.most(&self.profile, capacity) >= class.workers
        };
        let live = self.classes.iter().filter(|class| class.live > 0 && class.workers <= self.cap);
        live.filter(fits).map(|class| u64::from(class.live) * u64::from(class.workers)).sum()
    }

    /// The gpu types that some live job could use, by the GPUs that there are. A job that fits on one type
    /// counts for the types where it fits; if no job does, those count over which a gang could be spread.
    pub(crate) fn usable_types(&self, capacity: &[u32]) -> Vec<bool> {
        let live = || self.classes.iter().filter(|c| c.live > 0 && c.workers <= self.cap);
        let runs = |j: usize| self.profile.on(j) > 0.0;
        let types = 0..capacity.len();
        let alone: Vec<bool> =
            types.clone().map(|j| runs(j) && live().any(|c| c.fits_on(j, capacity))).collect();
        if alone.contains(&true) {
            return alone;
        }
        let spread = |j: usize| live().any(|c| c.spans(&self.profile, capacity) && c.may_use(j));
        types.map(|j| runs(j) && spread(j)).collect()
    }

    /// Whether a job waits that could use a type.
    pub(crate) fn waits_for(&self, gpu: usize, capacity: &[u32]) -> bool {
        self.waits > 0
            && self.classes.iter().any(|class| {
                !class.waiting.is_empty()
                    && class.workers <= self.cap
                    && class.may_use(gpu)
                    && (class.workers <= capacity[gpu] || class.spans(&self.profile, capacity))
            })
    }

    /// Whether a job of a lower priority waits.
    pub(crate) fn waits_below(&self, priority: i32) -> bool {
        let lowest = self.classes.iter().filter_map(|class| class.waiting.last());
        lowest.max().is_some_and(|key| key.0.0 < priority)
    }

    pub(crate) fn is_active(&self) -> bool {
        self.wanted > 0
    }

    /// Shares owed minus GPUs received of a type, in GPU-rounds.
    pub fn deficit_on(&self, gpu: usize) -> f64 {
        self.deficit.get(gpu).copied().unwrap_or(0.0)
    }

    /// The same as far as it counts now: an account is kept, and counts for nothing, while its workload has no jobs.
    pub fn balance_on(&self, gpu: usize) -> f64 {
        if self.is_active() { self.deficit_on(gpu) } else { 0.0 }
    }

    /// Makes room for types that appeared since.
    pub(crate) fn widen(&mut self, types: usize) {
        if self.deficit.len() < types {
            self.deficit.resize(types, 0.0);
            self.share.resize(types, 0.0);
            self.used.resize(types, 0);
        }
    }
}
