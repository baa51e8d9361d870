//! How much of everything one caller may have: nobody's excess is another's refusal.

use super::tenancy;
use crate::problem::{Kind, More};
use crate::world::{World, text_bytes};
use oef_api::types::{ApiError, JobSubmit};
use oef_report::format::counted;
use oef_sched::{Span, Time};
use std::collections::{BTreeMap, BTreeSet};

/// The budgets of tenants. A limit that an operator set for one tenant goes before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budgets {
    /// Jobs of one tenant that have not ended.
    pub tenant_jobs: usize,
    /// The same of all tenants together. A tenant that has no more than its part of them always gets in.
    pub all_jobs: usize,
    /// Bytes of all their texts: commands, scripts, variables, labels, paths.
    pub tenant_bytes: u64,
    /// The same of all tenants together. A tenant that has no more than its part of them always gets in.
    pub all_bytes: u64,
    /// Profile runs that one tenant submits in an hour.
    pub profile_runs: usize,
    /// Bytes that one tenant writes into the journal in a second, in the long run...
    pub journal_bytes_per_second: u64,
    /// ... and at once.
    pub journal_bytes_burst: u64,
    /// Whether tenants whose jobs run as the daemon's own user may have tokens.
    pub trust_tenants: bool,
}

impl Default for Budgets {
    fn default() -> Budgets {
        Budgets {
            // A quarter of what the memory is sized for.
            tenant_jobs: 50_000,
            all_jobs: 200_000,
            // A thousand jobs with the largest scripts, or all fifty thousand with five kilobytes each.
            tenant_bytes: 256 << 20,
            all_bytes: 2 << 30,
            // Ten workloads on ten gpu types, twice.
            profile_runs: 200,
            // A day of it is what a large disk has.
            journal_bytes_per_second: 4 << 20,
            // All that a tenant's jobs may be long, once.
            journal_bytes_burst: 256 << 20,
            trust_tenants: true,
        }
    }
}

const HOUR: Span = Span(3_600_000);

impl Budgets {
    /// Whether these jobs fit into the budgets of their tenants.
    pub(super) fn check(
        &self,
        world: &World,
        now: Time,
        jobs: &[JobSubmit],
    ) -> Result<(), ApiError> {
        let mut more: BTreeMap<&str, Added<'_>> = BTreeMap::new();
        for job in jobs {
            let own = more.entry(job.tenant.as_deref().unwrap_or_default()).or_default();
            own.jobs += 1;
            own.bytes += text_bytes(job) as u64;
            own.probes += usize::from(job.probe.is_some());
            own.workloads.insert(job.workload.as_deref().unwrap_or_default());
        }
        let bytes = more.values().map(|own| own.bytes).sum();
        for (tenant, own) in &more {
            self.check_jobs(world, tenant, own.jobs)?;
            self.check_all_jobs(world, tenant, own.jobs, jobs.len())?;
            self.check_bytes(world, tenant, own.bytes)?;
            self.check_all_bytes(world, tenant, own.bytes, bytes)?;
            self.check_probes(world, now, tenant, own.probes)?;
            tenancy::room_for_workloads(world, tenant, own.workloads.iter().copied())?;
        }
        Ok(())
    }

    /// Whether what an edit adds to a job fits. One that takes away always does.
    pub(super) fn check_edit(
        &self,
        world: &World,
        before: &JobSubmit,
        after: &JobSubmit,
    ) -> Result<(), ApiError> {
        let more = text_bytes(after).saturating_sub(text_bytes(before)) as u64;
        if more == 0 {
            return Ok(());
        }
        let tenant = before.tenant.as_deref().unwrap_or_default();
        self.check_bytes(world, tenant, more)?;
        self.check_all_bytes(world, tenant, more, more)
    }

    /// As with jobs: few tenants with long texts shut none out that has short ones.
    fn check_all_bytes(
        &self,
        world: &World,
        tenant: &str,
        more: u64,
        of_all: u64,
    ) -> Result<(), ApiError> {
        let own = world.index.text_bytes(Some(tenant));
        let part = self.all_bytes / world.tenants.len().max(1) as u64;
        if world.index.text_bytes(None) + of_all <= self.all_bytes || own + more <= part {
            return Ok(());
        }
        let why = "the jobs that have not ended are longer than all together may be";
        let hint = "wait until some have ended, or put long scripts into files";
        Err(Kind::LimitReached.problem(why).hint(hint))
    }

    fn check_jobs(&self, world: &World, tenant: &str, more: usize) -> Result<(), ApiError> {
        let entry = world.tenants.get(tenant);
        let live = entry.map_or(0, |entry| entry.live as usize);
        // One that an operator gave it is checked with the record.
        let has_own = entry.is_some_and(|entry| entry.limits.jobs.is_some());
        if has_own || live + more <= self.tenant_jobs {
            return Ok(());
        }
        let (live, max) = (counted(live, "job"), self.tenant_jobs);
        let why = format!("tenant `{tenant}` has {live} that have not ended and may have {max}");
        let hint = "wait until some have ended, or ask for a limit of your own (`oef tenant set NAME --max-jobs N`)";
        Err(Kind::LimitReached.problem(why).hint(hint))
    }

    /// Whether one more fits beside all others. Few tenants with many jobs shut none out that has few: so there may be
    /// twice as many as that, at the very most.
    fn check_all_jobs(
        &self,
        world: &World,
        tenant: &str,
        more: usize,
        of_all: usize,
    ) -> Result<(), ApiError> {
        let live = world.jobs.len() - world.ended.len();
        let own = world.tenants.get(tenant).map_or(0, |entry| entry.live as usize);
        let part = self.all_jobs / world.tenants.len().max(1);
        if live + of_all <= self.all_jobs || own + more <= part {
            return Ok(());
        }
        let why = format!("{live} jobs have not ended; there may be {}", self.all_jobs);
        Err(Kind::LimitReached.problem(why).hint("wait until some have ended"))
    }

    fn check_bytes(&self, world: &World, tenant: &str, more: u64) -> Result<(), ApiError> {
        let bytes = world.index.text_bytes(Some(tenant));
        if bytes + more <= self.tenant_bytes {
            return Ok(());
        }
        let why = format!(
            "commands, scripts, variables and other texts of the jobs of `{tenant}` that have not ended take {} MiB, and may take {}",
            bytes >> 20,
            self.tenant_bytes >> 20
        );
        Err(Kind::LimitReached.problem(why).hint("put long scripts into files"))
    }

    fn check_probes(
        &self,
        world: &World,
        now: Time,
        tenant: &str,
        more: usize,
    ) -> Result<(), ApiError> {
        if more == 0 {
            return Ok(());
        }
        let newest = world.index.probes(tenant).filter_map(|id| world.jobs.get(&id));
        let recent = newest.take_while(|job| now.since(job.submitted) < HOUR);
        let done = recent.take(self.profile_runs).count();
        if done + more <= self.profile_runs {
            return Ok(());
        }
        let why = format!(
            "tenant `{tenant}` submitted {} within an hour, and may submit {}",
            counted(done, "profile run"),
            self.profile_runs
        );
        Err(Kind::TooManyRequests.problem(why).hint("a profile stays true for longer than that"))
    }
}

/// What a submission adds to a tenant.
#[derive(Default)]
struct Added<'a> {
    jobs: usize,
    bytes: u64,
    probes: usize,
    workloads: BTreeSet<&'a str>,
}
