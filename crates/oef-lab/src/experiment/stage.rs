//! The paper's cluster, and the schedulers on it.

use super::finding::ExperimentError;
use super::tenants::Party;
use oef_core::{
    GpuSpec, Mechanism, Options, Outcome, Problem, ProblemSpec, TenantSpec, WorkloadSpec, solve,
};
use oef_sched::{GangRule, PlacementRule, RoundingRule, Settings};
use oef_sim::engine::{Inputs, RunResult, Scenario, simulate};
use oef_sim::generate::{ClusterLike, cluster};
use oef_sim::input::{ClusterSpec, Placement, ProfileRow, ProfileTable, Trace};

/// What stands between shares and GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stack {
    /// OEF as the paper has it: its rounding, gangs packed on hosts.
    Paper,
    /// Gandiva-fair and Gavel as the paper has them: the same rounding, the first free GPUs whatever the host.
    Plain,
    /// Our rounding, and the first free GPUs.
    Unplaced,
    /// OEF as it is here: deficits, nothing idle, room for gangs, moves that pay.
    Ours,
}

impl Stack {
    pub fn settings(self, mechanism: Mechanism, reference: &str) -> Settings {
        use {GangRule as Gangs, PlacementRule as Place, RoundingRule as Rounding};
        let (rounding, placement, gangs) = match self {
            Stack::Paper => (Rounding::Paper, Place::Packed, Gangs::Blind),
            Stack::Plain => (Rounding::Paper, Place::FirstFree, Gangs::Blind),
            Stack::Unplaced => (Rounding::Deficit, Place::FirstFree, Gangs::Blind),
            Stack::Ours => (Rounding::Deficit, Place::Room, Gangs::Rows),
        };
        let reference = Some(reference.to_string());
        // The paper's runs are short, and its tenants change places every round.
        let restart_part = 0.0;
        let defaults = Settings::default();
        Settings { mechanism, reference, rounding, placement, gangs, restart_part, ..defaults }
    }
}

/// Eight GPUs of each of three types, four to a host, with the tenants' true speeds.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    pub cluster: ClusterSpec,
    pub profiles: ProfileTable,
}

impl Stage {
    /// The cluster with these types instead of the paper's, and a row for every workload.
    pub fn new<'a>(types: &[String], parties: impl IntoIterator<Item = &'a Party>) -> Self {
        let mut cluster = cluster(ClusterLike::Paper);
        let own = cluster.types();
        for node in &mut cluster.nodes {
            if let Some(j) = own.iter().position(|t| *t == node.gpu_type) {
                node.gpu_type = types.get(j).cloned().unwrap_or_else(|| own[j].clone());
            }
        }
        let row = |party: &Party| ProfileRow {
            model: party.workload(),
            batch_size: None,
            scale_factor: 1,
            placement: Placement::Unknown,
            throughput: party.speedup.iter().map(|w| Some(*w)).collect(),
        };
        let rows = parties.into_iter().map(row).collect();
        Stage { cluster, profiles: ProfileTable { types: types.to_vec(), rows } }
    }

    /// A plain scenario.
    pub fn scenario(&self, mechanism: Mechanism, stack: Stack, seed: u64) -> Scenario {
        let reference = self.profiles.types.first().map_or("", String::as_str);
        Scenario::new(stack.settings(mechanism, reference), seed)
    }

    /// Runs a scenario.
    pub fn run(&self, trace: &Trace, scenario: &Scenario) -> Result<RunResult, ExperimentError> {
        let inputs = Inputs { cluster: &self.cluster, profiles: &self.profiles, trace };
        Ok(simulate(&inputs, scenario, &mut |_| true)?)
    }
}

/// The problem of these tenants, all with more jobs than they get GPUs, on the cluster.
pub(super) fn problem(types: &[String], parties: &[Party]) -> Result<Problem, ExperimentError> {
    let gpus = types.iter().map(|name| GpuSpec { name: name.clone(), count: 8.0 });
    let tenants = parties.iter().map(|party| TenantSpec {
        name: party.name.clone(),
        weight: 1.0,
        demand: None,
        guarantee: Vec::new(),
        limit: Vec::new(),
        workloads: vec![WorkloadSpec {
            demand: None,
            name: party.workload(),
            weight: 1.0,
            throughput: types.iter().cloned().zip(party.speedup.iter().copied()).collect(),
            single: Vec::new(),
        }],
    });
    let spec = ProblemSpec {
        reference: types.first().cloned(),
        gpus: gpus.collect(),
        tenants: tenants.collect(),
    };
    Ok(spec.validate()?)
}

/// The shares of a mechanism.
pub(super) fn shares(problem: &Problem, mechanism: Mechanism) -> Result<Outcome, ExperimentError> {
    Ok(solve(problem, mechanism, &Options::default())?)
}

/// The mean of one row of a series between two instants, over the rounds that begin there.
pub(super) fn mean_between(at_s: &[f64], values: &[f32], from_s: f64, to_s: f64) -> f64 {
    let inside = at_s.iter().zip(values).filter(|(at, _)| **at >= from_s && **at < to_s);
    let (sum, count) = inside.fold((0.0, 0), |(sum, n), (_, v)| (sum + f64::from(*v), n + 1));
    if count == 0 { 0.0 } else { sum / f64::from(count) }
}
