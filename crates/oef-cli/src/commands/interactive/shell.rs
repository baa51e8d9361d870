//! `oef shell`: a shell beside a running job, in its environment and on its GPUs.

use crate::args::interactive::ShellArgs;
use oef_api::client::Client;
use oef_api::types::{Access, Job, JobState};
use oef_executor::RecordedWorker;
use oef_sched::JobId;
use oef_terminal::names::safe;
use oef_terminal::{Complaint, Exit, Failure};
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Replaces this process by the shell.
pub fn run(args: &ShellArgs) -> Result<Exit, Failure> {
    let job = Client::find()?.job(args.job)?;
    if job.state != JobState::Running {
        let complaint = Complaint::new(format!("job {} is {}", job.id, job.state.name()));
        return Err(complaint
            .hint("a shell needs a job that runs; `oef why` says when it starts")
            .into());
    }
    let worker = find(&job, args.worker).ok_or_else(|| not_here(&job, args.worker))?;
    worker.join_group();
    let own = || std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into());
    let shell = worker.variable("SHELL").unwrap_or_else(own);
    let mut words = args.command.iter().map(OsString::from);
    let program = words.next().unwrap_or(shell);
    let mut command = Command::new(&program);
    command.args(words).env_clear().envs(worker.env.iter().cloned());
    for name in ["TERM", "LANG", "LC_ALL"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    // The environment of a job is its tenant's word. Whoever looks in, root too, does so with the rights of the job.
    if let Some((user, group)) = worker.other_user {
        command.uid(user).gid(group);
    }
    if let Ok(folder) = fs::read_link(format!("/proc/{}/cwd", worker.pid)) {
        command.current_dir(folder);
    }
    let error = command.exec();
    Err(Complaint::new(format!("{}: {error}", program.to_string_lossy())).into())
}

/// A process of a worker of the job.
struct Worker {
    pid: u32,
    /// The user and the group that it runs as, where they are not ours.
    other_user: Option<(u32, u32)>,
    env: Vec<(OsString, OsString)>,
}

impl Worker {
    fn read(pid: u32) -> Option<Worker> {
        let bytes = fs::read(format!("/proc/{pid}/environ")).ok()?;
        let entries = bytes.split(|byte| *byte == 0).filter_map(|entry| {
            let at = entry.iter().position(|byte| *byte == b'=')?;
            let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
            Some((text(&entry[..at]), text(&entry[at + 1..])))
        });
        let other_user = user_of(pid).filter(is_other);
        Some(Worker { pid, other_user, env: entries.collect() })
    }

    fn recorded(RecordedWorker { pid, user, group }: RecordedWorker) -> Option<Worker> {
        let other_user = Some((user, group)).filter(is_other);
        Some(Worker { other_user, ..Worker::read(pid)? })
    }

    fn variable(&self, name: &str) -> Option<OsString> {
        self.env.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    }

    fn is(&self, name: &str, value: &str) -> bool {
        self.variable(name).is_some_and(|known| known == value)
    }

    /// Whether the daemon with this state folder runs it. The folders of jobs that Slurm runs are elsewhere.
    fn is_of(&self, state: &Path) -> bool {
        let run = self.variable("OEF_RUN_DIR").map(PathBuf::from);
        let is_in = |folder: &Path| run.as_ref().is_some_and(|run| run.starts_with(folder));
        let real = || state.canonicalize().is_ok_and(|real| is_in(&real));
        is_in(state) || real() || self.variable("SLURM_JOB_ID").is_some()
    }

    /// Counts as a part of the job where control groups can be joined; otherwise its environment marks it.
    fn join_group(&self) {
        let groups = fs::read_to_string(format!("/proc/{}/cgroup", self.pid)).unwrap_or_default();
        let Some(path) = groups.lines().find_map(|line| line.strip_prefix("0::/")) else { return };
        for mount in ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"] {
            let file = PathBuf::from(mount).join(path).join("cgroup.procs");
            if file.exists() && fs::write(&file, std::process::id().to_string()).is_ok() {
                return;
            }
        }
    }
}

fn is_other((user, _): &(u32, u32)) -> bool {
    rustix::process::geteuid().as_raw() != *user
}

/// The user and the group of a process. None: it has several, as programs do that have more rights than their user.
fn user_of(pid: u32) -> Option<(u32, u32)> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let single = |which: &str| -> Option<u32> {
        let ids = status.lines().find_map(|line| line.strip_prefix(which))?;
        let mut ids = ids.split_whitespace();
        let first = ids.next()?;
        ids.all(|id| id == first).then(|| first.parse().ok())?
    };
    Some((single("Uid:")?, single("Gid:")?))
}

/// The process of a worker on this machine: the one that its runner wrote down, or, where that cannot be read, the first
/// whose environment says so.
fn find(job: &Job, rank: u32) -> Option<Worker> {
    let state = Access::find().ok().and_then(|access| access.state).map(PathBuf::from);
    let recorded =
        state.as_deref().and_then(|state| RecordedWorker::find(state, JobId(job.id), rank));
    if let Some(recorded) = recorded {
        return Worker::recorded(recorded);
    }
    let entries = fs::read_dir("/proc").ok()?.flatten();
    let mut pids: Vec<u32> =
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    let (id, rank) = (job.id.to_string(), rank.to_string());
    // Another daemon's job may have the same number, and its tenant the same name.
    let is_own = |worker: &Worker| {
        worker.is("OEF_TENANT", &job.tenant) && state.as_deref().is_none_or(|s| worker.is_of(s))
    };
    // Root can read what others claim: nothing is run with its rights because of that.
    let is_root = rustix::process::geteuid().is_root();
    let is_safe = |worker: &Worker| !is_root || worker.other_user.is_some();
    let is_it = |worker: &Worker| {
        let is_named = worker.is("OEF_JOB_ID", &id) && worker.is("RANK", &rank);
        is_named && is_own(worker) && is_safe(worker)
    };
    pids.into_iter().filter_map(Worker::read).find(is_it)
}

fn not_here(job: &Job, rank: u32) -> Complaint {
    let node =
        job.gpus.get(rank as usize).or(job.gpus.first()).map(|gpu| safe(&gpu.node).to_string());
    let node = node.unwrap_or_else(|| "its node".into());
    let what = format!("no process of worker {rank} of job {} can be seen here", job.id);
    Complaint::new(what).hint(format!("run it on {node}, as the user whose job it is, or as root"))
}
