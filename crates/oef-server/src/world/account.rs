//! Promised and delivered: throughput integrated over time.
//!
//! Rates change only with records, so that each tenant's totals are brought up to date when one of its
//! rates changes, and at every round.

use super::{Account, Delivered, TenantEntry, World};
use oef_api::types::{GpuRef, JobState};
use oef_core::WorkloadId;
use oef_sched::{Time, WorkloadKey};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rounds of one tenant that are remembered: a day of five-minute rounds.
const ROUNDS_REMEMBERED: usize = 288;

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
        self.since = at;
    }
}

impl World {
    /// A tenant's jobs get more or less from now on.
    pub(super) fn deliver(&mut self, at: Time, tenant: &str, rate: f64) {
        if let Some(entry) = self.tenants.get_mut(tenant) {
            entry.account.settle(at);
            // What is left of adding and taking away the same is not less than nothing.
            entry.account.delivered_rate = (entry.account.delivered_rate + rate).max(0.0);
        }
    }

    /// Closes the accounts of the round that ends.
    pub(super) fn close_round(&mut self, at: Time) {
        let (round, began) = (self.sched.round().0, self.sched.plan().began);
        let ms = at.since(began).0 as f64;
        for tenant in self.tenants.values_mut() {
            let account = &mut tenant.account;
            account.settle(at);
            let promised = account.promised_total - account.round_promised;
            let delivered = account.delivered_total - account.round_delivered;
            account.round_promised = account.promised_total;
            account.round_delivered = account.delivered_total;
            let took_part = promised > 0.0 || delivered > 0.0 || tenant.live > 0;
            if round == 0 || ms <= 0.0 || !took_part {
                continue;
            }
            if tenant.delivered.len() >= ROUNDS_REMEMBERED {
                tenant.delivered.pop_front();
            }
            let (promised, delivered) = (promised / ms, delivered / ms);
            tenant.delivered.push_back(Delivered { round, at_ms: at.0, promised, delivered });
        }
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
        let mut delivered: BTreeMap<String, f64> = BTreeMap::new();
        let placed = [JobState::Starting, JobState::Running, JobState::Stopping];
        let jobs: Vec<_> = self.index.newest(None, &placed, None).collect();
        for id in jobs {
            let Some(job) = self.jobs.get(&id) else { continue };
            let Some(run) = job.run() else { continue };
            let rate = self.gang_rate(job.workload, &run.gpus);
            *delivered.entry(job.tenant().to_string()).or_default() += rate;
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
            tenant.account.delivered_rate = delivered.get(name).copied().unwrap_or(0.0);
        }
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
        let speeds = gpus.iter().map(|gpu| self.speedup(workload, &gpu.gpu_type));
        speeds.reduce(f64::min).unwrap_or(0.0) * gpus.len() as f64
    }

    /// How fast a workload runs on a type, where the reference type counts 1.
    pub fn speedup(&self, workload: WorkloadKey, gpu_type: &str) -> f64 {
        let Some(known) = self.sched.workloads().get(workload.0) else { return 0.0 };
        let Some(gpu) = self.sched.cluster().type_named(gpu_type) else { return 0.0 };
        let unit = self.unit(workload);
        if unit > 0.0 { known.profile.on(gpu.0) / unit } else { 0.0 }
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
