//! A profile for a workload that nobody has told anything about.

use super::{ProfileEntry, World};
use oef_api::types::Provenance;
use oef_sched::Time;
use std::collections::BTreeMap;

impl World {
    /// The geometric mean of what is known of other workloads, counted against the reference type; 1 on
    /// a type of which nothing is known.
    pub(crate) fn estimate(&self, at: Time) -> ProfileEntry {
        let types = self.sched.cluster().types();
        let reference = self.reference().unwrap_or_default();
        let mut sums: BTreeMap<&str, (f64, u32)> = BTreeMap::new();
        let known = |p: &&ProfileEntry| p.provenance != Provenance::Estimated;
        let mut used = 0;
        for profile in self.workloads.values().map(|w| &w.profile).filter(known) {
            let unit = profile.throughput.get(&reference).copied().unwrap_or(0.0);
            if unit <= 0.0 {
                continue;
            }
            used += 1;
            for (gpu, &throughput) in profile.throughput.iter().filter(|(_, t)| **t > 0.0) {
                let (sum, count) = sums.entry(gpu).or_default();
                (*sum, *count) = (*sum + (throughput / unit).ln(), *count + 1);
            }
        }
        let mean = |gpu: &str| match sums.get(gpu) {
            Some(&(sum, count)) if count > 0 => (sum / f64::from(count)).exp(),
            _ => 1.0,
        };
        let source = match used {
            0 => "nothing is known yet: every gpu type counts 1".to_string(),
            1 => "the profile of the one workload that is known".into(),
            n => format!("the mean of the {n} workloads that are known"),
        };
        let throughput = types.iter().map(|gpu| (gpu.clone(), mean(gpu))).collect();
        ProfileEntry::plain(throughput, Provenance::Estimated, at.0, source)
    }

    /// The gpu type against which speedups are counted: as it was set, or as in the last shares, or the
    /// first one.
    pub fn reference(&self) -> Option<String> {
        let types = self.sched.cluster().types();
        let set = self.sched.settings().reference.as_ref().filter(|r| types.contains(r));
        let in_shares = || {
            let (problem, _) = self.sched.entitlement().answer()?;
            problem.types().get(problem.reference().0).map(|t| &t.name)
        };
        set.or_else(in_shares).or_else(|| types.first()).cloned()
    }
}
