//! Who used how much of what: GPU time by tenant, workload and gpu type.
//!
//! Kept by days (UTC), and by months when they are older: a year of fifty tenants is about a megabyte. What runs is added
//! when a round ends and when a run ends, to the day on which that part began.

use super::World;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use oef_api::types::{GpuRef, JobState};
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
}

impl Usage {
    fn of(&mut self, at: Time, tenant: &str) -> &mut TenantUsage {
        let day = at.0 / DAY_MS;
        let period = self.periods.entry(day).or_default();
        period.last = period.last.max(day);
        period.tenants.entry(tenant.into()).or_default()
    }

    fn add(&mut self, at: Time, tenant: &str, workload: &str, gpus: &[GpuRef], more: Used) {
        let workloads = &mut self.of(at, tenant).workloads;
        let types = workloads.entry(workload.into()).or_default();
        for gpu in gpus {
            let used = types.entry(gpu.gpu_type.clone()).or_default();
            used.held += more.held;
            used.wasted += more.wasted;
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
        for (workload, types) in &other.workloads {
            let sums = self.workloads.entry(workload.clone()).or_default();
            for (gpu_type, more) in types {
                let sum = sums.entry(gpu_type.clone()).or_default();
                sum.held += more.held;
                sum.wasted += more.wasted;
            }
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
    pub(super) fn use_round(&mut self, at: Time, held: &BTreeMap<String, Vec<f64>>) {
        let settled = self.usage.settled;
        let placed = [JobState::Starting, JobState::Running, JobState::Stopping];
        for id in self.index.newest(None, &placed, None) {
            let Some(job) = self.jobs.get(&id) else { continue };
            let Some(run) = job.run() else { continue };
            let from = run.began.max(settled);
            let more = Used { held: at.since(from).0 as f64, wasted: 0.0 };
            self.usage.add(from, job.tenant(), job.workload_name(), &run.gpus, more);
        }
        self.usage.settled = at;
        self.count_shares(at, held);
        self.usage.fold(at);
    }

    fn count_shares(&mut self, at: Time, held: &BTreeMap<String, Vec<f64>>) {
        let began = self.sched.plan().began;
        let ms = at.since(began).0 as f64;
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
        at: Time,
        names: (&str, &str),
        gpus: &[GpuRef],
        began: Time,
        wasted_ms: u64,
    ) {
        let from = began.max(self.usage.settled);
        let wasted = wasted_ms as f64 / gpus.len().max(1) as f64;
        let more = Used { held: at.since(from).0 as f64, wasted };
        self.usage.add(from, names.0, names.1, gpus, more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Time = Time(DAY_MS);

    fn gpu() -> GpuRef {
        GpuRef { node: "n".into(), index: 0, gpu_type: "fast".into() }
    }

    #[test]
    fn old_days_become_months_and_nothing_is_lost() {
        let mut usage = Usage::default();
        let total = |usage: &Usage| -> f64 {
            let all = usage.periods.values().flat_map(|p| p.tenants.values());
            all.flat_map(|t| t.workloads.values()).flat_map(|w| w.values()).map(|u| u.held).sum()
        };
        for day in 0..800 {
            let at = Time(DAY.0 * (20_000 + day));
            let more = Used { held: 1000.0, wasted: 10.0 };
            usage.add(at, "ada", "vgg", &[gpu(), gpu()], more);
            usage.fold(at);
        }
        assert_eq!(total(&usage), 1_600_000.0);
        let months = usage.periods.len() - DAYS_KEPT as usize;
        assert!((24..=28).contains(&months), "{months} months of 738 days");
        let first: Vec<u64> = usage.periods.keys().copied().skip(1).take(3).collect();
        assert!(first.iter().all(|&day| first_of_month(day) == day), "{first:?}");
    }
}
