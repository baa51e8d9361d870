//! How much of everything one caller may have: nobody's excess is another's refusal.

use crate::problem::{Kind, More};
use crate::world::{World, text_bytes};
use oef_api::types::{JobState, JobSubmit, Problem};
use oef_report::format::counted;
use oef_sched::{Span, Time};
use std::collections::BTreeMap;

/// The budgets of tenants. A limit that an operator set for one tenant goes before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budgets {
    /// Jobs of one tenant that have not ended.
    pub tenant_jobs: usize,
    /// Bytes of their commands, scripts and variables.
    pub tenant_bytes: u64,
    /// The same of all tenants together.
    pub all_bytes: u64,
    /// Profile runs that one tenant submits in an hour.
    pub profile_runs: usize,
    /// Whether tenants whose jobs run as the daemon's own user may have tokens.
    pub trust_tenants: bool,
}

impl Default for Budgets {
    fn default() -> Budgets {
        Budgets {
            // A quarter of what the memory is sized for.
            tenant_jobs: 50_000,
            // A thousand jobs with the largest scripts, or all fifty thousand with five kilobytes each.
            tenant_bytes: 256 << 20,
            all_bytes: 2 << 30,
            // Ten workloads on ten gpu types, twice.
            profile_runs: 200,
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
    ) -> Result<(), Problem> {
        let mut more: BTreeMap<&str, Added> = BTreeMap::new();
        for job in jobs {
            let own = more.entry(job.tenant.as_deref().unwrap_or_default()).or_default();
            own.jobs += 1;
            own.bytes += text_bytes(job) as u64;
            own.probes += usize::from(job.probe.is_some());
        }
        let all: u64 = more.values().map(|own| own.bytes).sum();
        for (tenant, own) in &more {
            self.check_jobs(world, tenant, own.jobs)?;
            self.check_bytes(world, tenant, own.bytes)?;
            self.check_probes(world, now, tenant, own.probes)?;
        }
        match world.index.text_bytes(None) + all > self.all_bytes {
            true => {
                let why = "the jobs that have not ended are longer than all together may be";
                let hint = "wait until some have ended, or put long scripts into files";
                Err(Kind::LimitReached.problem(why).hint(hint))
            }
            false => Ok(()),
        }
    }

    fn check_jobs(&self, world: &World, tenant: &str, more: usize) -> Result<(), Problem> {
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

    fn check_bytes(&self, world: &World, tenant: &str, more: u64) -> Result<(), Problem> {
        let bytes = world.index.text_bytes(Some(tenant));
        if bytes + more <= self.tenant_bytes {
            return Ok(());
        }
        let why = format!(
            "commands, scripts and variables of the jobs of `{tenant}` that have not ended take {} MiB, and may take {}",
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
    ) -> Result<(), Problem> {
        if more == 0 {
            return Ok(());
        }
        let newest = world.index.newest(Some(tenant), &JobState::ALL, None);
        let recent = newest
            .filter_map(|id| world.jobs.get(&id))
            .take_while(|job| now.since(job.submitted) < HOUR);
        let done = recent.filter(|job| job.spec.probe.is_some()).take(self.profile_runs).count();
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
struct Added {
    jobs: usize,
    bytes: u64,
    probes: usize,
}
