//! Tenants, groups and workloads: created, changed, removed.

use super::{
    GroupChange, GroupEntry, ProfileEntry, Rejection, TenantChange, TenantEntry, WorkloadEntry,
    World,
};
use oef_api::parsed::Weight;
use oef_api::types::{EventTopic, JobOrder, JobState, Limits, Provenance};
use oef_sched::guard::Told;
use oef_sched::{EventKind, JobId, Order, Promises, TenantKey, WorkloadKey};
use std::collections::{BTreeMap, VecDeque};

/// Profiles of one workload that are remembered.
const PROFILES_REMEMBERED: usize = 20;
/// Members of a group that are named when it cannot be removed.
const MEMBERS_NAMED: usize = 5;
/// Groups within groups; more is a mistake.
const GROUP_DEPTH_MAX: usize = 16;

impl World {
    pub(super) fn tenant_created(
        &mut self,
        name: &str,
        weight: Weight,
        group: Option<&str>,
        limits: &Limits,
    ) -> Result<(), Rejection> {
        if self.tenants.contains_key(name) {
            return Err(Rejection::TenantExists(name.into()));
        }
        self.rule_of_readers(|| weight.check())?;
        group.map(|group| self.known_group(group)).transpose()?;
        if self.index.has_jobs_of(name) {
            return Err(Rejection::TenantLeaves(name.into()));
        }
        let key = self.sched.tenant(name, *weight);
        self.tenant_names.insert(key, name.into());
        let entry = TenantEntry {
            key,
            weight: *weight,
            group: None,
            limits: limits.clone(),
            suspended: false,
            user: None,
            created_ms: self.at.0,
            workloads: BTreeMap::new(),
            live: 0,
            account: super::Account { since: self.at, ..Default::default() },
            delivered: VecDeque::new(),
            hours: VecDeque::new(),
        };
        self.tenants.insert(name.into(), entry);
        // The scheduler may know the name from before, with other values.
        self.set_tenant(&TenantChange {
            name: name.into(),
            weight: Some(weight),
            group: Some(group.map_or(GroupChange::Out, |group| GroupChange::Into(group.into()))),
            limits: Some(limits.clone()),
            suspended: Some(false),
            order: None,
        })?;
        self.clear_promises(key)?;
        self.note(EventTopic::Tenant, Some(name), format!("tenant {name} was created"));
        Ok(())
    }

    pub(super) fn tenant_changed(&mut self, change: &TenantChange) -> Result<(), Rejection> {
        let name = change.name.as_str();
        self.known_tenant(name)?;
        self.rule_of_readers(|| change.weight.map_or(Ok(()), |weight| weight.check()))?;
        if let Some(GroupChange::Into(group)) = &change.group {
            self.known_group(group)?;
        }
        self.set_tenant(change)?;
        self.note(EventTopic::Tenant, Some(name), format!("tenant {name} was changed"));
        Ok(())
    }

    pub(super) fn tenant_user(&mut self, name: &str, user: Option<&str>) -> Result<(), Rejection> {
        let unknown = || Rejection::UnknownTenant(name.into());
        let entry = self.tenants.get_mut(name).ok_or_else(unknown)?;
        entry.user = user.map(String::from);
        let user = user.unwrap_or("the daemon's own user");
        self.note(EventTopic::Tenant, Some(name), format!("jobs of {name} run as {user}"));
        Ok(())
    }

    pub(super) fn tenant_promises(
        &mut self,
        name: &str,
        promises: &Promises,
    ) -> Result<(), Rejection> {
        let (tenant, promises) = (self.known_tenant(name)?.key, promises.clone());
        self.step_and_follow(EventKind::TenantPromises { tenant, promises })?;
        let text = format!("guarantees and limits by gpu type of tenant {name} were set");
        self.note(EventTopic::Tenant, Some(name), text);
        Ok(())
    }

    pub(super) fn group_promises(
        &mut self,
        name: &str,
        promises: &Promises,
    ) -> Result<(), Rejection> {
        let (group, promises) = (self.known_group(name)?.key, promises.clone());
        self.step_and_follow(EventKind::GroupPromises { group, promises })?;
        let text = format!("guarantees and limits by gpu type of group {name} were set");
        self.note(EventTopic::Tenant, None, text);
        Ok(())
    }

    /// A tenant that is gone, or new under an old name, has no guarantees and limits.
    fn clear_promises(&mut self, tenant: TenantKey) -> Result<(), Rejection> {
        let known = self.sched.tenants().get(tenant.0);
        if known.is_none_or(|tenant| tenant.promises().is_empty()) {
            return Ok(());
        }
        let promises = Promises::default();
        self.step_and_follow(EventKind::TenantPromises { tenant, promises })
    }

    /// Brings a change that was checked to the scheduler and into the entry.
    fn set_tenant(&mut self, change: &TenantChange) -> Result<(), Rejection> {
        let tenant = self.known_tenant(&change.name)?.key;
        if let Some(weight) = change.weight.map(f64::from) {
            self.step_and_follow(EventKind::Weight { tenant, weight })?;
        }
        if let Some(suspended) = change.suspended {
            let suspended = suspended || self.halted;
            self.step_and_follow(EventKind::Suspend { tenant, suspended })?;
        }
        if let Some(order) = change.order {
            let order = in_scheduler(order);
            self.step_and_follow(EventKind::Order { tenant, order })?;
        }
        if let Some(limits) = &change.limits {
            self.step_and_follow(EventKind::Limit { tenant, gpus: limits.gpus })?;
        }
        if let Some(group) = &change.group {
            let group = match group {
                GroupChange::Into(group) => self.groups.get(group).map(|entry| entry.key),
                GroupChange::Out => None,
            };
            self.step_and_follow(EventKind::TenantGroup { tenant, group })?;
        }
        let Some(entry) = self.tenants.get_mut(&change.name) else { return Ok(()) };
        entry.weight = change.weight.map_or(entry.weight, f64::from);
        entry.suspended = change.suspended.unwrap_or(entry.suspended);
        if let Some(limits) = &change.limits {
            entry.limits = limits.clone();
        }
        if let Some(group) = &change.group {
            entry.group = match group {
                GroupChange::Into(group) => Some(group.clone()),
                GroupChange::Out => None,
            };
        }
        Ok(())
    }

    /// Its jobs are cancelled, its tokens void, and what ended is forgotten: a later tenant of the same
    /// name must not see it.
    pub(super) fn tenant_removed(&mut self, name: &str) -> Result<(), Rejection> {
        self.known_tenant(name)?;
        let jobs: Vec<JobId> = self.index.newest(Some(name), &JobState::LIVE, None).collect();
        for job in jobs {
            match self.cancelled(job, "the removal of its tenant", None) {
                Ok(()) | Err(Rejection::CancelledAlready(_)) => {}
                Err(other) => return Err(other),
            }
        }
        let Some(entry) = self.tenants.remove(name) else { return Ok(()) };
        self.clear_promises(entry.key)?;
        for key in entry.workloads.values() {
            self.workloads.remove(key);
            self.guard.forget(*key);
        }
        let tokens = self.tokens.iter().filter(|(_, t)| t.tenant.as_deref() == Some(name));
        let tokens: Vec<u64> = tokens.map(|(&id, _)| id).collect();
        for id in tokens {
            self.token_revoked(id)?;
        }
        self.forget_notifications_of(name);
        self.forget_ended_of(name);
        self.note(EventTopic::Tenant, Some(name), format!("tenant {name} was removed"));
        Ok(())
    }

    fn forget_ended_of(&mut self, tenant: &str) {
        let jobs: Vec<JobId> = self.index.newest(Some(tenant), &JobState::ENDED, None).collect();
        for &job in &jobs {
            self.forget_job(job);
        }
        if !jobs.is_empty() {
            self.ended.retain(|job| jobs.binary_search_by(|j| job.cmp(j)).is_err());
        }
    }

    pub(super) fn group_put(
        &mut self,
        name: &str,
        weight: Weight,
        parent: Option<&str>,
    ) -> Result<(), Rejection> {
        self.rule_of_readers(|| weight.check())?;
        let weight = f64::from(weight);
        parent.map(|parent| self.known_group(parent)).transpose()?;
        let mut above = parent;
        for _ in 0..GROUP_DEPTH_MAX {
            let Some(group) = above else { break };
            if group == name {
                return Err(Rejection::GroupCycle { group: name.into() });
            }
            above = self.groups.get(group).and_then(|entry| entry.parent.as_deref());
        }
        if above.is_some() {
            return Err(Rejection::Bad(format!("groups nest {GROUP_DEPTH_MAX} deep at most")));
        }
        let above = parent.and_then(|parent| self.groups.get(parent)).map(|entry| entry.key);
        let key = self.sched.group(name, weight, above);
        let key = key.ok_or_else(|| Rejection::UnknownGroup(parent.unwrap_or_default().into()))?;
        // The scheduler may know the name from before, with other values.
        self.step(EventKind::GroupParent { group: key, parent: above })?;
        self.step(EventKind::GroupWeight { group: key, weight })?;
        let entry = GroupEntry { key, weight, parent: parent.map(String::from) };
        self.groups.insert(name.into(), entry);
        self.note(EventTopic::Tenant, None, format!("group {name} was set"));
        Ok(())
    }

    pub(super) fn group_removed(&mut self, name: &str) -> Result<(), Rejection> {
        self.known_group(name)?;
        let stands = |group: &Option<String>| group.as_deref() == Some(name);
        let tenants = self.tenants.iter().filter(|(_, t)| stands(&t.group)).map(|(n, _)| n);
        let groups = self.groups.iter().filter(|(_, g)| stands(&g.parent)).map(|(n, _)| n);
        let members: Vec<&str> =
            tenants.chain(groups).take(MEMBERS_NAMED).map(String::as_str).collect();
        if !members.is_empty() {
            let members = members.join(", ");
            return Err(Rejection::GroupInUse { group: name.into(), members });
        }
        if let Some(entry) = self.groups.remove(name) {
            let known = self.sched.groups().get(entry.key.0);
            if known.is_some_and(|group| !group.promises.is_empty()) {
                let promises = Promises::default();
                self.step(EventKind::GroupPromises { group: entry.key, promises })?;
            }
            self.step(EventKind::GroupParent { group: entry.key, parent: None })?;
        }
        self.note(EventTopic::Tenant, None, format!("group {name} was removed"));
        Ok(())
    }

    pub(super) fn workload_put(
        &mut self,
        tenant: &str,
        name: &str,
        weight: Option<Weight>,
        profile: Option<(&ProfileEntry, Option<&Told>)>,
    ) -> Result<(), Rejection> {
        self.rule_of_readers(|| weight.map_or(Ok(()), |weight| weight.check()))?;
        self.rule_of_readers(|| profile.map_or(Ok(()), |(profile, _)| check_profile(profile)))?;
        let key = self.find_workload(tenant, name)?;
        if let Some((profile, told)) = profile {
            self.told_profile(key, profile, told)?;
        }
        if let Some(weight) = weight.map(f64::from) {
            self.step_and_follow(EventKind::WorkloadWeight { workload: key, weight })?;
            if let Some(entry) = self.workloads.get_mut(&key) {
                entry.weight = weight;
            }
        }
        let message = format!("workload {name} of {tenant} was set");
        self.note(EventTopic::Tenant, Some(tenant), message);
        Ok(())
    }

    /// The workload of that name; one that is new begins with an estimate.
    pub(super) fn find_workload(
        &mut self,
        tenant: &str,
        name: &str,
    ) -> Result<WorkloadKey, Rejection> {
        let owner = self.known_tenant(tenant)?;
        if let Some(&known) = owner.workloads.get(name) {
            return Ok(known);
        }
        let owner = owner.key;
        let profile = self.estimate(tenant, self.at);
        let given = self.for_scheduler(&profile);
        let key = self.sched.workload(owner, name, 1.0, given.clone());
        let key = key.ok_or_else(|| Rejection::UnknownTenant(tenant.into()))?;
        let entry = WorkloadEntry {
            tenant: tenant.into(),
            name: name.into(),
            weight: 1.0,
            profile,
            history: VecDeque::new(),
            observed: BTreeMap::new(),
            restarts: Default::default(),
        };
        self.workloads.insert(key, entry);
        if let Some(owner) = self.tenants.get_mut(tenant) {
            owner.workloads.insert(name.into(), key);
        }
        // The scheduler may know the name from before, with other values.
        let known = self.sched.workloads().get(key.0).map(|w| (w.profile == given, w.weight));
        if let Some((false, _)) = known {
            let profiled = EventKind::Profiled { workload: key, profile: given };
            self.step_and_follow(profiled)?;
        }
        if known.is_some_and(|(_, weight)| weight != 1.0) {
            let weight = EventKind::WorkloadWeight { workload: key, weight: 1.0 };
            self.step_and_follow(weight)?;
        }
        Ok(key)
    }

    /// Another profile counts from now on; what was before is remembered, or was only a stage of this one.
    pub(super) fn replace_profile(
        &mut self,
        key: WorkloadKey,
        profile: ProfileEntry,
        remember: bool,
    ) -> Result<(), Rejection> {
        let given = self.for_scheduler(&profile);
        if let Some(entry) = self.workloads.get_mut(&key) {
            let before = std::mem::replace(&mut entry.profile, profile);
            if remember {
                entry.history.push_front(before);
                entry.history.truncate(PROFILES_REMEMBERED);
            }
        }
        self.step_and_follow(EventKind::Profiled { workload: key, profile: given })
    }

    /// A profile in the order of the cluster's types.
    pub(crate) fn for_scheduler(&self, profile: &ProfileEntry) -> oef_sched::Profile {
        let on = |gpu: &String| profile.throughput.get(gpu).copied().unwrap_or(0.0);
        oef_sched::Profile {
            throughput: self.sched.cluster().types().iter().map(on).collect(),
            provenance: match profile.provenance {
                Provenance::Declared => oef_sched::Provenance::Declared,
                Provenance::Measured => oef_sched::Provenance::Measured,
                Provenance::Estimated => oef_sched::Provenance::Estimated,
            },
            gangs: self.gangs_for_scheduler(profile),
        }
    }

    pub(super) fn known_tenant(&self, name: &str) -> Result<&TenantEntry, Rejection> {
        self.tenants.get(name).ok_or_else(|| Rejection::UnknownTenant(name.into()))
    }

    fn known_group(&self, name: &str) -> Result<&GroupEntry, Rejection> {
        self.groups.get(name).ok_or_else(|| Rejection::UnknownGroup(name.into()))
    }
}

fn check_profile(profile: &ProfileEntry) -> Result<(), String> {
    let bad = profile.throughput.iter().find(|(_, t)| !t.is_finite() || **t < 0.0);
    match bad {
        Some((gpu, throughput)) => {
            Err(format!("throughput on `{gpu}` is a number from 0 on, not {throughput}"))
        }
        None => Ok(()),
    }
}

/// An order of jobs as the scheduler knows it.
fn in_scheduler(order: JobOrder) -> Order {
    match order {
        JobOrder::Fair => Order::Fair,
        JobOrder::Fifo => Order::Fifo,
        JobOrder::Shortest => Order::Shortest,
    }
}
