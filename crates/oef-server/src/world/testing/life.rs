//! A life: commands and observations, sensible and not, one after the other.

use super::dice::Dice;
use crate::world::{
    Change, Drain, GangEntry, GroupChange, MEANING, NewJob, NewSweep, ProfileEntry, Record, RunEnd,
    RunEnding, RunningJobs, SettingsEntry, SubmitKey, Telemetry, TenantChange, TokenEntry, World,
    timestamp,
};
use jiff::Timestamp;
use oef_api::parsed::{Weight, Workers};
use oef_api::types::{
    Dependency, DependencyCondition, FigureSource, JobOrder, JobPatch, JobState, JobSubmit, Limits,
    Measured, Probe, Provenance, Role, SettingsPatch,
};
use oef_core::Options;
use oef_sched::{Generation, JobId, NodeSpec, PlacementRule, Settings, Span, Stands, Time};
use std::collections::BTreeMap;

const TENANTS: [&str; 4] = ["ada", "bob", "cy", "nobody"];
const GROUPS: [&str; 3] = ["north", "south", "team"];
const WORKLOADS: [&str; 3] = ["vgg", "lstm", "bert"];
const NODES: [(&str, &str, u32); 4] =
    [("n1", "slow", 4), ("n2", "fast", 4), ("n3", "fast", 2), ("n4", "new", 2)];
const ENDINGS: [RunEnding; 9] = [
    RunEnding::Finished,
    RunEnding::Checkpointed,
    RunEnding::Stopped,
    RunEnding::Failed,
    RunEnding::Lost,
    RunEnding::Hindered,
    RunEnding::TimedOut,
    RunEnding::Impossible,
    RunEnding::Unmeasured,
];

/// A world that was lived in, with its journal.
pub struct Life {
    pub world: World,
    pub journal: Vec<Record>,
    /// Whether another scheduler decides than the one that is tested.
    pub is_bent: bool,
    dice: Dice,
    at: u64,
}

impl Life {
    pub fn new(seed: u64) -> Life {
        let world = empty();
        let mut life = Life {
            world,
            journal: Vec::new(),
            is_bent: false,
            dice: Dice::new(seed),
            at: 1_700_000_000_000,
        };
        let sched = Settings { round: Span(10_000), ..Settings::default() };
        let settings =
            SettingsEntry { ended_jobs_max: 12, events_max: 50, ..SettingsEntry::default() };
        let (meaning, sched, whole) = (MEANING, Box::new(sched), false);
        life.apply(Change::Began { meaning, sched, settings, whole });
        for name in &TENANTS[..2] {
            life.apply(created(name, 1.0));
        }
        for (name, gpu_type, gpus) in &NODES[..2] {
            life.apply(Change::NodeUp(node(name, gpu_type, *gpus)));
        }
        life
    }

    /// One more thing happens. Says whether it was taken.
    pub fn live(&mut self) -> bool {
        self.at += [0, 1, 700, 5_000][self.dice.below(4) as usize];
        let change = self.change();
        self.apply(change)
    }

    /// This happens, so much later.
    pub fn then(&mut self, ms: u64, change: Change) {
        self.at += ms;
        let shown = format!("{change:?}");
        assert!(self.apply(change), "refused: {shown}");
    }

    /// Many things happen.
    pub fn live_on(&mut self, times: usize) {
        for _ in 0..times {
            self.live();
        }
    }

    /// Lets something happen with what is decided after it. What is refused is not written down.
    pub fn apply(&mut self, change: Change) -> bool {
        let at = Time(self.at);
        // As where commands are taken: a wrong value is no record.
        if matches!(&change, Change::Settings(patch) if !patch.check().is_empty()) {
            return false;
        }
        let first = Record { at, change: self.world.complete(at, change) };
        if self.world.apply(&first).is_err() {
            return false;
        }
        self.journal.push(first);
        while let Some(decision) = self.world.decide() {
            let decision = if self.is_bent { self.bent(decision) } else { decision };
            let record = Record { at, change: decision };
            self.world.apply(&record).expect("a decision can be applied");
            self.journal.push(record);
        }
        true
    }

    /// What another scheduler would have decided: the first free GPUs, nobody protected, and none of its judgements.
    fn bent(&self, decision: Change) -> Change {
        match decision {
            Change::Planned { plan } => {
                let mut other = self.world.sched.clone();
                other.set_settings(Settings {
                    placement: PlacementRule::FirstFree,
                    stickiness: (plan.round.0 % 3) as f64,
                    min_run: Span(0),
                    waste_budget: 10.0,
                    ..other.settings().clone()
                });
                Change::Planned { plan: Box::new(oef_sched::plan(&other, plan.scope)) }
            }
            Change::Judged { .. } => Change::Judged { judgements: Vec::new() },
            other => other,
        }
    }

    fn change(&mut self) -> Change {
        match self.dice.below(27) {
            0..4 => self.submitted(),
            4..8 => self.started(),
            8..12 => self.ended(),
            12 => self.progress(),
            13..16 => self.round(),
            16 => Change::Cancelled { job: self.any_job(), by: "its owner".into(), why: None },
            17 => self.about_tenants(),
            18 => self.about_groups(),
            19 => self.about_workloads(),
            20 => self.about_nodes(),
            21 => self.released(),
            22 => self.about_tokens(),
            23..26 => self.job_changed(),
            _ => self.about_settings(),
        }
    }

    fn name(&mut self, from: &[&str]) -> String {
        self.dice.pick(from).map_or_else(String::new, |name| (*name).into())
    }

    fn any_job(&mut self) -> JobId {
        JobId(self.dice.below(self.world.next_job + 1))
    }

    /// A job with a run, mostly; and the generation of its lease, mostly.
    fn any_run(&mut self) -> (JobId, Generation) {
        let jobs: Vec<JobId> = self.world.index.newest(None, &JobState::PLACED, None).collect();
        let Some(&job) = self.dice.pick(&jobs).filter(|_| !jobs.is_empty()) else {
            return (self.any_job(), Generation(1));
        };
        let run = self.world.jobs[&job].run().map_or(Generation(0), |run| run.generation);
        match self.dice.once_in(10) {
            true => (job, Generation(run.0 + 1)),
            false => (job, run),
        }
    }

    fn submitted(&mut self) -> Change {
        let first = if self.dice.once_in(20) { 1 } else { self.world.next_job };
        let count = 1 + self.dice.below(3);
        let key = self.dice.once_in(4).then(|| SubmitKey {
            token: 1,
            key: format!("k{}", self.dice.below(10)),
            digest: "d".into(),
        });
        let jobs = (first..first + count).map(|id| NewJob { id, spec: self.job() }).collect();
        let at_once = self.dice.once_in(2).then(|| 1 + self.dice.below(2) as u32);
        let sweep = self.dice.once_in(3).then_some(NewSweep { at_once });
        Change::Submitted { jobs, key, sweep }
    }

    fn job(&mut self) -> JobSubmit {
        let types = if self.dice.once_in(2) { vec!["fast".into()] } else { Vec::new() };
        // Some name no type and are refused.
        let probe = self.dice.once_in(3).then(Probe::default);
        JobSubmit {
            probe,
            tenant: self.name(&TENANTS).parse().ok(),
            workload: self.name(&WORKLOADS).parse().ok(),
            name: Some("j".into()),
            command: vec!["true".into()],
            workers: Workers::up_to(self.dice.below(5) as u32),
            types,
            priority: self.dice.below(3) as i32,
            retries: self.dice.below(3) as u32,
            min_run_s: self.dice.once_in(5).then_some(1.0),
            held: self.dice.once_in(6),
            steps: self.dice.once_in(2).then(|| 1.0 + self.dice.below(90) as f64),
            not_before: self.dice.once_in(6).then(|| self.soon()),
            after: self.older(),
            ..JobSubmit::default()
        }
    }

    /// A time around now.
    fn soon(&mut self) -> Timestamp {
        timestamp(Time(self.at + [0, 10, 3_000, 20_000][self.dice.below(4) as usize]))
    }

    /// Jobs to wait for, some of which are not there.
    fn older(&mut self) -> Vec<Dependency> {
        let when = [
            DependencyCondition::Finished,
            DependencyCondition::Ended,
            DependencyCondition::Failed,
        ];
        let count = self.dice.below(8).saturating_sub(5);
        let one = |_| Dependency {
            job: self.dice.below(self.world.next_job + 1),
            when: when[self.dice.below(3) as usize],
        };
        (0..count).map(one).collect()
    }

    fn job_changed(&mut self) -> Change {
        let patch = JobPatch {
            held: self.dice.once_in(2).then(|| self.dice.once_in(2)),
            priority: self.dice.once_in(4).then(|| self.dice.below(5) as i32),
            types: self.dice.once_in(6).then(|| vec!["slow".into()]),
            now: self.dice.once_in(8).then(|| self.dice.once_in(2)),
            not_before: self.dice.once_in(6).then(|| self.dice.once_in(2).then(|| self.soon())),
            after: self.dice.once_in(6).then(|| self.older()),
            ..JobPatch::default()
        };
        Change::JobChanged { job: self.any_job(), by: "its owner".into(), patch }
    }

    fn started(&mut self) -> Change {
        let (job, generation) = self.any_run();
        if self.dice.once_in(4) {
            let detail = format!("brings {} %", self.dice.below(100));
            return Change::Preparing { job, generation, detail };
        }
        let at_ms = self.dice.once_in(2).then_some(self.at.saturating_sub(100));
        let host = self.dice.once_in(2).then(|| "n".to_string());
        Change::Started { job, generation, at_ms, host }
    }

    fn ended(&mut self) -> Change {
        let (job, generation) = self.any_run();
        let is_stopping =
            self.world.jobs.get(&job).is_some_and(|job| job.state == JobState::Stopping);
        let ending = match (is_stopping, self.dice.below(3)) {
            (true, 0..2) => RunEnding::Checkpointed,
            _ => self.dice.pick(&ENDINGS).copied().unwrap_or(RunEnding::Finished),
        };
        let last_lines = self.dice.once_in(2).then(|| "one\nlast".into());
        Change::Ended(RunEnd {
            job,
            generation,
            ending,
            detail: "it ended".into(),
            last_lines,
            at_ms: None,
            exit: None,
            outcome: None,
        })
    }

    fn progress(&mut self) -> Change {
        let (job, generation) = self.any_run();
        let telemetry = Telemetry {
            steps: self.dice.below(1000) as f64,
            checkpoint: self.dice.once_in(2).then(|| self.dice.below(1000) as f64),
            throughput: self.dice.once_in(2).then_some(0.1 + self.dice.below(90) as f64 / 7.0),
            loss: None,
            measured: self.dice.once_in(2).then(|| Measured {
                batch_seconds: 0.01 + self.dice.below(90) as f64 / 70.0,
                spread: 0.01,
                batches: 20,
                timed: true,
                lots: 1,
                wait: None,
            }),
            wait: self.dice.once_in(4).then(|| self.dice.below(10) as f64 / 9.0),
            clock_ms: self.dice.once_in(2).then_some(self.at + self.dice.below(5)),
        };
        Change::Progress { job, generation, telemetry }
    }

    /// A round, usually with shares that are up to date.
    fn round(&mut self) -> Change {
        if let Some(shares) = self.shares()
            && !self.dice.once_in(4)
        {
            self.apply(shares);
            return Change::Round { kept: false };
        }
        Change::Round { kept: self.dice.once_in(2) }
    }

    /// Shares, if they are not up to date.
    pub fn shares(&self) -> Option<Change> {
        let answer = self.world.sched.question()?.answer(&Options::default());
        Some(Change::Shares { answer: Box::new(answer), solve_ms: 3 })
    }

    fn about_tenants(&mut self) -> Change {
        let name = self.name(&TENANTS);
        match self.dice.below(6) {
            0 => Change::TenantRemoved { name },
            1 | 2 => created(&name, 1.0 + self.dice.below(3) as f64),
            _ => Change::TenantChanged(TenantChange {
                name,
                weight: self.dice.once_in(3).then_some(weight(2.5)),
                group: self.dice.once_in(3).then_some(GroupChange::Into("north".into())),
                limits: self.dice.once_in(3).then_some(Limits { gpus: Some(3), jobs: Some(9) }),
                suspended: self.dice.once_in(3).then(|| self.dice.once_in(2)),
                order: self.dice.once_in(3).then(|| JobOrder::ALL[self.dice.below(3) as usize]),
            }),
        }
    }

    fn about_groups(&mut self) -> Change {
        let name = self.name(&GROUPS);
        match self.dice.once_in(4) {
            true => Change::GroupRemoved { name },
            false => {
                let parent = self.dice.once_in(2).then(|| self.name(&GROUPS));
                let (name, weight) = (name.parse().expect("a name"), self.dice.below(4) as f64);
                Change::GroupPut { name, weight: self::weight(1.0 + weight), parent }
            }
        }
    }

    fn about_workloads(&mut self) -> Change {
        let throughput = BTreeMap::from([
            ("slow".to_string(), 1.0),
            ("fast".to_string(), 1.0 + self.dice.below(30) as f64 / 10.0),
        ]);
        let mut profile =
            ProfileEntry::plain(throughput, Provenance::Declared, self.at, "told".into());
        if self.dice.once_in(2) {
            profile.gang_figures.push(GangEntry {
                gpu_type: "fast".into(),
                workers: 2 + self.dice.below(3) as u32,
                stands: Stands::on(1 + self.dice.below(2) as u32),
                kept: Some(self.dice.below(11) as f64 / 10.0),
                steps: None,
                source: FigureSource::Declared,
                since_ms: self.at,
                detail: None,
            });
        }
        Change::WorkloadPut {
            tenant: self.name(&TENANTS),
            name: self.name(&WORKLOADS).parse().expect("a name"),
            weight: self.dice.once_in(2).then_some(weight(3.0)),
            profile: Some(Box::new(profile)).filter(|_| !self.dice.once_in(3)),
            told: None,
        }
    }

    fn about_nodes(&mut self) -> Change {
        let Some(&(name, gpu_type, gpus)) = self.dice.pick(&NODES) else {
            return Change::Round { kept: true };
        };
        match self.dice.below(5) {
            0 => Change::NodeDown { node: name.into() },
            1 => Change::NodeDrained {
                node: name.into(),
                drained: self.dice.once_in(2),
                // By the clock: the lives that are kept by their seed stay what they were.
                drain: self.at.is_multiple_of(2).then(|| Drain {
                    reason: Some("a fan".into()),
                    by: "the operator".into(),
                    running: match self.at % 3 {
                        0 => RunningJobs::Stop,
                        1 => RunningJobs::StopAt(Time(self.at + 60_000)),
                        _ => RunningJobs::Finish,
                    },
                    until: self.at.is_multiple_of(5).then(|| Time(self.at + 120_000)),
                }),
            },
            2 => Change::NodeUp(node(name, gpu_type, gpus + 1)),
            _ => Change::NodeUp(node(name, gpu_type, gpus)),
        }
    }

    fn released(&mut self) -> Change {
        let due = self.world.index.next_wakeup().map(|(_, job)| job);
        Change::Released { job: due.unwrap_or(JobId(1)) }
    }

    fn about_tokens(&mut self) -> Change {
        if self.dice.once_in(3) {
            return Change::TokenRevoked { id: self.dice.below(5) };
        }
        let tenant = self.dice.once_in(2).then(|| self.name(&TENANTS));
        let token = TokenEntry {
            hash: format!("{:x}", self.dice.below(u64::MAX)),
            role: if tenant.is_some() { Role::Tenant } else { Role::Admin },
            tenant,
            note: None,
            created_ms: self.at,
            expires_ms: None,
        };
        Change::TokenCreated { id: self.world.next_token, token }
    }

    fn about_settings(&mut self) -> Change {
        let some = |yes: bool, value: f64| yes.then_some(value);
        match self.dice.below(8) {
            0 => Change::Memory { ended_jobs_max: 5, events_max: 20 },
            1 => Change::Halted { halted: true },
            2..5 => Change::Halted { halted: false },
            _ => Change::Settings(SettingsPatch {
                mechanism: self.dice.once_in(2).then(|| "nash".into()),
                round_s: some(self.dice.once_in(2), 5.0),
                reference: self.dice.once_in(4).then(|| "fast".into()),
                min_run_s: some(self.dice.once_in(2), self.dice.below(3) as f64 - 0.5),
                grace_s: None,
                stickiness: None,
                gpu_memory: None,
                guard: self
                    .dice
                    .once_in(3)
                    .then(|| self.name(&["off", "report", "replace", "other"])),
                usage_half_life_s: some(self.dice.once_in(2), self.dice.below(3) as f64 * 20.0),
                usage_bound: some(self.dice.once_in(8), 3.0),
            }),
        }
    }
}

/// A world before anything has happened.
pub fn empty() -> World {
    World::new(Settings::default(), SettingsEntry::default())
}

/// A job of one worker.
pub fn train() -> JobSubmit {
    JobSubmit {
        tenant: "ada".parse().ok(),
        workload: "w".parse().ok(),
        name: Some("train".into()),
        command: vec!["train".into()],
        ..JobSubmit::default()
    }
}

fn node(name: &str, gpu_type: &str, gpus: u32) -> NodeSpec {
    NodeSpec { name: name.into(), gpu_type: gpu_type.into(), gpus }
}

/// A tenant, a round, and so many jobs of the tenant.
pub fn with_jobs(count: u64) -> [Change; 3] {
    let jobs = (1..=count).map(|id| NewJob { id, spec: train() }).collect();
    let submitted = Change::Submitted { jobs, key: None, sweep: None };
    [created("ada", 1.0), Change::Round { kept: false }, submitted]
}

/// A tenant comes.
pub fn created(name: &str, weight: f64) -> Change {
    let (name, weight) = (name.parse().expect("a name"), self::weight(weight));
    Change::TenantCreated { name, weight, group: None, limits: Limits::default() }
}

fn weight(weight: f64) -> Weight {
    weight.try_into().expect("a weight")
}
