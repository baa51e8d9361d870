//! A world that grows by records, as a daemon's does.

use crate::world::{
    Action, Change, NewJob, ProfileEntry, RunEnd, RunEnding, SettingsEntry, Telemetry, World,
};
use oef_api::parsed::Workers;
use oef_api::types::{JobSubmit, Limits, Provenance};
use oef_core::{Mechanism, Options};
use oef_sched::{Generation, JobId, NodeSpec, Settings, Span, Time};

pub struct Scene {
    pub world: World,
    pub now: u64,
}

/// The instant at which every scene begins; round numbers read well.
pub const BEGIN_MS: u64 = 1_000_000_000_000;
/// The length of a round.
pub const ROUND_MS: u64 = 60_000;

impl Scene {
    /// Nodes by name, type and number of GPUs.
    pub fn new(mechanism: Mechanism, nodes: &[(&str, &str, u32)]) -> Scene {
        let settings = Settings { mechanism, round: Span(ROUND_MS), ..Settings::default() };
        let world = World::new(settings, SettingsEntry::default());
        let mut scene = Scene { world, now: BEGIN_MS };
        for &(name, gpu_type, gpus) in nodes {
            let spec = NodeSpec { name: name.into(), gpu_type: gpu_type.into(), gpus };
            scene.apply(Change::NodeUp(spec));
        }
        scene
    }

    /// The cluster of the design's example: one slow and one fast GPU, a tenant <1,2> and one <1,5>, each
    /// with more jobs than it can run.
    pub fn two_tenants(mechanism: Mechanism) -> Scene {
        let mut scene = Scene::new(mechanism, &[("n1", "slow", 1), ("n2", "fast", 1)]);
        for (tenant, fast) in [("alice", 2.0), ("bob", 5.0)] {
            scene.tenant(tenant, 1.0);
            scene.workload(tenant, "train", &[("slow", 1.0), ("fast", fast)]);
            for _ in 0..3 {
                scene.submit(tenant, "train", 1);
            }
        }
        scene.round();
        scene
    }

    pub fn apply(&mut self, change: Change) -> Vec<Action> {
        self.world.happen(Time(self.now), change).expect("a record that fits").1
    }

    pub fn tenant(&mut self, name: &str, weight: f64) {
        let (name, weight) = (name.parse().expect("a name"), weight.try_into().expect("a weight"));
        let limits = Limits::default();
        self.apply(Change::TenantCreated { name, weight, group: None, limits });
    }

    pub fn workload(&mut self, tenant: &str, name: &str, throughput: &[(&str, f64)]) {
        let throughput = throughput.iter().map(|&(t, x)| (t.to_string(), x)).collect();
        let told = "a test".to_string();
        let profile = ProfileEntry::plain(throughput, Provenance::Declared, self.now, told);
        let (tenant, name) = (tenant.into(), name.parse().expect("a name"));
        self.apply(Change::WorkloadPut {
            tenant,
            name,
            weight: None,
            profile: Some(Box::new(profile)),
            told: None,
        });
    }

    pub fn submit(&mut self, tenant: &str, workload: &str, workers: u32) -> u64 {
        let command = vec!["train".into(), "--secret".into()];
        self.submit_as(JobSubmit { command, ..job(tenant, workload, workers) })
    }

    pub fn submit_as(&mut self, spec: JobSubmit) -> u64 {
        let id = self.world.next_job;
        self.apply(Change::Submitted { jobs: vec![NewJob { id, spec }], key: None, sweep: None });
        id
    }

    /// New shares, and a round with them.
    pub fn round(&mut self) {
        if let Some(question) = self.world.sched.question() {
            let answer = Box::new(question.answer(&Options::default()));
            self.apply(Change::Shares { answer, solve_ms: 250 });
        }
        self.apply(Change::Round { kept: false });
    }

    pub fn generation(&self, job: u64) -> Generation {
        let known = self.world.jobs.get(&JobId(job)).and_then(|job| job.run());
        known.expect("the job has been started").generation
    }

    pub fn started(&mut self, job: u64) {
        let generation = self.generation(job);
        self.apply(Change::Started { job: JobId(job), generation, at_ms: None, host: None });
    }

    pub fn progress(&mut self, job: u64, steps: f64) {
        let generation = self.generation(job);
        let telemetry = Telemetry { steps, ..Telemetry::default() };
        self.apply(Change::Progress { job: JobId(job), generation, telemetry });
    }

    pub fn ended(&mut self, job: u64, ending: RunEnding, detail: &str, last: Option<&str>) {
        let generation = self.generation(job);
        let (job, detail, last_lines) = (JobId(job), detail.into(), last.map(String::from));
        self.apply(Change::Ended(RunEnd {
            job,
            generation,
            ending,
            detail,
            last_lines,
            at_ms: None,
            exit: None,
            outcome: None,
        }));
    }

    /// The jobs that have GPUs now.
    pub fn placed(&self) -> Vec<u64> {
        self.world.sched.placements().iter().map(|placement| placement.job.0).collect()
    }
}

pub fn job(tenant: &str, workload: &str, workers: u32) -> JobSubmit {
    JobSubmit {
        tenant: tenant.parse().ok(),
        workload: workload.parse().ok(),
        name: Some("a job".into()),
        workers: Workers::up_to(workers),
        ..JobSubmit::default()
    }
}
