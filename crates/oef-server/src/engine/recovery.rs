//! From a state folder to a running engine.

use super::archiver::Document;
use super::batch::Batch;
use super::budgets::Budgets;
use super::clock::{Clock, ClockSource, SystemClock};
use super::coverage::Coverage;
use super::environment;
use super::launch::Site;
use super::message::Message;
use super::meter::Meter;
use super::nodes::Nodes;
use super::observations::Observations;
use super::others::{self, Others};
use super::prepare::Numbers;
use super::readings::Readings;
use super::rounds::Rounds;
use super::run::Engine;
use super::shared::Shared;
use super::solver::Asked;
use super::threads::{Threads, Work, archiver};
use crate::daemon::{Memory, Metrics, Options, StartError};
use crate::replay::Replay;
use crate::store::{Archive, Ledger, OpenMode, Store, StoreError, StoredRecord};
use crate::terminal::TerminalEndpoint;
use crate::world::{Change, MEANING, SettingsEntry, World};
use oef_api::types::SettingsPatch;
use oef_executor::{Cursor, Event, Executor, Unknown};
use oef_report::format::counted;
use oef_sched::{JobId, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// So many jobs are named where one sentence is about all of them.
const JOBS_NAMED: usize = 10;

/// An engine that works.
pub(crate) struct Running {
    pub shared: Arc<Shared>,
    pub archive: Archive,
    pub inbox: Sender<Message>,
    pub thread: JoinHandle<()>,
}

/// What an engine is put together from, whoever drives it.
pub(crate) struct Parts {
    /// Where records go.
    pub ledger: Box<dyn Ledger>,
    /// The world as the journal has it, and up to which record a snapshot covers it.
    pub world: World,
    pub covered: u64,
    pub clock: Box<dyn ClockSource>,
    pub executor: Arc<dyn Executor>,
    pub metrics: Arc<dyn Metrics>,
    /// Variables for every job.
    pub environment: BTreeMap<String, String>,
    pub log_limit_bytes: u64,
    /// How jobs in a terminal reach the daemon.
    pub terminal: Option<Arc<TerminalEndpoint>>,
    pub budgets: Budgets,
    pub beginning: Beginning,
    pub messages: Receiver<Message>,
    pub solver: Sender<Asked>,
    pub pages: Sender<Document>,
}

/// What a new folder begins with, and what counts from this start on.
#[derive(Clone)]
pub(crate) struct Beginning {
    pub first: oef_sched::Settings,
    pub settings: SettingsPatch,
    pub memory: Memory,
}

/// Recovers running jobs and puts the engine together; with what the executor has told so far.
pub(crate) fn assemble(parts: Parts) -> Result<(Engine, Vec<(Cursor, Event)>), StartError> {
    let Parts { mut world, executor, budgets, .. } = parts;
    world.observes = executor.observes();
    let mut clock = Clock::new(world.sched.now(), parts.clock);
    let (mut nodes, heard) = Nodes::listen(executor.as_ref());
    nodes.name(&world);
    let (env, log_limit_bytes) = (parts.environment, parts.log_limit_bytes);
    let mut others = Others::default();
    heard.iter().for_each(|(_, event)| others.take(event));
    let site = Site { env, nodes, others, log_limit_bytes, terminal: parts.terminal };
    let known = site.known(&world);
    match beyond(&executor.unknown(&known)) {
        Some(what) if !parts.ledger.may_lack() => return Err(StartError::Beyond { what }),
        Some(what) => tracing::warn!("{what}; what runs of them is killed"),
        None => parts.ledger.lacks_nothing(),
    }
    let unused = executor.resume(known).map_err(StartError::Recover)?;
    let now = clock.now();
    let next_job = world.next_job.max(unused.0);
    let (next_token, next_notification) = (world.next_token, world.notifications.next);
    let meter = Meter::default();
    let numbers = Numbers { next_job, next_token, next_notification, budgets, meter };
    let first = first_changes(&world, &parts.beginning, &site.nodes)?;
    let engine = Engine {
        shared: Arc::new(Shared::new(world.clone(), parts.ledger.head())),
        world,
        store: parts.ledger,
        clock,
        inbox: parts.messages,
        executor,
        solver: parts.solver,
        pages: parts.pages,
        archiver: None,
        site,
        metrics: parts.metrics,
        numbers,
        observations: Observations::default(),
        readings: Readings::default(),
        rounds: Rounds::due(now),
        planned: Duration::ZERO,
        coverage: Coverage::upto(parts.covered),
        stopping: None,
        pause: Time(0),
        turned: Time(0),
        tried: Instant::now(),
        first,
    };
    Ok((engine, heard))
}

/// What was started that the journal does not know, in words; none: nothing.
fn beyond(Unknown { jobs, started }: &Unknown) -> Option<String> {
    let listed = |jobs: &BTreeSet<JobId>| {
        let named: Vec<String> = jobs.iter().take(JOBS_NAMED).map(JobId::to_string).collect();
        let more = jobs.len().saturating_sub(JOBS_NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{} {}{more}", if jobs.len() == 1 { "job" } else { "jobs" }, named.join(", "))
    };
    let mut said = Vec::new();
    if !jobs.is_empty() {
        said.push(format!(
            "the state folder has output of {}, which its journal does not know",
            listed(jobs)
        ));
    }
    if !started.is_empty() {
        said.push(format!("{} ran again after the end of its journal", listed(started)));
    }
    (!said.is_empty()).then(|| said.join(", and "))
}

/// Opens the folder, replays the journal, recovers running jobs, and starts the threads.
pub(crate) fn start(options: &Options) -> Result<Running, StartError> {
    let store = Store::open(&options.state_dir, OpenMode::Create)?;
    let (world, covered) = load(&store)?;
    let archive = store.archive();
    let (inbox, messages) = channel();
    let (solver, questions) = channel();
    let (pages, to_write) = channel();
    let (mut engine, heard) = assemble(Parts {
        ledger: Box::new(store),
        world,
        covered,
        clock: Box::new(SystemClock),
        executor: Arc::clone(&options.executor),
        metrics: Arc::clone(&options.metrics),
        environment: environment::for_jobs(std::env::vars(), &options.environment),
        log_limit_bytes: options.log_limit_bytes,
        terminal: options.terminal.clone(),
        budgets: options.budgets,
        beginning: Beginning {
            first: options.first.clone(),
            settings: options.settings.clone(),
            memory: options.memory,
        },
        messages,
        solver: solver.clone(),
        pages: pages.clone(),
    })?;
    let shared = Arc::clone(&engine.shared);
    engine.archiver = Some(archiver(options, &archive, &shared));
    let last = heard.last().map_or(Cursor::default(), |(cursor, _)| *cursor);
    let work = Work { questions, to_write, solver, pages };
    let threads = Threads::start(options, &archive, &shared, &inbox, last, work)?;
    // Nobody has ended so far: this is how it is heard.
    let _ = inbox.send(Message::Happened(heard));
    engine.begin()?;
    shared.ready.store(true, Ordering::Relaxed);
    let is_ready = Ready(Arc::clone(&shared));
    let work = move || {
        let _until_the_end = is_ready;
        let (done, store) = engine.run();
        threads.end();
        drop(store);
        if let Some(done) = done {
            let _ = done.send(());
        }
    };
    let thread = thread::Builder::new().name("engine".into()).spawn(work);
    Ok(Running { shared, archive, inbox, thread: thread.map_err(StartError::Thread)? })
}

/// The engine works. However it ends, commands are no longer taken then.
struct Ready(Arc<Shared>);

impl Drop for Ready {
    fn drop(&mut self) {
        self.0.ready.store(false, Ordering::Relaxed);
    }
}

/// The world as the journal has it, and up to which record a snapshot covers it.
fn load(store: &Store) -> Result<(World, u64), StartError> {
    let loaded = store.load()?;
    for skipped in &loaded.skipped {
        tracing::warn!(skipped, "a damaged snapshot was passed over");
    }
    let mut text = loaded.snapshot.map(|snapshot| (snapshot.seq, snapshot.text()));
    let snapshot = text.as_mut().map(|(seq, text)| (*seq, text as &mut dyn Read));
    replay(snapshot, loaded.records)
}

/// A world from a snapshot (its last record and its text) and the records after it, and up to which record the snapshot
/// covers it.
pub(crate) fn replay(
    snapshot: Option<(u64, &mut dyn Read)>,
    records: impl Iterator<Item = Result<StoredRecord, StoreError>>,
) -> Result<(World, u64), StartError> {
    let mut replay = Replay::default();
    let mut covered = 0;
    if let Some((seq, text)) = snapshot {
        covered = seq;
        replay.text(text).map_err(|why| StartError::Journal { seq: covered, why })?;
    }
    for stored in records {
        let stored = stored?;
        let seq = stored.seq;
        replay.record(&stored).map_err(|why| StartError::Journal { seq, why })?;
    }
    Ok((replay.finish(), covered))
}

/// What has changed since the daemon ran last, or what a new folder begins with.
fn first_changes(
    world: &World,
    options: &Beginning,
    nodes: &Nodes,
) -> Result<Vec<Change>, StartError> {
    let mut changes = Vec::new();
    let memory = options.memory;
    let is_new = world.next_event == 1 && world.sched.round().0 == 0;
    if is_new {
        let settings = SettingsEntry {
            ended_jobs_max: memory.ended_jobs_max,
            events_max: memory.events_max,
            ..SettingsEntry::default()
        };
        let sched = Box::new(options.first.clone());
        changes.push(Change::Began { meaning: MEANING, sched, settings, whole: false });
    }
    if !is_new && world.meaning != MEANING {
        // From here on decisions are written down.
        changes.push(Change::Meaning { version: MEANING });
    }
    let known = (world.settings.ended_jobs_max, world.settings.events_max);
    if !is_new && known != (memory.ended_jobs_max, memory.events_max) {
        changes.push(Change::Memory {
            ended_jobs_max: memory.ended_jobs_max,
            events_max: memory.events_max,
        });
    }
    match (world.observes, others::own_jobs(world)) {
        (false, _) => changes.extend(others::leave(world)),
        (true, 0) => {}
        (true, own) => {
            return Err(StartError::Setting(format!(
                "the state folder has {} left that did not end, and a daemon that observes starts none; \
                 let them end under [slurm] depth = \"drive\", or name another state_dir",
                counted(own, "job")
            )));
        }
    }
    changes.extend(nodes.changes(world));
    changes.extend(settings_change(world, options, nodes, is_new)?);
    if world.halted {
        changes.push(Change::Halted { halted: false });
    }
    Ok(changes)
}

/// Settings that are given and differ from those of before. They come after the nodes, so that a reference
/// type of a new folder is known.
fn settings_change(
    world: &World,
    options: &Beginning,
    nodes: &Nodes,
    is_new: bool,
) -> Result<Option<Change>, StartError> {
    let mut patch = options.settings.clone();
    let is_wrong = |gpu: &&String| !gpu.is_empty() && !nodes.has_type(gpu);
    if let Some(gpu) = patch.reference.as_ref().filter(is_wrong) {
        return Err(StartError::Setting(format!(
            "the reference type `{gpu}` is not a gpu type of this cluster"
        )));
    }
    let reference = patch.reference.take();
    let (sched, own) = world.patched(&patch).map_err(|r| StartError::Setting(r.to_string()))?;
    let same_reference = match &reference {
        None => true,
        Some(gpu) => world.sched.settings().reference.as_deref().unwrap_or_default() == gpu,
    };
    let same = sched == *world.sched.settings() && own == world.settings && same_reference;
    let is_empty = options.settings == Default::default();
    if is_empty || (same && !is_new) {
        return Ok(None);
    }
    Ok(Some(Change::Settings(options.settings.clone())))
}

impl Engine {
    /// Journals what is new since the last time.
    pub(crate) fn begin(&mut self) -> Result<(), StartError> {
        let now = self.clock.now();
        let mut batch = Batch::default();
        batch.extend(now, std::mem::take(&mut self.first));
        match self.commit(batch) {
            true => Ok(()),
            false => Err(StartError::NotDurable),
        }
    }
}
