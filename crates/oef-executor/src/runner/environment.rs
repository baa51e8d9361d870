//! What a worker finds in its environment.

use super::remote;
use crate::device::{Device, DeviceKind};
use crate::processes::RUN_DIR;
use crate::records::{RunFolder, RunSpec};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

/// A job that picks its GPU by `LOCAL_RANK`, as `torchrun` has it, sets this to `gang`.
const VISIBLE: &str = "OEF_VISIBLE_GPUS";

/// Where a gang on one machine meets.
const THIS_MACHINE: &str = "127.0.0.1";

/// How variables begin that only OEF sets.
const OURS: &str = "OEF_";

/// Sets a worker's environment: what the daemon lets jobs have with the job's own variables, and the protocol's.
/// Nothing is inherited: the daemon's environment may hold anything. In a Slurm job it is not the daemon's, but that of
/// the node, with what Slurm, modules and prolog lines have set.
pub(super) fn apply(
    command: &mut Command,
    launch: &RunSpec,
    run: &RunFolder,
    rank: u32,
    port: u16,
) {
    match &launch.slurm {
        None => {
            command.env_clear();
        }
        Some(_) => {
            let ours = |name: &OsString| name.as_encoded_bytes().starts_with(OURS.as_bytes());
            for (name, _) in std::env::vars_os().filter(|(name, _)| ours(name)) {
                command.env_remove(name);
            }
        }
    }
    if launch.user.is_none() {
        command.envs(given(launch));
    }
    command.envs(protocol(launch, run, rank, port));
    if let Some(user) = &launch.user {
        let own: [(&str, &OsStr); 4] = [
            ("HOME", user.home.as_os_str()),
            ("USER", OsStr::new(&user.name)),
            ("LOGNAME", OsStr::new(&user.name)),
            ("SHELL", user.shell.as_os_str()),
        ];
        command.envs(own.into_iter().filter(|(name, _)| !launch.env.contains_key(*name)));
    }
}

/// What the job itself sets. A worker of another user gets it with its program and not before: until then it is a process
/// of the daemon's user, and what a loader does with `LD_PRELOAD` would be done with that user's rights.
pub(super) fn given(launch: &RunSpec) -> impl Iterator<Item = (&String, &String)> {
    launch.env.iter().filter(|(name, _)| !name.starts_with(OURS) || *name == VISIBLE)
}

/// The part of it that comes with the program.
pub(super) fn late(launch: &RunSpec) -> BTreeMap<String, String> {
    let is_late = |name: &String| launch.user.is_some() && std::env::var_os(name).is_none();
    given(launch).filter(|(name, _)| is_late(name)).map(|(n, v)| (n.clone(), v.clone())).collect()
}

/// The same on another node than the runner's, where what the runner has set is there already: only what belongs to
/// the node is new.
pub(super) fn apply_here(command: &mut Command, launch: &RunSpec, run: &RunFolder, rank: u32) {
    let port = std::env::var("MASTER_PORT").ok().and_then(|port| port.parse().ok()).unwrap_or(0);
    command.envs(protocol(launch, run, rank, port));
}

/// The variables of the protocol.
pub(super) fn protocol(
    launch: &RunSpec,
    run: &RunFolder,
    rank: u32,
    port: u16,
) -> BTreeMap<&'static str, OsString> {
    let mut env = Variables::default();
    let Some(device) = launch.devices.get(rank as usize) else { return env.0 };
    let hosts = hosts(&launch.devices);
    let place = LocalRank::of(&launch.devices, rank as usize);
    env.set("RANK", rank);
    env.set("LOCAL_RANK", place.local_rank);
    env.set("WORLD_SIZE", launch.devices.len());
    env.set("LOCAL_WORLD_SIZE", place.local_size);
    let node = hosts.iter().position(|host| *host == device.host).unwrap_or(0);
    env.set("NODE_RANK", node);
    env.set("MASTER_ADDR", launch.master_addr.as_deref().unwrap_or(THIS_MACHINE));
    env.set("MASTER_PORT", port);
    env.set("OEF_JOB_ID", launch.job);
    env.set("OEF_JOB_NAME", &launch.name);
    env.set("OEF_TENANT", &launch.tenant);
    env.set("OEF_WORKLOAD", &launch.workload);
    env.set("OEF_GENERATION", launch.generation);
    env.set("OEF_RESTART", launch.restart);
    env.set("OEF_FINISHED_BEFORE", u8::from(launch.finished.contains(&rank)));
    env.set("OEF_GPU_TYPE", &device.gpu_type);
    env.set("OEF_GPU_INDEX", device.index);
    env.set("OEF_HOST", &device.host);
    env.path("OEF_CHECKPOINT_DIR", &launch.checkpoint_dir);
    env.path("OEF_PROGRESS_FILE", &run.progress_file(rank));
    env.set("OEF_STOP_SIGNAL", launch.stop_signal.name());
    env.set("OEF_GRACE_SECONDS", launch.grace.seconds());
    env.path(RUN_DIR, &run.jobs_part());
    if let Some(group) = launch.cgroup.as_ref().filter(|_| !launch.warm.is_empty()) {
        // What a launcher forks for it goes there by itself.
        env.path("OEF_CGROUP", group);
    }
    if let Some(probe) = &launch.probe {
        env.set("OEF_PROFILE", 1);
        env.set("OEF_PROFILE_BATCHES", probe.batches);
        env.set("OEF_PROFILE_WARMUP", probe.warmup);
        env.set("OEF_PROFILE_SECONDS", probe.least.seconds());
    }
    for (name, value) in
        remote::variables(launch.slurm.as_ref(), rank, place.local_rank, launch.devices.len())
    {
        env.set(name, value);
    }
    gpu(&mut env, launch, device, place.local_rank);
    env.0
}

/// Variables as they are set.
#[derive(Default)]
struct Variables(BTreeMap<&'static str, OsString>);

impl Variables {
    fn set(&mut self, name: &'static str, value: impl ToString) {
        self.0.insert(name, value.to_string().into());
    }

    fn path(&mut self, name: &'static str, path: &Path) {
        self.0.insert(name, path.into());
    }
}

/// What CUDA needs to know.
fn gpu(env: &mut Variables, launch: &RunSpec, device: &Device, local_rank: usize) {
    let wants_gang = launch.env.get(VISIBLE).is_some_and(|value| value == "gang");
    let visible: Vec<String> = match &device.kind {
        // Parts of one GPU cannot be listed twice, so there each worker sees its own alone.
        DeviceKind::Mps { ordinal, .. } => vec![ordinal.to_string()],
        DeviceKind::Allocated => {
            let given = std::env::var("CUDA_VISIBLE_DEVICES").unwrap_or_default();
            allocated(&given, local_rank, wants_gang)
        }
        _ if wants_gang => {
            let on_host = launch.devices.iter().filter(|other| other.host == device.host);
            on_host.map(number).collect()
        }
        _ => vec![number(device)],
    };
    env.set("CUDA_VISIBLE_DEVICES", visible.join(","));
    // CUDA would otherwise put the fastest first, and unlike GPUs would be taken for one another.
    env.set("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    if let DeviceKind::Mps { percent, .. } = device.kind {
        env.set("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", percent);
    }
}

fn number(device: &Device) -> String {
    match device.kind {
        DeviceKind::Real { ordinal, .. } | DeviceKind::Mps { ordinal, .. } => ordinal.to_string(),
        DeviceKind::Allocated | DeviceKind::Emulated => device.index.to_string(),
    }
}

/// What a worker sees of the GPUs that a cluster has given its job on this node.
fn allocated(given: &str, local_rank: usize, wants_gang: bool) -> Vec<String> {
    let given: Vec<String> =
        given.split(',').filter(|name| !name.is_empty()).map(String::from).collect();
    match given.get(local_rank) {
        _ if wants_gang && !given.is_empty() => given,
        Some(own) => vec![own.clone()],
        None => vec![local_rank.to_string()],
    }
}

/// The nodes of a gang, in the order of its ranks.
fn hosts(devices: &[Device]) -> Vec<&str> {
    let mut hosts: Vec<&str> = Vec::new();
    for device in devices {
        if !hosts.contains(&device.host.as_str()) {
            hosts.push(&device.host);
        }
    }
    hosts
}

/// Where a worker stands on its node.
struct LocalRank {
    local_rank: usize,
    local_size: usize,
}

impl LocalRank {
    fn of(devices: &[Device], rank: usize) -> LocalRank {
        let host = &devices[rank].host;
        let on_host = |devices: &[Device]| devices.iter().filter(|d| d.host == *host).count();
        LocalRank { local_rank: on_host(&devices[..rank]), local_size: on_host(devices) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oef_sched::{Generation, JobId, Span, Time};

    fn launch(devices: Vec<Device>) -> RunSpec {
        RunSpec {
            job: JobId(7),
            generation: Generation(3),
            tenant: "vision".into(),
            workload: "vgg16".into(),
            name: "night run".into(),
            command: vec!["true".into()],
            env: BTreeMap::new(),
            workdir: "/".into(),
            checkpoint_dir: "/tmp/checkpoints".into(),
            fetch: None,
            saved_before: None,
            devices,
            master_addr: None,
            restart: 2,
            finished: [1].into(),
            stop_signal: crate::StopSignal::Usr1,
            grace: Span(2500),
            max_run: None,
            until: Time(0),
            log_limit_bytes: 1 << 20,
            warm: Vec::new(),
            probe: None,
            slurm: None,
            user: None,
            cgroup: None,
            terminal: None,
        }
    }

    fn device(host: &str, index: u32, kind: DeviceKind) -> Device {
        Device { host: host.into(), index, gpu_type: "h200".into(), kind }
    }

    fn values(launch: &RunSpec, rank: u32, names: &[&str]) -> Vec<String> {
        let run = RunFolder::at(Path::new("/state/runs/7/3")).expect("a run");
        let env = protocol(launch, &run, rank, 4000);
        let value =
            |name| env.get(name).map(|value: &OsString| value.to_string_lossy().into_owned());
        names.iter().map(|name| value(name).unwrap_or_default()).collect()
    }

    #[test]
    fn ranks_count_within_nodes() {
        let devices = [("a", 2), ("b", 0), ("a", 3), ("b", 1)];
        let launch =
            launch(devices.map(|(host, index)| device(host, index, DeviceKind::Emulated)).to_vec());
        let names = ["RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK", "CUDA_VISIBLE_DEVICES"];
        assert_eq!(values(&launch, 0, &names), ["0", "0", "2", "0", "2"]);
        assert_eq!(values(&launch, 1, &names), ["1", "0", "2", "1", "0"]);
        assert_eq!(values(&launch, 3, &names), ["3", "1", "2", "1", "1"]);
        let names = ["OEF_GRACE_SECONDS", "OEF_STOP_SIGNAL", "OEF_RUN_DIR", "OEF_RESTART"];
        assert_eq!(values(&launch, 0, &names), ["2.5", "USR1", "/state/runs/7/3/job", "2"]);
    }

    #[test]
    fn workers_are_told_whether_they_had_finished_and_where_the_first_is() {
        let mut launch = launch(vec![
            device("a", 0, DeviceKind::Emulated),
            device("b", 0, DeviceKind::Emulated),
        ]);
        let names = ["OEF_FINISHED_BEFORE", "MASTER_ADDR"];
        assert_eq!(values(&launch, 0, &names), ["0", "127.0.0.1"]);
        launch.master_addr = Some("a.lab".into());
        assert_eq!(values(&launch, 1, &names), ["1", "a.lab"]);
    }

    #[test]
    fn only_profile_runs_are_told_to_measure() {
        let names =
            ["OEF_PROFILE", "OEF_PROFILE_BATCHES", "OEF_PROFILE_WARMUP", "OEF_PROFILE_SECONDS"];
        let mut launch = launch(vec![device("a", 0, DeviceKind::Emulated)]);
        assert_eq!(values(&launch, 0, &names), ["", "", "", ""]);
        launch.probe =
            Some(crate::Probe { batches: 20, warmup: 5, least: Span(2500), limit: Span(10_000) });
        assert_eq!(values(&launch, 0, &names), ["1", "20", "5", "2.5"]);
    }

    #[test]
    fn real_gpus_by_ordinal_alone_or_with_the_gang() {
        let real = |index, ordinal| {
            device("box-h200", index, DeviceKind::Real { ordinal, uuid: format!("GPU-{ordinal}") })
        };
        let mut launch = launch(vec![real(1, 5), real(0, 4)]);
        assert_eq!(values(&launch, 0, &["CUDA_VISIBLE_DEVICES"]), ["5"]);
        launch.env.insert(VISIBLE.into(), "gang".into());
        assert_eq!(values(&launch, 1, &["CUDA_VISIBLE_DEVICES", "LOCAL_RANK"]), ["5,4", "1"]);
    }

    #[test]
    fn of_the_gpus_of_a_cluster_each_worker_sees_its_own() {
        assert_eq!(allocated("2,5", 1, false), ["5"]);
        assert_eq!(allocated("MIG-a,MIG-b", 0, false), ["MIG-a"]);
        assert_eq!(allocated("2,5", 1, true), ["2", "5"]);
        assert_eq!(allocated("", 1, true), ["1"], "a cluster that sets nothing");
    }

    #[test]
    fn parts_of_a_gpu_have_their_percentage() {
        let part = |index| device("box-small", index, DeviceKind::Mps { ordinal: 2, percent: 8 });
        let mut launch = launch(vec![part(0), part(1)]);
        launch.env.insert(VISIBLE.into(), "gang".into());
        let names = ["CUDA_VISIBLE_DEVICES", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"];
        assert_eq!(values(&launch, 1, &names), ["2", "8"]);
    }
}
