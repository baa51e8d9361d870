//! What tenants and operators do, through the same commands as the daemon's interface.

use super::super::story::{Kind, Step};
use super::{Played, Stage, name};
use jiff::Timestamp;
use oef_api::parsed::{Weight, Workers};
use oef_api::types::{
    Dependency, DependencyCondition, GroupPut, JobBatch, JobPatch, JobSubmit, NodeHealth,
    NodePatch, SettingsPatch, TenantCreate, TenantPatch, WorkloadPut,
};
use oef_sched::JobId;
use oef_server::core::{Core, Wish};
use oef_server::invariants::{Broken, Invariant};
use oef_server::world::JobEntry;
use std::collections::BTreeMap;

/// Jobs that have not ended, at most: a story is about what happens, not about load.
const LIVE_MAX: usize = 24;
/// A key is known for a day.
const KEY_KNOWN_MS: u64 = 23 * 3_600_000;

/// A submission that may come again.
pub(super) struct Submission {
    key: String,
    job: JobSubmit,
    at: u64,
    ids: Option<Vec<u64>>,
}

impl Stage {
    pub(super) fn act(&mut self, step: Step) -> Played {
        match step {
            Step::Submit { tenant, workers, kind, ms } => {
                return self.submit(job_of(tenant, workers, kind, ms));
            }
            Step::SubmitAgain { nth } if !self.submissions.is_empty() => {
                let at = usize::from(nth) % self.submissions.len();
                return self.send(at);
            }
            Step::Cancel { nth } => {
                if let Some(job) = self.nth_live(nth) {
                    self.ask(Wish::Cancel(job.0))?;
                }
            }
            Step::Weigh { tenant, weight } => {
                let weight = Weight::try_from(f64::from(weight)).ok();
                let patch = TenantPatch { weight, ..TenantPatch::default() };
                self.ask(Wish::PatchTenant(name(tenant), patch))?;
            }
            Step::Suspend { tenant, on } => {
                let patch = TenantPatch { suspended: Some(on), ..TenantPatch::default() };
                self.ask(Wish::PatchTenant(name(tenant), patch))?;
            }
            Step::Remove { tenant } => {
                // Whether it was done is not known where the machine dies: its jobs may be gone from now on.
                let next = self.core.as_ref().map(|core| core.with_world(|w| JobId(w.next_job)));
                self.watch.remove(&name(tenant), next.unwrap_or_default());
                self.ask(Wish::RemoveTenant(name(tenant)))?;
            }
            Step::Declare { tenant, fast } => {
                let throughput =
                    BTreeMap::from([("slow".into(), 1.0), ("fast".into(), f64::from(fast))]);
                let put = WorkloadPut { throughput: Some(throughput), ..WorkloadPut::default() };
                self.ask(Wish::PutWorkload(name(tenant), "default".into(), put))?;
            }
            Step::Drain { node, on } => {
                let health = if on { NodeHealth::Down } else { NodeHealth::Up };
                self.ask(Wish::PatchNode(self.cluster.node_name(node), NodePatch::health(health)))?;
            }
            Step::Rounds { seconds } => {
                let patch =
                    SettingsPatch { round_s: Some(f64::from(seconds)), ..SettingsPatch::default() };
                if self.ask(Wish::PatchSettings(patch))? {
                    self.round_s = u64::from(seconds);
                }
            }
            Step::Shares { by } => {
                let mechanism = Some(by.name().to_string());
                let patch = SettingsPatch { mechanism, ..SettingsPatch::default() };
                self.ask(Wish::PatchSettings(patch))?;
            }
            Step::Hold { nth, on } => {
                if let Some(job) = self.nth_live(nth) {
                    self.ask(Wish::PatchJob(job.0, held(on)))?;
                }
            }
            Step::Edit { nth, priority } => {
                if let Some(job) = self.nth_live(nth) {
                    let priority = Some(i32::from(priority));
                    let patch = JobPatch { priority, ..JobPatch::default() };
                    self.ask(Wish::PatchJob(job.0, patch))?;
                }
            }
            Step::Resubmit { nth } => return self.resubmit(nth),
            Step::Depend { tenant, nth, ms } => {
                let Some(job) = self.nth_live(nth) else { return Ok(()) };
                let when = DependencyCondition::Ended;
                let after = vec![Dependency { job: job.0, when }];
                return self.submit(JobSubmit { after, ..job_of(tenant, 1, Kind::Works, ms) });
            }
            Step::Urgent { tenant, workers, ms } => {
                let job = job_of(tenant, workers, Kind::Works, ms);
                return self.submit(JobSubmit { now: true, priority: 5, ..job });
            }
            Step::Group { tenant, group, weight } => {
                let of = (group % 3 != 0).then(|| format!("g{}", group % 3));
                if let Some(name) = &of {
                    let weight = Weight::try_from(f64::from(weight)).ok();
                    let put = GroupPut { weight, ..GroupPut::default() };
                    self.ask(Wish::PutGroup(name.clone(), put))?;
                }
                let patch = TenantPatch { group: Some(of), ..TenantPatch::default() };
                self.ask(Wish::PatchTenant(name(tenant), patch))?;
            }
            Step::Bound { tenant, gpus, is_limit } => {
                let each = ["slow", "fast"].map(|gpu_type| (gpu_type.to_string(), u32::from(gpus)));
                let each = Some(BTreeMap::from(each));
                let patch = match is_limit {
                    true => TenantPatch { limit: each, ..TenantPatch::default() },
                    false => TenantPatch { guarantee: each, ..TenantPatch::default() },
                };
                self.ask(Wish::PatchTenant(name(tenant), patch))?;
            }
            Step::Plan { node, from_s, length_s } => {
                let now = self.core.as_ref().map_or(0, |core| core.with_world(|w| w.sched.now().0));
                let at = |s: u16| i64::try_from(now).unwrap_or(0) + 1_000 * i64::from(s);
                let from = Timestamp::from_millisecond(at(from_s)).ok();
                let until = Timestamp::from_millisecond(at(from_s) + 1_000 * i64::from(length_s));
                let patch =
                    NodePatch { from, until: until.ok(), ..NodePatch::health(NodeHealth::Down) };
                self.ask(Wish::PatchNode(self.cluster.node_name(node), patch))?;
            }
            // The rest befalls the daemon.
            _ => {}
        }
        self.turn()
    }

    pub(super) fn create(&mut self, tenant: u8) -> Played {
        match name(tenant).parse() {
            Ok(name) => self.ask(Wish::CreateTenant(TenantCreate::named(name))).map(drop),
            Err(_) => Ok(()),
        }
    }

    fn nth_live(&self, nth: u8) -> Option<JobId> {
        let core = self.core.as_ref()?;
        let live = core.with_world(|world| {
            let live = world.jobs.iter().filter(|(_, job)| !job.state.is_final());
            live.map(|(id, _)| *id).collect::<Vec<_>>()
        });
        (!live.is_empty()).then(|| live[usize::from(nth) % live.len()])
    }

    fn submit(&mut self, job: JobSubmit) -> Played {
        let count = |core: &Core| core.with_world(|w| w.jobs.len() - w.ended.len());
        if self.core.as_ref().is_none_or(|core| count(core) >= LIVE_MAX) {
            return Ok(());
        }
        let tenant = job.tenant.clone().map_or_else(String::new, String::from);
        if self
            .core
            .as_ref()
            .is_some_and(|core| core.with_world(|w| !w.tenants.contains_key(&tenant)))
        {
            let number: u8 = tenant.trim_start_matches('t').parse().unwrap_or(0);
            self.create(number)?;
        }
        let key = format!("key-{}", self.submissions.len());
        self.submissions.push(Submission { key, job, at: self.time.now(), ids: None });
        self.send(self.submissions.len() - 1)
    }

    /// Sends a submission, for the first time or again.
    fn send(&mut self, at: usize) -> Played {
        let Some(core) = &mut self.core else { return Ok(()) };
        let Submission { key, job, at: since, ids } = &self.submissions[at];
        if self.time.now() - since > KEY_KNOWN_MS {
            return Ok(());
        }
        let tenant = job.tenant.clone().map_or_else(String::new, String::from);
        let batch = JobBatch::of(vec![job.clone()]);
        let Ok(Some(submitted)) = core.ask(Wish::Submit(batch, Some(key.clone()))) else {
            return self.turn();
        };
        if let Some(known) = ids
            && *known != submitted.ids
        {
            let what = format!("the same submission is job {known:?} and job {:?}", submitted.ids);
            return Err(Broken { invariant: Invariant::NoJobDoubled, what });
        }
        for id in &submitted.ids {
            self.watch.acknowledge(JobId(*id), &tenant);
        }
        self.submissions[at].ids = Some(submitted.ids);
        self.turn()
    }

    /// Asks for something; whether it was done. What is refused is the caller's business.
    pub(super) fn ask(&mut self, wish: Wish) -> Result<bool, Broken> {
        let done = self.core.as_mut().is_some_and(|core| core.ask(wish).is_ok());
        self.turn()?;
        Ok(done)
    }

    /// Any job, also one that has ended.
    fn resubmit(&mut self, nth: u8) -> Played {
        let Some(core) = &mut self.core else { return Ok(()) };
        let chosen = core.with_world(|world| {
            let all: Vec<JobId> = world.jobs.keys().copied().collect();
            let is_room = world.jobs.len() - world.ended.len() < LIVE_MAX;
            let id = all.get(usize::from(nth) % all.len().max(1)).copied().filter(|_| is_room)?;
            Some((id, world.jobs.get(&id)?.tenant().to_string()))
        });
        let Some((id, tenant)) = chosen else { return Ok(()) };
        if let Ok(Some(submitted)) = core.ask(Wish::Resubmit(id.0)) {
            for id in &submitted.ids {
                self.watch.acknowledge(JobId(*id), &tenant);
            }
        }
        self.turn()
    }

    /// What operators and tenants have set that would keep jobs waiting, or nodes out, is taken back, and jobs that would
    /// never end are cancelled.
    pub(super) fn release_all(&mut self) -> Played {
        let Some(core) = &self.core else { return Ok(()) };
        let (jobs, hanging, windows) = core.with_world(|world| {
            let live = || world.jobs.iter().filter(|(_, job)| !job.state.is_final());
            let held: Vec<JobId> =
                live().filter(|(_, job)| job.spec.held).map(|(id, _)| *id).collect();
            let hangs =
                |job: &JobEntry| job.spec.command.iter().any(|word| word == Kind::Hangs.name());
            let hanging: Vec<JobId> =
                live().filter(|(_, job)| hangs(job)).map(|(id, _)| *id).collect();
            (held, hanging, world.windows.keys().copied().collect::<Vec<_>>())
        });
        for job in hanging {
            self.ask(Wish::Cancel(job.0))?;
        }
        for id in windows {
            self.ask(Wish::DropWindow(id))?;
        }
        for job in jobs {
            self.ask(Wish::PatchJob(job.0, held(false)))?;
        }
        for tenant in 0..super::TENANTS {
            for is_limit in [true, false] {
                let none = Some(BTreeMap::new());
                let patch = match is_limit {
                    true => TenantPatch { limit: none, ..TenantPatch::default() },
                    false => TenantPatch { guarantee: none, ..TenantPatch::default() },
                };
                self.ask(Wish::PatchTenant(name(tenant), patch))?;
            }
        }
        Ok(())
    }
}

fn held(on: bool) -> JobPatch {
    JobPatch { held: Some(on), ..JobPatch::default() }
}

fn job_of(tenant: u8, workers: u8, kind: Kind, ms: u64) -> JobSubmit {
    JobSubmit {
        tenant: name(tenant).parse().ok(),
        command: vec!["job".into(), kind.name().into(), ms.to_string()],
        workers: Workers::up_to(u32::from(workers)),
        retries: 1,
        ..JobSubmit::default()
    }
}
