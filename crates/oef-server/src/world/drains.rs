//! Nodes that an operator takes out: now, for a time, or in a window that is planned ahead.
//!
//! The scheduler knows the next window of every node: no job starts there that says how long it runs and would not end
//! before, and none that does not say within a turn. What still runs when it begins is stopped, writes its checkpoint and goes
//! on elsewhere.

use super::{Change, Rejection, World};
use oef_api::types::EventTopic;
use oef_sched::{EventKind, NodeSpec, NodeWindow, Span, Time};
use serde::{Deserialize, Serialize};

/// Why and how a node is out, or will be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drain {
    /// For people.
    pub reason: Option<String>,
    /// Who asked for it.
    pub by: String,
    /// What becomes of the jobs that run there.
    pub running: RunningJobs,
    /// When the node comes back by itself.
    pub until: Option<Time>,
}

/// What becomes of the jobs on a node that is taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunningJobs {
    /// They are stopped.
    Stop,
    /// They may run until then.
    StopAt(Time),
    /// They may end.
    Finish,
}

/// A time in which a node is to be out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// The node.
    pub node: String,
    /// When it begins.
    pub from: Time,
    /// How long before it no job starts there that does not say how long it runs.
    pub lead: Span,
    /// The rest.
    pub drain: Drain,
    /// The scheduler plans for it. One that was written down before it could closes its node by the lead, for all jobs.
    #[serde(default)]
    pub ahead: bool,
}

impl Window {
    /// From when on no more jobs start there.
    pub fn closes(&self) -> Time {
        Time(self.from.0.saturating_sub(self.lead.0))
    }

    /// When something is to be done about it.
    fn due(&self) -> Time {
        if self.ahead { self.from } else { self.closes() }
    }
}

impl World {
    pub(super) fn node_drained(
        &mut self,
        node: &str,
        drained: bool,
        drain: Option<&Drain>,
    ) -> Result<(), Rejection> {
        let spec = self.spec_of(node)?;
        if !drained {
            return self.node_returned(&spec);
        }
        let lets_run = drain.is_some_and(|drain| drain.running != RunningJobs::Stop);
        let message = match lets_run && self.sched.is_up(node) {
            true => {
                self.step_and_follow(EventKind::NodeClosing { node: node.into() })?;
                format!("node {node} takes no more jobs")
            }
            false => {
                self.step_and_follow(EventKind::NodeDown { node: node.into() })?;
                format!("node {node} is down")
            }
        };
        self.drained.insert(node.into());
        let told = drain.and_then(|drain| Some((drain.reason.as_ref()?, &drain.by)));
        let why = told.map(|(reason, by)| format!(": {reason} ({by})")).unwrap_or_default();
        self.note(EventTopic::Cluster, None, message + &why);
        match drain {
            Some(drain) => drop(self.drains.insert(node.into(), drain.clone())),
            None => drop(self.drains.remove(node)),
        }
        // The window that it came from has begun.
        self.windows.retain(|_, window| window.node != node || window.due() > self.at);
        self.plan_ahead(node)
    }

    fn node_returned(&mut self, spec: &NodeSpec) -> Result<(), Rejection> {
        let was = self.drained.remove(&spec.name);
        let up = self.node_up(spec);
        if up.is_err() && was {
            self.drained.insert(spec.name.clone());
        } else {
            self.drains.remove(&spec.name);
        }
        up
    }

    fn spec_of(&self, node: &str) -> Result<NodeSpec, Rejection> {
        let cluster = self.sched.cluster();
        let known = cluster.node_named(node).and_then(|id| cluster.nodes().get(id.0));
        let known = known.ok_or_else(|| Rejection::UnknownNode(node.into()))?;
        let gpu_type = cluster.types().get(known.gpu_type().0).cloned().unwrap_or_default();
        let gpus = u32::try_from(known.gpus()).unwrap_or(u32::MAX);
        Ok(NodeSpec { name: node.into(), gpu_type, gpus })
    }

    pub(super) fn window_planned(&mut self, id: u64, window: &Window) -> Result<(), Rejection> {
        self.spec_of(&window.node)?;
        let why = window.drain.reason.as_ref().map(|reason| format!(": {reason}"));
        let message = format!("node {} will be taken out{}", window.node, why.unwrap_or_default());
        self.note(EventTopic::Cluster, None, message);
        self.windows.insert(id, window.clone());
        self.next_window = self.next_window.max(id + 1);
        self.plan_ahead(&window.node)
    }

    /// Tells the scheduler of the next window of a node.
    fn plan_ahead(&mut self, node: &str) -> Result<(), Rejection> {
        let own = self.windows.values().filter(|window| window.ahead && window.node == node);
        let next = own.min_by_key(|window| window.from);
        let window = next.map(|window| NodeWindow { from: window.from, lead: window.lead });
        let cluster = self.sched.cluster();
        let known = cluster.node_named(node).and_then(|id| cluster.nodes().get(id.0));
        if known.is_some_and(|known| known.window() != window) {
            self.step(EventKind::NodePlannedOut { node: node.into(), window })?;
        }
        Ok(())
    }

    pub(super) fn window_dropped(&mut self, id: u64) -> Result<(), Rejection> {
        let Some(window) = self.windows.remove(&id) else {
            return Err(Rejection::Bad(format!("no time window {id} is planned")));
        };
        let message = format!("node {} will not be taken out", window.node);
        self.note(EventTopic::Cluster, None, message);
        self.plan_ahead(&window.node)
    }

    /// The longest turn of those that are there: who starts within it before a window would lose a part of it.
    pub(crate) fn longest_turn(&self) -> Span {
        let workers = self.sched.jobs().map(|job| job.spec().workers).max().unwrap_or(1);
        let settings = self.sched.settings();
        settings.turn_of(workers).max(settings.min_run)
    }

    /// What the clock asks for: windows that begin, jobs whose time on a closing node is over, nodes that come back.
    pub(crate) fn drains_due(&self, now: Time) -> Vec<Change> {
        let begin = self.windows.iter().filter(|(_, window)| window.due() <= now);
        let begin = begin.map(|(&id, window)| {
            // Who took it out meanwhile, for another reason, decides when it is back.
            if self.drained.contains(&window.node) {
                return Change::WindowDropped { id };
            }
            let mut drain = window.drain.clone();
            if drain.running == RunningJobs::Stop && window.from > now {
                drain.running = RunningJobs::StopAt(window.from);
            }
            drained(&window.node, drain)
        });
        let stop = self.drains.iter().filter_map(|(node, drain)| match drain.running {
            RunningJobs::StopAt(then) if then <= now => {
                Some(drained(node, Drain { running: RunningJobs::Stop, ..drain.clone() }))
            }
            _ => None,
        });
        let back = self.drains.iter().filter(|(_, drain)| drain.until.is_some_and(|t| t <= now));
        let back = back.map(|(node, _)| Change::NodeDrained {
            node: node.clone(),
            drained: false,
            drain: None,
        });
        begin.chain(stop).chain(back).collect()
    }

    /// When [`World::drains_due`] has something next, after an instant.
    pub(crate) fn next_drain(&self, after: Time) -> Option<Time> {
        let begin = self.windows.values().map(Window::due);
        let rest = self.drains.values().flat_map(|drain| {
            let stop = match drain.running {
                RunningJobs::StopAt(then) => Some(then),
                RunningJobs::Stop | RunningJobs::Finish => None,
            };
            stop.into_iter().chain(drain.until)
        });
        begin.chain(rest).filter(|&then| then > after).min()
    }
}

fn drained(node: &str, drain: Drain) -> Change {
    Change::NodeDrained { node: node.into(), drained: true, drain: Some(drain) }
}
