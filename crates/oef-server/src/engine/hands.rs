//! The executor's threads: one carries orders out, one looks.
//!
//! Both may wait for files and processes, which the engine must not. Orders are carried out one after the
//! other, in the order in which the world wanted them.

use super::launch::script_path;
use super::message::Message;
use oef_executor::{Executor, ExecutorError, Launch, Order};
use oef_sched::{Generation, JobId};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::thread;
use std::time::Duration;

/// Often enough that a person sees no delay, seldom enough that looking costs nothing.
const LOOK_EVERY: Duration = Duration::from_millis(60);

/// One thing for the executor to do.
pub(super) enum Task {
    /// Start a job, with its folders and its script made first.
    Start { launch: Box<Launch>, dir: PathBuf, script: Option<String> },
    /// Any other order.
    Order(Order),
    /// An ending is journalled.
    Acknowledge(JobId, Generation),
    /// Nothing of a job is needed any more.
    Forget { job: JobId, dir: PathBuf, copies: Vec<PathBuf> },
}

/// Carries tasks out until nobody sends any more.
pub(super) fn perform(executor: &dyn Executor, tasks: &Receiver<Task>, engine: &Sender<Message>) {
    while let Ok(task) = tasks.recv() {
        match task {
            Task::Start { launch, dir, script } => {
                let (job, generation) = (launch.job, launch.generation);
                if let Err((impossible, detail)) = start(executor, launch, &dir, script) {
                    tracing::warn!(%job, %generation, %detail, "job could not be started");
                    let failed = Message::NotStarted { job, generation, impossible, detail };
                    if engine.send(failed).is_err() {
                        return;
                    }
                }
            }
            Task::Order(order) => match executor.perform(order) {
                Ok(()) => {}
                // The run ended meanwhile: its ending is on the way.
                Err(ExecutorError::UnknownRun { .. } | ExecutorError::Stale { .. }) => {}
                Err(error) => tracing::warn!(%error, "order could not be carried out"),
            },
            Task::Acknowledge(job, generation) => executor.acknowledge(job, generation),
            Task::Forget { job, dir, copies } => {
                forget(executor, job, &dir);
                for copy in &copies {
                    forget_copy(job, copy);
                }
            }
        }
    }
    executor.close();
}

/// Starts a job; what goes wrong comes back with whether it always will.
fn start(
    executor: &dyn Executor,
    launch: Box<Launch>,
    dir: &Path,
    script: Option<String>,
) -> Result<(), (bool, String)> {
    prepare(&launch, dir, script.as_deref())
        .map_err(|error| (false, format!("its folder `{}`: {error}", dir.display())))?;
    let started = executor.perform(Order::Start(launch));
    started.map_err(|error| (matches!(error, ExecutorError::BadLaunch { .. }), sentence(&error)))
}

/// Makes a job's own folders, and writes its script.
pub(super) fn prepare(launch: &Launch, dir: &Path, script: Option<&str>) -> io::Result<()> {
    for folder in [&launch.workdir, &launch.checkpoint_dir] {
        if folder.starts_with(dir) {
            fs::create_dir_all(folder)?;
        }
    }
    if let Some(script) = script {
        fs::create_dir_all(dir)?;
        let (path, draft) = (script_path(dir), dir.join("script.new"));
        let text = match script.starts_with("#!") {
            true => script.to_string(),
            false => format!("#!/bin/sh\n{script}"),
        };
        fs::write(&draft, text)?;
        fs::set_permissions(&draft, fs::Permissions::from_mode(0o700))?;
        fs::rename(&draft, &path)?;
    }
    Ok(())
}

fn forget(executor: &dyn Executor, job: JobId, dir: &Path) {
    if let Err(error) = executor.forget(job) {
        tracing::debug!(%job, %error, "output could not be removed");
    }
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::debug!(%job, %error, "folder could not be removed");
        }
        _ => {}
    }
}

/// Removes a copy of a job's checkpoints on one host.
fn forget_copy(job: JobId, copy: &Path) {
    if let Err(error) = oef_executor::checkpoints::remove(copy) {
        tracing::debug!(%job, %error, "a copy of a checkpoint could not be removed");
    }
}

/// An error with its causes in one sentence.
pub(super) fn sentence(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let next_text = next.to_string();
        if !text.contains(&next_text) {
            text = format!("{text}: {next_text}");
        }
        cause = next.source();
    }
    text
}

/// Looks until it is told to stop, or nobody listens.
pub(super) fn look(executor: &dyn Executor, engine: &Sender<Message>, stop: &Arc<AtomicBool>) {
    while !stop.load(Ordering::Relaxed) {
        let seen = executor.observe();
        if !seen.is_empty() && engine.send(Message::Observed(seen)).is_err() {
            return;
        }
        thread::sleep(LOOK_EVERY);
    }
}
