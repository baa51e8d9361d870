//! Stops that are carried out whatever a runner does: it may be suspended, blocked or gone, by the hand of its job.

use super::lanes::Work;
use super::open::Inner;
use super::watch::Watched;
use crate::cgroup::ControlGroup;
use crate::ending::Ending;
use crate::family::{self, Process};
use crate::processes;
use crate::records::{RunFolder, RunSpec, read_json};
use oef_sched::Span;
use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};
use tracing::warn;

/// A grace time that nobody can read any more counts as this.
const GRACE_UNKNOWN: Duration = Duration::from_secs(30);

/// By when a start has to be over.
#[derive(Debug, Default)]
pub(super) struct Deadlines {
    grace: Option<Duration>,
    max_run: Option<Span>,
    /// When its workers were first seen.
    started: Option<Instant>,
    /// Since when it is told to stop, and why.
    told: Option<(Instant, String)>,
    is_broken: bool,
}

/// What became of a start that should be over.
pub(super) enum Enforced {
    /// Its time is not over yet.
    No,
    /// It is killed, and something of it is still there.
    Killing,
    /// Nothing of it is left.
    Over(Ending),
}

/// Which one was not kept.
enum Broken {
    Stop(String),
    MaxRun(Span),
}

impl Deadlines {
    /// By the launch as it was written down.
    pub(super) fn of(run: &RunFolder) -> Deadlines {
        let spec = read_json::<RunSpec>(&run.launch_file()).ok().flatten();
        Deadlines {
            grace: spec.as_ref().map(|spec| Duration::from_millis(spec.grace.0)),
            max_run: spec.and_then(|spec| spec.max_run),
            ..Deadlines::default()
        }
    }

    pub(super) fn started(&mut self) {
        self.started.get_or_insert_with(Instant::now);
    }

    /// The time of the first order counts.
    pub(super) fn told(&mut self, why: &str) {
        self.told.get_or_insert_with(|| (Instant::now(), why.to_string()));
    }

    fn left(&self, margin: Duration) -> Duration {
        self.grace.unwrap_or(GRACE_UNKNOWN) + margin
    }

    fn broken(&self, margin: Duration) -> Option<Broken> {
        if let Some((since, why)) = &self.told
            && since.elapsed() > self.left(margin)
        {
            return Some(Broken::Stop(why.clone()));
        }
        self.overrun(margin).map(Broken::MaxRun)
    }

    /// The time that it may run, if it has run for longer.
    fn overrun(&self, margin: Duration) -> Option<Span> {
        let (max, started) = (self.max_run?, self.started?);
        let limit = Duration::from_millis(max.0) + self.left(margin);
        (started.elapsed() > limit).then_some(max)
    }
}

impl Broken {
    fn ending(self) -> Ending {
        match self {
            Broken::Stop(why) => Ending::Stopped {
                detail: format!(
                    "{why}; its runner did not stop it within its grace time, so that the daemon \
                     killed all its processes"
                ),
            },
            Broken::MaxRun(limit) => Ending::TimedOut { limit, checkpointed: false },
        }
    }
}

impl Inner {
    /// The time of a start runs that is to stop.
    pub(super) fn time_stop(&self, run: &RunFolder, why: &str) {
        let watched = self.watched().get(&(run.job(), run.generation())).cloned();
        if let Some(watched) = watched {
            watched.lock().unwrap_or_else(PoisonError::into_inner).deadlines.told(why);
        }
    }

    pub(super) fn group_of(&self, run: &RunFolder) -> Option<ControlGroup> {
        self.groups.as_ref().map(|groups| groups.group(run.job(), run.generation()))
    }

    /// Whether workers of a start are there, whatever its runner says.
    fn has_workers(&self, run: &RunFolder) -> bool {
        match self.group_of(run) {
            Some(group) => group.is_occupied(),
            None => processes::find(run.path()).iter().any(|found| found.run == run.jobs_part()),
        }
    }

    /// Kills all processes of a start, its runner among them; false: none is left. Does not wait.
    pub(super) fn kill_whole(&self, run: &RunFolder) -> bool {
        let marked = processes::find(run.path());
        let roots: BTreeSet<i32> =
            marked.iter().map(|found| found.pid.as_raw_nonzero().get()).collect();
        let mut relatives: Vec<Process> = match roots.is_empty() {
            true => Vec::new(),
            false => family::relatives(&roots, &family::all()),
        };
        for found in &marked {
            processes::kill_one(found, run.path());
        }
        // A session may be shared with others: who became another user in a shell is still in it.
        let user = run.jobs_user();
        relatives.retain(|relative| user.is_some() && family::user_of(relative.pid) == user);
        relatives.iter().for_each(Process::kill);
        let group = self.group_of(run);
        if let Some(group) = &group {
            group.kill();
        }
        !marked.is_empty() || !relatives.is_empty() || group.is_some_and(|g| g.is_occupied())
    }

    /// Kills what is left of a start whose runner says that it has ended; false: nothing is left.
    pub(super) fn kill_leftovers(&self, run: &RunFolder) -> bool {
        if let Some(group) = self.group_of(run) {
            let is_occupied = group.is_occupied();
            if is_occupied {
                group.kill();
            } else {
                group.remove();
            }
            return is_occupied;
        }
        let mut left = processes::find(run.path());
        left.retain(|found| found.role == processes::Role::Worker);
        left.iter().for_each(|found| processes::kill_one(found, run.path()));
        !left.is_empty()
    }
}

impl Watched {
    /// Kills a start as a whole that has not ended in time.
    pub(super) fn enforce(&mut self, inner: &Inner) -> Enforced {
        if self.is_ended() {
            return Enforced::No;
        }
        if self.deadlines.max_run.is_some()
            && self.deadlines.started.is_none()
            && inner.has_workers(&self.run)
        {
            // Its runner may have been suspended before it could say so.
            self.deadlines.started();
        }
        let Some(broken) = self.deadlines.broken(inner.config.isolation.stop_margin) else {
            return Enforced::No;
        };
        let (job, generation) = (self.run.job(), self.run.generation());
        if !std::mem::replace(&mut self.deadlines.is_broken, true) {
            warn!(%job, %generation, "its runner has not ended it in time: it is killed as a whole");
        }
        if inner.kill_whole(&self.run) {
            return Enforced::Killing;
        }
        Enforced::Over(broken.ending())
    }

    /// The same for a runner elsewhere: its cluster is asked to kill it, as it is for one that does not stop.
    pub(super) fn enforce_at_site(&mut self, inner: &Arc<Inner>) {
        let margin = inner.config.isolation.stop_margin;
        if self.deadlines.overrun(margin).is_some()
            && !std::mem::replace(&mut self.deadlines.is_broken, true)
        {
            let (job, generation) = (self.run.job(), self.run.generation());
            warn!(%job, %generation, "its runner has not ended it at its time limit");
            let why = "it ran for longer than it may".to_string();
            inner.enqueue(job, Work::Stop { generation, why });
        }
    }

    /// How one ended elsewhere that was killed because it did not end in time.
    pub(super) fn enforced(&self, inner: &Inner) -> Option<Ending> {
        let margin = inner.config.isolation.stop_margin;
        let overrun = self.deadlines.overrun(margin).map(Broken::MaxRun);
        overrun.or_else(|| self.deadlines.broken(margin)).map(Broken::ending)
    }
}
