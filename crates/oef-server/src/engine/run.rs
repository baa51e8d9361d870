//! The loop.

use super::archiver::{Archiver, Document};
use super::batch::Batch;
use super::clock::Clock;
use super::command::Command;
use super::coverage::Coverage;
use super::launch::Site;
use super::message::Message;
use super::observations::{Observations, transfer};
use super::prepare::{Numbers, Prepared, prepare};
use super::readings::Readings;
use super::rounds::Rounds;
use super::shared::Shared;
use super::solver::Asked;
use crate::daemon::{Measure, Metrics, StopJobs};
use crate::problem::Kind;
use crate::store::Ledger;
use crate::world::{Change, World};
use oef_api::types::{JobState, NodeHealth};
use oef_executor::checkpoints::{Transfer, TransferResult};
use oef_executor::{Event, Executor, Order, sentence};
use oef_sched::{Span, Time};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender};
use std::time::{Duration, Instant};

/// Messages that are dealt with together: one transaction for all.
const BATCH_MAX: usize = 512;
/// The loop looks around at least so often.
const WAKE_MAX: Span = Span(500);
/// After the journal could not be written, observations wait so long.
const PAUSE: Span = Span(1000);
/// After so long without a record it is looked whether one could be written.
const PROBE_EVERY: Duration = Duration::from_secs(5);
/// Beyond the grace time, what it takes until an ending is seen.
const STOP_SLACK: Span = Span(10_000);

/// The engine.
pub(crate) struct Engine {
    pub shared: Arc<Shared>,
    /// The world with everything that was taken, whether it is durable yet or not.
    pub world: World,
    pub store: Box<dyn Ledger>,
    pub clock: Clock,
    pub inbox: Receiver<Message>,
    pub executor: Arc<dyn Executor>,
    pub solver: Sender<Asked>,
    pub pages: Sender<Document>,
    /// Who writes the last snapshot; none: somebody else looks after them.
    pub archiver: Option<Archiver>,
    pub(super) site: Site,
    pub metrics: Arc<dyn Metrics>,
    pub(super) numbers: Numbers,
    pub(super) observations: Observations,
    pub(super) readings: Readings,
    pub(super) rounds: Rounds,
    /// How long the last round took to plan.
    pub planned: Duration,
    /// What the last snapshot covers.
    pub coverage: Coverage,
    pub stopping: Option<Stopping>,
    /// The journal could not be written: not before then again.
    pub pause: Time,
    /// When the last turn began.
    pub turned: Time,
    /// When it was last seen whether it can be.
    pub tried: Instant,
    /// What is journalled first.
    pub first: Vec<Change>,
}

/// The daemon is to stop.
pub(crate) struct Stopping {
    done: SyncSender<()>,
    /// Jobs that have not stopped by then go on under their runners.
    deadline: Time,
}

impl Engine {
    /// Works until it is told to stop, and gives back who waits for that. The store comes back as well: it
    /// holds the folder's lock, and others may still have to write there.
    pub fn run(mut self) -> (Option<SyncSender<()>>, Box<dyn Ledger>) {
        let done = self.work();
        (done, self.store)
    }

    fn work(&mut self) -> Option<SyncSender<()>> {
        loop {
            let now = self.clock.now();
            let wait = self.next_wake().since(now).min(WAKE_MAX);
            let first = self.inbox.recv_timeout(Duration::from_millis(wait.0));
            if let Err(RecvTimeoutError::Disconnected) = first {
                return None;
            }
            self.turn(first.ok());
            if let Some(done) = self.is_done() {
                self.last_snapshot();
                return Some(done);
            }
        }
    }

    /// One turn: what is there is journalled together, then rounds are looked after.
    pub(crate) fn turn(&mut self, first: Option<Message>) {
        self.shared.health.turned();
        let now = self.clock.now();
        self.turned = now;
        let mut batch = Batch::default();
        let mut next = first;
        let mut taken = 0;
        while let Some(message) = next {
            self.take(now, message, &mut batch);
            taken += 1;
            next = if taken < BATCH_MAX { self.inbox.try_recv().ok() } else { None };
        }
        let with_seen = now >= self.pause;
        if with_seen {
            self.site.nodes.name(&self.world);
            self.observations.fill(now, &self.world, &self.site, &mut batch);
            // Jobs whose time has come wait for GPUs.
            let due = self.world.index.due_wakeups(now).take(BATCH_MAX);
            batch.extend(now, due.map(|job| Change::Released { job }));
            for change in self.world.drains_due(now) {
                let absent = match &change {
                    Change::NodeDrained { node, drained: false, .. } => self.if_absent(node),
                    _ => None,
                };
                batch.extend(now, [change].into_iter().chain(absent));
            }
            batch.extend(now, self.site.others.changes(&self.world, &mut self.numbers.next_job));
            self.take_shares(now, &mut batch);
        }
        if self.commit(batch) {
            if with_seen {
                if let Some(cursor) = self.observations.done() {
                    self.executor.order(Order::Acknowledge(cursor));
                }
                self.shares_done();
            }
        } else {
            self.observations.failed();
            self.site.others.announce_again();
            self.pause = now + PAUSE;
        }
        let now = self.clock.now();
        if now >= self.pause {
            self.turn_round(now);
        }
        self.snapshot_if_due();
        self.probe_if_due();
    }

    /// A daemon that has nothing to write would not notice that it cannot.
    fn probe_if_due(&mut self) {
        if self.tried.elapsed() < PROBE_EVERY {
            return;
        }
        self.tried = Instant::now();
        let probed = self.store.probe();
        if let Err(error) = &probed {
            tracing::error!(error = sentence(error), "the journal could not be written");
        }
        self.shared.health.journal(probed.err().map(|error| sentence(&error)));
    }

    fn take(&mut self, now: Time, message: Message, batch: &mut Batch) {
        match message {
            Message::Command { caller, command, reply } => {
                if self.stopping.is_some() {
                    let _ = reply.send(Err(Kind::Unavailable.problem("the daemon is stopping")));
                    return;
                }
                let absent = self.absent(&command);
                match prepare(&self.world, now, &caller, *command, &mut self.numbers) {
                    Err(problem) => drop(reply.send(Err(problem))),
                    Ok(Prepared::Already(done)) => drop(reply.send(Ok(done))),
                    Ok(Prepared::Changes(changes, done)) => {
                        batch.extend(now, changes.into_iter().chain(absent));
                        batch.await_last(reply, done);
                    }
                }
            }
            Message::Happened(events) => {
                for (cursor, event) in events {
                    self.transferred(&event);
                    self.read(now, &event);
                    self.site.nodes.take(&event);
                    self.site.others.take(&event);
                    self.observations.add(cursor, event);
                }
            }
            Message::Solved { answer, took } => self.rounds.solved(answer, took),
            Message::SnapshotTried { saved } => self.coverage.tried(saved),
            Message::Stop { jobs, done } => self.stop(now, jobs, done, batch),
        }
    }

    /// A node that an operator takes back in while its machine is gone, or held under another name, comes up later.
    fn absent(&self, command: &Command) -> Option<Change> {
        let Command::PatchNode { name, patch } = command else { return None };
        (patch.health == NodeHealth::Up).then(|| self.if_absent(name)).flatten()
    }

    /// What follows the return of a node whose machine is not there.
    fn if_absent(&self, node: &str) -> Option<Change> {
        let is_absent = !self.site.nodes.can_be_up(&self.world, node);
        is_absent.then(|| Change::NodeDown { node: node.into() })
    }

    /// Counts a transfer, and tells the operator of one that failed: the job waits for another start.
    fn transferred(&self, event: &Event) {
        let Some((job, transfer)) = transfer(&self.world, event) else { return };
        let took = transfer.took.seconds();
        let Transfer { result, bytes, .. } = transfer;
        match result {
            TransferResult::Failed => {
                tracing::warn!(%job, took, "a checkpoint could not be brought to its job's host");
            }
            _ => {
                let result = result.name();
                tracing::info!(%job, result, bytes, took, "a checkpoint was to be brought");
            }
        }
        self.metrics.measure(Measure::Transferred(transfer));
    }

    /// Shows what the GPUs do, and keeps it for the accounts.
    fn read(&mut self, at: Time, event: &Event) {
        let before = self.shared.latest();
        let nodes = &self.site.nodes;
        if let Some(latest) = self.readings.take(at, event, &self.world, nodes, &before) {
            drop(before);
            self.shared.set_latest(latest);
        }
    }

    /// When something is to be done, if nothing else happens.
    pub(crate) fn next_wake(&self) -> Time {
        // While it stops, no round begins.
        let mut wake = match &self.stopping {
            Some(stopping) => stopping.deadline,
            None => self.round_wake(),
        };
        if let Some((due, _)) = self.world.index.next_wakeup() {
            wake = wake.min(due);
        }
        if let Some(due) = self.world.next_drain(self.turned) {
            wake = wake.min(due);
        }
        wake.max(self.pause)
    }

    fn stop(&mut self, now: Time, jobs: StopJobs, done: SyncSender<()>, batch: &mut Batch) {
        self.shared.ready.store(false, Ordering::Relaxed);
        let deadline = match jobs {
            // Its jobs are others', and end when those say so.
            _ if self.world.observes => now,
            StopJobs::LeaveRunning => now,
            StopJobs::Checkpoint => {
                batch.push(now, Change::Halted { halted: true });
                now + self.longest_grace() + STOP_SLACK
            }
        };
        batch.extend(now, self.readings.change());
        self.readings.done();
        self.stopping = Some(Stopping { done, deadline });
    }

    fn longest_grace(&self) -> Span {
        let world = &self.world;
        let placed = world.index.newest(None, &JobState::PLACED, None);
        let graces = placed.filter_map(|job| world.jobs.get(&job)?.spec.grace_s);
        graces.map(Span::from_seconds).fold(Span(world.settings.grace_ms), Span::max)
    }

    fn is_done(&mut self) -> Option<SyncSender<()>> {
        let stopping = self.stopping.as_ref()?;
        let running = self.world.index.count(None, &JobState::PLACED) > 0;
        let is_over = !running || self.clock.now() >= stopping.deadline;
        is_over.then(|| stopping.done.clone())
    }

    fn snapshot_if_due(&mut self) {
        let head = self.store.head();
        let (jobs, texts) = (self.world.jobs.len() as u64, self.world.index.text_bytes(None));
        if !self.coverage.is_due(head, jobs, texts) {
            return;
        }
        let world = Box::new(self.world.clone());
        if self.pages.send(Document::Snapshot { world, seq: head }).is_ok() {
            self.coverage.begun();
        }
    }

    fn last_snapshot(&mut self) {
        let head = self.store.head();
        debug_assert_eq!(
            self.world.to_snapshot().ok(),
            self.shared.world().to_snapshot().ok(),
            "everybody's world is the engine's once all is durable"
        );
        if let Some(archiver) = self.archiver.as_ref().filter(|_| head > self.coverage.last()) {
            archiver.snapshot(&self.world, head);
        }
    }
}
