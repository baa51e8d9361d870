//! A profile for a workload that nobody has told anything about.

use super::{ProfileEntry, WorkloadEntry, World};
use oef_api::types::Provenance;
use oef_sched::{Time, WorkloadKey};

impl World {
    /// What the nearest workloads of its tenant do, as if it ran at 1 on the reference type; 1 on a type of which nothing
    /// is known. Of a workload that is new nothing else is known, so that all others are equally near.
    pub(crate) fn estimate(&self, tenant: &str, at: Time) -> ProfileEntry {
        let types = self.sched.cluster().types();
        let reference = self.reference().unwrap_or_default();
        let own: Vec<Option<f64>> =
            types.iter().map(|gpu| (*gpu == reference).then_some(1.0)).collect();
        let others = self.relatives(tenant, None);
        let of_use =
            |other: &&Vec<Option<f64>>| other.iter().zip(&own).any(|(a, b)| a.and(*b).is_some());
        let source = match others.iter().filter(of_use).count() {
            0 => "nothing is known yet: every gpu type counts 1".to_string(),
            1 => "the profile of the one workload that is known".into(),
            n => format!("the mean of the {n} workloads that are known"),
        };
        let guesses = oef_sched::estimate(&own, &others);
        let figure = |guess: Option<oef_sched::Estimate>| guess.map_or(1.0, |g| g.throughput);
        let throughput = types.iter().cloned().zip(guesses.into_iter().map(figure)).collect();
        ProfileEntry::plain(throughput, Provenance::Estimated, at.0, source)
    }

    /// What is known of the other workloads of a tenant. Those of other tenants tell nothing: whoever could declare what
    /// others are estimated by could lower their shares, and whoever is estimated by others could read their profiles.
    pub(super) fn relatives(
        &self,
        tenant: &str,
        but: Option<WorkloadKey>,
    ) -> Vec<Vec<Option<f64>>> {
        let types = self.sched.cluster().types();
        let is_meant = |entry: &WorkloadEntry| {
            entry.tenant == tenant || self.meaning < super::ESTIMATES_STAY_IN_THE_TENANT
        };
        let others = self.workloads.iter().filter(|(key, _)| Some(**key) != but);
        let others = others.filter(|(_, entry)| is_meant(entry));
        others.map(|(_, entry)| entry.profile.known(types)).collect()
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
