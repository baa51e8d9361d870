//! Jobs by tenant and state, so that lists and counts cost what they show.

use super::World;
use super::texts::text_bytes;
use oef_api::types::JobState;
use oef_sched::{JobId, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Jobs by state.
type ByState = [BTreeSet<JobId>; JobState::ALL.len()];

/// What follows from the rest of the world, kept at hand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    all: ByState,
    tenants: BTreeMap<String, ByState>,
    /// Jobs that are tried again, or whose start time comes, by the time.
    pub(super) wakeups: BTreeSet<(Time, JobId)>,
    /// Who waits for a job, by that job.
    dependents: BTreeMap<JobId, BTreeSet<JobId>>,
    /// Whom a job waits for.
    dependencies: BTreeMap<JobId, Vec<JobId>>,
    /// Bytes of the texts of jobs that have not ended, by tenant.
    pub(super) texts: BTreeMap<String, u64>,
    /// Profile runs, by tenant.
    probes: BTreeMap<String, BTreeSet<JobId>>,
    /// How many idempotency keys of each caller are remembered.
    pub(super) keys: BTreeMap<String, usize>,
    /// Tokens by the hash of their secret.
    pub(super) secrets: BTreeMap<String, u64>,
}

impl Index {
    /// Built anew from the world.
    pub(super) fn of(world: &World) -> Index {
        let mut index = Index::default();
        for (&id, job) in &world.jobs {
            index.insert(job.tenant(), job.state, id);
            if job.spec.probe.is_some() {
                index.add_probe(job.tenant(), id);
            }
            let wakes = job.retry_at.into_iter().chain(world.start_time(id));
            index.wakeups.extend(wakes.map(|at| (at, id)));
            index.depends(id, world.waits_for(id));
            if !job.state.is_final() {
                index.add_text(job.tenant(), text_bytes(&job.spec));
            }
        }
        world.key_order.iter().for_each(|key| index.add_key(key));
        index.secrets = world.tokens.iter().map(|(&id, token)| (token.hash.clone(), id)).collect();
        index
    }

    /// Whether any job of a tenant is remembered.
    pub fn has_jobs_of(&self, tenant: &str) -> bool {
        self.tenants.contains_key(tenant)
    }

    /// How many jobs are in any of these states, of one tenant or of all.
    pub fn count(&self, tenant: Option<&str>, states: &[JobState]) -> u32 {
        let Some(sets) = self.sets(tenant) else { return 0 };
        let all: usize = states.iter().map(|&state| sets[state as usize].len()).sum();
        u32::try_from(all).unwrap_or(u32::MAX)
    }

    /// Jobs in any of these states, of one tenant or of all, the newest first; those before a number only.
    pub fn newest<'a>(
        &'a self,
        tenant: Option<&str>,
        states: &[JobState],
        before: Option<JobId>,
    ) -> impl Iterator<Item = JobId> + use<'a> {
        let end = before.unwrap_or(JobId(u64::MAX));
        let sets = self.sets(tenant);
        let lists = states.iter().filter_map(|&s| Some(sets?[s as usize].range(..end).rev()));
        let mut lists: Vec<_> = lists.map(|mut ids| (ids.next().copied(), ids)).collect();
        std::iter::from_fn(move || {
            let (next, ids) = lists.iter_mut().max_by_key(|(next, _)| *next)?;
            std::mem::replace(next, ids.next().copied())
        })
    }

    /// A job waits for these from now on.
    pub(super) fn depends(&mut self, job: JobId, on: &[JobId]) {
        for before in self.dependencies.remove(&job).unwrap_or_default() {
            if let Some(waiting) = self.dependents.get_mut(&before) {
                waiting.remove(&job);
                if waiting.is_empty() {
                    self.dependents.remove(&before);
                }
            }
        }
        for &on in on {
            self.dependents.entry(on).or_default().insert(job);
        }
        if !on.is_empty() {
            self.dependencies.insert(job, on.to_vec());
        }
    }

    /// The jobs that wait for one.
    pub(super) fn dependents(&self, of: JobId) -> Vec<JobId> {
        self.dependents.get(&of).map_or_else(Vec::new, |jobs| jobs.iter().copied().collect())
    }

    /// The first job that is due to be tried again or started, and when.
    pub fn next_wakeup(&self) -> Option<(Time, JobId)> {
        self.wakeups.first().copied()
    }

    /// Jobs that are due to be tried again or started by then.
    pub fn due_wakeups(&self, at: Time) -> impl Iterator<Item = JobId> + '_ {
        self.wakeups.iter().take_while(move |(due, _)| *due <= at).map(|(_, job)| *job)
    }

    /// The profile runs of a tenant, the newest first.
    pub fn probes(&self, tenant: &str) -> impl Iterator<Item = JobId> + '_ {
        self.probes.get(tenant).into_iter().flat_map(|jobs| jobs.iter().rev().copied())
    }

    pub(super) fn add_probe(&mut self, tenant: &str, job: JobId) {
        self.probes.entry(tenant.into()).or_default().insert(job);
    }

    pub(super) fn forget_probe(&mut self, tenant: &str, job: JobId) {
        if let Some(jobs) = self.probes.get_mut(tenant) {
            jobs.remove(&job);
            if jobs.is_empty() {
                self.probes.remove(tenant);
            }
        }
    }

    /// The first ended job of the tenant that has the most of them.
    pub(super) fn next_to_forget(&self) -> Option<JobId> {
        let sets = self.tenants.values().max_by_key(|sets| -> usize {
            JobState::ENDED.iter().map(|&state| sets[state as usize].len()).sum()
        })?;
        let first = JobState::ENDED.iter().filter_map(|&s| sets[s as usize].first());
        first.min().copied()
    }

    /// The number of the token whose secret has this hash.
    pub fn token_of(&self, hash: &str) -> Option<u64> {
        self.secrets.get(hash).copied()
    }

    fn sets(&self, tenant: Option<&str>) -> Option<&ByState> {
        match tenant {
            None => Some(&self.all),
            Some(name) => self.tenants.get(name),
        }
    }

    pub(super) fn insert(&mut self, tenant: &str, state: JobState, job: JobId) {
        self.all[state as usize].insert(job);
        match self.tenants.get_mut(tenant) {
            Some(sets) => sets[state as usize].insert(job),
            None => {
                let sets = self.tenants.entry(tenant.into()).or_default();
                sets[state as usize].insert(job)
            }
        };
    }

    pub(super) fn remove(&mut self, tenant: &str, state: JobState, job: JobId) {
        self.all[state as usize].remove(&job);
        if let Some(sets) = self.tenants.get_mut(tenant) {
            sets[state as usize].remove(&job);
            if sets.iter().all(BTreeSet::is_empty) {
                self.tenants.remove(tenant);
            }
        }
    }
}
