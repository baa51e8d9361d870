//! A large cluster, as its Slurm would print it: read, compared with what OEF knows, and planned.

use super::run::Figure;
use oef_core::Options;
use oef_executor::slurm::{Slurm, SlurmConfig, SlurmExecutor};
use oef_executor::{Cursor, Event, Executor, Known, NodeEvent};
use oef_sched::{
    EventKind, JobId, JobSpec, NodeSpec, Profile, Provenance, Scope, Settings, State, Time, plan,
};
use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::{Duration, Instant};

const NODES: usize = 1000;
const GPUS: usize = 8;
const JOBS: usize = 20_000;
const TYPES: [&str; 3] = ["v100", "a100", "h100"];
/// Every so many of the jobs is another's; the rest are OEF's own.
const OTHERS: usize = 5;
const TENANTS: usize = 200;
/// The jobs of this state folder are known by it.
const TAG: &str = "0badcafe";

/// Reads 1,000 nodes and 20,000 jobs, finds its own among them, and plans a round for them.
pub(super) fn read_and_plan(dir: &Path) -> Result<Figure, String> {
    let dir = std::path::absolute(dir.join("recorded")).map_err(|error| error.to_string())?;
    let state = dir.join("state");
    write_programs(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let tagged = fs::create_dir_all(&state).and_then(|()| fs::write(state.join("slurm-tag"), TAG));
    tagged.map_err(|error| format!("{}: {error}", state.display()))?;
    let slurm = Slurm {
        bin_dir: Some(dir.join("bin")),
        limit: Duration::from_secs(60),
        ..Slurm::default()
    };
    let begun = Instant::now();
    let config = SlurmConfig::new(state, vec!["oef".into()], slurm, None);
    let executor = SlurmExecutor::open(SlurmConfig { poll: Duration::from_secs(60), ..config });
    let executor = executor.map_err(|error| error.to_string())?;
    // Asks for all jobs, and compares them with those that are held.
    executor.resume(Known::default()).map_err(|error| error.to_string())?;
    let nodes = listed(&executor, begun)?;
    let read = begun.elapsed();
    let mut state = scheduler(&nodes)?;
    let begun = Instant::now();
    let changes = round(&mut state)?;
    if nodes.len() < NODES || changes == 0 {
        return Err(format!("{} of {NODES} nodes, {changes} starts planned", nodes.len()));
    }
    let value = (read + begun.elapsed()).as_secs_f64();
    let name = format!("{NODES} nodes and {JOBS} jobs are read, reconciled and planned");
    Ok(Figure { name, value, unit: "s", bar: 1.0 })
}

/// The nodes as they are told: what others use of them is not there.
fn listed(executor: &SlurmExecutor, begun: Instant) -> Result<Vec<NodeSpec>, String> {
    let mut cursor = Cursor(0);
    let mut nodes: Vec<NodeSpec> = Vec::new();
    loop {
        for (at, event) in executor.events(cursor, Duration::from_millis(20)) {
            cursor = at;
            match event {
                Event::Node(NodeEvent::Joined { node, gpu_type, devices }) => {
                    let gpus = u32::try_from(devices.len()).unwrap_or(u32::MAX);
                    nodes.push(NodeSpec { name: node, gpu_type, gpus });
                }
                Event::Node(NodeEvent::Changed { node, usable, .. }) => {
                    let gpus = u32::try_from(usable.len()).unwrap_or(u32::MAX);
                    nodes
                        .iter_mut()
                        .filter(|spec| spec.name == node)
                        .for_each(|spec| spec.gpus = gpus);
                }
                Event::NodesListed => return Ok(nodes),
                _ => {}
            }
        }
        if begun.elapsed() > Duration::from_secs(60) {
            return Err("a recorded cluster was not read within 60 s".to_string());
        }
    }
}

/// OEF's own of the jobs, as the daemon knows them before a round: all wait.
fn scheduler(nodes: &[NodeSpec]) -> Result<State, String> {
    let mut state = State::with_nodes(Settings::default(), nodes);
    let mut workloads = Vec::new();
    for number in 0..TENANTS {
        let tenant = state.tenant(&format!("t{number:03}"), 1.0);
        let speed = 1.0 + number as f64 / TENANTS as f64;
        let types = state.cluster().types().len();
        let speeds = (0..types).map(|at| speed.powi(i32::try_from(at).unwrap_or(0)));
        let profile = Profile::new(speeds.collect(), Provenance::Declared);
        let key = state.workload(tenant, "model", 1.0, profile).ok_or("no workload")?;
        workloads.push((tenant, key));
    }
    for id in (0..JOBS).filter(|id| id % OTHERS > 0) {
        let (tenant, workload) = workloads[id % TENANTS];
        let workers = [1, 1, 1, 2, 4, 8][id % 6];
        let spec = JobSpec::new(JobId(id as u64 + 1), tenant, workload, workers);
        tell(&mut state, EventKind::Submitted(spec))?;
    }
    Ok(state)
}

/// Shares and a plan, as in the daemon; how many jobs it starts.
fn round(state: &mut State) -> Result<usize, String> {
    if let Some(question) = state.question() {
        let answer = question.answer(&Options::default());
        tell(state, EventKind::Shares(Box::new(answer)))?;
    }
    tell(state, EventKind::Tick)?;
    Ok(plan(state, Scope::Round).starts.len())
}

fn tell(state: &mut State, kind: EventKind) -> Result<(), String> {
    let event = oef_sched::Event { at: Time(1), kind };
    oef_sched::apply(state, event).map(|_| ()).map_err(|refusal| refusal.to_string())
}

/// Programs that print what was recorded, with the word of the call put in.
fn write_programs(dir: &Path) -> std::io::Result<()> {
    let bin = dir.join("bin");
    fs::create_dir_all(&bin)?;
    let (mut jobs, mut nodes) = (String::new(), String::new());
    let own = fs::metadata(&bin)?.uid();
    for id in 0..JOBS {
        let (number, gpu) = (id + 1, TYPES[id % TYPES.len()]);
        let _ = match id % OTHERS {
            // Another's, which runs.
            0 => writeln!(
                jobs,
                "@@|{number}|RUNNING|{}|node{:04}|gres/gpu:{gpu}:1|None|train-{id}|(null)",
                100_000 + id % 300,
                id / OTHERS % NODES
            ),
            // OEF's own, which Slurm still remembers.
            _ => writeln!(
                jobs,
                "@@|{number}|COMPLETED|{own}||gres/gpu:{gpu}:1|None|oef-{TAG}-{number}|oef:{TAG}:{number}:1"
            ),
        };
    }
    for id in 0..NODES {
        let gpu = TYPES[id % TYPES.len()];
        let _ = writeln!(
            nodes,
            "node{id:04}@@mixed@@gpu:{gpu}:{GPUS}(S:0-1)@@gpu:{gpu}:4(IDX:0-3)@@10.0.0.1@@none@@Unknown@@"
        );
    }
    for (program, text, word) in [("squeue", &jobs, "--format"), ("sinfo", &nodes, "--Format=")] {
        fs::write(bin.join(format!("{program}.txt")), text)?;
        // The word of the call is between the two first `@` of the argument that has the columns.
        let script = format!(
            "#!/bin/sh\nfor word in \"$@\"; do case $word in *@*@*) mark=${{word#*@}}; mark=@${{mark%%@*}}@;; esac; done\n\
             # {word}\nsed \"s/@@/$mark/g\" {}/{program}.txt\n",
            bin.display()
        );
        fs::write(bin.join(program), script)?;
        fs::set_permissions(bin.join(program), Permissions::from_mode(0o755))?;
    }
    Ok(())
}
