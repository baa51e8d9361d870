//! Promised and delivered: throughput integrated over time.
//!
//! Rates change only with records, so that each tenant's totals are brought up to date when one of its
//! rates changes, and at every round.

use super::{Account, Delivered, Hour, TenantEntry, World};
use oef_api::types::{GpuRef, JobState};
use oef_core::{TenantId, WorkloadId, equal_split};
use oef_sched::{GangRule, TenantKey, Time, WorkloadKey};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Rounds of one tenant that are remembered: a day of five-minute rounds.
const ROUNDS_REMEMBERED: usize = 288;

/// Hours of one tenant that are remembered: a day and the hour that goes on.
const HOURS_REMEMBERED: usize = 25;
const HOUR_MS: u64 = 3_600_000;

/// What a tenant counts in the shares of a round.
struct Standing {
    weight: f64,
    equal_split: f64,
    demand: f64,
    /// The mean over its workloads, by their weights.
    speedup: Vec<f64>,
}

/// Adds the round that ends to its hour.
fn remember(
    hours: &mut VecDeque<Hour>,
    hour: u64,
    ms: f64,
    delivered: f64,
    held_ms: &[f64],
    standing: &Standing,
) {
    if hours.back().is_none_or(|last| last.hour != hour) {
        if hours.len() >= HOURS_REMEMBERED {
            hours.pop_front();
        }
        hours.push_back(Hour { hour, ..Hour::default() });
    }
    let Some(last) = hours.back_mut() else { return };
    last.ms += ms;
    last.delivered += delivered;
    last.equal_split += standing.equal_split * ms;
    last.weight += standing.weight * ms;
    last.demand += standing.demand * ms;
    add(&mut last.speedup, &standing.speedup, ms);
    add(&mut last.held, held_ms, 1.0);
}

/// Adds some times a list to another, which grows as needed.
fn add(to: &mut Vec<f64>, list: &[f64], times: f64) {
    to.resize(to.len().max(list.len()), 0.0);
    to.iter_mut().zip(list).for_each(|(to, x)| *to += x * times);
}

impl Account {
    /// The totals at an instant: promised and delivered.
    pub fn at(&self, at: Time) -> (f64, f64) {
        let ms = at.since(self.since).0 as f64;
        (
            self.promised_total + ms * self.promised_rate,
            self.delivered_total + ms * self.delivered_rate,
        )
    }

    fn settle(&mut self, at: Time) {
        (self.promised_total, self.delivered_total) = self.at(at);
        let ms = at.since(self.since).0 as f64;
        add(&mut self.round_held, &self.held, ms);
        self.since = at;
    }
}

impl World {
    /// A tenant's jobs get more or less (`sign`) from now on.
    pub(super) fn deliver(&mut self, tenant: &str, rate: f64, gpus: &[GpuRef], sign: f64) {
        let held = self.count_by_type(gpus);
        if let Some(entry) = self.tenants.get_mut(tenant) {
            entry.account.settle(self.at);
            // What is left of adding and taking away the same is not less than nothing.
            let account = &mut entry.account;
            account.delivered_rate = (account.delivered_rate + sign * rate).max(0.0);
            add(&mut account.held, &held, sign);
        }
    }

    /// Closes the accounts of the round that ends.
    pub(super) fn close_round(&mut self) {
        let (round, began) = (self.sched.round().0, self.sched.plan().began);
        let ms = self.at.since(began).0 as f64;
        let mut standings = self.standings();
        let mut used = BTreeMap::new();
        for (name, tenant) in &mut self.tenants {
            let account = &mut tenant.account;
            account.settle(self.at);
            let held = std::mem::take(&mut account.round_held);
            used.insert(name.clone(), held.clone());
            let promised = account.promised_total - account.round_promised;
            let delivered = account.delivered_total - account.round_delivered;
            account.round_promised = account.promised_total;
            account.round_delivered = account.delivered_total;
            let took_part = promised > 0.0 || delivered > 0.0 || tenant.live > 0;
            if round == 0 || ms <= 0.0 || !took_part {
                continue;
            }
            if let Some(standing) = standings.remove(&tenant.key) {
                remember(&mut tenant.hours, began.0 / HOUR_MS, ms, delivered, &held, &standing);
            }
            if tenant.delivered.len() >= ROUNDS_REMEMBERED {
                tenant.delivered.pop_front();
            }
            let (promised, delivered) = (promised / ms, delivered / ms);
            tenant.delivered.push_back(Delivered { round, at_ms: self.at.0, promised, delivered });
        }
        self.use_round(&used);
    }

    /// Counts all rates anew: shares, profiles or the reference may have changed.
    pub(super) fn count_rates(&mut self) {
        let mut promised: BTreeMap<String, f64> = BTreeMap::new();
        if let Some((problem, outcome)) = self.sched.entitlement().answer() {
            for (l, key) in self.sched.entitlement().workloads().iter().enumerate() {
                let throughput = outcome.shares.workload_throughput(problem, WorkloadId(l));
                let owner = self.sched.workloads().get(key.0).map(|w| w.tenant);
                if let Some(name) = owner.and_then(|owner| self.tenant_names.get(&owner)) {
                    *promised.entry(name.clone()).or_default() += throughput;
                }
            }
        }
        let mut delivered: BTreeMap<String, (f64, Vec<f64>)> = BTreeMap::new();
        let jobs: Vec<_> = self.index.newest(None, &JobState::PLACED, None).collect();
        for id in jobs {
            let Some(job) = self.jobs.get(&id) else { continue };
            let Some(run) = job.run() else { continue };
            let rate = self.gang_rate(job.workload, &run.gpus);
            let held = self.count_by_type(&run.gpus);
            let sums = delivered.entry(job.tenant().to_string()).or_default();
            sums.0 += rate;
            add(&mut sums.1, &held, 1.0);
            if let Some(run) =
                self.jobs.get_mut(&id).map(Arc::make_mut).and_then(|job| job.run_mut())
            {
                run.rate = rate;
            }
        }
        for (name, tenant) in &mut self.tenants {
            let active = tenant.live > 0;
            let share = promised.get(name).copied().filter(|_| active);
            tenant.account.promised_rate = share.unwrap_or(0.0);
            let (rate, held) = delivered.remove(name).unwrap_or_default();
            (tenant.account.delivered_rate, tenant.account.held) = (rate, held);
        }
    }

    /// GPUs by the position of their type.
    fn count_by_type(&self, gpus: &[GpuRef]) -> Vec<f64> {
        let mut held = vec![0.0; self.sched.cluster().types().len()];
        for gpu in gpus {
            if let Some(of) = self.sched.cluster().type_named(&gpu.gpu_type) {
                held[of.0] += 1.0;
            }
        }
        held
    }

    /// How every tenant stands in the shares that count now.
    fn standings(&self) -> BTreeMap<TenantKey, Standing> {
        let entitlement = self.sched.entitlement();
        let Some((problem, _)) = entitlement.answer() else { return BTreeMap::new() };
        let everything: f64 = problem.types().iter().map(|t| t.capacity).sum();
        let standing = |t: TenantId| {
            let weight = problem.tenants()[t.0].weight;
            let mut speedup = vec![0.0; problem.types().len()];
            let mut demand = 0.0;
            for workload in problem.workloads_of(t) {
                demand += workload.demand.unwrap_or(everything);
                add(&mut speedup, &workload.speedup, workload.weight / weight);
            }
            Standing { weight, equal_split: equal_split(problem, t), demand, speedup }
        };
        let tenants = entitlement.tenants().iter().zip(problem.tenant_ids());
        tenants.map(|(&key, t)| (key, standing(t))).collect()
    }

    /// What the scheduler keeps of a tenant's workloads, its profile runs among them.
    pub(crate) fn workloads_of<'a>(
        &'a self,
        tenant: &TenantEntry,
    ) -> impl Iterator<Item = &'a oef_sched::Workload> + use<'a> {
        let known = self.sched.tenants().get(tenant.key.0);
        let keys = known.map_or(&[][..], |known| known.workloads());
        keys.iter().filter_map(|key| self.sched.workloads().get(key.0))
    }

    /// Normalised throughput of a gang on some GPUs: all run at the pace of the slowest.
    pub(super) fn gang_rate(&self, workload: WorkloadKey, gpus: &[GpuRef]) -> f64 {
        let hosts = gpus.iter().map(|gpu| &gpu.node).collect::<BTreeSet<_>>().len() as u32;
        let as_gang = self.meaning >= super::GANG_FIGURES_COUNT
            && self.sched.settings().gangs == GangRule::Rows;
        let workers = if as_gang { gpus.len() as u32 } else { 1 };
        let speeds =
            gpus.iter().map(|gpu| self.gang_speedup(workload, &gpu.gpu_type, workers, hosts));
        speeds.reduce(f64::min).unwrap_or(0.0) * gpus.len() as f64
    }

    /// How fast a workload runs on a type, where the reference type counts 1.
    pub fn speedup(&self, workload: WorkloadKey, gpu_type: &str) -> f64 {
        self.gang_speedup(workload, gpu_type, 1, 1)
    }

    /// The same per GPU of a gang that stands on so many hosts.
    fn gang_speedup(&self, workload: WorkloadKey, gpu_type: &str, workers: u32, hosts: u32) -> f64 {
        let Some(known) = self.sched.workloads().get(workload.0) else { return 0.0 };
        let Some(gpu) = self.sched.cluster().type_named(gpu_type) else { return 0.0 };
        let unit = self.unit(workload);
        if unit > 0.0 { known.profile.of_gang(gpu.0, workers, hosts) / unit } else { 0.0 }
    }

    /// The throughput of a workload that counts 1: as in the shares of the round where it is in them,
    /// otherwise that on the reference type, or the least.
    fn unit(&self, workload: WorkloadKey) -> f64 {
        let Some(known) = self.sched.workloads().get(workload.0) else { return 0.0 };
        let entitlement = self.sched.entitlement();
        if let Some((problem, _)) = entitlement.answer() {
            let position = entitlement.workloads().iter().position(|&key| key == workload);
            let in_problem = position.and_then(|l| problem.workloads().get(l));
            let entries = in_problem.into_iter().flat_map(|w| w.throughput.iter().zip(&w.speedup));
            if let Some((throughput, speedup)) = entries.clone().find(|(_, s)| **s > 0.0) {
                return throughput / speedup;
            }
            let on_reference = known.profile.on(problem.reference().0);
            if on_reference > 0.0 {
                return on_reference;
            }
        }
        let some = known.profile.throughput.iter().copied().filter(|&t| t > 0.0);
        some.reduce(f64::min).unwrap_or(0.0)
    }
}
