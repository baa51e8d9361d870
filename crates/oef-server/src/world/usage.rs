//! Who used how much of what: GPU time by tenant, workload, user and gpu type.
//!
//! Kept by days (UTC), and by months when they are older: ten years of fifty tenants are about four megabytes. What runs is added
//! when a round ends and when a run ends, to the day on which that part began.

use super::World;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use oef_api::types::{GpuRef, JobState, JobSubmit};
use oef_sched::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Days that are kept as days.
const DAYS_KEPT: u64 = 62;
const DAY_MS: u64 = 86_400_000;

/// All that was used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// By the day on which a period begins, counted from the Unix epoch.
    pub periods: BTreeMap<u64, Period>,
    /// Until when what runs has been added.
    pub settled: Time,
}

/// A day, or what of a month is old.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Period {
    /// Its last day.
    pub last: u64,
    /// By tenant.
    pub tenants: BTreeMap<String, TenantUsage>,
}

/// What a tenant used in a period.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TenantUsage {
    /// Against its share, by gpu type.
    pub types: BTreeMap<String, AgainstShare>,
    /// By workload and gpu type.
    pub workloads: BTreeMap<String, BTreeMap<String, Used>>,
    /// By the person who submitted and gpu type; of jobs of which it is not known nothing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub users: BTreeMap<String, BTreeMap<String, Used>>,
}

/// Milliseconds of GPUs of a type against a tenant's share, round by round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgainstShare {
    /// Its share.
    pub promised: f64,
    /// Used beyond its share.
    pub borrowed: f64,
    /// Of its share, not used by it.
    pub lent: f64,
}

/// Milliseconds of GPUs of a type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Used {
    /// That were held.
    pub held: f64,
    /// Of that, work that was lost because a run ended before it was saved.
    pub wasted: f64,
    /// Of what was held, that it was measured how busy they were.
    #[serde(default, skip_serializing_if = "is_none")]
    pub measured: f64,
    /// Of what was measured, that they computed.
    #[serde(default, skip_serializing_if = "is_none")]
    pub busy: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_none(ms: &f64) -> bool {
    *ms == 0.0
}

/// How busy the GPUs of a type were while jobs of a workload held them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Utilised {
    /// Whose.
    pub tenant: String,
    /// Of which workload.
    pub workload: String,
    /// The gpu type.
    pub gpu_type: String,
    /// Milliseconds of GPUs in which it was measured.
    pub measured_ms: u64,
    /// Of these, how many they computed.
    pub busy_ms: f64,
}

impl Used {
    fn merge(&mut self, more: &Used) {
        self.held += more.held;
        self.wasted += more.wasted;
        self.measured += more.measured;
        self.busy += more.busy;
    }
}

impl Usage {
    fn of(&mut self, at: Time, tenant: &str) -> &mut TenantUsage {
        let day = at.0 / DAY_MS;
        let period = self.periods.entry(day).or_default();
        period.last = period.last.max(day);
        period.tenants.entry(tenant.into()).or_default()
    }

    fn add(&mut self, at: Time, job: &JobSubmit, gpus: &[GpuRef], more: Used) {
        let tenant = self.of(at, job.tenant.as_deref().unwrap_or_default());
        let workload = job.workload.clone().unwrap_or_default();
        let count = |types: &mut BTreeMap<String, Used>| {
            for gpu in gpus {
                types.entry(gpu.gpu_type.clone()).or_default().merge(&more);
            }
        };
        count(tenant.workloads.entry(workload.into()).or_default());
        if let Some(user) = &job.user {
            count(tenant.users.entry(user.clone()).or_default());
        }
    }

    /// Adds how busy GPUs were.
    pub(super) fn utilised(&mut self, at: Time, rows: &[Utilised]) {
        for row in rows {
            let workloads = &mut self.of(at, &row.tenant).workloads;
            let types = workloads.entry(row.workload.clone()).or_default();
            let (measured, busy) = (row.measured_ms as f64, row.busy_ms);
            let more = Used { measured, busy, ..Used::default() };
            types.entry(row.gpu_type.clone()).or_default().merge(&more);
        }
    }

    /// Days that are old become part of their month.
    fn fold(&mut self, now: Time) {
        let oldest = (now.0 / DAY_MS).saturating_sub(DAYS_KEPT);
        let old: Vec<u64> = self.periods.range(..oldest).map(|(&day, _)| day).collect();
        for day in old {
            let month = first_of_month(day);
            if month == day {
                continue;
            }
            let Some(period) = self.periods.remove(&day) else { continue };
            let sum = self.periods.entry(month).or_default();
            sum.last = sum.last.max(period.last);
            for (tenant, usage) in period.tenants {
                sum.tenants.entry(tenant).or_default().merge(&usage);
            }
        }
    }
}

impl TenantUsage {
    /// Adds what another period has.
    fn merge(&mut self, other: &TenantUsage) {
        for (gpu_type, more) in &other.types {
            let sum = self.types.entry(gpu_type.clone()).or_default();
            sum.promised += more.promised;
            sum.borrowed += more.borrowed;
            sum.lent += more.lent;
        }
        merge(&mut self.workloads, &other.workloads);
        merge(&mut self.users, &other.users);
    }
}

type ByNameAndType = BTreeMap<String, BTreeMap<String, Used>>;

fn merge(sums: &mut ByNameAndType, other: &ByNameAndType) {
    for (name, types) in other {
        let sums = sums.entry(name.clone()).or_default();
        for (gpu_type, more) in types {
            sums.entry(gpu_type.clone()).or_default().merge(more);
        }
    }
}

/// The first day of the month of a day.
fn first_of_month(day: u64) -> u64 {
    let at = i64::try_from(day * DAY_MS).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    let date = at.map(|at| at.to_zoned(TimeZone::UTC).date());
    date.map_or(day, |date| day.saturating_sub(u64::from(date.day().unsigned_abs()) - 1))
}

impl World {
    /// A round ends: adds what ran in it, and what each tenant's share of it was.
    pub(super) fn use_round(&mut self, held: &BTreeMap<String, Vec<f64>>) {
        let settled = self.usage.settled;
        for id in self.index.newest(None, &JobState::PLACED, None) {
            let Some(job) = self.jobs.get(&id) else { continue };
            let Some(run) = job.run() else { continue };
            let from = run.began.max(settled);
            let more = Used { held: self.at.since(from).0 as f64, ..Used::default() };
            self.usage.add(from, &job.spec, &run.gpus, more);
        }
        self.usage.settled = self.at;
        self.count_shares(held);
        self.usage.fold(self.at);
    }

    fn count_shares(&mut self, held: &BTreeMap<String, Vec<f64>>) {
        let began = self.sched.plan().began;
        let ms = self.at.since(began).0 as f64;
        let entitlement = self.sched.entitlement();
        let Some((problem, outcome)) = entitlement.answer().filter(|_| ms > 0.0) else { return };
        let shares: BTreeMap<_, _> = entitlement
            .tenants()
            .iter()
            .zip(problem.tenant_ids())
            .map(|(&key, t)| (key, outcome.shares.of_tenant(problem, t)))
            .collect();
        let names: Vec<String> = problem.types().iter().map(|t| t.name.clone()).collect();
        for (tenant, entry) in &self.tenants {
            let none = Vec::new();
            let share = shares.get(&entry.key).filter(|_| entry.live > 0).unwrap_or(&none);
            let own = held.get(tenant).unwrap_or(&none);
            for (j, name) in names.iter().enumerate() {
                let promised = share.get(j).copied().unwrap_or(0.0) * ms;
                let place = self.sched.cluster().type_named(name);
                let used = place.and_then(|gpu| own.get(gpu.0)).copied().unwrap_or(0.0);
                if promised <= 0.0 && used <= 0.0 {
                    continue;
                }
                let sum = self.usage.of(began, tenant).types.entry(name.clone()).or_default();
                sum.promised += promised;
                sum.borrowed += (used - promised).max(0.0);
                sum.lent += (promised - used).max(0.0);
            }
        }
    }

    /// A run ends: adds what the rounds before have not, and the work that was lost.
    pub(super) fn use_run(
        &mut self,
        job: &JobSubmit,
        gpus: &[GpuRef],
        began: Time,
        wasted_ms: u64,
    ) {
        let from = began.max(self.usage.settled);
        let wasted = wasted_ms as f64 / gpus.len().max(1) as f64;
        let more = Used { held: self.at.since(from).0 as f64, wasted, ..Used::default() };
        self.usage.add(from, job, gpus, more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Time = Time(DAY_MS);

    fn gpu() -> GpuRef {
        GpuRef { node: "n".into(), index: 0, gpu_type: "fast".into() }
    }

    fn job(tenant: &str, workload: &str, user: Option<&str>) -> JobSubmit {
        JobSubmit {
            tenant: tenant.parse().ok(),
            workload: workload.parse().ok(),
            user: user.map(String::from),
            ..JobSubmit::default()
        }
    }

    fn held<'a>(names: impl Iterator<Item = &'a BTreeMap<String, Used>>) -> f64 {
        names.flat_map(|types| types.values()).map(|used| used.held).sum()
    }

    fn row() -> Utilised {
        Utilised {
            tenant: "ada".into(),
            workload: "vgg".into(),
            gpu_type: "fast".into(),
            measured_ms: 2000,
            busy_ms: 500.0,
        }
    }

    #[test]
    fn old_days_become_months_and_nothing_is_lost() {
        let mut usage = Usage::default();
        for day in 0..800 {
            let at = Time(DAY.0 * (20_000 + day));
            let more = Used { held: 1000.0, wasted: 10.0, ..Used::default() };
            usage.add(at, &job("ada", "vgg", Some("ann")), &[gpu(), gpu()], more);
            usage.utilised(at, &[row()]);
            usage.fold(at);
        }
        let tenants = || usage.periods.values().flat_map(|period| period.tenants.values());
        assert_eq!(held(tenants().flat_map(|t| t.workloads.values())), 1_600_000.0);
        assert_eq!(held(tenants().flat_map(|t| t.users.values())), 1_600_000.0);
        let measured = |of: fn(&Used) -> f64| -> f64 {
            tenants().flat_map(|t| t.workloads.values()).flat_map(|w| w.values()).map(of).sum()
        };
        assert_eq!(measured(|used| used.measured), 1_600_000.0);
        assert_eq!(measured(|used| used.busy), 400_000.0);
        let months = usage.periods.len() - DAYS_KEPT as usize;
        assert!((24..=28).contains(&months), "{months} months of 738 days");
        let first: Vec<u64> = usage.periods.keys().copied().skip(1).take(3).collect();
        assert!(first.iter().all(|&day| first_of_month(day) == day), "{first:?}");
    }

    /// Ten years of rounds of an hour: fifty tenants with two workloads and two users each, on three gpu types.
    #[test]
    fn ten_years_take_little_space_and_the_sums_are_exact() {
        const TENANTS: u64 = 50;
        const ROUNDS: u64 = 10 * 365 * 24;
        let jobs: Vec<JobSubmit> = (0..2 * TENANTS)
            .map(|i| {
                job(
                    &format!("tenant-{}", i / 2),
                    &format!("w{}", i % 2),
                    Some(&format!("user-{i}")),
                )
            })
            .collect();
        let types = ["rtx3070", "rtx3080", "rtx3090"];
        let gpus = types.map(|name| GpuRef { gpu_type: name.into(), ..gpu() });
        let mut usage = Usage::default();
        for round in 0..ROUNDS {
            let at = Time(DAY.0 * 20_000 + round * 3_600_000);
            // Every job runs in one round of ten, which is every day.
            for job in jobs.iter().skip((round % 10) as usize).step_by(10) {
                usage.add(at, job, &gpus, Used { held: 3_600_000.0, ..Used::default() });
            }
            usage.fold(at);
        }
        let bytes = serde_json::to_vec(&usage).expect("it can be written").len();
        assert!(bytes < 8 << 20, "{bytes} bytes");
        assert!(bytes > 1 << 20, "{bytes} bytes: nothing was kept");
        let tenants = || usage.periods.values().flat_map(|period| period.tenants.values());
        // Ten jobs in each round, on three GPUs.
        let expected = (ROUNDS * 10 * 3) as f64 * 3_600_000.0;
        assert_eq!(held(tenants().flat_map(|t| t.workloads.values())), expected);
        assert_eq!(held(tenants().flat_map(|t| t.users.values())), expected);
    }
}
