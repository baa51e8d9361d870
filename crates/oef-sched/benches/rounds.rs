//! How long rounds take: `cargo bench -p oef-sched`.
//!
//! One planning round of a big cluster, and rounds of a small one in a steady state, besides the share
//! computation (the shares are computed in the first round and do not change).
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark has a clock and prints its figures"
)]

use oef_core::Mechanism;
use oef_sched::{
    Action, Event, EventKind, JobId, JobSpec, NodeSpec, Profile, Provenance, Settings, Span, State,
    Time, refresh_shares, step,
};
use std::time::Instant;

struct World {
    state: State,
    now: Time,
    next: u64,
}

impl World {
    fn new(types: u32, nodes: u32, gpus: u32) -> Self {
        let settings = Settings { mechanism: Mechanism::MaxMin, ..Settings::default() };
        let nodes: Vec<NodeSpec> = (0..nodes)
            .map(|n| NodeSpec {
                name: format!("n{n}"),
                gpu_type: format!("g{}", n % types),
                gpus: gpus / nodes + u32::from(n < gpus % nodes),
            })
            .collect();
        World { state: State::with_nodes(settings, &nodes), now: Time(0), next: 0 }
    }

    fn tenant(&mut self, name: u32, types: u32, jobs: u32, gangs: &[u32]) {
        let tenant = self.state.tenant(&format!("t{name}"), 1.0);
        let throughput =
            (0..types).map(|j| 1.0 + f64::from(j) * (0.3 + f64::from(name % 7) * 0.1)).collect();
        let profile = Profile::new(throughput, Provenance::Declared);
        let Some(workload) = self.state.workload(tenant, "w", 1.0, profile) else { return };
        for job in 0..jobs {
            self.next += 1;
            let workers = gangs[(name + job) as usize % gangs.len()];
            let (id, types) = (JobId(self.next), None);
            let spec = JobSpec { types, ..JobSpec::new(id, tenant, workload, workers) };
            self.happen(EventKind::Submitted(spec));
        }
    }

    /// The executor answers at once; the time of the first step alone is returned.
    fn happen(&mut self, kind: EventKind) -> f64 {
        let begun = Instant::now();
        if kind == EventKind::Tick {
            refresh_shares(&mut self.state, self.now);
        }
        let actions = step(&mut self.state, Event { at: self.now, kind }).unwrap_or_default();
        let took = begun.elapsed().as_secs_f64();
        let mut actions = actions;
        while let Some(action) = actions.pop() {
            if let Action::Preempt { job, generation, .. }
            | Action::Migrate { job, generation, .. } = action
            {
                let kind = EventKind::Preempted { job, generation };
                let answered = step(&mut self.state, Event { at: self.now, kind });
                actions.extend(answered.unwrap_or_default());
            }
        }
        took
    }

    fn tick(&mut self) -> f64 {
        self.now = self.now + Span::from_seconds(300.0);
        self.happen(EventKind::Tick)
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn show(name: &str, seconds: f64) {
    println!("{name:<64} {:>10.3} ms", seconds * 1e3);
}

fn main() {
    let mut big = World::new(7, 1500, 10_000);
    for tenant in 0..500 {
        big.tenant(tenant, 7, 20, &[1, 1, 2, 1, 4, 1, 8]);
    }
    show("10,000 GPUs, 10,000 jobs, 500 tenants: first round with shares", big.tick());
    show("... median of the next 20", median((0..20).map(|_| big.tick()).collect()));
    let mut small = World::new(3, 27, 108);
    for tenant in 0..300 {
        small.tenant(tenant, 3, 1, &[1]);
    }
    show("108 GPUs, 300 single-job tenants: first round with shares", small.tick());
    let begun = Instant::now();
    let times: Vec<f64> = (0..5000).map(|_| small.tick()).collect();
    let all = begun.elapsed().as_secs_f64();
    show("... median of the next 5,000", median(times));
    println!("... {:.0} rounds a second with the executor's answers", 5000.0 / all);
    let mut single = World::new(1, 100, 800);
    single.tenant(0, 1, 20_000, &[1, 2, 1, 4]);
    show("one tenant with 20,000 jobs on 800 GPUs: first round", single.tick());
    show("... median of the next 20", median((0..20).map(|_| single.tick()).collect()));
}
