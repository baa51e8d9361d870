//! The processes of jobs, found by what is in their environment: it is inherited by everything that a
//! job starts, whatever happened to the parents.

use crate::family::{self, session_of};
use crate::local::SERVICE;
use crate::records::RunFolder;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process, pidfd_open, pidfd_send_signal,
    waitid,
};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// In the environment of workers and what they start: the folder of their start.
pub(crate) const RUN_DIR: &str = "OEF_RUN_DIR";

/// In the environment of runners: the folder of the start that they care for.
pub(crate) const RUNNER_DIR: &str = "OEF_RUNNER_DIR";

/// The kernel needs a moment for a killed process; a driver that hangs may need for ever.
pub(crate) const KILL_LIMIT: Duration = Duration::from_secs(10);

/// How long to wait before looking whether killed processes are gone.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// A process that just becomes another program has no environment for some microseconds, longer on a
/// machine with too much to do.
const EXEC_LOOK: Duration = Duration::from_millis(1);
const EXEC_LOOKS: u32 = 100;

/// A process that belongs to a start of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JobProcess {
    pub(crate) pid: Pid,
    pub(crate) run: PathBuf,
    pub(crate) role: Role,
}

/// What a process is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Runner,
    Worker,
}

/// Every process that belongs to a start in or below this folder, but for this process itself.
pub(crate) fn find(folder: &Path) -> Vec<JobProcess> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let me = rustix::process::getpid();
    let pids = entries
        .flatten()
        .filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
    let mut found: Vec<JobProcess> =
        pids.filter(|pid| *pid != me).filter_map(|pid| belongs(pid, folder)).collect();
    found.sort_by_key(|found| found.pid.as_raw_nonzero());
    found
}

/// Kills workers, and what they started, in or below this folder until none is left. Who cannot be
/// killed in time is returned.
pub(crate) fn kill_workers(folder: &Path) -> Vec<Pid> {
    kill_until_gone(folder, |found| found.role == Role::Worker)
}

/// Kills runners too, of the starts that are meant: the runners first, because they would take the end
/// of a worker for the worker's.
pub(crate) fn kill_all(folder: &Path, is_meant: impl Fn(&Path) -> bool) -> Vec<Pid> {
    let is_runner = |found: &JobProcess| found.role == Role::Runner && is_meant(&found.run);
    let left = kill_until_gone(folder, is_runner);
    if left.is_empty() { kill_until_gone(folder, |found| is_meant(&found.run)) } else { left }
}

fn kill_until_gone(folder: &Path, is_meant: impl Fn(&JobProcess) -> bool) -> Vec<Pid> {
    let start = Instant::now();
    loop {
        let mut left: Vec<JobProcess> = find(folder);
        left.retain(|found| is_meant(found));
        if left.is_empty() || start.elapsed() > KILL_LIMIT {
            return left.into_iter().map(|found| found.pid).collect();
        }
        for found in &left {
            kill_one(found, folder);
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// Sends `SIGKILL` to a process that was found, and to no other that has got its number since.
pub(crate) fn kill_one(found: &JobProcess, folder: &Path) {
    // A process may end at any instant: that it is gone already is what was wanted.
    match pidfd_open(found.pid, PidfdFlags::empty()) {
        Ok(fd) => {
            if belongs(found.pid, folder).is_some() {
                let _ = pidfd_send_signal(&fd, Signal::KILL);
            }
        }
        // Kernels before 5.3.
        Err(rustix::io::Errno::NOSYS) => {
            let _ = kill_process(found.pid, Signal::KILL);
        }
        Err(_) => {}
    }
}

/// What a process belongs to, if that lies in the folder and its user may say so. Processes of other users cannot be
/// read, and ended ones have no environment any more.
fn belongs(pid: Pid, folder: &Path) -> Option<JobProcess> {
    let environment = environment(pid)?;
    // The runner's word first: a runner may itself be started from within a job.
    for (name, role) in [(RUNNER_DIR, Role::Runner), (RUN_DIR, Role::Worker)] {
        let run = environment.split(|byte| *byte == 0).find_map(|variable| {
            let value = variable.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
            let path = Path::new(OsStr::from_bytes(value));
            (path.starts_with(folder) && is_of(pid, path)).then(|| path.to_path_buf())
        });
        if let Some(run) = run {
            return Some(JobProcess { pid, run, role });
        }
    }
    None
}

/// Whether the user of a process may have processes in a start: it is the job's, this process's, or root. Everybody may
/// write what they like into their environment, and a job whose processes are there never ends.
fn is_of(pid: Pid, run: &Path) -> bool {
    let Some(user) = family::user_of(pid.as_raw_nonzero().get()) else { return false };
    let own = || RunFolder::at(run).and_then(|run| run.jobs_user());
    user == 0 || user == rustix::process::getuid().as_raw() || own() == Some(user)
}

fn environment(pid: Pid) -> Option<Vec<u8>> {
    let folder = PathBuf::from(format!("/proc/{}", pid.as_raw_nonzero()));
    for _ in 0..EXEC_LOOKS {
        let environment = fs::read(folder.join("environ")).ok()?;
        // Kernel threads and the dead have no program; others at least an argument, but for the moment
        // in which they become another program.
        let is_between = environment.is_empty()
            && fs::read(folder.join("cmdline")).ok()?.is_empty()
            && fs::read_link(folder.join("exe")).is_ok();
        if !is_between {
            return Some(environment);
        }
        std::thread::sleep(EXEC_LOOK);
    }
    None
}

/// The start to which a process says that it belongs.
pub(crate) fn run_of(pid: i32, folder: &Path) -> Option<PathBuf> {
    belongs(Pid::from_raw(pid)?, folder).map(|found| found.run)
}

/// Whether a process says by its environment that it belongs here: to a start, a launcher or a service.
pub(crate) fn is_marked(pid: i32, dir: &Path) -> bool {
    let Some(pid) = Pid::from_raw(pid) else { return true };
    let Some(environment) = environment(pid) else { return true };
    let has = |name: &str| {
        let mut variables = environment.split(|byte| *byte == 0);
        variables.any(|variable| {
            variable.strip_prefix(name.as_bytes()).is_some_and(|v| v.starts_with(b"="))
        })
    };
    belongs(pid, dir).is_some() || SERVICES.iter().any(|name| has(name))
}

/// What the daemon keeps beside jobs has one of these.
const SERVICES: [&str; 2] = [SERVICE, WARM_DIR];

/// In the environment of launchers and what they start: their folder.
pub(crate) const WARM_DIR: &str = "OEF_WARM_DIR";

/// Kills every process of a launcher, or whatever stands in its place.
pub(crate) fn kill_launcher(folder: &Path) -> bool {
    let wanted = [WARM_DIR.as_bytes(), b"=", folder.as_os_str().as_bytes()].concat();
    let mut is_found = false;
    for process in family::all() {
        let own = Pid::from_raw(process.pid).and_then(environment).unwrap_or_default();
        // What was forked from it for a job is the job's.
        let is_job = own.split(|byte| *byte == 0).any(|v| v.starts_with(b"OEF_RUN_DIR="));
        if !is_job && own.split(|byte| *byte == 0).any(|variable| variable == wanted) {
            process.kill();
            is_found = true;
        }
    }
    is_found
}

/// Waits for the dead among the orphans that this process was given: those of another session.
pub(crate) fn reap_adopted() {
    let own = session_of(rustix::process::getpid().as_raw_nonzero().get());
    for pid in children() {
        if session_of(pid.as_raw_nonzero().get()) != own {
            let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        }
    }
}

/// Reaps an ended process if it is a child of this one; false: it has not ended yet. A daemon that is the first
/// process of a container becomes the parent of its runners.
pub(crate) fn reap(pid: i32) -> bool {
    let Some(pid) = Pid::from_raw(pid) else { return true };
    !matches!(waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG), Ok(None))
}

/// The children of this process, ended or not; orphans of its workers among them.
pub(crate) fn children() -> Vec<Pid> {
    let mut found = Vec::new();
    let Ok(tasks) = fs::read_dir("/proc/self/task") else { return found };
    for task in tasks.flatten() {
        let Ok(text) = fs::read_to_string(task.path().join("children")) else { continue };
        let pids = text.split_ascii_whitespace().filter_map(|word| word.parse().ok());
        found.extend(pids.filter_map(Pid::from_raw));
    }
    found
}
