//! Taking up the work after the daemon was away.

use super::lanes::Work;
use super::open::Inner;
use super::start::Fence;
use super::watch::Watched;
use crate::cgroup::ControlGroups;
use crate::clock::now_ms;
use crate::ending::Ending;
use crate::error::ExecutorError;
use crate::event::{Event, NodeEvent};
use crate::exhaustion::is_exhausted;
use crate::order::{Held, Known, Unknown};
use crate::processes::{self, Role};
use crate::records::{Lock, RunFolder, Status};
use oef_sched::{Generation, JobId};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tracing::{info, warn};

impl Inner {
    /// Only folders of starts count: another one may have been made by somebody else.
    pub(super) fn unknown(&self, known: &Known) -> Unknown {
        let there: BTreeSet<JobId> =
            numbers(&self.runs.path().to_path_buf()).into_iter().map(JobId).collect();
        let is_later = |job: &JobId| {
            // A job that has ended is never started again.
            let known = known.leases.get(job);
            known.is_some_and(|known| {
                self.runs.job(*job).newest().is_ok_and(|newest| newest > Some(*known))
            })
        };
        Unknown {
            jobs: there.range(known.next..).copied().collect(),
            started: there.iter().copied().filter(is_later).collect(),
        }
    }

    pub(super) fn resume(self: &Arc<Self>, known: Known) -> Result<JobId, ExecutorError> {
        // First: the GPUs of what nobody holds may belong to what is started next.
        self.kill_unheld(&known.held);
        self.cleaning.resume(known.retired);
        let there = self.jobs_there();
        for job in there.iter().filter(|job| **job < known.next && !known.jobs.contains(job)) {
            self.cleaning.forget(*job);
        }
        for held in known.held {
            self.enqueue(held.launch.job, Work::Resume(Box::new(held)));
        }
        // After an older backup was put in place there may be folders of jobs that the journal does not know;
        // a new job must not find their checkpoints.
        let unused = there.last().map_or(0, |last| last.0.saturating_add(1));
        Ok(JobId(unused.max(known.next.0)))
    }

    pub(super) fn tell_nodes(&self) {
        let mut nodes: BTreeMap<(&str, &str), Vec<_>> = BTreeMap::new();
        for device in &self.config.devices {
            nodes.entry((&device.host, &device.gpu_type)).or_default().push(device);
        }
        for ((node, gpu_type), mut devices) in nodes {
            devices.sort_by_key(|device| device.index);
            self.events.push(Event::Node(NodeEvent::Joined {
                node: node.into(),
                gpu_type: gpu_type.into(),
                devices: devices.iter().map(|device| device.id()).collect(),
            }));
        }
        self.events.push(Event::NodesListed);
    }

    /// Every job of which there is something.
    fn jobs_there(&self) -> BTreeSet<JobId> {
        let mut folders = vec![self.config.dir.join("jobs"), self.runs.path().to_path_buf()];
        folders.extend(self.hosts().iter().map(|host| self.locations.host_dir(host)));
        folders.iter().flat_map(numbers).map(JobId).collect()
    }

    /// The hosts of all nodes.
    pub(super) fn hosts(&self) -> BTreeSet<String> {
        match &self.site {
            Some(site) => site.hosts(),
            None => self.config.devices.iter().map(|device| device.host.clone()).collect(),
        }
    }

    pub(super) fn take_up(&self, held: &Held) -> Result<(), ExecutorError> {
        let run = self.runs.run(held.launch.job, held.launch.generation);
        let taken = match self.fence(&run) {
            Ok(Fence::Known) => self.take_up_known(held, &run),
            Ok(Fence::New) => match &held.stop {
                Some(why) => self.stop_unbegun(&run, why),
                None => self.begin(&held.launch, &run),
            },
            Err(error @ ExecutorError::Stale { .. }) => {
                self.end_unbegun(&run, Ending::Refused { why: error.to_string() })
            }
            Err(error) => Err(error),
        };
        self.or_give_up(&run, taken)
    }

    /// Whatever it was, a start whose files cannot be read is given up, and not tried again.
    pub(super) fn or_give_up(
        &self,
        run: &RunFolder,
        done: Result<(), ExecutorError>,
    ) -> Result<(), ExecutorError> {
        match done {
            Err(error) if is_unreadable(&error) => {
                self.give_up(run, &error);
                Ok(())
            }
            done => done,
        }
    }

    fn take_up_known(&self, held: &Held, run: &RunFolder) -> Result<(), ExecutorError> {
        info!(job = %run.job(), generation = %run.generation(), "taken up");
        if let Some(why) = &held.stop {
            self.want_stop(run, why)?;
        }
        self.find_again(run)?;
        if let Some(why) = &held.stop {
            self.time_stop(run, why);
        }
        Ok(())
    }

    /// Its files are of no use: whatever runs of it is killed, and it counts as vanished.
    fn give_up(&self, run: &RunFolder, error: &ExecutorError) {
        warn!(job = %run.job(), generation = %run.generation(), %error, "given up");
        if let Some(site) = &self.site {
            site.kill(run);
        }
        let left = processes::kill_all(run.path(), |_| true);
        if !left.is_empty() {
            warn!(job = %run.job(), ?left, "cannot be killed");
        }
        self.watch(Watched::over(run.clone(), Ending::Vanished { detail: error.to_string() }));
    }

    /// It was written down: it runs, has ended, or its runner never began.
    pub(super) fn find_again(&self, run: &RunFolder) -> Result<(), ExecutorError> {
        let path = run.status_file();
        let status = Status::read(run).map_err(ExecutorError::file(&path, "read"))?;
        if status.is_none() {
            // If another runner is just beginning, this one sees its lock and ends.
            self.spawn_runner(run)?;
        }
        // Whether it still lives is seen by watching it.
        self.watch(Watched::new(run.clone()));
        Ok(())
    }

    /// Writes the ending of a start that never began, so that it never will. One that did begin, under a
    /// lease that is void now, ends by itself.
    pub(super) fn end_unbegun(&self, run: &RunFolder, ending: Ending) -> Result<(), ExecutorError> {
        fs::create_dir_all(run.path()).map_err(ExecutorError::file(run.path(), "made"))?;
        let path = run.status_file();
        if Status::read(run).map_err(ExecutorError::file(&path, "read"))?.is_none() {
            let status = Status::new(run).ended(ending, now_ms());
            status.decide(run).map_err(ExecutorError::file(&path, "written"))?;
        }
        self.watch(Watched::new(run.clone()));
        Ok(())
    }

    /// Kills every process of starts that nobody holds, runners and all.
    fn kill_unheld(&self, held: &[Held]) {
        let held: BTreeSet<(JobId, Generation)> =
            held.iter().map(|held| (held.launch.job, held.launch.generation)).collect();
        if let Some(site) = &self.site {
            site.kill_unheld(&held);
        }
        let mut unheld: Vec<RunFolder> = Vec::new();
        for (job, generation, group) in self.groups.iter().flat_map(ControlGroups::all) {
            let run = self.runs.run(job, generation);
            if !held.contains(&(job, generation)) {
                group.kill();
                group.remove();
                if group.is_occupied() {
                    unheld.push(run);
                }
            }
        }
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
            return;
        }
        let is_unheld = |path: &Path| unheld.iter().any(|run| run.path() == path);
        let left = processes::kill_all(self.runs.path(), is_unheld);
        if !left.is_empty() {
            warn!(?left, "cannot be killed");
        }
        for run in &unheld {
            warn!(job = %run.job(), generation = %run.generation(), "no lease holds it: killed");
            self.end_killed(run);
        }
    }

    /// Nobody waits for this ending; it is for people who look at the output later.
    fn end_killed(&self, run: &RunFolder) {
        let Ok(Some(_lock)) = Lock::try_take(&run.lock_file()) else { return };
        if let Ok(status) = Status::read(run) {
            let status = status.unwrap_or_else(|| Status::new(run));
            if !status.is_ended() {
                let detail = "its lease had ended; it was killed".to_string();
                let _ = status.ended(Ending::Stopped { detail }, now_ms()).decide(run);
            }
        }
    }
}

/// A runner that has written the ending of its start, and only has to end itself.
fn is_leaving(found: &processes::JobProcess, run: &RunFolder) -> bool {
    let is_ended = || matches!(Status::read(run), Ok(Some(status)) if status.is_ended());
    found.role == Role::Runner && is_ended()
}

/// What no further try would read.
fn is_unreadable(error: &ExecutorError) -> bool {
    matches!(error, ExecutorError::File { done: "read", source, .. } if !is_exhausted(source))
}

/// The entries of a folder that are numbers.
fn numbers(folder: &PathBuf) -> Vec<u64> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}
