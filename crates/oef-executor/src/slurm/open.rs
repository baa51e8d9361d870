//! The executor as a value.

use super::poll;
use super::settings::SlurmConfig;
use super::site::SlurmSite;
use crate::error::ExecutorError;
use crate::event::{Cursor, Event};
use crate::executor::Executor;
use crate::launch::Shell;
use crate::local::site::Site;
use crate::local::{Isolation, LocalConfig, LocalExecutor};
use crate::logs::{LogChunk, LogQuery};
use crate::order::{Known, Order, Unknown};
use oef_sched::{Generation, JobId};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Runs jobs through Slurm. Files, order of work and words are those of the executor for one machine.
#[derive(Debug)]
pub struct SlurmExecutor {
    /// Before the thread, so that it is dropped first.
    local: LocalExecutor,
    site: Arc<SlurmSite>,
    poller: Option<JoinHandle<()>>,
}

impl SlurmExecutor {
    /// Takes a state folder and begins to ask Slurm. It need not answer yet: nodes are told when it does.
    pub fn open(config: SlurmConfig) -> Result<SlurmExecutor, ExecutorError> {
        let local = LocalConfig {
            dir: config.dir.clone(),
            runner: config.runner.clone(),
            devices: Vec::new(),
            mps_pipe_dir: None,
            checkpoints: config.checkpoints.clone(),
            // Slurm keeps jobs apart on its nodes.
            isolation: Isolation { groups: false, ..Isolation::default() },
            // They are on its nodes.
            read_gpus_every: Duration::ZERO,
        };
        let mut config = config;
        config.slurm.keep = Some(config.dir.clone());
        std::fs::create_dir_all(&config.dir).map_err(ExecutorError::file(&config.dir, "made"))?;
        let site = Arc::new(SlurmSite::new(config)?);
        let dyn_site: Arc<dyn Site> = Arc::<SlurmSite>::clone(&site);
        let local = LocalExecutor::open_at(local, Some(dyn_site))?;
        site.open_folders()?;
        let (inner, polled) = (Arc::clone(local.inner()), Arc::clone(&site));
        let spawned =
            thread::Builder::new().name("slurm".into()).spawn(move || poll::run(&inner, &polled));
        let poller = Some(spawned.map_err(ExecutorError::Thread)?);
        Ok(SlurmExecutor { local, site, poller })
    }
}

impl Executor for SlurmExecutor {
    fn order(&self, order: Order) {
        self.local.order(order);
    }

    fn events(&self, after: Cursor, wait: Duration) -> Vec<(Cursor, Event)> {
        self.local.events(after, wait)
    }

    fn unknown(&self, known: &Known) -> Unknown {
        self.local.unknown(known)
    }

    fn resume(&self, known: Known) -> Result<JobId, ExecutorError> {
        let next = self.local.resume(known)?;
        self.site.resumed();
        Ok(next)
    }

    fn logs(&self, job: JobId, query: LogQuery) -> Result<LogChunk, ExecutorError> {
        self.local.logs(job, query)
    }

    fn open_shell(&self, job: JobId, generation: Generation, shell: Shell) -> bool {
        self.local.open_shell(job, generation, shell)
    }

    fn close(&self) {
        self.local.close();
    }
}

impl Drop for SlurmExecutor {
    fn drop(&mut self) {
        self.site.close();
        if let Some(poller) = self.poller.take() {
            let _ = poller.join();
        }
    }
}
