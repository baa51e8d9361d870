//! From what the world says about a job to what the executor needs to start it.

use super::hands::Task;
use crate::checkpoints::{Place, Places, host_of_gone};
use crate::world::{JobEntry, World};
use oef_api::types::{GpuRef, StopSignal};
use oef_executor::{Device, DeviceKind, Held, Launch};
use oef_sched::{JobId, NodeSpec, Span};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What all jobs of this daemon have in common.
#[derive(Clone, Debug)]
pub(super) struct Site {
    /// The state folder, absolute.
    pub dir: PathBuf,
    /// Variables for every job.
    pub env: BTreeMap<String, String>,
    /// The GPUs of each node, by position.
    pub nodes: BTreeMap<String, Vec<Device>>,
    /// Where checkpoints are.
    pub places: Places,
    /// Output that is kept of each worker's stream.
    pub log_limit_bytes: u64,
}

impl Site {
    /// The folder of a job.
    pub fn job_dir(&self, job: JobId) -> PathBuf {
        self.dir.join("jobs").join(job.to_string())
    }

    /// A job as its current run is to be started; none: it has no run, or its GPUs are not here.
    pub fn launch(&self, world: &World, id: JobId) -> Option<Launch> {
        let gpus = &world.jobs.get(&id)?.run()?.gpus;
        let devices: Option<Vec<Device>> = gpus.iter().map(|gpu| self.device(gpu)).collect();
        self.launch_on(world, id, devices?)
    }

    fn device(&self, gpu: &GpuRef) -> Option<Device> {
        self.nodes.get(&gpu.node)?.get(gpu.index as usize).cloned()
    }

    fn launch_on(&self, world: &World, id: JobId, devices: Vec<Device>) -> Option<Launch> {
        let job = world.jobs.get(&id)?;
        let run = job.run()?;
        let dir = self.job_dir(id);
        let spec = &job.spec;
        let mut env = self.env.clone();
        env.extend(spec.env.clone());
        let place = devices.first().and_then(|first| self.places.wanted(job, &first.host));
        let checkpoint_dir = match (&spec.checkpoint_dir, &place) {
            // Never the job's own, which others may need.
            _ if spec.probe.is_some() => dir.join("probe"),
            (Some(own), _) => PathBuf::from(own),
            (None, Some(place)) => self.places.folder(id, place),
            (None, None) => self.places.folder(id, &Place::Shared),
        };
        let workdir = spec.workdir.as_ref().map_or_else(|| dir.join("work"), PathBuf::from);
        let grace = spec.grace_s.map(Span::from_seconds);
        Some(Launch {
            job: id,
            generation: run.generation,
            tenant: job.tenant().into(),
            workload: job.workload_name().into(),
            name: job.name().into(),
            command: command(job, &dir),
            env,
            workdir,
            checkpoint_dir,
            fetch: place.and_then(|place| self.places.fetch(id, job, &place)),
            devices,
            restart: job.restarts,
            stop_signal: stop_signal(spec.stop_signal),
            grace: grace.unwrap_or(Span(world.settings.grace_ms)),
            max_run: time_left(job),
            until: run.until,
            log_limit_bytes: self.log_limit_bytes,
            warm: spec.warm.clone(),
            probe: spec.probe.as_ref().map(|probe| oef_executor::Probe {
                batches: probe.batches,
                warmup: probe.warmup,
                least: Span::from_seconds(probe.least_s),
                limit: Span::from_seconds(probe.limit_s),
            }),
        })
    }

    /// The host that has the checkpoints of a job's current run; none: they are where all hosts see them.
    pub fn checkpoint_host(&self, world: &World, id: JobId) -> Option<String> {
        let job = world.jobs.get(&id)?;
        let gpu = job.run()?.gpus.first()?;
        let first = self.device(gpu).unwrap_or_else(|| gone(gpu));
        match self.places.wanted(job, &first.host)? {
            Place::Shared => None,
            Place::Host(host) => Some(host),
        }
    }

    /// The name of the machine of each node.
    pub fn hosts(&self) -> BTreeMap<String, String> {
        let host = |devices: &[Device]| devices.first().map(|device| device.host.clone());
        self.nodes
            .iter()
            .filter_map(|(node, devices)| Some((node.clone(), host(devices)?)))
            .collect()
    }

    /// Removes everything that is kept of a job outside the journal.
    pub fn forget(&self, job: JobId) -> Task {
        Task::Forget { job, dir: self.job_dir(job), copies: self.copies(job) }
    }

    /// Every folder in which a copy of a job's checkpoints may be, beside the one in its own folder.
    fn copies(&self, job: JobId) -> Vec<PathBuf> {
        let hosts: BTreeSet<String> = self.hosts().into_values().collect();
        hosts.into_iter().map(|host| self.places.folder(job, &Place::Host(host))).collect()
    }

    /// The leases that the world says are held.
    pub fn held(&self, world: &World) -> Vec<Held> {
        let runs = |job: &JobEntry| job.run().is_some() && !job.state.is_final();
        let ids = world.jobs.iter().filter(|(_, job)| runs(job)).map(|(&id, job)| (id, job));
        ids.filter_map(|(id, job)| {
            let run = job.run()?;
            let devices = run.gpus.iter().map(|gpu| self.device(gpu).unwrap_or_else(|| gone(gpu)));
            let launch = self.launch_on(world, id, devices.collect())?;
            Some(Held { launch, stop: run.stop.clone() })
        })
        .collect()
    }
}

/// A GPU that is not here any more. Whoever runs on it is found again all the same, to be stopped.
fn gone(gpu: &GpuRef) -> Device {
    Device {
        host: host_of_gone(&gpu.node).into(),
        index: gpu.index,
        gpu_type: gpu.gpu_type.clone(),
        kind: DeviceKind::Emulated,
    }
}

/// Where a job's script is kept.
pub(super) fn script_path(dir: &Path) -> PathBuf {
    dir.join("script")
}

fn command(job: &JobEntry, dir: &Path) -> Vec<String> {
    match &job.spec.script {
        Some(_) => vec![script_path(dir).to_string_lossy().into_owned()],
        None => job.spec.command.clone(),
    }
}

/// What is left of a job's maximum run time. None left is a moment, so that its end is told like any other.
fn time_left(job: &JobEntry) -> Option<Span> {
    let max = Span::from_seconds(job.spec.max_run_s?);
    Some((max - Span(job.ran_ms)).max(Span(1)))
}

fn stop_signal(signal: StopSignal) -> oef_executor::StopSignal {
    match signal {
        StopSignal::Term => oef_executor::StopSignal::Term,
        StopSignal::Int => oef_executor::StopSignal::Int,
        StopSignal::Usr1 => oef_executor::StopSignal::Usr1,
        StopSignal::Usr2 => oef_executor::StopSignal::Usr2,
    }
}

/// The executor's devices as nodes of the cluster. A host that is known with other GPUs gets another name:
/// for the scheduler it is another machine.
pub(super) fn nodes_of(
    world: &World,
    devices: Vec<Device>,
) -> BTreeMap<String, (NodeSpec, Vec<Device>)> {
    let mut hosts: BTreeMap<(String, String), Vec<Device>> = BTreeMap::new();
    for device in devices {
        let key = (device.host.clone(), device.gpu_type.clone());
        hosts.entry(key).or_default().push(device);
    }
    let mut nodes: BTreeMap<String, (NodeSpec, Vec<Device>)> = BTreeMap::new();
    for ((host, gpu_type), mut devices) in hosts {
        devices.sort_by_key(|device| device.index);
        let gpus = u32::try_from(devices.len()).unwrap_or(u32::MAX);
        let plain = NodeSpec { name: host.clone(), gpu_type: gpu_type.clone(), gpus };
        let is_free = is_same_or_new(world, &plain) && !nodes.contains_key(&host);
        let name = if is_free { host } else { format!("{host}:{gpus}x{gpu_type}") };
        nodes.insert(name.clone(), (NodeSpec { name, ..plain }, devices));
    }
    nodes
}

fn is_same_or_new(world: &World, spec: &NodeSpec) -> bool {
    let cluster = world.sched.cluster();
    let known = cluster.node_named(&spec.name).and_then(|id| cluster.nodes().get(id.0));
    known.is_none_or(|node| {
        node.gpus() == spec.gpus as usize
            && cluster.types().get(node.gpu_type().0) == Some(&spec.gpu_type)
    })
}
