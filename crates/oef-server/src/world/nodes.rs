//! Nodes come and go.

use super::{Action, ProfileEntry, Rejection, World};
use oef_api::types::{EventTopic, Provenance};
use oef_sched::{EventKind, NodeSpec, Time, WorkloadKey};

impl World {
    pub(super) fn node_up(
        &mut self,
        at: Time,
        spec: &NodeSpec,
        out: &mut Vec<Action>,
    ) -> Result<(), Rejection> {
        if self.drained.contains(&spec.name) {
            return Err(Rejection::Bad(format!(
                "node `{}` was taken out by an operator",
                spec.name
            )));
        }
        let types = self.sched.cluster().types().len();
        self.step_and_follow(at, EventKind::NodeUp(spec.clone()), out)?;
        if self.sched.cluster().types().len() > types {
            self.follow_types(at, out)?;
        }
        let message = format!("node {} is up: {} {}", spec.name, spec.gpus, spec.gpu_type);
        self.note(at, EventTopic::Cluster, None, message);
        Ok(())
    }

    pub(super) fn node_down(
        &mut self,
        at: Time,
        node: &str,
        out: &mut Vec<Action>,
    ) -> Result<(), Rejection> {
        self.step_and_follow(at, EventKind::NodeDown { node: node.into() }, out)?;
        self.note(at, EventTopic::Cluster, None, format!("node {node} is down"));
        Ok(())
    }

    /// Why a node cannot be used, or that nothing is wrong with it any more.
    pub(super) fn node_reason(&mut self, at: Time, node: &str, reason: Option<&str>) {
        match reason {
            Some(reason) => {
                self.node_reasons.insert(node.into(), reason.into());
                self.note(at, EventTopic::Cluster, None, format!("node {node}: {reason}"));
            }
            None => drop(self.node_reasons.remove(node)),
        }
    }

    /// A gpu type appeared: profiles may have a figure for it, and estimates are made for it.
    fn follow_types(&mut self, at: Time, out: &mut Vec<Action>) -> Result<(), Rejection> {
        let keys: Vec<WorkloadKey> = self.workloads.keys().copied().collect();
        for key in keys {
            let Some(entry) = self.workloads.get(&key) else { continue };
            if entry.profile.provenance == Provenance::Estimated {
                let estimate = self.estimate(at);
                self.set_profile(at, key, estimate, out)?;
                continue;
            }
            if let Some(measured) = measured_type(&entry.profile) {
                let (before, mut profile) = (entry.profile.clone(), entry.profile.clone());
                self.estimate_rest(at, key, &mut profile, &before, &measured);
                self.replace_profile(at, key, profile, false, out)?;
                continue;
            }
            let given = self.for_scheduler(&entry.profile);
            self.step_and_follow(at, EventKind::Profiled { workload: key, profile: given }, out)?;
        }
        Ok(())
    }
}

/// A type on which profile runs have measured a workload.
fn measured_type(profile: &ProfileEntry) -> Option<String> {
    profile.throughput.keys().find(|gpu| profile.is_measured(gpu)).cloned()
}
