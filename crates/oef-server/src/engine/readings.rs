//! What the GPUs do, as the executor reads it: shown to everybody at once, and summed up for the accounts of use.
//!
//! A reading is no decision, so none is journalled. Once in a round the sums go into the journal, as one record.

use super::nodes::Nodes;
use crate::world::{Change, Utilised, World};
use oef_api::types::JobState;
use oef_executor::gpus::GpuReading;
use oef_executor::{DeviceId, Event};
use oef_sched::{JobId, Span, Time};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A GPU that computes for less than this part of the time does nothing.
const IDLE_BELOW: f64 = 0.01;
/// After so many readings that did not come, the last one says nothing...
const MISSED: u32 = 3;
/// ... but not sooner than this: a busy machine is late.
const FRESH_MIN: Duration = Duration::from_secs(5);

/// What a GPU does, with who holds it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GpuNow {
    /// The part of the last moment in which it computed.
    pub utilisation: Option<f64>,
    /// Bytes of its memory that are used.
    pub memory_used: Option<u64>,
    /// Bytes of memory that it has.
    pub memory_total: Option<u64>,
    /// Who holds it, and since when it has not computed for them.
    idle: Option<(JobId, Time)>,
    /// How long that is.
    pub idle_for: Option<Duration>,
}

/// A GPU by its node and its place there.
pub(crate) type GpuPlace = (String, u32);

/// The last readings, for those who ask.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latest {
    gpus: BTreeMap<GpuPlace, GpuNow>,
    /// When they came, and how soon others are due.
    taken: Option<(Instant, Duration)>,
}

impl Latest {
    /// The GPUs of which something is known now.
    pub fn gpus(&self) -> impl Iterator<Item = (&GpuPlace, &GpuNow)> {
        let is_known = self.taken.is_some_and(|(at, every)| is_fresh(at.elapsed(), every));
        is_known.then_some(&self.gpus).into_iter().flatten()
    }
}

fn is_fresh(age: Duration, every: Duration) -> bool {
    age <= every.saturating_mul(MISSED).max(FRESH_MIN)
}

/// Readings that are not in the journal yet.
#[derive(Default)]
pub(super) struct Readings {
    /// When each GPU last told how busy it is.
    last: BTreeMap<GpuPlace, Time>,
    /// By tenant, workload and gpu type.
    sums: BTreeMap<(String, String, String), (u64, f64)>,
}

impl Readings {
    /// Takes readings; what is known now follows from them and from what was known before.
    pub fn take(
        &mut self,
        at: Time,
        event: &Event,
        world: &World,
        nodes: &Nodes,
        latest: &Latest,
    ) -> Option<Latest> {
        let Event::Readings { gpus, every } = event else { return None };
        let (places, holders) = (nodes.places(), holders(world));
        let mut now = BTreeMap::new();
        for reading in gpus {
            let Some(place) = places.get(&reading.device) else { continue };
            let holder = holders.get(place).copied();
            if let Some(utilisation) = reading.utilisation {
                self.add(at, place, utilisation, *every, holder, world);
            }
            let before = latest.gpus.get(place).and_then(|gpu| gpu.idle);
            now.insert(place.clone(), shown(at, reading, holder, before));
        }
        self.last.retain(|place, _| now.contains_key(place));
        let taken = Some((Instant::now(), Duration::from_millis(every.0)));
        Some(Latest { gpus: now, taken })
    }

    /// A reading stands for the time since the one before, as far as the same run held the GPU.
    fn add(
        &mut self,
        at: Time,
        place: &GpuPlace,
        utilisation: f64,
        every: Span,
        holder: Option<JobId>,
        world: &World,
    ) {
        let last = self.last.insert(place.clone(), at);
        let job = holder.and_then(|id| world.jobs.get(&id));
        let run = job.and_then(|job| Some((job, job.run()?)));
        let (Some(last), Some((job, run))) = (last, run) else { return };
        let gpu = run.gpus.iter().find(|gpu| (&gpu.node, gpu.index) == (&place.0, place.1));
        let Some(gpu) = gpu else { return };
        let ms = at.since(last.max(run.began)).min(every.times(2)).0;
        let key = (job.tenant().into(), job.workload_name().into(), gpu.gpu_type.clone());
        let (measured, busy) = self.sums.entry(key).or_default();
        *measured += ms;
        *busy += ms as f64 * utilisation;
    }

    /// What is to be journalled, if there is anything. [`done`](Self::done) follows when it is durable.
    pub fn change(&self) -> Option<Change> {
        let sums = self.sums.iter().filter(|(_, (measured, _))| *measured > 0);
        let rows = sums.map(|((tenant, workload, gpu_type), &(measured_ms, busy_ms))| Utilised {
            tenant: tenant.clone(),
            workload: workload.clone(),
            gpu_type: gpu_type.clone(),
            measured_ms,
            busy_ms,
        });
        let rows: Vec<Utilised> = rows.collect();
        (!rows.is_empty()).then_some(Change::Utilised { rows })
    }

    /// It is in the journal.
    pub fn done(&mut self) {
        self.sums.clear();
    }
}

fn shown(
    at: Time,
    reading: &GpuReading,
    holder: Option<JobId>,
    before: Option<(JobId, Time)>,
) -> GpuNow {
    let is_idle = reading.utilisation.is_some_and(|part| part < IDLE_BELOW);
    let since = |job| before.filter(|(known, _)| *known == job).map_or(at, |(_, since)| since);
    let idle = holder.filter(|_| is_idle).map(|job| (job, since(job)));
    GpuNow {
        utilisation: reading.utilisation,
        memory_used: reading.memory_used,
        memory_total: reading.memory_total,
        idle,
        idle_for: idle.map(|(_, since)| Duration::from_millis(at.since(since).0)),
    }
}

/// The job on each GPU.
fn holders(world: &World) -> BTreeMap<GpuPlace, JobId> {
    let mut holders = BTreeMap::new();
    for id in world.index.newest(None, &JobState::PLACED, None) {
        let run = world.jobs.get(&id).and_then(|job| job.run());
        let gpus = run.map_or(&[][..], |run| &run.gpus);
        holders.extend(gpus.iter().map(|gpu| ((gpu.node.clone(), gpu.index), id)));
    }
    holders
}

impl Nodes {
    /// Where in the cluster each GPU of the executor is.
    fn places(&self) -> BTreeMap<DeviceId, GpuPlace> {
        let all = self.named().flat_map(|(name, devices)| {
            (0..).zip(devices).map(move |(index, device)| (device.clone(), (name.clone(), index)))
        });
        all.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::testing::{empty, with_jobs};
    use oef_executor::NodeEvent;

    const EVERY: Span = Span(10_000);

    /// One node with two GPUs, and a job on the first of them from instant 1 on.
    fn scene() -> (World, Nodes) {
        let mut nodes = Nodes::default();
        let device = |n: u32| DeviceId(format!("d{n}"));
        nodes.take(&Event::Node(NodeEvent::Joined {
            node: "n".into(),
            gpu_type: "g".into(),
            devices: vec![device(0), device(1)],
        }));
        nodes.take(&Event::NodesListed);
        let mut world = empty();
        nodes.name(&world);
        let ups = nodes.changes(&world);
        for change in ups.into_iter().chain(with_jobs(1)) {
            world.happen(Time(1000), change).expect("taken");
        }
        (world, nodes)
    }

    fn read(busy: [Option<f64>; 2]) -> Event {
        let gpus = (0..).zip(busy).map(|(n, utilisation): (u32, _)| GpuReading {
            device: DeviceId(format!("d{n}")),
            utilisation,
            memory_used: Some(7),
            memory_total: Some(8),
        });
        Event::Readings { gpus: gpus.collect(), every: EVERY }
    }

    #[test]
    fn readings_count_for_who_holds_the_gpu_and_only_while_it_was_measured() {
        let (world, nodes) = scene();
        let held = world.jobs[&JobId(1)].run().expect("a run").gpus[0].index;
        let both = |part| {
            let mut busy = [Some(0.9); 2];
            busy[held as usize] = part;
            read(busy)
        };
        let (mut readings, mut latest) = (Readings::default(), Latest::default());
        let mut hear = |readings: &mut Readings, at, event| {
            latest = readings.take(Time(at), &event, &world, &nodes, &latest).expect("readings");
            latest.clone()
        };
        hear(&mut readings, 2000, both(Some(1.0)));
        assert_eq!(readings.change(), None, "a first reading stands for no time");
        hear(&mut readings, 12_000, both(Some(0.5)));
        hear(&mut readings, 22_000, both(None));
        // For a minute nothing was read: that is not measured.
        hear(&mut readings, 82_000, both(Some(0.0)));
        let row = Utilised {
            tenant: "ada".into(),
            workload: "w".into(),
            gpu_type: "g".into(),
            measured_ms: 30_000,
            busy_ms: 5000.0,
        };
        assert_eq!(readings.change(), Some(Change::Utilised { rows: vec![row] }));
        readings.done();
        assert_eq!(readings.change(), None);
        let now = hear(&mut readings, 92_000, both(Some(0.0)));
        let gpus: BTreeMap<GpuPlace, GpuNow> =
            now.gpus().map(|(place, gpu)| (place.clone(), gpu.clone())).collect();
        let own = &gpus[&("n".to_string(), held)];
        assert_eq!(own.idle_for, Some(Duration::from_secs(10)), "since it was first seen idle");
        assert_eq!((own.utilisation, own.memory_used), (Some(0.0), Some(7)));
        assert_eq!(gpus[&("n".to_string(), 1 - held)].idle_for, None, "nobody holds it");
        let busy = hear(&mut readings, 102_000, both(Some(0.4)));
        assert!(busy.gpus().all(|(_, gpu)| gpu.idle_for.is_none()));
    }

    #[test]
    fn old_readings_say_nothing() {
        let seconds = Duration::from_secs;
        assert!(is_fresh(seconds(30), seconds(10)) && !is_fresh(seconds(31), seconds(10)));
        assert!(is_fresh(seconds(5), seconds(1)) && !is_fresh(seconds(6), seconds(1)));
        assert_eq!(Latest::default().gpus().count(), 0);
        let (world, nodes) = scene();
        let mut readings = Readings::default();
        let event = read([Some(0.1); 2]);
        let latest = readings.take(Time(2000), &event, &world, &nodes, &Latest::default());
        let mut latest = latest.expect("readings");
        assert_eq!(latest.gpus().count(), 2);
        latest.taken =
            latest.taken.and_then(|(at, every)| Some((at.checked_sub(every * 4)?, every)));
        assert_eq!(latest.gpus().count(), 0);
    }
}
