//! From what Slurm says of everybody's jobs to jobs of others on nodes. Pure.

use super::cluster::GpuNode;
use super::parse::{JobState, OtherRow};
use super::settings::Rules;
use crate::event::{OtherEnd, OtherJob, OtherState};
use std::collections::BTreeMap;

/// The jobs that ask for GPUs. One that runs elsewhere than on these nodes is none of them.
pub(super) fn others_of(
    rows: Vec<OtherRow>,
    nodes: &BTreeMap<String, GpuNode>,
    accounts: &Accounts<'_>,
) -> Vec<OtherJob> {
    rows.into_iter().filter_map(|row| other(row, nodes, accounts)).collect()
}

/// What is known of accounts: whose they are, and what they weigh.
pub(super) struct Accounts<'a> {
    pub(super) rules: &'a Rules,
    pub(super) weights: &'a BTreeMap<String, f64>,
}

fn other(
    row: OtherRow,
    nodes: &BTreeMap<String, GpuNode>,
    accounts: &Accounts<'_>,
) -> Option<OtherJob> {
    let typed: Vec<(String, u32)> =
        row.gpus.iter().filter(|(name, count)| !name.is_empty() && *count > 0).cloned().collect();
    let sum = row.gpus.iter().find(|(name, _)| name.is_empty()).map(|(_, count)| *count);
    let gpus = sum.unwrap_or(0).max(typed.iter().map(|(_, count)| count).sum());
    if gpus == 0 {
        return None;
    }
    let state = match &row.state {
        JobState::Pending => OtherState::Waits(row.reason.clone()),
        JobState::Running | JobState::Completing => {
            let places = places(&row.nodes, &typed, gpus, nodes);
            (!places.is_empty()).then_some(OtherState::Runs(places))?
        }
        JobState::Over(word) => OtherState::Over(match word.as_str() {
            "COMPLETED" => OtherEnd::Finished,
            word if word.starts_with("CANCELLED") => OtherEnd::Cancelled,
            word => OtherEnd::Failed(word.to_string()),
        }),
    };
    Some(OtherJob {
        key: format!("{}@{}", row.shown, row.submitted),
        shown: row.shown,
        tenant: accounts.rules.tenant_of_account(&row.account),
        weight: accounts.weights.get(&row.account).copied().unwrap_or(0.0),
        user: row.user,
        name: row.name,
        gpus,
        types: typed.into_iter().map(|(name, _)| name).collect(),
        state,
    })
}

/// How many GPUs a job has on each node: Slurm tells the sum of each type and the nodes. They are spread evenly, with
/// what is left over on the first nodes.
fn places(
    names: &[String],
    typed: &[(String, u32)],
    gpus: u32,
    nodes: &BTreeMap<String, GpuNode>,
) -> Vec<(String, u32)> {
    let untyped = [(String::new(), gpus)];
    let wanted = if typed.is_empty() { &untyped[..] } else { typed };
    let mut places = Vec::new();
    for (gpu_type, count) in wanted {
        let is_meant = |node: &&GpuNode| {
            names.contains(&node.node) && (gpu_type.is_empty() || node.gpu_type() == gpu_type)
        };
        let meant: Vec<&GpuNode> = nodes.values().filter(is_meant).collect();
        let mut left = *count;
        for (at, node) in meant.iter().enumerate() {
            let behind = u32::try_from(meant.len() - at).unwrap_or(u32::MAX);
            let here = left.div_ceil(behind.max(1)).min(node.gpus);
            left -= here;
            if here > 0 {
                places.push((node.host.clone(), here));
            }
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::super::cluster::{NodeState, nodes_of};
    use super::super::parse::NodeRow;
    use super::*;

    fn row(state: &str, gpus: &[(&str, u32)], nodes: &[&str]) -> OtherRow {
        OtherRow {
            shown: "2_1".into(),
            submitted: "then".into(),
            state: JobState::of(state),
            account: "vision".into(),
            user: "ada".into(),
            gpus: gpus.iter().map(|(name, count)| (name.to_string(), *count)).collect(),
            nodes: nodes.iter().map(|node| node.to_string()).collect(),
            reason: "Resources".into(),
            name: "train".into(),
        }
    }

    fn nodes() -> BTreeMap<String, GpuNode> {
        let node = |name: &str, gpus: &[(&str, u32)]| NodeRow {
            name: name.into(),
            state: "mixed".into(),
            gpus: gpus.iter().map(|(name, count)| (name.to_string(), *count)).collect(),
            used: Vec::new(),
            address: String::new(),
            reason: String::new(),
            by: String::new(),
        };
        let nodes = nodes_of(&[
            node("n1", &[("a", 4)]),
            node("n2", &[("a", 4)]),
            node("n3", &[("a", 2), ("b", 2)]),
        ]);
        assert!(nodes.values().all(|node| node.state == NodeState::Up));
        nodes
    }

    fn others(row: OtherRow) -> Vec<OtherJob> {
        let (rules, weights) = (Rules::default(), [("vision".to_string(), 2.0)].into());
        others_of(vec![row], &nodes(), &Accounts { rules: &rules, weights: &weights })
    }

    #[test]
    fn gpus_are_where_the_job_is() {
        let runs = |gpus: &[(&str, u32)], on: &[&str]| -> Option<Vec<(String, u32)>> {
            let found = others(row("RUNNING", gpus, on));
            found.first().map(|job| match &job.state {
                OtherState::Runs(places) => places.clone(),
                other => panic!("{other:?}"),
            })
        };
        let places = |list: &[(&str, u32)]| {
            Some(list.iter().map(|(node, count)| (node.to_string(), *count)).collect())
        };
        assert_eq!(runs(&[("", 3), ("a", 3)], &["n1", "n2"]), places(&[("n1", 2), ("n2", 1)]));
        assert_eq!(runs(&[("", 2)], &["n1"]), places(&[("n1", 2)]));
        let both = [("", 3), ("a", 1), ("b", 2)];
        assert_eq!(runs(&both, &["n3"]), places(&[("n3-a", 1), ("n3-b", 2)]));
        assert_eq!(runs(&[("", 2)], &["elsewhere"]), None);
        assert_eq!(runs(&[], &["n1"]), None, "it asks for no GPU");
    }

    #[test]
    fn what_waits_and_what_is_over() {
        let one = |state: &str| others(row(state, &[("", 2)], &[]))[0].clone();
        let waits = one("PENDING");
        assert_eq!((waits.gpus, waits.types.len(), waits.key.as_str()), (2, 0, "2_1@then"));
        assert_eq!((waits.tenant.as_str(), waits.weight), ("vision", 2.0));
        assert_eq!(waits.state, OtherState::Waits("Resources".into()));
        assert_eq!(one("COMPLETED").state, OtherState::Over(OtherEnd::Finished));
        assert_eq!(one("CANCELLED").state, OtherState::Over(OtherEnd::Cancelled));
        assert_eq!(one("TIMEOUT").state, OtherState::Over(OtherEnd::Failed("TIMEOUT".into())));
    }
}
