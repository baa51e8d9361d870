//! One round of a large cluster, the shares and the rest measured apart.

use super::measure::{CaseFigures, Part};
use super::stopwatch::Stopwatch;
use crate::bench::memory;
use oef_core::Mechanism;
use oef_sched::{
    Action, Event, EventKind, Generation, JobId, JobSpec, NodeSpec, Profile, Provenance, Settings,
    State, TenantKey, Time, WorkloadKey, refresh_shares, step,
};
use oef_sim::generate::Random;
use std::collections::BTreeMap;

const NODES: u64 = 1_500;
const GPUS: u64 = 10_000;
const TYPES: [&str; 5] = ["t4", "v100", "a10", "a100", "h100"];
const TENANTS: usize = 500;
const JOBS: u64 = 10_000;
/// Rounds after the first, and jobs that end and come between two of them.
const LATER_ROUNDS: usize = 10;
const CHURN: usize = 200;

/// The first round, in which all jobs wait, and some later ones with jobs that ended and came.
pub fn measure(seed: u64, repeat: u32) -> CaseFigures {
    let mut first = Vec::new();
    let mut later = Vec::new();
    for _ in 0..repeat {
        let mut world = World::new(seed);
        (0..JOBS).for_each(|_| world.submit());
        first.push(world.round());
        for _ in 0..LATER_ROUNDS {
            world.churn();
            later.push(world.round());
        }
    }
    let parts =
        vec![part("first", "all jobs wait", &first), part("later", "as jobs end and come", &later)];
    CaseFigures {
        seconds: parts.iter().map(|p| p.seconds).fold(0.0, f64::max),
        wall: [&first, &later]
            .map(|rounds| mean(rounds.iter().map(|r| r.wall)))
            .into_iter()
            .fold(0.0, f64::max),
        rounds: 1 + LATER_ROUNDS as u64,
        peak: memory::peak(),
        origin: "generated",
        parts,
    }
}

fn part(name: &'static str, about: &str, rounds: &[Round]) -> Part {
    // The processor's time comes in ticks of some milliseconds; only a mean is finer.
    let figure = |f: fn(&Round) -> f64| mean(rounds.iter().map(f));
    let slowest = rounds.iter().map(|r| r.planning).fold(0.0, f64::max);
    let note = format!(
        "{about}: {:.0} starts, stops and moves; at most {:.1} ms; shares {:.1} ms beside it",
        figure(|r| r.changes as f64),
        1000.0 * slowest,
        1000.0 * figure(|r| r.shares)
    );
    Part { name, seconds: figure(|r| r.planning), rounds: rounds.len() as u64, note, holds: None }
}

fn mean(figures: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = figures.len().max(1);
    figures.sum::<f64>() / count as f64
}

/// What a round took.
#[derive(Clone, Copy, Debug)]
struct Round {
    shares: f64,
    planning: f64,
    wall: f64,
    changes: usize,
}

struct World {
    state: State,
    random: Random,
    tenants: Vec<(TenantKey, WorkloadKey)>,
    next: u64,
    now: Time,
    running: BTreeMap<JobId, Generation>,
}

impl World {
    fn new(seed: u64) -> Self {
        let settings = Settings { mechanism: Mechanism::Noncooperative, ..Settings::default() };
        let gpus = |i: u64| (GPUS * (i + 1) / NODES - GPUS * i / NODES) as u32;
        let nodes: Vec<NodeSpec> = (0..NODES)
            .map(|i| NodeSpec {
                name: format!("n{i:04}"),
                gpu_type: TYPES[(i as usize * TYPES.len()) / NODES as usize].into(),
                gpus: gpus(i),
            })
            .collect();
        let mut state = State::with_nodes(settings, &nodes);
        let mut random = Random::named(seed, "planning");
        let tenants = (0..TENANTS).map(|t| {
            let tenant = state.tenant(&format!("t{t:03}"), 1.0);
            let mut speed = 1.0;
            let throughput = TYPES.map(|_| {
                speed *= 1.0 + random.unit();
                speed
            });
            let profile = Profile::new(throughput.into(), Provenance::Declared);
            let workload = state.workload(tenant, "model", 1.0, profile).unwrap_or_default();
            (tenant, workload)
        });
        let tenants = tenants.collect();
        World { state, random, tenants, next: 0, now: Time(0), running: BTreeMap::new() }
    }

    fn submit(&mut self) {
        let sizes = [1, 2, 4, 8];
        let workers = sizes[self.random.weighted(&[70.0, 12.0, 12.0, 6.0])];
        let (tenant, workload) = self.tenants[self.random.below(TENANTS)];
        let id = JobId(self.next);
        self.next += 1;
        let spec = JobSpec::new(id, tenant, workload, workers);
        self.tell(EventKind::Submitted(spec));
    }

    /// Some jobs end, as many come, and it is time for the next round.
    fn churn(&mut self) {
        let ids: Vec<JobId> = self.running.keys().copied().collect();
        for _ in 0..CHURN.min(ids.len()) {
            let job = ids[self.random.below(ids.len())];
            if let Some(generation) = self.running.remove(&job) {
                self.tell(EventKind::Finished { job, generation });
                self.submit();
            }
        }
        self.now = self.now + self.state.settings().round;
    }

    fn round(&mut self) -> Round {
        let watch = Stopwatch::start();
        refresh_shares(&mut self.state, self.now);
        let shares = watch.elapsed().cpu;
        let watch = Stopwatch::start();
        let tick = Event { at: self.now, kind: EventKind::Tick };
        let actions = step(&mut self.state, tick).unwrap_or_default();
        let elapsed = watch.elapsed();
        let changes = actions.iter().filter(|a| !matches!(a, Action::Keep { .. })).count();
        self.perform(actions);
        Round { shares, planning: elapsed.cpu, wall: elapsed.wall, changes }
    }

    fn tell(&mut self, kind: EventKind) {
        let actions = step(&mut self.state, Event { at: self.now, kind });
        self.perform(actions.unwrap_or_default());
    }

    /// Stops are answered at once.
    fn perform(&mut self, mut todo: Vec<Action>) {
        while !todo.is_empty() {
            let mut more = Vec::new();
            for action in todo {
                match action {
                    Action::Start { job, lease, .. } => {
                        self.running.insert(job, lease.generation);
                    }
                    Action::Preempt { job, generation, .. }
                    | Action::Migrate { job, generation, .. } => {
                        self.running.remove(&job);
                        let kind = EventKind::Preempted { job, generation };
                        let answered = step(&mut self.state, Event { at: self.now, kind });
                        more.extend(answered.unwrap_or_default());
                    }
                    Action::Keep { .. } => {}
                }
            }
            todo = more;
        }
    }
}
