//! The threads beside the engine's.

use super::message::Message;
use super::scribe::{Page, Scribe};
use super::shared::Shared;
use super::{hands, solver};
use crate::checkpoints::Sweeper;
use crate::daemon::{Options, StartError};
use crate::store::{Archive, Keep};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

pub(super) fn scribe(options: &Options, archive: &Archive, shared: &Arc<Shared>) -> Scribe {
    Scribe {
        archive: archive.clone(),
        keep: Keep { rounds: options.memory.rounds_max, ..Keep::default() },
        shared: Arc::clone(shared),
        metrics: Arc::clone(&options.metrics),
    }
}

/// The threads beside the engine's.
pub(super) struct Threads {
    pub hands: Sender<hands::Task>,
    pub solver: Sender<oef_sched::Question>,
    pub pages: Sender<Page>,
    stop: Arc<AtomicBool>,
    to_join: Vec<JoinHandle<()>>,
}

impl Threads {
    pub fn start(
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
    pub fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        drop((self.hands, self.solver, self.pages));
        for thread in self.to_join {
            // One that panicked has said so already.
            let _ = thread.join();
        }
    }
}
