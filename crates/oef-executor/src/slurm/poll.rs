//! Asking Slurm: one call in every interval, whatever the number of jobs.
//!
//! Jobs and nodes take turns. What follows from an answer is done
//! here too: events of nodes, starts that nobody holds, orders to stop that were not heard.

use super::cluster::{self, NodeState, Told};
use super::command::SlurmError;
use super::parse::JobState;
use super::site::{Key, SlurmSite, Stop};
use crate::event::Event;
use crate::local::{Inner, Isolation};
use crate::records::{Phase, Status};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};
use tracing::{info, warn};

/// Every so many questions one is for nodes.
const NODES_EVERY: u32 = 2;

/// While Slurm does not answer it is asked less and less often, up to this.
const PAUSE_MAX: Duration = Duration::from_secs(15);

/// A runner sees an order to stop within this, if it sees the shared folder. Then Slurm is asked to pass it on...
const HEARD_WITHIN: Duration = Duration::from_millis(1500);
/// ... again and again.
const SIGNAL_AGAIN: Duration = Duration::from_secs(10);

/// Asks until the executor is closed.
pub(super) fn run(inner: &Arc<Inner>, site: &SlurmSite) {
    let mut asker = Asker {
        inner,
        site,
        is_listed: false,
        ours: BTreeMap::new(),
        suspects: BTreeMap::new(),
        unheld: BTreeSet::new(),
    };
    let mut failures = 0u32;
    for count in 0u32.. {
        // Jobs come first: the GPUs of our own are not in use by others.
        let has_jobs = site.state().asked.is_some();
        let is_for_nodes = has_jobs && (!asker.is_listed || count.is_multiple_of(NODES_EVERY));
        let asked = if is_for_nodes { asker.nodes() } else { asker.jobs() };
        failures = match asked {
            Ok(()) => {
                if site.state().outage.take().is_some() {
                    info!("Slurm answers again");
                }
                0
            }
            Err(error) => {
                let text = error.to_string();
                if site.state().outage.replace(text.clone()).as_ref() != Some(&text) {
                    warn!(error = text, "Slurm could not be asked; nothing is decided from that");
                }
                failures.saturating_add(1)
            }
        };
        let poll = site.config.poll;
        let pause = poll.saturating_mul(1u32.checked_shl(failures.min(8)).unwrap_or(u32::MAX));
        // Until nodes are listed nobody can start anything.
        let is_first = failures == 0 && !asker.is_listed;
        let pause = if is_first { Duration::ZERO } else { pause.min(PAUSE_MAX.max(poll)) };
        let state = site.state();
        let waited = site.changed.wait_timeout_while(state, pause, |state| !state.is_closed);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if state.is_closed {
            return;
        }
    }
}

struct Asker<'a> {
    inner: &'a Arc<Inner>,
    site: &'a SlurmSite,
    is_listed: bool,
    /// GPUs of ours on each node at the question before.
    ours: BTreeMap<String, u32>,
    /// Nodes that seem to be used by others, and by how many GPUs: believed when it is seen twice.
    suspects: BTreeMap<String, u32>,
    /// Slurm jobs of ours that nobody held at the question before.
    unheld: BTreeSet<u64>,
}

impl Asker<'_> {
    fn jobs(&mut self) -> Result<(), SlurmError> {
        let asked = Instant::now();
        let jobs = self.site.ask_jobs(None)?;
        let mut state = self.site.state();
        state.jobs = jobs;
        state.asked = Some(asked);
        drop(state);
        self.cancel_unheld();
        self.pass_on_stops();
        Ok(())
    }

    /// Starts of ours that nobody knows: an older backup of the journal, or a submission that came late.
    fn cancel_unheld(&mut self) {
        let state = self.site.state();
        if !state.is_resumed {
            return;
        }
        let live: Vec<(Key, u64)> = state
            .jobs
            .iter()
            .flat_map(|(key, rows)| rows.iter().map(move |row| (*key, row)))
            .filter(|(_, row)| matches!(row.state, JobState::Pending | JobState::Running))
            .map(|(key, row)| (key, row.id))
            .collect();
        drop(state);
        let unheld = live.into_iter().filter(|(key, _)| !self.inner.is_live(key.0));
        let unheld: BTreeSet<u64> = unheld.map(|(_, id)| id).collect();
        // One that has just ended is still there for a moment.
        let twice: Vec<u64> = unheld.intersection(&self.unheld).copied().collect();
        self.unheld = unheld;
        if !twice.is_empty() {
            warn!(unheld = ?twice, "nobody holds these Slurm jobs: cancelled");
            self.site.cancel(&[], &twice);
        }
    }

    /// Orders to stop lie in the folder of a start. One that waits in Slurm does not read it, and one on a node whose
    /// view of the folder lags reads it late.
    fn pass_on_stops(&self) {
        let now = Instant::now();
        let (mut waiting, mut unresponsive, mut told) = (Vec::new(), Vec::new(), Vec::new());
        let mut overdue = Vec::new();
        let margin = Isolation::default().stop_margin;
        let state = self.site.state();
        let stops: Vec<_> = state.stops.iter().map(|(key, stop)| (*key, *stop)).collect();
        let ids: BTreeMap<Key, _> = stops
            .iter()
            .filter_map(|(key, _)| Some((*key, SlurmSite::live_id(&state, *key)?)))
            .collect();
        drop(state);
        for (key, Stop { since, grace, told: last }) in stops {
            let Some((id, job_state)) = ids.get(&key) else { continue };
            let is_due = last.is_none_or(|last| now.duration_since(last) >= SIGNAL_AGAIN);
            let passed = now.duration_since(since);
            if *job_state == JobState::Pending {
                waiting.push(*id);
            } else if is_due && passed > grace + margin {
                overdue.push(*id);
                told.push(key);
            } else if is_due && passed >= HEARD_WITHIN && !self.has_heard(key) {
                unresponsive.push(*id);
                told.push(key);
            }
        }
        self.site.cancel(&["--state=PENDING"], &waiting);
        self.site.cancel(&["--signal=TERM", "--batch"], &unresponsive);
        if !overdue.is_empty() {
            // The runner is the job's user's: it may have been suspended, or replaced.
            warn!(?overdue, "these Slurm jobs have not ended within their grace time: killed");
            self.site.cancel(&["--signal=KILL", "--full"], &overdue);
            self.site.cancel(&[], &overdue);
        }
        let mut state = self.site.state();
        for key in told {
            if let Some(stop) = state.stops.get_mut(&key) {
                stop.told = Some(now);
            }
        }
    }

    fn has_heard(&self, key: Key) -> bool {
        let status = Status::read(&self.inner.runs.run(key.0, key.1)).ok().flatten();
        status.is_some_and(|status| matches!(status.phase, Phase::Stopping | Phase::Ended { .. }))
    }

    fn nodes(&mut self) -> Result<(), SlurmError> {
        let before = self.gpus_of_ours();
        let config = &self.site.config;
        let rows = config.slurm.nodes(config.partition.as_deref(), config.nodes.as_deref())?;
        let nodes = cluster::nodes_of(&rows);
        // A job that began or ended meanwhile is in one of the two answers around this one.
        let mut ours = std::mem::replace(&mut self.ours, before.clone());
        for (node, count) in before {
            let known = ours.entry(node).or_default();
            *known = (*known).max(count);
        }
        self.tell(nodes, &ours);
        Ok(())
    }

    /// GPUs that jobs of ours have on each node of Slurm, by the last answer.
    fn gpus_of_ours(&self) -> BTreeMap<String, u32> {
        let state = self.site.state();
        let mut ours: BTreeMap<String, u32> = BTreeMap::new();
        for row in state.jobs.values().flatten() {
            // One that has just ended may still be in the count of its node.
            for node in &row.nodes {
                if matches!(row.state, JobState::Running | JobState::Completing) {
                    *ours.entry(node.clone()).or_default() += row.gpus.unwrap_or(0);
                }
            }
        }
        ours
    }

    fn tell(&mut self, nodes: BTreeMap<String, cluster::GpuNode>, ours: &BTreeMap<String, u32>) {
        let mut events = Vec::new();
        let mut state = self.site.state();
        let held: BTreeSet<_> = state.held.values().flatten().cloned().collect();
        let mut suspects = BTreeMap::new();
        for node in nodes.values() {
            let known = state.told.get(&node.host);
            if matches!(node.state, NodeState::Silent(_)) && known.is_some() {
                // What runs there runs on until Slurm gives the node up; nothing new is started meanwhile.
                continue;
            }
            let before = match known {
                Some(Told::Usable { foreign, .. }) => foreign.clone(),
                _ => Vec::new(),
            };
            let count = ours.get(&node.node).copied().unwrap_or(0);
            let mut foreign = cluster::foreign(node, count, &held, &before);
            if foreign.len() > before.len() {
                let seen = u32::try_from(foreign.len()).unwrap_or(u32::MAX);
                suspects.insert(node.host.clone(), seen);
                // At the first answer there is nothing to compare with, and nobody is hurt.
                if self.is_listed && self.suspects.get(&node.host).is_none_or(|least| *least < seen)
                {
                    foreign = before.clone();
                }
            }
            let told = cluster::telling(node, foreign);
            if known != Some(&told) {
                events.extend(cluster::events(node, known, &told));
                state.told.insert(node.host.clone(), told);
            }
        }
        let gone: Vec<String> =
            state.told.keys().filter(|host| !nodes.contains_key(*host)).cloned().collect();
        for host in gone {
            state.told.remove(&host);
            let reason = "not in Slurm's list of nodes any more".to_string();
            events.push(crate::event::NodeEvent::Left { node: host, reason });
        }
        self.suspects = suspects;
        state.nodes = Some(nodes);
        drop(state);
        events.into_iter().for_each(|event| self.inner.events.push(Event::Node(event)));
        if !self.is_listed {
            self.is_listed = true;
            self.inner.events.push(Event::NodesListed);
        }
    }
}
