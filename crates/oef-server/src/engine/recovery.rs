//! From a state folder to a running engine.

use super::batch::Batch;
use super::clock::Clock;
use super::hands;
use super::launch::{Site, nodes_of};
use super::message::Message;
use super::observations::Observations;
use super::prepare::Numbers;
use super::rounds::Rounds;
use super::run::Engine;
use super::scribe::Scribe;
use super::shared::Shared;
use super::{environment, solver};
use crate::checkpoints::{Places, Sweeper};
use crate::daemon::{Options, StartError};
use crate::replay::Replay;
use crate::store::{Access, Archive, Keep, Store};
use crate::world::{Change, MEANING, SettingsEntry, World};
use oef_executor::{Device, Executor};
use oef_sched::{Health, JobId, NodeSpec, Time};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// An engine that works.
pub(crate) struct Running {
    pub shared: Arc<Shared>,
    pub archive: Archive,
    pub inbox: Sender<Message>,
    pub thread: JoinHandle<()>,
}

/// Opens the folder, replays the journal, finds the jobs of before, and starts the threads.
pub(crate) fn start(options: &Options) -> Result<Running, StartError> {
    let store = Store::open(&options.state_dir, Access::Create)?;
    let dir = store.dir().canonicalize().map_err(StartError::Folder)?;
    let (world, covered) = load(&store)?;
    let mut clock = Clock::after(world.sched.now());
    let nodes = nodes_of(&world, options.executor.devices());
    let places = Places::new(&dir, &options.checkpoints);
    let site = Site {
        places,
        dir,
        env: environment::for_jobs(std::env::vars(), &options.environment),
        nodes: nodes.iter().map(|(name, (_, devices))| (name.clone(), devices.clone())).collect(),
        log_limit_bytes: options.log_limit_bytes,
    };
    recover(&world, &site, options.executor.as_ref())?;
    let now = clock.now();
    let next_job = world.next_job.max(unused_number(&site));
    let numbers = Numbers { next_job, next_token: world.next_token };
    let published = world.next_event;
    let first = first_changes(&world, options, &nodes)?;
    let forgotten = forgotten(&world, &site);
    let archive = store.archive();
    let shared = Arc::new(Shared::new(world.clone(), store.head()));
    let (inbox, messages) = channel();
    let sweeper =
        Sweeper { places: site.places.clone(), hosts: site.hosts(), shared: Arc::clone(&shared) };
    let threads = Threads::start(options, &archive, sweeper, &inbox)?;
    let mut engine = Engine {
        shared: Arc::clone(&shared),
        world,
        store,
        clock,
        inbox: messages,
        hands: threads.hands.clone(),
        solver: threads.solver.clone(),
        pages: threads.pages.clone(),
        scribe: scribe(options, &archive, &shared),
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
    };
    begin(&mut engine, now, first)?;
    for task in forgotten {
        let _ = engine.hands.send(task);
    }
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

/// Finds the jobs of before. Folders that a job needs are made again, should they be gone.
fn recover(world: &World, site: &Site, executor: &dyn Executor) -> Result<(), StartError> {
    let held = site.held(world);
    for lease in &held {
        let job = lease.launch.job;
        let script = world.jobs.get(&job).and_then(|entry| entry.spec.script.as_deref());
        if let Err(error) = hands::prepare(&lease.launch, &site.job_dir(job), script) {
            tracing::warn!(%job, %error, "the folder of a job could not be made");
        }
    }
    for found in executor.recover(&held).map_err(StartError::Recover)? {
        tracing::info!(job = %found.job, generation = %found.generation, found = ?found.found, "recovered");
    }
    Ok(())
}

/// A number that no folder of a job has. After an older backup was put in place there may be folders of jobs
/// that the journal does not know; a new job must not find their checkpoints.
fn unused_number(site: &Site) -> u64 {
    let mut next = 0;
    let mut folders = vec![site.dir.join("jobs"), site.dir.join("runs")];
    folders.extend(site.hosts().values().map(|host| site.places.host_dir(host)));
    for folder in folders {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        for entry in entries.flatten() {
            let number = entry.file_name().to_str().and_then(|name| name.parse::<u64>().ok());
            next = next.max(number.map_or(0, |number| number.saturating_add(1)));
        }
    }
    next
}

/// Folders of jobs that were forgotten just before the daemon ended.
fn forgotten(world: &World, site: &Site) -> Vec<hands::Task> {
    let Ok(entries) = std::fs::read_dir(site.dir.join("jobs")) else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let gone =
        numbers.map(JobId).filter(|job| job.0 < world.next_job && !world.jobs.contains_key(job));
    gone.map(|job| site.forget(job)).collect()
}

/// What has changed since the daemon ran last, or what a new folder begins with.
fn first_changes(
    world: &World,
    options: &Options,
    nodes: &BTreeMap<String, (NodeSpec, Vec<Device>)>,
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
    let cluster = world.sched.cluster();
    for node in cluster.nodes() {
        if !nodes.contains_key(node.name()) && node.health() == Health::Up {
            changes.push(Change::NodeDown { node: node.name().into() });
        }
    }
    for (spec, _) in nodes.values() {
        if !world.sched.is_up(&spec.name) && !world.drained.contains(&spec.name) {
            changes.push(Change::NodeUp(spec.clone()));
        }
    }
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
    nodes: &BTreeMap<String, (NodeSpec, Vec<Device>)>,
    is_new: bool,
) -> Result<Option<Change>, StartError> {
    let mut patch = options.settings.clone();
    let here = |gpu: &String| nodes.values().any(|(spec, _)| spec.gpu_type == *gpu);
    if let Some(gpu) = patch.reference.as_ref().filter(|gpu| !gpu.is_empty() && !here(gpu)) {
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

fn scribe(options: &Options, archive: &Archive, shared: &Arc<Shared>) -> Scribe {
    Scribe {
        archive: archive.clone(),
        keep: Keep { rounds: options.memory.rounds_max, ..Keep::default() },
        shared: Arc::clone(shared),
        metrics: Arc::clone(&options.metrics),
    }
}

/// The threads beside the engine's.
struct Threads {
    hands: Sender<hands::Task>,
    solver: Sender<oef_sched::Question>,
    pages: Sender<super::scribe::Page>,
    stop: Arc<AtomicBool>,
    to_join: Vec<JoinHandle<()>>,
}

impl Threads {
    fn start(
        options: &Options,
        archive: &Archive,
        sweeper: Sweeper,
        inbox: &Sender<Message>,
    ) -> Result<Threads, StartError> {
        let spawn = |name: &str, work: Box<dyn FnOnce() + Send>| {
            thread::Builder::new().name(name.into()).spawn(work).map_err(StartError::Thread)
        };
        let stop = Arc::new(AtomicBool::new(false));
        let (hands, tasks) = channel();
        let (solver, questions) = channel();
        let (pages, to_write) = channel();
        let executor = Arc::clone(&options.executor);
        let engine = inbox.clone();
        let performing =
            spawn("hands", Box::new(move || hands::perform(executor.as_ref(), &tasks, &engine)))?;
        let executor = Arc::clone(&options.executor);
        let (engine, told) = (inbox.clone(), Arc::clone(&stop));
        let looking =
            spawn("eyes", Box::new(move || hands::look(executor.as_ref(), &engine, &told)))?;
        let (engine, limit) = (inbox.clone(), options.solve_limit);
        spawn("solver", Box::new(move || solver::answer(&questions, &engine, limit)))?;
        let (engine, scribe) = (inbox.clone(), scribe(options, archive, &sweeper.shared));
        let writing = spawn("scribe", Box::new(move || scribe.write(&to_write, &engine)))?;
        let told = Arc::clone(&stop);
        let sweeping = spawn("sweeper", Box::new(move || sweeper.run(&told)))?;
        let to_join = vec![performing, looking, writing, sweeping];
        Ok(Threads { hands, solver, pages, stop, to_join })
    }

    /// Waits until everything that was ordered is done. A computation of shares is not waited for:
    /// nobody needs it any more.
    fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        drop((self.hands, self.solver, self.pages));
        for thread in self.to_join {
            // One that panicked has said so already.
            let _ = thread.join();
        }
    }
}
