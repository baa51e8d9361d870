//! From a state folder to a running engine.

use super::batch::Batch;
use super::clock::Clock;
use super::environment;
use super::launch::Site;
use super::message::Message;
use super::nodes::Nodes;
use super::observations::Observations;
use super::prepare::Numbers;
use super::rounds::Rounds;
use super::run::Engine;
use super::shared::Shared;
use super::threads::{Threads, archiver};
use crate::daemon::{Options, StartError};
use crate::replay::Replay;
use crate::store::{Archive, OpenMode, Store};
use crate::world::{Change, MEANING, SettingsEntry, World};
use oef_executor::Cursor;
use oef_sched::Time;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// An engine that works.
pub(crate) struct Running {
    pub shared: Arc<Shared>,
    pub archive: Archive,
    pub inbox: Sender<Message>,
    pub thread: JoinHandle<()>,
}

/// Opens the folder, replays the journal, recovers running jobs, and starts the threads.
pub(crate) fn start(options: &Options) -> Result<Running, StartError> {
    let store = Store::open(&options.state_dir, OpenMode::Create)?;
    let (world, covered) = load(&store)?;
    let mut clock = Clock::after(world.sched.now());
    let (mut nodes, heard) = Nodes::listen(options.executor.as_ref());
    nodes.name(&world);
    let site = Site {
        env: environment::for_jobs(std::env::vars(), &options.environment),
        nodes,
        log_limit_bytes: options.log_limit_bytes,
    };
    let unused = options.executor.resume(site.known(&world)).map_err(StartError::Recover)?;
    let now = clock.now();
    let next_job = world.next_job.max(unused.0);
    let numbers = Numbers { next_job, next_token: world.next_token, budgets: options.budgets };
    let published = world.next_event;
    let first = first_changes(&world, options, &site.nodes)?;
    let archive = store.archive();
    let shared = Arc::new(Shared::new(world.clone(), store.head()));
    let (inbox, messages) = channel();
    let last = heard.last().map_or(Cursor::default(), |(cursor, _)| *cursor);
    let threads = Threads::start(options, &archive, &shared, &inbox, last)?;
    // Nobody has ended so far: this is how it is heard.
    let _ = inbox.send(Message::Happened(heard));
    let mut engine = Engine {
        shared: Arc::clone(&shared),
        world,
        store,
        clock,
        inbox: messages,
        executor: Arc::clone(&options.executor),
        solver: threads.solver.clone(),
        pages: threads.pages.clone(),
        archiver: archiver(options, &archive, &shared),
        site,
        metrics: Arc::clone(&options.metrics),
        numbers,
        observations: Observations::default(),
        rounds: Rounds::due(now),
        planned: Duration::ZERO,
        published,
        snapshot: (covered, false),
        stopping: None,
        pause: Time(0),
        tried: Instant::now(),
    };
    begin(&mut engine, now, first)?;
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
    let mut replay = Replay::default();
    let mut covered = 0;
    if let Some(snapshot) = loaded.snapshot {
        covered = snapshot.seq;
        let read = replay.snapshot(&snapshot);
        read.map_err(|why| StartError::Journal { seq: covered, why })?;
    }
    for stored in loaded.records {
        let stored = stored?;
        let seq = stored.seq;
        replay.record(&stored).map_err(|why| StartError::Journal { seq, why })?;
    }
    Ok((replay.finish(), covered))
}

/// What has changed since the daemon ran last, or what a new folder begins with.
fn first_changes(
    world: &World,
    options: &Options,
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
        changes.push(Change::Began { meaning: MEANING, sched, settings });
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
    options: &Options,
    nodes: &Nodes,
    is_new: bool,
) -> Result<Option<Change>, StartError> {
    let mut patch = options.settings.clone();
    let is_wrong = |gpu: &&String| !gpu.is_empty() && !nodes.has_type(gpu);
    if let Some(gpu) = patch.reference.as_ref().filter(is_wrong) {
        return Err(StartError::Setting(format!(
            "the reference type `{gpu}` is none of this cluster's gpu types"
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

/// Journals what is new since the last time.
fn begin(engine: &mut Engine, now: Time, changes: Vec<Change>) -> Result<(), StartError> {
    let mut batch = Batch::default();
    for change in changes {
        batch.push(now, change);
    }
    match engine.commit(batch) {
        true => Ok(()),
        false => Err(StartError::NotDurable),
    }
}
