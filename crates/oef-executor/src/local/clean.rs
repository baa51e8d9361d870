//! What nobody needs any more is removed, by threads that nobody waits for.
//!
//! Jobs are forgotten by order. Copies of checkpoints on hosts that a job has left are found by looking: one goes
//! when the job has told of a newer checkpoint elsewhere or has ended for good, and not before, because until then it
//! is what can be gone back to. It is put aside by a rename in the job's own lane, so that no start finds half of it.

use super::lanes::Work;
use super::open::Inner;
use crate::checkpoints::{is_leftover, remove};
use crate::error::ExecutorError;
use crate::launch::CheckpointLocation;
use crate::records::{RunSpec, Status, read_json};
use crate::remove_tree::remove_tree;
use oef_sched::JobId;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant, SystemTime};
use tracing::{debug, info, warn};

/// Often enough that disks do not fill, seldom enough that listing folders costs nothing.
const SWEEP_EVERY: Duration = Duration::from_secs(10);

/// A job that is to be forgotten and has not ended is looked at again after this...
const ENDS_SOON: Duration = Duration::from_millis(250);
/// ... and one whose folders could not be removed after this.
const REMOVE_AGAIN: Duration = Duration::from_secs(60);

/// What jobs left that nobody knows is kept so long: somebody may put another backup in place.
const UNKNOWN_AGE: Duration = Duration::from_secs(30 * 86_400);

/// Copies that one sweep puts aside: each takes a thread for a moment.
const DISCARDS_MAX: usize = 64;

/// Ended jobs that one sweep looks at for copies on nodes: each may take a program of the cluster's.
const UNSWEPT_MAX: usize = 64;

/// What is put aside is called so.
const TRASH: &str = ".oef-trash";

/// Jobs that are forgotten at the same time: one whose disk or cluster hangs keeps no other waiting, and thousands do not
/// start thousands of threads.
const AT_ONCE: usize = 8;

/// What is to be removed.
#[derive(Debug, Default)]
pub(super) struct Cleaning {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    /// Jobs to forget, and not before when.
    jobs: BTreeSet<(Instant, JobId)>,
    /// Those that are being forgotten.
    forgotten: BTreeSet<JobId>,
    /// Jobs that will not be started again.
    retired: BTreeSet<JobId>,
    /// Those of them whose copies on nodes have not been looked at.
    unswept: BTreeSet<JobId>,
    /// Tenants whose launchers are to end.
    tenants: BTreeSet<String>,
    /// The journal has been heard of: before that nothing is swept.
    has_journal: bool,
    is_swept: bool,
    next_sweep: Option<Instant>,
    is_over: bool,
}

/// One thing to do, on a thread of its own.
#[derive(Clone, Debug)]
enum Task {
    Forget(JobId),
    EndLaunchers(String),
    Sweep,
}

impl Queue {
    /// The next task, if there is one that is due.
    fn take(&mut self, now: Instant) -> Option<Task> {
        if let Some(tenant) = self.tenants.pop_first() {
            return Some(Task::EndLaunchers(tenant));
        }
        if self.has_journal && !self.is_swept && self.next_sweep.is_none_or(|due| due <= now) {
            self.is_swept = true;
            return Some(Task::Sweep);
        }
        if self.forgotten.len() >= AT_ONCE {
            return None;
        }
        let mut due = self.jobs.iter().take_while(|(due, _)| *due <= now);
        let next = *due.find(|(_, job)| !self.forgotten.contains(job))?;
        self.jobs.remove(&next);
        let (_, job) = next;
        self.retired.remove(&job);
        self.unswept.remove(&job);
        self.forgotten.insert(job);
        Some(Task::Forget(job))
    }
}

impl Cleaning {
    /// Starts the thread. It keeps the executor from nothing: neither from ending nor from its folder.
    pub(super) fn begin(inner: &Arc<Inner>) -> Result<(), ExecutorError> {
        let (cleaning, inner) = (Arc::clone(&inner.cleaning), Arc::downgrade(inner));
        let spawned = thread::Builder::new().name("cleaner".into());
        spawned.spawn(move || cleaning.run(&inner)).map(|_| ()).map_err(ExecutorError::Thread)
    }

    pub(super) fn forget(&self, job: JobId) {
        self.later(job, Duration::ZERO);
    }

    pub(super) fn end_launchers(&self, tenant: String) {
        self.queue().tenants.insert(tenant);
        self.changed.notify_all();
    }

    /// The journal knows these jobs as ended for good, and copies may be swept from now on.
    pub(super) fn resume(&self, retired: BTreeSet<JobId>) {
        self.queue().has_journal = true;
        self.retire(retired);
        self.changed.notify_all();
    }

    /// Jobs have ended for good: the next sweep takes what they left behind.
    pub(super) fn retire(&self, jobs: impl IntoIterator<Item = JobId>) {
        let mut queue = self.queue();
        for job in jobs {
            queue.retired.insert(job);
            queue.unswept.insert(job);
        }
    }

    /// Some jobs whose copies on nodes are to be looked at.
    fn take_unswept(&self) -> Vec<JobId> {
        let mut queue = self.queue();
        let some: Vec<JobId> = queue.unswept.iter().copied().take(UNSWEPT_MAX).collect();
        some.iter().for_each(|job| _ = queue.unswept.remove(job));
        some
    }

    fn is_retired(&self, job: JobId) -> bool {
        self.queue().retired.contains(&job)
    }

    pub(super) fn end(&self) {
        self.queue().is_over = true;
        self.changed.notify_all();
    }

    fn later(&self, job: JobId, wait: Duration) {
        self.queue().jobs.insert((Instant::now() + wait, job));
        self.changed.notify_all();
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(self: &Arc<Self>, inner: &Weak<Inner>) {
        while let Some(task) = self.next() {
            let (cleaning, inner, own) = (Arc::clone(self), Weak::clone(inner), task.clone());
            let thread = thread::Builder::new().name("cleaner".into());
            if let Err(error) = thread.spawn(move || cleaning.carry_out(own, &inner)) {
                warn!(?task, %error, "no thread to remove what is not needed");
                self.done(task, Some(REMOVE_AGAIN));
                thread::sleep(ENDS_SOON);
            }
        }
    }

    /// The next task that is due; none: it is over.
    fn next(&self) -> Option<Task> {
        let mut queue = self.queue();
        while !queue.is_over {
            if let Some(task) = queue.take(Instant::now()) {
                return Some(task);
            }
            let waited = self.changed.wait_timeout(queue, ENDS_SOON);
            (queue, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        None
    }

    fn carry_out(&self, task: Task, inner: &Weak<Inner>) {
        let Some(inner) = inner.upgrade() else { return };
        let again = match &task {
            Task::EndLaunchers(tenant) => {
                let ended = inner.end_launchers_of(tenant);
                drop(inner);
                ended.err().map(|error| {
                    warn!(%tenant, %error, "its launchers could not be looked for yet");
                    thread::sleep(ENDS_SOON);
                    ENDS_SOON
                })
            }
            Task::Sweep => {
                inner.end_idle_launchers();
                inner.sweep();
                inner.sweep_nodes();
                let trash = inner.trash();
                drop(inner);
                trash.iter().for_each(|path| remove_trash(path));
                None
            }
            Task::Forget(job) if inner.is_live(*job) => Some(ENDS_SOON),
            Task::Forget(job) => {
                let folders = inner.folders(*job);
                let on_nodes = inner.remove_remote(*job, false).map_err(io::Error::other);
                drop(inner);
                let removed = on_nodes.and_then(|()| folders.remove());
                removed.err().map(|error| {
                    warn!(%job, %error, "its folders could not be removed yet");
                    REMOVE_AGAIN
                })
            }
        };
        self.done(task, again);
    }

    /// A task is done, or is to be tried again after a while.
    fn done(&self, task: Task, again: Option<Duration>) {
        let mut queue = self.queue();
        match task {
            Task::EndLaunchers(tenant) => queue.tenants.extend(again.map(|_| tenant)),
            Task::Sweep => {
                queue.is_swept = false;
                queue.next_sweep = Some(Instant::now() + again.unwrap_or(SWEEP_EVERY));
            }
            Task::Forget(job) => {
                queue.forgotten.remove(&job);
                queue.jobs.extend(again.map(|wait| (Instant::now() + wait, job)));
            }
        }
        drop(queue);
        self.changed.notify_all();
    }
}

/// Everything that is kept of a job.
struct Folders {
    own: PathBuf,
    /// Of its checkpoints, on every host.
    copies: Vec<PathBuf>,
    /// Removed last: by it the job is found again where this was cut short.
    runs: PathBuf,
}

impl Folders {
    fn remove(&self) -> io::Result<()> {
        remove_tree(&self.own)?;
        self.copies.iter().try_for_each(|copy| remove(copy))?;
        remove_tree(&self.runs)
    }
}

/// A folder with checkpoints on a host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Copy {
    job: JobId,
    host: String,
}

/// Where a job's last good checkpoints are, by the records of its starts.
struct LastGood {
    location: CheckpointLocation,
    since_ms: u64,
    /// Whether a newer one was told since the job came there.
    has_newer: bool,
}

impl Inner {
    fn folders(&self, job: JobId) -> Folders {
        let hosts = self.hosts().into_iter().map(CheckpointLocation::Host);
        Folders {
            own: self.locations.job_dir(job),
            copies: hosts.map(|host| self.locations.folder(job, &host)).collect(),
            runs: self.runs.job(job).path().to_path_buf(),
        }
    }

    /// Finds copies that nobody needs and has them put aside.
    fn sweep(self: &Arc<Self>) {
        let mut jobs: BTreeMap<JobId, BTreeSet<Copy>> = BTreeMap::new();
        for copy in self.copies() {
            jobs.entry(copy.job).or_default().insert(copy);
        }
        let (mut stale, mut useless) = (Vec::new(), Vec::new());
        for (job, copies) in jobs {
            if !self.runs.job(job).path().exists() {
                copies
                    .iter()
                    .filter(|copy| self.age(copy) >= UNKNOWN_AGE)
                    .for_each(|copy| self.put_aside(copy));
                continue;
            }
            if copies.len() < 2 {
                continue;
            }
            let Some(last) = self.last_good(job) else { continue };
            let left = copies.into_iter().filter(|copy| last.location != copy.location());
            if self.cleaning.is_retired(job) {
                useless.extend(left);
            } else if last.has_newer {
                stale.extend(left.map(|copy| (Reverse(last.since_ms), copy)));
            }
        }
        // The jobs that moved last are the likeliest to come back.
        stale.sort();
        useless.extend(stale.into_iter().skip(self.locations.stale_max()).map(|(_, copy)| copy));
        for copy in useless.into_iter().take(DISCARDS_MAX) {
            self.enqueue(copy.job, Work::Discard { host: copy.host });
        }
    }

    /// Has copies of ended jobs removed that lie on nodes.
    fn sweep_nodes(&self) {
        for job in self.cleaning.take_unswept() {
            if let Err(error) = self.remove_remote(job, true) {
                debug!(%job, %error, "its copies on nodes could not be removed yet");
                // Unless it is forgotten meanwhile, with all of its copies.
                let mut queue = self.cleaning.queue();
                if queue.retired.contains(&job) {
                    queue.unswept.insert(job);
                }
            }
        }
    }

    /// Where a job's last good checkpoints are.
    pub(super) fn last_location(&self, job: JobId) -> Option<CheckpointLocation> {
        self.last_good(job).map(|last| last.location)
    }

    /// Puts a copy aside, unless it is needed by now. In the job's lane: nothing of it is started meanwhile.
    pub(super) fn discard(&self, job: JobId, host: &str) -> Result<(), ExecutorError> {
        let copy = Copy { job, host: host.into() };
        let is_retired = self.cleaning.is_retired(job);
        let is_stale =
            |last: &LastGood| (last.has_newer || is_retired) && last.location != copy.location();
        if !self.is_in_use(&copy) && self.last_good(job).as_ref().is_some_and(is_stale) {
            info!(%job, %host, "an old copy of its checkpoints is not needed any more");
            self.put_aside(&copy);
        }
        Ok(())
    }

    /// Whether a start that has not ended has its checkpoints there.
    fn is_in_use(&self, copy: &Copy) -> bool {
        let runs = self.runs.job(copy.job).runs().unwrap_or_default();
        runs.iter().any(|run| {
            let is_ended = matches!(Status::read(run), Ok(Some(status)) if status.is_ended());
            let spec = || read_json::<RunSpec>(&run.launch_file()).ok().flatten();
            !is_ended
                && spec()
                    .is_some_and(|spec| self.locations.location(&spec) == Some(copy.location()))
        })
    }

    fn last_good(&self, job: JobId) -> Option<LastGood> {
        let mut found: Option<LastGood> = None;
        for run in self.runs.job(job).runs().ok()?.iter().rev() {
            let Ok(Some(Status { started_ms: Some(since_ms), progress, .. })) = Status::read(run)
            else {
                continue;
            };
            let Ok(Some(spec)) = read_json::<RunSpec>(&run.launch_file()) else { continue };
            let Some(location) = self.locations.location(&spec) else { continue };
            let told = progress.and_then(|progress| progress.checkpoint);
            let is_newer =
                spec.saved_before.is_some_and(|before| told.is_some_and(|told| told > before));
            match &mut found {
                None => found = Some(LastGood { location, since_ms, has_newer: is_newer }),
                Some(last) if last.location == location => {
                    last.since_ms = since_ms;
                    last.has_newer |= is_newer;
                }
                Some(_) => break,
            }
        }
        found
    }

    /// Every copy on every host, half transfers among them.
    fn copies(&self) -> Vec<Copy> {
        let mut found = Vec::new();
        for host in self.hosts() {
            let entries =
                fs::read_dir(self.locations.host_dir(&host)).into_iter().flatten().flatten();
            for name in entries.map(|entry| entry.file_name()) {
                let Some(name) = name.to_str() else { continue };
                if let Ok(number) = is_leftover(name).unwrap_or(name).parse() {
                    found.push(Copy { job: JobId(number), host: host.clone() });
                }
            }
        }
        found
    }

    /// What was put aside.
    fn trash(&self) -> Vec<PathBuf> {
        let folders = self.hosts().into_iter().map(|host| self.locations.host_dir(&host));
        let entries =
            folders.flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
        let is_trash = |name: &std::ffi::OsStr| name.as_encoded_bytes().ends_with(TRASH.as_bytes());
        entries.filter(|entry| is_trash(&entry.file_name())).map(|entry| entry.path()).collect()
    }

    fn put_aside(&self, copy: &Copy) {
        for path in self.parts(copy) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let aside = path.with_file_name(format!(".{name}{TRASH}"));
            if let Err(error) = fs::rename(&path, aside)
                && error.kind() != io::ErrorKind::NotFound
            {
                debug!(path = %path.display(), %error, "not put aside");
            }
        }
    }

    /// The folder of a copy, and what was left beside it.
    fn parts(&self, copy: &Copy) -> Vec<PathBuf> {
        let folder = self.locations.host_dir(&copy.host);
        let number = copy.job.to_string();
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let is_part = |name: &str| name == number || is_leftover(name) == Some(&number);
        entries
            .filter(|entry| entry.file_name().to_str().is_some_and(is_part))
            .map(|entry| entry.path())
            .collect()
    }

    /// How long nothing has changed in a copy, as far as can be seen from it.
    fn age(&self, copy: &Copy) -> Duration {
        let changed = |path: &Path| fs::symlink_metadata(path).and_then(|m| m.modified()).ok();
        let parts = self.parts(copy);
        let newest = parts.iter().flat_map(|part| {
            let entries = fs::read_dir(part).into_iter().flatten().flatten();
            entries.filter_map(|entry| changed(&entry.path())).chain(changed(part)).max()
        });
        let newest = newest.max().unwrap_or(SystemTime::now());
        SystemTime::now().duration_since(newest).unwrap_or(Duration::ZERO)
    }
}

impl Copy {
    fn location(&self) -> CheckpointLocation {
        CheckpointLocation::Host(self.host.clone())
    }
}

fn remove_trash(path: &Path) {
    if let Err(error) = remove_tree(path) {
        warn!(path = %path.display(), %error, "an old copy of a checkpoint could not be removed");
    }
}

#[cfg(test)]
mod tests;
