//! From what Slurm says of its nodes to nodes, GPUs and reasons. Pure.

use super::parse::NodeRow;
use crate::device::{Device, DeviceId, DeviceKind};
use crate::event::NodeEvent;
use std::collections::{BTreeMap, BTreeSet};

/// What a gpu type is called where Slurm has none.
const UNTYPED: &str = "gpu";

/// GPUs of one type on one node of Slurm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuNode {
    /// Its name in OEF: that of the node, with the type behind it where a node has several.
    pub host: String,
    /// Its name in Slurm.
    pub node: String,
    /// The gpu type as Slurm has it; none: Slurm has no types there.
    pub slurm_type: Option<String>,
    /// How many there are.
    pub gpus: u32,
    /// Where the node is reached.
    pub address: String,
    /// Whether it takes jobs.
    pub state: NodeState,
    /// GPUs that are in use, by whomever.
    pub used: u32,
}

/// Whether a node takes jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeState {
    /// It does.
    Up,
    /// It takes no more, for this reason; what runs there runs on.
    Drained(String),
    /// It does not answer Slurm, which may pass.
    Silent(String),
    /// It is gone, for this reason.
    Down(String),
}

impl GpuNode {
    /// What its GPUs are called in profiles and shares.
    pub fn gpu_type(&self) -> &str {
        self.slurm_type.as_deref().unwrap_or(UNTYPED)
    }

    /// Its GPUs. Which one a number means is decided by Slurm for each job.
    pub fn devices(&self) -> Vec<Device> {
        let device = |index| Device {
            host: self.host.clone(),
            index,
            gpu_type: self.gpu_type().to_string(),
            kind: DeviceKind::Allocated,
        };
        (0..self.gpus).map(device).collect()
    }

    pub(crate) fn device_ids(&self) -> Vec<DeviceId> {
        self.devices().iter().map(Device::id).collect()
    }
}

/// The nodes with GPUs, by their names in OEF.
pub fn nodes_of(rows: &[NodeRow]) -> BTreeMap<String, GpuNode> {
    let mut nodes = BTreeMap::new();
    for row in rows {
        let types: BTreeMap<&str, u32> = sum(&row.gpus);
        let used = sum(&row.used);
        let state = state_of(row);
        for (gpu_type, &gpus) in types.iter().filter(|(_, gpus)| **gpus > 0) {
            let host = match types.len() {
                1 => row.name.clone(),
                _ => format!("{}-{gpu_type}", row.name),
            };
            let node = GpuNode {
                host: host.clone(),
                node: row.name.clone(),
                slurm_type: Some(gpu_type.to_string()).filter(|name| !name.is_empty()),
                gpus,
                address: row.address.clone(),
                state: state.clone(),
                // Without types in the use it cannot be told which: of one kind only there is no doubt.
                used: used.get(gpu_type).or(used.get("")).copied().unwrap_or(0).min(gpus),
            };
            nodes.insert(host, node);
        }
    }
    nodes
}

fn sum(gpus: &[(String, u32)]) -> BTreeMap<&str, u32> {
    let mut types = BTreeMap::new();
    for (gpu_type, count) in gpus {
        *types.entry(gpu_type.as_str()).or_default() += count;
    }
    types
}

/// A state and its flags: `mixed+drain`, `idle*`, `down~`.
fn state_of(row: &NodeRow) -> NodeState {
    let is_silent = row.state.contains('*') || row.state.contains("not_responding");
    let words: BTreeSet<&str> = row
        .state
        .split(['+', ',', ' '])
        .map(|word| word.trim_end_matches(['*', '~', '#', '!', '%', '$', '@', '^', '-']))
        .collect();
    let has = |names: &[&str]| names.iter().any(|name| words.contains(name));
    let by = match row.by.as_str() {
        "" | "Unknown" => String::new(),
        who => format!(" by {who}"),
    };
    let because = |what: &str| match row.reason.as_str() {
        "" | "none" | "(null)" => what.to_string(),
        reason => format!("{what}{by}: {reason}"),
    };
    let off = ["powered_down", "powering_down", "power_down", "powering_up", "future"];
    if has(&["down", "error", "fail", "failing", "invalid_reg", "inval"]) {
        NodeState::Down(because("down in Slurm"))
    } else if is_silent || has(&["unknown", "unk"]) {
        NodeState::Silent(because("not responding to Slurm"))
    } else if has(&["drain", "drained", "draining", "drng"]) {
        NodeState::Drained(because("drained in Slurm"))
    } else if has(&off) {
        NodeState::Down(because(&format!("{} in Slurm", row.state)))
    } else if has(&[
        "maint",
        "reserved",
        "resv",
        "reboot",
        "reboot_requested",
        "reboot_issued",
        "blocked",
    ]) {
        NodeState::Drained(because(&format!("{} in Slurm", row.state)))
    } else {
        NodeState::Up
    }
}

/// What was told of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Told {
    Usable { gpus: u32, foreign: Vec<DeviceId> },
    Drained(String),
    Left(String),
}

/// What to tell of a node now.
pub(super) fn telling(node: &GpuNode, foreign: Vec<DeviceId>) -> Told {
    match &node.state {
        // One that is silent at the first look may have jobs of ours: it is there until Slurm gives it up.
        NodeState::Up | NodeState::Silent(_) => Told::Usable { gpus: node.gpus, foreign },
        NodeState::Drained(reason) => Told::Drained(reason.clone()),
        NodeState::Down(reason) => Told::Left(reason.clone()),
    }
}

/// The events from what was told before to what is told now.
pub(super) fn events(node: &GpuNode, before: Option<&Told>, now: &Told) -> Vec<NodeEvent> {
    let name = node.host.clone();
    let joined = || NodeEvent::Joined {
        node: name.clone(),
        gpu_type: node.gpu_type().to_string(),
        devices: node.device_ids(),
    };
    match now {
        Told::Usable { gpus, foreign } => {
            let is_known =
                matches!(before, Some(Told::Usable { gpus: known, .. }) if known == gpus);
            let mut events = if is_known { Vec::new() } else { vec![joined()] };
            let ids = node.device_ids();
            if !foreign.is_empty() || is_known {
                let count = foreign.len();
                events.push(NodeEvent::Changed {
                    node: name.clone(),
                    usable: ids.into_iter().filter(|id| !foreign.contains(id)).collect(),
                    used_by_others: foreign.clone(),
                    reason: match count {
                        0 => "other jobs of the cluster have ended".to_string(),
                        _ => format!("{count} in use by other jobs of the cluster"),
                    },
                });
            }
            events
        }
        Told::Drained(reason) => {
            // Nobody can be told of a node that they never heard of.
            let known = before.is_none().then(joined);
            let drained = NodeEvent::Drained { node: name.clone(), reason: reason.clone() };
            known.into_iter().chain([drained]).collect()
        }
        Told::Left(reason) => {
            let known = before.is_none().then(joined);
            let left = NodeEvent::Left { node: name.clone(), reason: reason.clone() };
            known.into_iter().chain([left]).collect()
        }
    }
}

/// Which GPUs of a node count as used by others: as many as Slurm says, of those that no job of ours has.
pub(super) fn foreign(
    node: &GpuNode,
    ours: u32,
    held: &BTreeSet<DeviceId>,
    before: &[DeviceId],
) -> Vec<DeviceId> {
    let count = node.used.saturating_sub(ours) as usize;
    let is_free = |id: &DeviceId| !held.contains(id);
    let ids = node.device_ids();
    // Those of before first, so that nothing changes without need; then the last ones.
    let mut picked: Vec<DeviceId> =
        ids.iter().filter(|id| before.contains(id) && is_free(id)).cloned().collect();
    let others = ids.iter().rev().filter(|id| !before.contains(id) && is_free(id)).cloned();
    picked.extend(others);
    picked.truncate(count);
    picked.sort_by_key(|id| ids.iter().position(|known| known == id));
    picked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(state: &str, gpus: &[(&str, u32)], used: &[(&str, u32)]) -> NodeRow {
        let owned = |list: &[(&str, u32)]| {
            list.iter().map(|(name, count)| (name.to_string(), *count)).collect()
        };
        NodeRow {
            name: "n1".into(),
            state: state.into(),
            gpus: owned(gpus),
            used: owned(used),
            address: "10.0.0.1".into(),
            reason: "a fan".into(),
            by: "Unknown".into(),
        }
    }

    #[test]
    fn states_and_their_reasons() {
        let cases = [
            ("idle", NodeState::Up),
            ("mixed+planned", NodeState::Up),
            ("allocated", NodeState::Up),
            ("mixed+drain", NodeState::Drained("drained in Slurm: a fan".into())),
            ("draining", NodeState::Drained("drained in Slurm: a fan".into())),
            ("idle+reserved", NodeState::Drained("idle+reserved in Slurm: a fan".into())),
            ("maint", NodeState::Drained("maint in Slurm: a fan".into())),
            ("down*", NodeState::Down("down in Slurm: a fan".into())),
            ("down+not_responding", NodeState::Down("down in Slurm: a fan".into())),
            ("unknown", NodeState::Silent("not responding to Slurm: a fan".into())),
            ("allocated*", NodeState::Silent("not responding to Slurm: a fan".into())),
            ("idle+powered_down", NodeState::Down("idle+powered_down in Slurm: a fan".into())),
        ];
        for (state, expected) in cases {
            assert_eq!(state_of(&row(state, &[], &[])), expected, "{state}");
        }
        let by_root = NodeRow { by: "root".into(), ..row("drained", &[], &[]) };
        assert_eq!(
            state_of(&by_root),
            NodeState::Drained("drained in Slurm by root: a fan".into())
        );
    }

    #[test]
    fn a_node_with_several_types_is_several() {
        let nodes = nodes_of(&[row("idle", &[("a", 2), ("b", 1)], &[("b", 1)])]);
        let shown: Vec<(&str, u32, u32)> =
            nodes.values().map(|node| (node.host.as_str(), node.gpus, node.used)).collect();
        assert_eq!(shown, [("n1-a", 2, 0), ("n1-b", 1, 1)]);
        let untyped = nodes_of(&[row("idle", &[("", 4)], &[("", 3)])]);
        assert_eq!((untyped["n1"].gpu_type(), untyped["n1"].used), ("gpu", 3));
    }

    #[test]
    fn others_have_what_is_not_ours() {
        let mut node =
            nodes_of(&[row("mixed", &[("a", 4)], &[("a", 3)])]).remove("n1").expect("n1");
        let id = |index: u32| node.device_ids()[index as usize].clone();
        let (zero, two, three) = (id(0), id(2), id(3));
        let held: BTreeSet<DeviceId> = [three.clone()].into();
        assert_eq!(foreign(&node, 3, &held, &[]), []);
        assert_eq!(foreign(&node, 2, &held, &[]), [two]);
        assert_eq!(foreign(&node, 2, &held, std::slice::from_ref(&zero)), [zero]);
        node.used = 4;
        assert_eq!(foreign(&node, 0, &held, &[]).len(), 3, "never one of ours");
    }

    #[test]
    fn nodes_are_told_by_what_changes() {
        let node = nodes_of(&[row("idle", &[("a", 2)], &[])]).remove("n1").expect("n1");
        let ids = node.device_ids();
        let all = Told::Usable { gpus: 2, foreign: vec![] };
        assert!(matches!(events(&node, None, &all)[..], [NodeEvent::Joined { .. }]));
        let part = Told::Usable { gpus: 2, foreign: vec![ids[1].clone()] };
        let changed = events(&node, Some(&all), &part);
        assert!(matches!(&changed[..], [NodeEvent::Changed { usable, .. }] if *usable == ids[..1]));
        assert_eq!(events(&node, None, &part).len(), 2);
        let left = Told::Left("gone".into());
        assert_eq!(events(&node, None, &left).len(), 2, "it is there, and why it cannot be used");
        assert!(matches!(events(&node, Some(&part), &left)[..], [NodeEvent::Left { .. }]));
        let drained = Told::Drained("a fan".into());
        assert_eq!(events(&node, None, &drained).len(), 2);
        assert!(matches!(events(&node, Some(&left), &all)[..], [NodeEvent::Joined { .. }]));
    }
}
