//! Nodes come and go.

use super::{ProfileEntry, Rejection, World};
use oef_api::types::{EventTopic, Provenance};
use oef_sched::{EventKind, NodeSpec, WorkloadKey};

impl World {
    pub(super) fn node_up(&mut self, spec: &NodeSpec) -> Result<(), Rejection> {
        if self.drained.contains(&spec.name) {
            return Err(Rejection::Bad(format!(
                "node `{}` was taken out by an operator",
                spec.name
            )));
        }
        let types = self.sched.cluster().types().len();
        self.step_and_follow(EventKind::NodeUp(spec.clone()))?;
        if self.sched.cluster().types().len() > types {
            self.follow_types()?;
        }
        let message = format!("node {} is up: {} {}", spec.name, spec.gpus, spec.gpu_type);
        self.note(EventTopic::Cluster, None, message);
        Ok(())
    }

    pub(super) fn node_down(&mut self, node: &str) -> Result<(), Rejection> {
        self.step_and_follow(EventKind::NodeDown { node: node.into() })?;
        self.note(EventTopic::Cluster, None, format!("node {node} is down"));
        Ok(())
    }

    /// Why a node cannot be used, or that nothing is wrong with it any more.
    pub(super) fn node_reason(&mut self, node: &str, reason: Option<&str>) {
        match reason {
            Some(reason) => {
                self.node_reasons.insert(node.into(), reason.into());
                self.note(EventTopic::Cluster, None, format!("node {node}: {reason}"));
            }
            None => drop(self.node_reasons.remove(node)),
        }
    }

    /// A gpu type appeared: profiles may have a figure for it, and estimates are made for it.
    fn follow_types(&mut self) -> Result<(), Rejection> {
        let keys: Vec<WorkloadKey> = self.workloads.keys().copied().collect();
        for key in keys {
            let Some(entry) = self.workloads.get(&key) else { continue };
            if entry.profile.provenance == Provenance::Estimated {
                let estimate = self.estimate(&entry.tenant, self.at);
                self.replace_profile(key, estimate, true)?;
                continue;
            }
            if let Some(measured) = measured_type(&entry.profile) {
                let (before, mut profile) = (entry.profile.clone(), entry.profile.clone());
                self.estimate_rest(self.at, key, &mut profile, &before, &measured);
                self.replace_profile(key, profile, false)?;
                continue;
            }
            let given = self.for_scheduler(&entry.profile);
            self.step_and_follow(EventKind::Profiled { workload: key, profile: given })?;
        }
        Ok(())
    }
}

/// A type on which profile runs have measured a workload.
fn measured_type(profile: &ProfileEntry) -> Option<String> {
    profile.throughput.keys().find(|gpu| profile.is_measured(gpu)).cloned()
}
