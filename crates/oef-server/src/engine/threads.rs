//! The threads beside the engine's.

use super::archiver::{Archiver, Document};
use super::message::Message;
use super::shared::Shared;
use super::solver::Asked;
use super::{environment, solver, watcher};
use crate::daemon::{Options, StartError};
use crate::notify::Notifier;
use crate::store::{Archive, Keep};
use oef_executor::{Cursor, Executor};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::thread::{self, JoinHandle};

pub(super) fn archiver(options: &Options, archive: &Archive, shared: &Arc<Shared>) -> Archiver {
    Archiver {
        archive: archive.clone(),
        keep: Keep {
            rounds: options.memory.rounds_max,
            round_bytes: options.memory.round_bytes_max,
            ..Keep::default()
        },
        shared: Arc::clone(shared),
        metrics: Arc::clone(&options.metrics),
    }
}

/// What the engine gives them to do, both ends.
pub(super) struct Work {
    pub questions: Receiver<Asked>,
    pub to_write: Receiver<Document>,
    pub solver: Sender<Asked>,
    pub pages: Sender<Document>,
}

/// The threads beside the engine's.
pub(super) struct Threads {
    solver: Sender<Asked>,
    pages: Sender<Document>,
    stop: Arc<AtomicBool>,
    executor: Arc<dyn Executor>,
    to_join: Vec<JoinHandle<()>>,
}

impl Threads {
    pub fn start(
        options: &Options,
        archive: &Archive,
        shared: &Arc<Shared>,
        inbox: &Sender<Message>,
        heard: Cursor,
        work: Work,
    ) -> Result<Threads, StartError> {
        let Work { questions, to_write, solver, pages } = work;
        let spawn = |name: &str, work: Box<dyn FnOnce() + Send>| {
            thread::Builder::new().name(name.into()).spawn(work).map_err(StartError::Thread)
        };
        let stop = Arc::new(AtomicBool::new(false));
        let executor = Arc::clone(&options.executor);
        let (engine, told) = (inbox.clone(), Arc::clone(&stop));
        let seen = Arc::clone(shared);
        let watching =
            move || watcher::watch(executor.as_ref(), heard, &engine, &told, &seen.health);
        let watching = spawn("watcher", Box::new(watching))?;
        let (engine, limit) = (inbox.clone(), options.solve_limit);
        spawn("solver", Box::new(move || solver::answer(&questions, &engine, limit)))?;
        let (engine, archiver) = (inbox.clone(), archiver(options, archive, shared));
        let writing = spawn("archiver", Box::new(move || archiver.write(&to_write, &engine)))?;
        let notifier = Notifier {
            shared: Arc::clone(shared),
            engine: inbox.clone(),
            settings: Arc::clone(&options.notify),
            env: environment::for_jobs(std::env::vars(), &BTreeMap::new()),
            stop: Arc::clone(&stop),
        };
        let notifying = spawn("notifier", Box::new(move || notifier.run()))?;
        let executor = Arc::clone(&options.executor);
        Ok(Threads { solver, pages, stop, executor, to_join: vec![watching, writing, notifying] })
    }

    /// Waits until everything that was ordered is done. A computation of shares is not waited for:
    /// nobody needs it any more.
    pub fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.executor.close();
        drop((self.solver, self.pages));
        for thread in self.to_join {
            // One that panicked has said so already.
            let _ = thread.join();
        }
    }
}
