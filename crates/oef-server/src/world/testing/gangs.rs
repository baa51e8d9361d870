//! What is seen of gangs and of restarts becomes what counts, and is in the journal.

use super::check::check;
use super::life::{created, empty, train};
use crate::world::{
    Change, NewJob, ProfileEntry, Record, RunEnding, Telemetry, TenantChange, World,
};
use oef_api::parsed::Workers;
use oef_api::types::{FigureSource, JobSubmit, Provenance, SettingsPatch};
use oef_sched::{JobId, NodeSpec, Stands, Time, WorkloadKey};
use std::collections::BTreeMap;

/// One node of six GPUs; two single jobs with ten steps a second, and a gang of four with eight.
struct Scene {
    world: World,
    journal: Vec<Record>,
    at: u64,
    steps: BTreeMap<JobId, f64>,
}

const GANG: u64 = 3;

/// Workers, how they stood, what each GPU keeps, and who says so.
type Known = (u32, Stands, Option<f64>, FigureSource);

impl Scene {
    fn new() -> Scene {
        let (journal, steps) = (Vec::new(), BTreeMap::new());
        let mut scene = Scene { world: empty(), journal, at: 1_000, steps };
        let guard = Some("replace".to_string());
        scene.then(Change::Settings(SettingsPatch { guard, ..SettingsPatch::default() }));
        let (name, gpu_type) = ("n".into(), "g".into());
        scene.then(Change::NodeUp(NodeSpec { name, gpu_type, gpus: 6 }));
        scene.then(created("ada", 1.0));
        for (id, workers) in [(1, 1), (2, 1), (GANG, 4)] {
            let jobs = vec![NewJob {
                id,
                spec: JobSubmit { workers: Workers::up_to(workers), ..train() },
            }];
            scene.then(Change::Submitted { jobs, key: None, sweep: None });
        }
        scene.then(Change::Round { kept: false });
        scene.start();
        scene
    }

    fn then(&mut self, change: Change) {
        self.at += 10;
        let (records, _) = self.world.happen(Time(self.at), change).expect("taken");
        self.journal.extend(records);
        check(&self.world);
    }

    /// All jobs that were told to start do so.
    fn start(&mut self) {
        for job in [1, 2, GANG].map(JobId) {
            let run = self.world.jobs[&job].run().filter(|run| run.started.is_none());
            if let Some(generation) = run.map(|run| run.generation) {
                self.then(Change::Started { job, generation, at_ms: None, host: None });
            }
        }
    }

    /// All tell how far they are, every five seconds, and rounds begin.
    fn rounds(&mut self, count: usize) {
        for word in 0..12 * count {
            self.at += 5_000;
            for job in [1, 2, GANG].map(JobId) {
                let Some(run) = self.world.jobs[&job].run() else { continue };
                let generation = run.generation;
                let steps = self.steps.entry(job).or_default();
                *steps += if job.0 == GANG { 40.0 } else { 50.0 };
                let (steps, clock_ms) = (*steps, Some(self.at));
                let telemetry = Telemetry { steps, clock_ms, ..Telemetry::default() };
                self.then(Change::Progress { job, generation, telemetry });
            }
            if word % 12 == 11 {
                self.then(Change::Round { kept: false });
            }
        }
    }

    fn declare(&mut self, provenance: Provenance) {
        let throughput = BTreeMap::from([("g".to_string(), 5.0)]);
        let profile = ProfileEntry::plain(throughput, provenance, self.at, "told".into());
        let (tenant, name, weight) = ("ada".into(), "w".parse().expect("a name"), None);
        self.then(Change::WorkloadPut {
            tenant,
            name,
            weight,
            profile: Some(Box::new(profile)),
            told: None,
        });
    }

    fn key(&self) -> WorkloadKey {
        self.world.tenants["ada"].workloads["w"]
    }

    /// Figures of gangs, and what each GPU of a gang of four counts beside a single worker.
    fn known(&self) -> (Vec<Known>, f64) {
        let gangs = self.world.workloads[&self.key()].profile.gangs();
        let figures = gangs.iter().map(|g| (g.workers, g.stands, g.kept, g.source)).collect();
        let profile = &self.world.sched.workloads()[self.key().0].profile;
        (figures, profile.of_gang(0, 4, 1) / profile.on(0))
    }

    /// Somebody who reads the journal knows the same.
    fn replays(&self) {
        let mut world = empty();
        for record in &self.journal {
            world.apply(record).expect("what is written can be applied");
        }
        assert_eq!(world.workloads, self.world.workloads);
        let cost = |world: &World| world.sched.workloads()[self.key().0].measured_restart();
        assert_eq!(cost(&world), cost(&self.world));
    }
}

#[test]
fn what_is_seen_of_a_gang_counts_and_stays() {
    let mut scene = Scene::new();
    assert_eq!(scene.known(), (vec![], 0.81), "the estimate");
    scene.rounds(2);
    let (figures, counts) = scene.known();
    let [(4, Stands::Together, Some(kept), FigureSource::Seen)] = figures[..] else {
        panic!("{figures:?}");
    };
    assert!((kept - 0.8).abs() < 1e-6 && (counts - 0.8).abs() < 1e-6, "{kept} {counts}");
    let told = |scene: &Scene| {
        let seen = scene.world.events.iter().filter(|event| event.message.contains("gangs of 4"));
        seen.map(|event| event.message.clone()).collect::<Vec<_>>()
    };
    assert!(told(&scene)[0].contains("keep 80 %"), "{:?}", told(&scene));
    scene.rounds(2);
    assert_eq!(told(&scene).len(), 1, "it is said once");
    // What a tenant tells later does not take it back; the unit of the profile is another now.
    scene.declare(Provenance::Declared);
    assert!((scene.known().1 - 0.8).abs() < 1e-6, "{:?}", scene.known());
    scene.replays();
    // Somebody who may be believed begins anew.
    scene.declare(Provenance::Measured);
    assert_eq!(scene.known().0, []);
    scene.replays();
}

#[test]
fn starts_and_stops_tell_what_a_restart_costs() {
    let mut scene = Scene::new();
    let cost = |scene: &Scene| scene.world.sched.workloads()[scene.key().0].measured_restart();
    assert_eq!(cost(&scene), None);
    scene.rounds(1);
    let first = cost(&scene).expect("three starts were seen");
    assert!((5_000..6_000).contains(&first.0), "the first word came after five seconds: {first:?}");
    // A job that is told to stop takes four seconds.
    let suspended = |suspended| {
        Change::TenantChanged(TenantChange {
            name: "ada".into(),
            weight: None,
            group: None,
            limits: None,
            suspended: Some(suspended),
            order: None,
        })
    };
    scene.then(suspended(true));
    scene.at += 4_000;
    for job in [1, 2, GANG].map(JobId) {
        let generation = scene.world.jobs[&job].run().expect("it stops").generation;
        scene.then(Change::ended(job, generation, RunEnding::Checkpointed, "saved"));
    }
    let second = cost(&scene).expect("it is known");
    assert!((9_000..10_500).contains(&second.0), "{second:?}");
    scene.replays();
}
