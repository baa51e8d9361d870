//! The daemon's core without its threads: the same engine, driven step by step by somebody who owns the disk, the clock
//! and the cluster. Simulations use it; the daemon itself runs the engine on a thread of its own.

use crate::caller::Caller;
use crate::daemon::{NoMetrics, StartError};
use crate::engine::{
    Asked, Beginning, Command, Document, Done, Engine, Message, Parts, Reply, assemble, replay,
};
use crate::store::{Ledger, Snapshot, StoredRecord};
use crate::view::RoundDocument;
use crate::world::World;
use oef_api::types::{
    ApiError, GroupPut, JobBatch, JobPatch, NodePatch, NotificationCreate, SettingsPatch,
    Submitted, TenantCreate, TenantPatch, WorkloadPut,
};
use oef_executor::{Cursor, Executor};
use std::io::Read;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tokio::sync::oneshot;

pub use crate::engine::{Budgets, Clock, ClockSource};

/// With what a core is started.
pub struct CoreOptions {
    /// Where records go.
    pub ledger: Box<dyn Ledger>,
    /// What is there: the world after some record, if one was kept, and the records after it.
    pub snapshot: Option<Snapshot>,
    /// These.
    pub records: Vec<StoredRecord>,
    /// The time.
    pub clock: Box<dyn ClockSource>,
    /// What carries plans out.
    pub executor: Arc<dyn Executor>,
    /// What the scheduler starts with in a new folder.
    pub first: oef_sched::Settings,
    /// Settings that count from this start on.
    pub settings: SettingsPatch,
    /// How much one tenant may have.
    pub budgets: Budgets,
}

/// What somebody wants changed.
#[derive(Clone, Debug)]
pub enum Wish {
    /// Take jobs.
    Submit(JobBatch, Option<String>),
    /// End a job.
    Cancel(u64),
    /// Change a job.
    PatchJob(u64, JobPatch),
    /// Submit a job again as it was.
    Resubmit(u64),
    /// Tell somebody of jobs.
    AddNotification(NotificationCreate),
    /// Set up a group.
    PutGroup(String, GroupPut),
    /// A new tenant.
    CreateTenant(TenantCreate),
    /// Another weight, group or limit; suspend it or let it go on.
    PatchTenant(String, TenantPatch),
    /// Remove it with its jobs.
    RemoveTenant(String),
    /// Its workload has this profile.
    PutWorkload(String, String, WorkloadPut),
    /// Take a node out, or back in.
    PatchNode(String, NodePatch),
    /// Drop a plan to take a node out.
    DropWindow(u64),
    /// Other settings.
    PatchSettings(SettingsPatch),
}

/// A core between two steps.
pub struct Core {
    engine: Engine,
    questions: Receiver<Asked>,
    pages: Receiver<Document>,
    heard: Cursor,
}

impl Core {
    /// Replays what is there and takes up the work.
    pub fn start(options: CoreOptions) -> Result<Core, StartError> {
        let (solver, questions) = channel();
        let (pages, to_write) = channel();
        // Messages come by `turn` and `ask` alone.
        let (_, messages) = channel();
        let records = options.records.into_iter().map(Ok);
        let mut text = options.snapshot.as_ref().map(|kept| (kept.seq, kept.body.as_bytes()));
        let snapshot = text.as_mut().map(|(seq, text)| (*seq, text as &mut dyn Read));
        let (world, covered) = replay(snapshot, records)?;
        let parts = Parts {
            ledger: options.ledger,
            world,
            covered,
            clock: options.clock,
            executor: options.executor,
            metrics: Arc::new(NoMetrics),
            environment: Default::default(),
            log_limit_bytes: 1 << 20,
            terminal: None,
            budgets: options.budgets,
            beginning: Beginning {
                first: options.first,
                settings: options.settings,
                memory: Default::default(),
            },
            messages,
            solver,
            pages,
        };
        let (mut engine, heard) = assemble(parts)?;
        let last = heard.last().map_or(Cursor::default(), |(cursor, _)| *cursor);
        engine.begin()?;
        // Before anything else: what comes later may be about the same nodes.
        engine.turn(Some(Message::Happened(heard)));
        Ok(Core { engine, questions, pages: to_write, heard: last })
    }

    /// Hears what the executor tells, and does what is due.
    pub fn turn(&mut self) {
        let events = self.engine.executor.events(self.heard, Duration::ZERO);
        let message = events.last().map(|(last, _)| {
            self.heard = *last;
            Message::Happened(events.clone())
        });
        self.engine.turn(message);
        self.solve();
    }

    /// Answers questions for shares, as the thread for them would.
    fn solve(&mut self) {
        while let Ok(Asked { question, .. }) = self.questions.try_recv() {
            let answer = Box::new(question.answer(&oef_core::Options::default()));
            self.engine.turn(Some(Message::Solved { answer, took: Duration::ZERO }));
        }
    }

    /// Asks for something as an admin; the answer is there when what it changes is durable.
    pub fn ask(&mut self, wish: Wish) -> Result<Option<Submitted>, ApiError> {
        let command = match wish {
            Wish::Submit(batch, key) => Command::Submit { batch, key, create_tenants: true },
            Wish::Cancel(job) => Command::Cancel { job },
            Wish::PatchJob(job, patch) => Command::PatchJob { job, patch },
            Wish::Resubmit(job) => Command::Resubmit { job },
            Wish::AddNotification(notification) => Command::AddNotification(notification),
            Wish::PutGroup(name, group) => Command::PutGroup { name, group },
            Wish::CreateTenant(tenant) => Command::CreateTenant(tenant),
            Wish::PatchTenant(name, patch) => Command::PatchTenant { name, patch },
            Wish::RemoveTenant(name) => Command::RemoveTenant { name },
            Wish::PutWorkload(tenant, name, workload) => {
                Command::PutWorkload { tenant, name, workload }
            }
            Wish::PatchNode(name, patch) => Command::PatchNode { name, patch },
            Wish::DropWindow(id) => Command::DropWindow { id },
            Wish::PatchSettings(patch) => Command::PatchSettings(patch),
        };
        let (reply, mut answer): (Reply, _) = oneshot::channel();
        let (caller, command) = (Caller::admin(), Box::new(command));
        self.engine.turn(Some(Message::Command { caller, command, reply }));
        self.solve();
        match answer.try_recv() {
            Ok(Ok(Done::Submitted(submitted))) => Ok(Some(submitted)),
            Ok(Ok(_)) => Ok(None),
            Ok(Err(problem)) => Err(problem),
            Err(_) => {
                use crate::problem::Kind;
                Err(Kind::Internal.problem("the command was not answered"))
            }
        }
    }

    /// The next turn hears again what was not acknowledged: an answer was lost on its way.
    pub fn hear_again(&mut self) {
        self.heard = Cursor::default();
    }

    /// The documents of every so-manieth round that began since the last question, with their certificates. Worlds that
    /// were to be kept count as kept: whoever drives the core keeps its own.
    pub fn documents(&mut self, every: u64) -> Vec<RoundDocument> {
        let mut rounds = Vec::new();
        while let Ok(page) = self.pages.try_recv() {
            match page {
                Document::Round { draft, .. } if draft.number() % every.max(1) == 0 => {
                    rounds.push(draft.finish());
                }
                Document::Round { .. } => {}
                Document::Snapshot { seq, .. } => {
                    self.engine.turn(Some(Message::SnapshotTried { saved: Some(seq) }));
                }
            }
        }
        rounds
    }

    /// In how many milliseconds something is to be done, if nothing else happens.
    pub fn wait_ms(&mut self) -> u64 {
        let now = self.engine.clock.now();
        self.engine.next_wake().since(now).0
    }

    /// The world as everybody sees it: what is durable.
    pub fn world(&self) -> World {
        self.engine.shared.world().clone()
    }

    /// Looks at that world.
    pub fn with_world<R>(&self, look: impl FnOnce(&World) -> R) -> R {
        look(&self.engine.shared.world())
    }
}
