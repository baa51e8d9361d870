//! The nodes as the executor tells them, and what follows for the cluster.

use crate::world::{Change, World};
use oef_api::types::{GpuRef, JobState};
use oef_executor::{Cursor, DeviceId, Event, Executor, NodeEvent};
use oef_sched::{Health, NodeSpec};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// How long a start waits for the executor to list its nodes. Without a list the nodes of before stay as they were.
const LIST_LIMIT: Duration = Duration::from_secs(10);

/// The nodes of the executor.
#[derive(Clone, Debug, Default)]
pub(super) struct Nodes {
    /// What was told, by name and gpu type.
    told: BTreeMap<(String, String), Told>,
    /// All nodes have been told: others are gone.
    is_listed: bool,
    /// As the cluster calls them, with their GPUs by index.
    named: BTreeMap<String, (NodeSpec, Vec<DeviceId>)>,
    /// Since the names were given, something was told.
    is_changed: bool,
}

#[derive(Clone, Debug)]
struct Told {
    devices: Vec<DeviceId>,
    usable: Vec<DeviceId>,
    /// Why not all of them are usable.
    reason: Option<String>,
}

impl Nodes {
    /// Hears the first events of an executor, until it has listed its nodes; gives what came with them.
    pub fn listen(executor: &dyn Executor) -> (Nodes, Vec<(Cursor, Event)>) {
        let mut nodes = Nodes::default();
        let mut heard: Vec<(Cursor, Event)> = Vec::new();
        let began = Instant::now();
        while !nodes.is_listed && began.elapsed() < LIST_LIMIT {
            let after = heard.last().map_or(Cursor::default(), |(cursor, _)| *cursor);
            let left = LIST_LIMIT.saturating_sub(began.elapsed());
            for (cursor, event) in executor.events(after, left) {
                nodes.take(&event);
                heard.push((cursor, event));
            }
        }
        if !nodes.is_listed {
            tracing::warn!("the executor has not listed its nodes; they stay as they were");
        }
        (nodes, heard)
    }

    /// Takes what was told of nodes; false: it is about something else.
    pub fn take(&mut self, event: &Event) -> bool {
        match event {
            Event::Lease { .. } | Event::Others(_) | Event::Readings { .. } => return false,
            Event::NodesListed => self.is_listed = true,
            Event::Node(NodeEvent::Joined { node, gpu_type, devices }) => {
                let told = Told { devices: devices.clone(), usable: devices.clone(), reason: None };
                self.told.insert((node.clone(), gpu_type.clone()), told);
            }
            Event::Node(NodeEvent::Changed { node, usable, used_by_others, reason }) => {
                let (free, used) = (usable.len(), used_by_others.len());
                tracing::info!(node, free, used, reason, "a node has changed");
                let why = (!used_by_others.is_empty()).then(|| reason.clone());
                self.set_usable(node, why, |device| usable.contains(device));
            }
            Event::Node(NodeEvent::Drained { node, reason }) => {
                tracing::info!(node, reason, "a node is drained");
                self.set_usable(node, Some(reason.clone()), |_| false);
            }
            Event::Node(NodeEvent::Left { node, reason }) => {
                tracing::info!(node, reason, "a node is gone");
                self.set_usable(node, Some(reason.clone()), |_| false);
            }
        }
        self.is_changed = true;
        true
    }

    fn set_usable(
        &mut self,
        name: &str,
        reason: Option<String>,
        is_usable: impl Fn(&DeviceId) -> bool,
    ) {
        for (_, told) in self.told.iter_mut().filter(|((node, _), _)| node == name) {
            told.reason.clone_from(&reason);
            told.usable = told.devices.iter().filter(|device| is_usable(device)).cloned().collect();
        }
    }

    /// Gives nodes their names in the cluster, if something has changed. One that is known with other GPUs gets
    /// another name: for the scheduler it is another machine.
    pub fn name(&mut self, world: &World) {
        if !std::mem::take(&mut self.is_changed) {
            return;
        }
        self.named.clear();
        for ((node, gpu_type), told) in self.told.iter().filter(|(_, told)| !told.usable.is_empty())
        {
            let gpus = u32::try_from(told.usable.len()).unwrap_or(u32::MAX);
            let plain = NodeSpec { name: node.clone(), gpu_type: gpu_type.clone(), gpus };
            let is_free = is_same_or_new(world, &plain) && !self.named.contains_key(node);
            let name = if is_free { node.clone() } else { format!("{node}:{gpus}x{gpu_type}") };
            let spec = NodeSpec { name: name.clone(), ..plain };
            self.named.insert(name, (spec, told.usable.clone()));
        }
    }

    /// Nodes that went and came since the world heard of them last.
    pub fn changes(&self, world: &World) -> Vec<Change> {
        let mut changes = Vec::new();
        for node in world.sched.cluster().nodes() {
            let is_gone = self.is_listed && !self.named.contains_key(node.name());
            if is_gone && node.health() != Health::Down {
                changes.push(Change::NodeDown { node: node.name().into() });
            }
        }
        for (spec, _) in self.named.values() {
            let is_wanted = !world.sched.is_up(&spec.name) && !world.drained.contains(&spec.name);
            if is_wanted && !self.is_still_held(world, &spec.name) {
                changes.push(Change::NodeUp(spec.clone()));
            }
        }
        changes.extend(self.unusable(world));
        changes.extend(self.reasons(world));
        changes
    }

    /// Nodes of which nothing can be used and that the world has never heard of: they are shown, too, with their reasons.
    fn unusable(&self, world: &World) -> Vec<Change> {
        let cluster = world.sched.cluster();
        let is_new =
            |name: &str| cluster.node_named(name).is_none() && !world.drained.contains(name);
        let unusable = self.told.iter().filter(|(_, told)| told.usable.is_empty());
        let mut changes = Vec::new();
        for ((node, gpu_type), told) in unusable.filter(|((node, _), _)| is_new(node)) {
            let gpus = u32::try_from(told.devices.len()).unwrap_or(u32::MAX);
            let spec = NodeSpec { name: node.clone(), gpu_type: gpu_type.clone(), gpus };
            changes.extend([Change::NodeUp(spec), Change::NodeDown { node: node.clone() }]);
        }
        changes
    }

    /// Reasons that are others than those that the world knows, under every name that a node has.
    fn reasons(&self, world: &World) -> Vec<Change> {
        let known = world.sched.cluster().nodes().iter().map(|node| node.name());
        let told = self.told.keys().map(|(node, _)| node.as_str());
        let named = self.named.keys().map(String::as_str);
        let names: BTreeSet<&str> = known.chain(told).chain(named).collect();
        let mut changes = Vec::new();
        for name in names {
            let told = self.told_of(name).or_else(|| self.told_of(name.rsplit_once(':')?.0));
            let reason = told.and_then(|told| told.reason.clone());
            if told.is_some() && reason.as_ref() != world.node_reasons.get(name) {
                changes.push(Change::NodeReason { node: name.into(), reason });
            }
        }
        changes
    }

    fn told_of(&self, machine: &str) -> Option<&Told> {
        let from = (machine.to_string(), String::new());
        let (key, told) = self.told.range(from..).next()?;
        (key.0 == machine).then_some(told)
    }

    /// Whether a node is there, as far as the executor has told, and nobody holds its GPUs.
    pub fn can_be_up(&self, world: &World, name: &str) -> bool {
        let is_there = !self.is_listed || self.named.contains_key(name);
        is_there && !self.is_still_held(world, name)
    }

    /// Whether a node is there and not up: its machine is held by jobs that were there under another name.
    pub fn is_waiting(&self, world: &World) -> bool {
        let mut names = self.named.keys();
        names.any(|name| !world.sched.is_up(name) && !world.drained.contains(name))
    }

    /// Whether jobs still run on the same machine under another of its names: with other GPUs it is another node to
    /// the scheduler, and until those have ended their GPUs are not free.
    fn is_still_held(&self, world: &World, name: &str) -> bool {
        let is_of = |machine: &str, name: &str| {
            name.strip_prefix(machine).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        };
        let machines = self.told.keys().map(|(machine, _)| machine.as_str());
        let Some(machine) = machines.filter(|machine| is_of(machine, name)).max_by_key(|m| m.len())
        else {
            return false;
        };
        let mut held =
            JobState::PLACED.iter().flat_map(|&state| world.index.newest(None, &[state], None));
        held.any(|job| {
            let run = world.jobs.get(&job).and_then(|job| job.run());
            let gpus = run.map_or(&[][..], |run| &run.gpus);
            gpus.iter().any(|gpu| gpu.node != name && is_of(machine, &gpu.node))
        })
    }

    /// The nodes as the cluster calls them, with their GPUs by index.
    pub fn named(&self) -> impl Iterator<Item = (&String, &[DeviceId])> {
        self.named.iter().map(|(name, (_, devices))| (name, &devices[..]))
    }

    /// Whether there are GPUs of a type.
    pub fn has_type(&self, gpu_type: &str) -> bool {
        self.told.keys().any(|(_, known)| known == gpu_type)
    }

    /// A GPU of the cluster as the executor calls it. One that is not here any more has a name that the executor
    /// does not know.
    pub fn device(&self, gpu: &GpuRef) -> DeviceId {
        let known =
            self.named.get(&gpu.node).and_then(|(_, devices)| devices.get(gpu.index as usize));
        known.cloned().unwrap_or_else(|| DeviceId(format!("gone:{}:{}", gpu.node, gpu.index)))
    }
}

fn is_same_or_new(world: &World, spec: &NodeSpec) -> bool {
    let cluster = world.sched.cluster();
    let known = cluster.node_named(&spec.name).and_then(|id| cluster.nodes().get(id.0));
    known.is_none_or(|node| {
        node.gpus() == spec.gpus as usize
            && cluster.types().get(node.gpu_type().0) == Some(&spec.gpu_type)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Record;
    use oef_sched::Time;

    fn devices(count: usize) -> Vec<DeviceId> {
        (0..count).map(|index| DeviceId(format!("d{index}"))).collect()
    }

    fn joined(node: &str, count: usize) -> Event {
        let (node, gpu_type) = (node.to_string(), "g".to_string());
        Event::Node(NodeEvent::Joined { node, gpu_type, devices: devices(count) })
    }

    /// What the world hears when these things happen together.
    fn hear(world: &mut World, nodes: &mut Nodes, events: &[Event]) -> Vec<String> {
        events.iter().for_each(|event| _ = nodes.take(event));
        nodes.name(world);
        let changes = nodes.changes(world);
        let said = |change: &Change| match change {
            Change::NodeUp(spec) => format!("+{} {}", spec.name, spec.gpus),
            Change::NodeDown { node } => format!("-{node}"),
            Change::NodeReason { node, reason: Some(reason) } => format!("{node}: {reason}"),
            Change::NodeReason { node, reason: None } => format!("{node}: well"),
            other => format!("{other:?}"),
        };
        for change in &changes {
            let record = Record { at: Time(1), change: change.clone() };
            world.apply(&record).expect("taken");
        }
        changes.iter().map(said).collect()
    }

    #[test]
    fn nodes_come_change_and_go() {
        let mut world = World::new(Default::default(), Default::default());
        let mut nodes = Nodes::default();
        assert_eq!(
            hear(&mut world, &mut nodes, &[joined("a", 2), joined("b", 1)]),
            ["+a 2", "+b 1"]
        );
        assert!(hear(&mut world, &mut nodes, &[joined("a", 2)]).is_empty(), "told again");
        let used = Event::Node(NodeEvent::Changed {
            node: "a".into(),
            usable: vec![DeviceId("d1".into())],
            used_by_others: vec![DeviceId("d0".into())],
            reason: "another user's job".into(),
        });
        assert_eq!(
            hear(&mut world, &mut nodes, &[used]),
            ["+a:1xg 1", "a: another user's job", "a:1xg: another user's job"]
        );
        let gpu = GpuRef { node: "a:1xg".into(), index: 0, gpu_type: "g".into() };
        assert_eq!(nodes.device(&gpu), DeviceId("d1".into()));
        let listed = [Event::NodesListed];
        assert_eq!(hear(&mut world, &mut nodes, &listed), ["-a"], "the whole of it is not there");
        assert_eq!(
            hear(&mut world, &mut nodes, &[joined("a", 2)]),
            ["-a:1xg", "+a 2", "a: well", "a:1xg: well"]
        );
        let left = |node: &str| {
            Event::Node(NodeEvent::Left { node: node.into(), reason: "no answer".into() })
        };
        assert_eq!(hear(&mut world, &mut nodes, &[left("b")]), ["-b", "b: no answer"]);
        let drained = NodeEvent::Drained { node: "a".into(), reason: "a fan".into() };
        assert_eq!(
            hear(&mut world, &mut nodes, &[Event::Node(drained)]),
            ["-a", "a: a fan", "a:1xg: a fan"]
        );
        assert_eq!(
            hear(&mut world, &mut nodes, &[joined("b", 1), joined("a", 2)]),
            ["+a 2", "+b 1", "a: well", "a:1xg: well", "b: well"]
        );
    }

    #[test]
    fn a_node_that_was_never_usable_is_shown_with_its_reason() {
        let mut world = World::new(Default::default(), Default::default());
        let mut nodes = Nodes::default();
        let drained = NodeEvent::Drained { node: "a".into(), reason: "a fan".into() };
        let told = [joined("a", 2), Event::Node(drained)];
        assert_eq!(hear(&mut world, &mut nodes, &told), ["+a 2", "-a", "a: a fan"]);
        assert!(hear(&mut world, &mut nodes, &[Event::NodesListed]).is_empty(), "once is enough");
        assert_eq!(world.sched.cluster().total(), 0, "it is no capacity");
        assert_eq!(hear(&mut world, &mut nodes, &[joined("a", 2)]), ["+a 2", "a: well"]);
    }

    #[test]
    fn nodes_of_before_that_nobody_lists_are_down_and_not_before() {
        let mut world = World::new(Default::default(), Default::default());
        hear(&mut world, &mut Nodes::default(), &[joined("a", 2), joined("b", 1)]);
        let mut nodes = Nodes::default();
        assert!(hear(&mut world, &mut nodes, &[joined("a", 2)]).is_empty());
        assert_eq!(hear(&mut world, &mut nodes, &[Event::NodesListed]), ["-b"]);
    }
}
