//! The workers of a job: one process each, all in one process group of their own.

use super::conclusion::Exit;
use super::output::Outputs;
use super::prepare::free_port;
use super::stage::{shell_command, worker_command};
use super::{environment, remote, stage};
use crate::cgroup::ControlGroup;
use crate::launch::{Shell, StopSignal};
use crate::processes::{self, JobProcess, Role};
use crate::records::{RunFolder, RunSpec};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Stdio};
use std::time::Duration;

/// How often the last processes of a job are looked for.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// After so many looks it is worth a word why a job does not end: ten seconds.
const LOOKS_UNTIL_NOTED: u32 = 1000;

/// A running gang.
#[derive(Debug)]
pub(super) struct Gang {
    workers: Vec<Worker>,
    outputs: Outputs,
    folder: RunFolder,
    /// Where the workers meet.
    port: u16,
    /// All their processes are in it, where the system has such groups.
    group: Option<ControlGroup>,
}

/// A worker is not reaped before all are gone: until then its number, which is also the number of the
/// group, belongs to nobody else.
#[derive(Debug)]
struct Worker {
    child: Child,
    pid: Pid,
    exit: Option<Exit>,
    /// It is on another node, and this is what stands for it here.
    is_remote: bool,
}

impl Gang {
    /// Starts every worker, or none. What the system could not do is told as a sentence: it says nothing of
    /// the job.
    pub(super) fn start(launch: &RunSpec, run: &RunFolder) -> Result<Gang, String> {
        let group = launch.cgroup.clone().map(ControlGroup::at);
        let (outputs, folder) = (Outputs::new(), run.clone());
        let port = free_port().map_err(|error| format!("no port for its workers: {error}"))?;
        let mut gang = Gang { workers: Vec::new(), outputs, folder, port, group };
        for rank in (0..).take(launch.devices.len()) {
            if let Err(error) = gang.start_worker(launch, rank) {
                gang.kill();
                gang.clear();
                return Err(format!("worker {rank} could not be started: {error}"));
            }
        }
        Ok(gang)
    }

    /// Starts a shell beside the workers. It is one of their orphans: nobody waits for it, and it ends with them.
    pub(super) fn open_shell(&self, launch: &RunSpec, shell: &Shell) -> io::Result<()> {
        let mut command = shell_command(self.folder.path(), shell.id, 2);
        environment::apply(&mut command, launch, &self.folder, shell.rank, self.port);
        command.process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().map(drop)
    }

    fn start_worker(&mut self, launch: &RunSpec, rank: u32) -> io::Result<()> {
        let elsewhere = remote::command(launch, &self.folder, rank);
        let is_remote = elsewhere.is_some();
        // The session was called with the mode and the folder.
        let mut command = elsewhere.unwrap_or_else(|| worker_command(self.folder.path(), rank, 2));
        environment::apply(&mut command, launch, &self.folder, rank, self.port);
        if is_remote {
            remote::clean(&mut command);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let leader = self.leader().filter(|_| !is_remote);
        command.process_group(leader.map_or(0, |group| group.as_raw_nonzero().get()));
        let mut child = command.spawn()?;
        let pid = Pid::from_child(&child);
        let followed = self.outputs.follow(&self.folder, rank, launch.log_limit_bytes, &mut child);
        self.workers.push(Worker { child, pid, exit: None, is_remote });
        followed
    }

    /// The number of the process group of the workers here.
    fn leader(&self) -> Option<Pid> {
        self.workers.iter().find(|worker| !worker.is_remote).map(|worker| worker.pid)
    }

    /// The workers' process ids, by rank.
    pub(super) fn pids(&self) -> Vec<i32> {
        self.workers.iter().map(|worker| worker.pid.as_raw_nonzero().get()).collect()
    }

    /// Who has ended since the last look.
    pub(super) fn look(&mut self) -> Vec<(u32, Exit)> {
        let mut ended = Vec::new();
        for (rank, worker) in (0..).zip(&mut self.workers) {
            if worker.exit.is_none() {
                worker.exit = exit_of(worker.pid);
                if worker.is_remote {
                    worker.exit = worker.exit.map(|exit| remote::exit_of(&self.folder, rank, exit));
                }
                ended.extend(worker.exit.map(|exit| (rank, exit)));
            }
        }
        ended
    }

    /// Every worker has ended.
    pub(super) fn is_over(&self) -> bool {
        self.workers.iter().all(|worker| worker.exit.is_some())
    }

    /// Tells every process of the gang to stop.
    pub(super) fn tell(&self, signal: StopSignal) {
        self.send(signal_of(signal));
        // `srun` passes this one on; others it takes for itself.
        self.send_remote(Signal::USR1);
        // One that somebody has suspended would not hear it.
        self.send(Signal::CONT);
    }

    /// Kills every process of the gang.
    pub(super) fn kill(&self) {
        self.send(Signal::KILL);
        // `srun` kills its worker then, and ends.
        self.send_remote(Signal::TERM);
        if let Some(group) = &self.group {
            group.kill();
        }
        for found in self.leftovers() {
            processes::kill_one(&found, self.folder.path());
        }
    }

    fn send(&self, signal: Signal) {
        if let Some(group) = self.leader() {
            // They may all have ended just now.
            let _ = kill_process_group(group, signal);
        }
    }

    fn send_remote(&self, signal: Signal) {
        for worker in self.workers.iter().filter(|worker| worker.is_remote && worker.exit.is_none())
        {
            let _ = kill_process(worker.pid, signal);
        }
    }

    /// Orphans of ended workers become children of the runner: those that ended are reaped here.
    pub(super) fn reap_orphans(&self) {
        for pid in self.orphans() {
            let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        }
    }

    fn orphans(&self) -> Vec<Pid> {
        let is_orphan = |pid: &Pid| self.workers.iter().all(|worker| worker.pid != *pid);
        processes::children().into_iter().filter(is_orphan).collect()
    }

    /// After the last worker: kills what they left behind, waits until all is gone and all output is in
    /// the logs. What cannot be killed keeps a GPU, so the job is not over before it is gone.
    pub(super) fn clear(&mut self) {
        let mut looks = 0;
        while self.is_anything_left() {
            looks += 1;
            if looks == LOOKS_UNTIL_NOTED {
                stage::note(&format!("still there although killed: {:?}", self.leftovers()));
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        for worker in &mut self.workers {
            // It has ended, or was killed: this does not wait.
            let _ = worker.child.wait();
        }
        self.outputs.drain();
    }

    fn is_anything_left(&self) -> bool {
        self.kill();
        let mut is_left = false;
        for pid in self.orphans() {
            // An orphan of another user cannot be killed; it is not ours to wait for.
            if kill_process(pid, Signal::KILL) != Err(rustix::io::Errno::PERM) {
                is_left = true;
            }
        }
        self.reap_orphans();
        let is_occupied = self.group.as_ref().is_some_and(ControlGroup::is_occupied);
        is_left || is_occupied || !self.leftovers().is_empty()
    }

    /// Whatever has this start in its environment, but for runners.
    fn leftovers(&self) -> Vec<JobProcess> {
        let mut found = processes::find(self.folder.path());
        found.retain(|found| found.role == Role::Worker);
        found
    }
}

/// The signal itself.
pub(super) fn signal_of(signal: StopSignal) -> Signal {
    match signal {
        StopSignal::Term => Signal::TERM,
        StopSignal::Int => Signal::INT,
        StopSignal::Usr1 => Signal::USR1,
        StopSignal::Usr2 => Signal::USR2,
    }
}

fn exit_of(pid: Pid) -> Option<Exit> {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let status = waitid(WaitId::Pid(pid), look).ok()??;
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Some(Exit::Code(code)),
        (None, Some(signal)) => Some(Exit::Signal(signal)),
        (None, None) => None,
    }
}
