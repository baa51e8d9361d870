//! Workers on other nodes of a Slurm job: `srun` starts one small process there, which starts the worker, passes the
//! signal to stop on, and ends as the worker does.

use super::conclusion::Exit;
use super::stage::{self, again_elsewhere, worker_command};
use crate::ending::FailReason;
use crate::processes::{self, RUN_DIR};
use crate::records::{Durability, RunFolder, RunSpec, read_json, write_json};
use crate::slurm::SlurmSpec;
use rustix::process::{Pid, Signal, kill_process_group};
use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How often the worker is looked at: what a person does not notice.
const POLL: Duration = Duration::from_millis(50);

/// How long a node may take to see what another has written: what network file systems keep in memory.
const SEEN_WITHIN: Duration = Duration::from_secs(90);

/// What `srun` makes of a signal that ended a process.
const SIGNAL_BASE: i32 = 128;

/// The node on which this process runs, if Slurm started it.
fn this_node() -> Option<String> {
    std::env::var("SLURMD_NODENAME").ok()
}

/// The command that starts a worker on another node; none: it belongs to this one.
pub(super) fn command(launch: &RunSpec, run: &RunFolder, rank: u32) -> Option<Command> {
    let slurm = launch.slurm.as_ref()?;
    let device = launch.devices.get(rank as usize)?;
    let place = slurm.remote(&device.host, &this_node()?)?;
    let part = slurm.parts.get(place.part as usize)?;
    let gpu_type = part.gpu_type.as_ref().map(|name| format!("{name}:")).unwrap_or_default();
    let mut command = Command::new(&slurm.srun);
    // All the GPUs of the job on that node: each worker takes its own.
    command.arg(format!("--gres=gpu:{gpu_type}{}", part.gpus));
    command.arg(format!("--nodelist={}", place.node)).arg(format!("--job-name=rank-{rank}"));
    command.args([
        "--nodes=1",
        "--ntasks=1",
        "--overlap",
        "--mpi=none",
        "--mem=0",
        "--cpu-bind=none",
    ]);
    command.args([
        "--quiet",
        "--unbuffered",
        "--input=none",
        "--export=ALL",
        "--kill-on-bad-exit=0",
    ]);
    if slurm.parts.len() > 1 {
        command.arg(format!("--het-group={}", place.part));
    }
    let begin = again_elsewhere(2);
    command.arg(begin.get_program()).args(begin.get_args());
    command.arg(stage::REMOTE).arg(run.path()).arg(rank.to_string());
    Some(command)
}

/// What of the batch job's environment would mislead `srun`, or be taken for a worker of this node.
pub(super) fn clean(command: &mut Command) {
    for name in [
        "SLURM_NTASKS_PER_NODE",
        "SLURM_TASKS_PER_NODE",
        "SLURM_NTASKS",
        "SLURM_NPROCS",
        "SLURM_CPU_BIND",
        RUN_DIR,
    ] {
        command.env_remove(name);
    }
}

/// Runs a worker on this node until it ends, and ends like it.
pub(super) fn run(run: &RunFolder, rank: &OsStr) -> io::Result<()> {
    let rank: u32 =
        rank.to_str().and_then(|text| text.parse().ok()).ok_or(io::ErrorKind::InvalidInput)?;
    let told = Arc::new(AtomicBool::new(false));
    for signal in [SIGUSR1, SIGTERM, SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&told))?;
    }
    let launch = await_launch(run)?;
    fs::write(run.begun_file(rank), "")?;
    // What its workers have in their environment may lie in the folder of the start.
    let of_before = |path: &std::path::Path| !path.starts_with(run.path());
    processes::kill_all(run.job_folder().path(), of_before);
    // The mode, the folder and the rank.
    let mut command = worker_command(run.path(), rank, 3);
    super::environment::apply_here(&mut command, &launch, run, rank);
    let mut child = command.process_group(0).spawn()?;
    let group = Pid::from_child(&child);
    let mut is_told = false;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if told.load(Ordering::Relaxed) && !is_told {
            is_told = true;
            let signal = super::gang::signal_of(launch.stop_signal);
            let _ = kill_process_group(group, signal);
            let _ = kill_process_group(group, Signal::CONT);
        }
        sleep(POLL);
    };
    // What it left behind would keep its GPU.
    let _ = kill_process_group(group, Signal::KILL);
    std::process::exit(code(status))
}

/// What to run. A node may see the shared folder a moment later than the one that wrote it.
fn await_launch(run: &RunFolder) -> io::Result<RunSpec> {
    let began = Instant::now();
    loop {
        match read_json(&run.launch_file_of_runner()) {
            Ok(Some(launch)) => return Ok(launch),
            Ok(None) if began.elapsed() > SEEN_WITHIN => {
                return Err(io::Error::other("no launch.json"));
            }
            Err(error) if began.elapsed() > SEEN_WITHIN => return Err(error),
            _ => sleep(POLL),
        }
    }
}

fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| SIGNAL_BASE + status.signal().unwrap_or(0))
}

/// How a worker on another node ended, from how its `srun` did.
pub(super) fn exit_of(run: &RunFolder, rank: u32, exit: Exit) -> Exit {
    if exit != Exit::Code(0) && !run.begun_file(rank).exists() {
        let detail =
            format!("worker {rank} could not be started on its node by srun; see its error stream");
        // Without it the job fails with srun's own code, which says less.
        let _ = write_json(
            &run.start_error_file(rank),
            &FailReason::System { detail },
            Durability::Process,
        );
    }
    match exit {
        Exit::Code(code) if code > SIGNAL_BASE && code <= SIGNAL_BASE + 64 => {
            Exit::Signal(code - SIGNAL_BASE)
        }
        exit => exit,
    }
}

/// Variables that programs read to find out about a Slurm job, in the words of this gang.
pub(super) fn variables(
    slurm: Option<&SlurmSpec>,
    rank: u32,
    local_rank: usize,
    world: usize,
) -> Vec<(&'static str, String)> {
    match slurm {
        None => Vec::new(),
        Some(_) => vec![
            ("SLURM_PROCID", rank.to_string()),
            ("SLURM_LOCALID", local_rank.to_string()),
            ("SLURM_NTASKS", world.to_string()),
            ("SLURM_NPROCS", world.to_string()),
        ],
    }
}
