//! Taking up the work after the daemon was away.

use super::check::check;
use super::open::LocalExecutor;
use super::perform::Fence;
use super::watch::Watched;
use crate::clock::now_ms;
use crate::ending::Ending;
use crate::error::ExecutorError;
use crate::order::{Found, Held, Recovered};
use crate::processes::{self, Role};
use crate::records::{Lock, RunFolder, Status};
use oef_sched::{Generation, JobId};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use tracing::{info, warn};

impl LocalExecutor {
    pub(super) fn take_up(&self, held: &[Held]) -> Result<Vec<Recovered>, ExecutorError> {
        // First: the GPUs of what nobody holds may belong to what is started next.
        let mut recovered = self.kill_unheld(held);
        for held in held {
            let (job, generation) = (held.launch.job, held.launch.generation);
            let run = self.runs.run(job, generation);
            // What is wrong with one job is its ending, and keeps no other from being taken up.
            let found = self.take_up_one(held, &run).unwrap_or_else(|e| self.give_up(&run, &e));
            info!(%job, %generation, ?found, "taken up");
            recovered.push(Recovered { job, generation, found });
        }
        Ok(recovered)
    }

    fn take_up_one(&self, held: &Held, run: &RunFolder) -> Result<Found, ExecutorError> {
        match self.fence(run) {
            Ok(Fence::Known) => self.find_again(held.stop.as_ref(), run),
            Ok(Fence::New) => self.start_late(held, run),
            Err(error @ ExecutorError::Stale { .. }) => {
                self.end_unbegun(run, Ending::Refused { why: error.to_string() })
            }
            Err(error) => Err(error),
        }
    }

    /// Its files are of no use: whatever runs of it is killed, and it counts as vanished.
    fn give_up(&self, run: &RunFolder, error: &ExecutorError) -> Found {
        warn!(job = %run.job(), generation = %run.generation(), %error, "given up");
        let left = processes::kill_all(run.path(), |_| true);
        if !left.is_empty() {
            warn!(job = %run.job(), ?left, "cannot be killed");
        }
        let watched = Watched::over(run.clone(), Ending::Vanished { detail: error.to_string() });
        self.watched().insert((run.job(), run.generation()), watched);
        Found::Ended
    }

    /// It was written down: it runs, has ended, or its runner never began.
    pub(super) fn find_again(
        &self,
        stop: Option<&String>,
        run: &RunFolder,
    ) -> Result<Found, ExecutorError> {
        if let Some(why) = stop {
            self.stop(run.job(), run.generation(), why.clone())?;
        }
        let path = run.status_file();
        let status = Status::read(run).map_err(ExecutorError::file(&path, "read"))?;
        let found = match status {
            Some(status) if status.is_ended() => Found::Ended,
            // Whether it still lives is seen by observing it.
            Some(_) => Found::Running,
            None => {
                // If another runner is just beginning, this one sees its lock and ends.
                self.spawn_runner(run)?;
                Found::Started
            }
        };
        self.watch(run);
        Ok(found)
    }

    /// It was journalled and never written down.
    fn start_late(&self, held: &Held, run: &RunFolder) -> Result<Found, ExecutorError> {
        if let Some(why) = &held.stop {
            let detail = format!("{why}; it had not begun");
            return self.end_unbegun(run, Ending::Stopped { detail });
        }
        let begun = check(&held.launch).and_then(|()| self.begin(held.launch.clone(), run));
        match begun {
            Ok(()) => Ok(Found::Started),
            Err(error) => self.end_unbegun(run, Ending::Refused { why: error.to_string() }),
        }
    }

    /// Writes the ending of a start that never began, so that it never will. One that did begin, under a
    /// lease that is void now, ends by itself.
    fn end_unbegun(&self, run: &RunFolder, ending: Ending) -> Result<Found, ExecutorError> {
        fs::create_dir_all(run.path()).map_err(ExecutorError::file(run.path(), "made"))?;
        let path = run.status_file();
        let known = Status::read(run).map_err(ExecutorError::file(&path, "read"))?;
        let is_running = known.as_ref().is_some_and(|status| !status.is_ended());
        if known.is_none() {
            let status = Status::new(run).ended(ending, now_ms());
            status.write(run).map_err(ExecutorError::file(&path, "written"))?;
        }
        self.watch(run);
        Ok(if is_running { Found::Running } else { Found::Ended })
    }

    /// Kills every process of starts that nobody holds, runners and all.
    fn kill_unheld(&self, held: &[Held]) -> Vec<Recovered> {
        let held: BTreeSet<(JobId, Generation)> =
            held.iter().map(|held| (held.launch.job, held.launch.generation)).collect();
        let mut unheld: Vec<RunFolder> = Vec::new();
        for found in processes::find(self.runs.path()) {
            let run = RunFolder::at(&found.run);
            let run = run.filter(|run| !held.contains(&(run.job(), run.generation())));
            if let Some(run) = run
                && !unheld.contains(&run)
                && !is_leaving(&found, &run)
            {
                unheld.push(run);
            }
        }
        if unheld.is_empty() {
            return Vec::new();
        }
        let is_unheld = |path: &Path| unheld.iter().any(|run| run.path() == path);
        let left = processes::kill_all(self.runs.path(), is_unheld);
        if !left.is_empty() {
            warn!(?left, "cannot be killed");
        }
        for run in &unheld {
            warn!(job = %run.job(), generation = %run.generation(), "nobody held it: killed");
            self.end_killed(run);
        }
        let killed = |run: &RunFolder| Recovered {
            job: run.job(),
            generation: run.generation(),
            found: Found::Killed,
        };
        unheld.iter().map(killed).collect()
    }

    /// Nobody waits for this ending; it is for who looks at the output later.
    fn end_killed(&self, run: &RunFolder) {
        let Ok(Some(_lock)) = Lock::try_take(&run.lock_file()) else { return };
        if let Ok(status) = Status::read(run) {
            let status = status.unwrap_or_else(|| Status::new(run));
            if !status.is_ended() {
                let detail = "nobody held its lease any more; it was killed".to_string();
                let _ = status.ended(Ending::Stopped { detail }, now_ms()).write(run);
            }
        }
    }
}

/// A runner that has written the ending of its start, and only has to end itself.
fn is_leaving(found: &processes::Found, run: &RunFolder) -> bool {
    let is_ended = || matches!(Status::read(run), Ok(Some(status)) if status.is_ended());
    found.role == Role::Runner && is_ended()
}
