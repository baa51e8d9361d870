//! Profiles that are not what jobs show: what is said, and what counts.

use super::check::check;
use super::life::{created, empty, train};
use crate::world::{Change, NewJob, ProfileEntry, Record, RunEnding, Telemetry, World};
use oef_api::types::{JobSubmit, Measured, Probe, Provenance, SettingsPatch};
use oef_sched::guard::Told;
use oef_sched::{JobId, NodeSpec, Time};
use std::collections::BTreeMap;

/// Two nodes, one tenant, and four jobs that run on all GPUs, twice as fast on `fast`.
struct Lab {
    world: World,
    journal: Vec<Record>,
    at: u64,
    steps: BTreeMap<JobId, f64>,
}

const TRUE_RATIO: f64 = 2.0;

impl Lab {
    fn new(policy: &str, said: Option<f64>) -> Lab {
        let mut lab =
            Lab { world: empty(), journal: Vec::new(), at: 1_000, steps: BTreeMap::new() };
        let guard = Some(policy.to_string());
        lab.then(Change::Settings(SettingsPatch { guard, ..SettingsPatch::default() }));
        for (name, gpu_type) in [("n1", "slow"), ("n2", "fast")] {
            let (name, gpu_type) = (name.into(), gpu_type.into());
            lab.then(Change::NodeUp(NodeSpec { name, gpu_type, gpus: 2 }));
        }
        lab.then(created("ada", 1.0));
        if let Some(said) = said {
            lab.declare(said);
        }
        for id in 1..=4 {
            lab.then(submit(id));
        }
        lab.then(Change::Round { kept: false });
        let jobs: Vec<JobId> = lab.world.jobs.keys().copied().collect();
        for job in jobs {
            let generation = lab.world.jobs[&job].run().expect("all run").generation;
            lab.then(Change::Started { job, generation, at_ms: None, host: None });
        }
        lab
    }

    fn then(&mut self, change: Change) {
        self.at += 10;
        let (records, _) = self.world.happen(Time(self.at), change).expect("taken");
        self.journal.extend(records);
        check(&self.world);
    }

    fn declare(&mut self, ratio: f64) {
        let throughput =
            BTreeMap::from([("slow".to_string(), 10.0), ("fast".to_string(), 10.0 * ratio)]);
        let profile =
            ProfileEntry::plain(throughput, Provenance::Declared, self.at, "told by ada".into());
        let (tenant, name, weight) = ("ada".into(), "w".parse().expect("a name"), None);
        self.then(Change::WorkloadPut {
            tenant,
            name,
            weight,
            profile: Some(Box::new(profile)),
            told: None,
        });
    }

    /// Every job tells how far it is, every five seconds, and a round begins.
    fn rounds(&mut self, count: usize, wait: Option<f64>) {
        for word in 0..12 * count {
            self.at += 5_000;
            for job in self.world.jobs.keys().copied().collect::<Vec<_>>() {
                let Some(run) = self.world.jobs[&job].run() else { continue };
                let fast = run.gpus[0].gpu_type == "fast";
                let generation = run.generation;
                let steps = self.steps.entry(job).or_default();
                *steps += if fast { 50.0 * TRUE_RATIO } else { 50.0 };
                let (steps, clock_ms) = (*steps, Some(self.at));
                let telemetry = Telemetry { steps, wait, clock_ms, ..Telemetry::default() };
                self.then(Change::Progress { job, generation, telemetry });
            }
            if word % 12 == 11 {
                self.then(Change::Round { kept: false });
            }
        }
    }

    fn ratio(&self) -> f64 {
        let profile = &self.world.workloads.values().next().expect("a workload").profile;
        profile.throughput["fast"] / profile.throughput["slow"]
    }

    /// What was said to the tenant beside the usual.
    fn said(&self) -> Vec<String> {
        let events = self.world.events.iter().map(|event| event.message.clone());
        events
            .filter(|m| m.contains("seen") || m.contains("showed") || m.contains("show "))
            .collect()
    }
}

fn submit(id: u64) -> Change {
    Change::Submitted { jobs: vec![NewJob { id, spec: train() }], key: None, sweep: None }
}

#[test]
fn a_false_profile_is_said_once_and_what_was_seen_counts() {
    let mut lab = Lab::new("replace", Some(8.0));
    lab.rounds(3, None);
    assert!((lab.ratio() - TRUE_RATIO).abs() < 1e-9, "{}", lab.ratio());
    let said = lab.said();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].starts_with("ada/w says that fast is 8.0 times slow; its jobs showed 2.0 (")
            && said[0].ends_with("runs); what was seen counts now"),
        "{said:?}"
    );
    assert_eq!(lab.world.totals.false_profiles, 1);
    let entry = lab.world.workloads.values().next().expect("a workload");
    assert_eq!(entry.profile.provenance, Provenance::Measured);
    assert_eq!(entry.profile.provenance_on("fast"), Provenance::Measured);
    assert_eq!(entry.history[0].throughput["fast"], 80.0, "what was said is remembered");
    // The same lie again.
    lab.declare(8.0);
    assert!((lab.ratio() - TRUE_RATIO).abs() < 1e-9, "{}", lab.ratio());
    assert!(lab.said()[1].ends_with("what was seen counts"), "{:?}", lab.said());
    assert_eq!(lab.world.totals.false_profiles, 2, "every event is counted");
}

/// A later version may judge otherwise: what counted when it was told goes on to count.
#[test]
fn what_counted_when_a_profile_was_told_is_written_down() {
    let mut lab = Lab::new("replace", Some(8.0));
    lab.rounds(3, None);
    lab.declare(8.0);
    let is_told = |record: &Record| matches!(record.change, Change::WorkloadPut { .. });
    let place = lab.journal.iter().rposition(is_told).expect("it was told");
    let mut record = lab.journal[place].clone();
    let Change::WorkloadPut { told: Some(told), .. } = &mut record.change else {
        panic!("the judgement stands in the record: {record:?}")
    };
    assert!(told.seen.is_some() && told.verdict.is_some(), "{told:?}");
    **told = Told::default();
    let mut world = empty();
    for before in &lab.journal[..place] {
        world.apply(before).expect("taken");
    }
    let mut older = world.clone();
    world.apply(&record).expect("taken");
    let entry = world.workloads.values().next().expect("a workload");
    assert_eq!(entry.profile.throughput["fast"], 80.0, "as the record says");
    // Records of before have no judgement: it is made by whoever reads them.
    if let Change::WorkloadPut { told, .. } = &mut record.change {
        *told = None;
    }
    older.apply(&record).expect("taken");
    for after in &lab.journal[place + 1..] {
        older.apply(after).expect("taken");
    }
    assert!(older.to_snapshot().expect("text") == lab.world.to_snapshot().expect("text"));
}

/// What runs in a profile run is the tenant's: however well the runner timed it, it takes nothing back.
#[test]
fn a_measured_profile_run_does_not_clear_a_verdict() {
    let mut lab = Lab::new("replace", Some(8.0));
    lab.rounds(3, None);
    let of_lab = lab.world.workloads.keys().next().copied().expect("a workload");
    assert!(lab.world.guard.found(of_lab).is_some());
    // A run makes room on `fast`, and another is measured there.
    let on_fast = |world: &World| {
        let mut jobs = world.jobs.iter();
        let found =
            jobs.find(|(_, job)| job.run().is_some_and(|run| run.gpus[0].gpu_type == "fast"));
        let (id, job) = found.expect("a job");
        (*id, job.run().expect("a run").generation)
    };
    let (job, generation) = on_fast(&lab.world);
    lab.then(Change::ended(job, generation, RunEnding::Finished, "done"));
    let id = lab.world.next_job;
    let spec = JobSubmit { types: vec!["fast".into()], probe: Some(Probe::default()), ..train() };
    lab.then(Change::Submitted { jobs: vec![NewJob { id, spec }], key: None, sweep: None });
    lab.then(Change::Round { kept: false });
    let job = JobId(id);
    let generation = lab.world.jobs[&job].run().expect("it runs").generation;
    lab.then(Change::Started { job, generation, at_ms: None, host: None });
    let measured = Measured {
        batch_seconds: 1.0 / 80.0,
        spread: 0.02,
        batches: 20,
        lots: 1,
        wait: None,
        timed: true,
    };
    let telemetry = Telemetry { steps: 25.0, measured: Some(measured), ..Telemetry::default() };
    lab.then(Change::Progress { job, generation, telemetry });
    lab.then(Change::ended(job, generation, RunEnding::Finished, "done"));
    assert!((lab.ratio() - TRUE_RATIO).abs() < 1e-9, "{}", lab.ratio());
    assert!(lab.world.guard.found(of_lab).is_some(), "what all its jobs showed stands");
    let said = lab.world.events.iter().any(|event| event.message.contains("goes on to count"));
    assert!(said, "the tenant is told");
    lab.rounds(2, None);
    assert!((lab.ratio() - TRUE_RATIO).abs() < 1e-9, "{}", lab.ratio());
}

#[test]
fn what_was_only_reported_counts_when_that_is_set_and_is_not_counted_again() {
    let mut lab = Lab::new("report", Some(8.0));
    lab.rounds(3, None);
    assert_eq!((lab.ratio(), lab.said().len()), (8.0, 1), "{:?}", lab.said());
    let guard = Some("replace".to_string());
    lab.then(Change::Settings(SettingsPatch { guard, ..SettingsPatch::default() }));
    lab.rounds(1, None);
    assert!((lab.ratio() - TRUE_RATIO).abs() < 1e-9, "{}", lab.ratio());
    let said = lab.said();
    assert!(said.len() == 2 && said[1].ends_with("what was seen counts now"), "{said:?}");
    assert_eq!(lab.world.totals.false_profiles, 1);
}

#[test]
fn a_profile_that_is_a_little_off_is_corrected_and_nobody_is_accused() {
    let mut lab = Lab::new("replace", Some(2.8));
    for _ in 0..15 {
        lab.rounds(2, None);
        // Runs are what narrows the tolerance: all jobs are lost and start again.
        for job in lab.world.jobs.keys().copied().collect::<Vec<_>>() {
            let generation = lab.world.jobs[&job].run().expect("a run").generation;
            lab.then(Change::ended(job, generation, RunEnding::Lost, "gone"));
            let Some(run) = lab.world.jobs[&job].run() else { continue };
            let generation = run.generation;
            lab.then(Change::Started { job, generation, at_ms: None, host: None });
        }
        lab.then(Change::Round { kept: false });
        for job in lab.world.jobs.keys().copied().collect::<Vec<_>>() {
            let run = lab.world.jobs[&job].run().expect("a run");
            let (generation, is_started) = (run.generation, run.started.is_some());
            if !is_started {
                lab.then(Change::Started { job, generation, at_ms: None, host: None });
            }
        }
    }
    assert!((lab.ratio() - TRUE_RATIO).abs() < 1e-9, "{}", lab.ratio());
    assert!(lab.said()[0].contains("a measurement may well be off by as much"), "{:?}", lab.said());
    assert_eq!(lab.world.totals.false_profiles, 0);
}

#[test]
fn a_report_changes_nothing_and_off_says_nothing() {
    for (policy, count) in [("report", 1), ("off", 0)] {
        let mut lab = Lab::new(policy, Some(8.0));
        lab.rounds(3, None);
        assert_eq!((lab.ratio(), lab.said().len()), (8.0, count), "{policy}: {:?}", lab.said());
    }
}

#[test]
fn an_honest_tenant_hears_nothing() {
    let mut lab = Lab::new("replace", Some(TRUE_RATIO));
    lab.rounds(6, None);
    assert_eq!((lab.said(), lab.ratio()), (Vec::new(), TRUE_RATIO));
}

#[test]
fn an_estimate_gives_way_even_where_it_is_only_reported() {
    let mut lab = Lab::new("report", None);
    assert_eq!(lab.ratio(), 1.0, "nothing was known");
    lab.rounds(3, None);
    assert!((lab.ratio() - TRUE_RATIO).abs() < 1e-9, "{}", lab.ratio());
    assert!(lab.said()[0].contains("was an estimate"), "{:?}", lab.said());
    assert_eq!(lab.world.totals.false_profiles, 0, "nobody is accused");
}

#[test]
fn jobs_that_wait_for_their_data_are_named() {
    let mut lab = Lab::new("replace", Some(TRUE_RATIO));
    lab.rounds(2, Some(0.8));
    let message = "jobs of ada/w wait for their data most of the time, not for the GPU";
    let count = lab.world.events.iter().filter(|event| event.message == message).count();
    assert_eq!(count, 1);
}

#[test]
fn jobs_that_wait_for_their_data_are_named_in_the_sentence_about_their_profile() {
    let mut lab = Lab::new("replace", Some(8.0));
    lab.rounds(3, Some(0.8));
    let said = lab.said();
    let words =
        "8.0 times slow; its jobs, which wait for their data most of the time, showed 2.0 (";
    assert!(said.iter().any(|m| m.contains(words)), "{said:?}");
}

#[test]
fn the_same_records_and_a_snapshot_in_between_give_the_same_world() {
    let mut lab = Lab::new("replace", Some(8.0));
    lab.rounds(3, None);
    let text = lab.world.to_snapshot().expect("written");
    for middle in [0, 30, 90, lab.journal.len()] {
        let mut world = empty();
        for record in &lab.journal[..middle] {
            world.apply(record).expect("taken");
        }
        let mut world = World::from_snapshot(&world.to_snapshot().expect("written")).expect("read");
        for record in &lab.journal[middle..] {
            world.apply(record).expect("taken");
        }
        assert!(world.to_snapshot().expect("written") == text, "after {middle} records");
    }
}

#[test]
fn a_tenant_that_is_gone_leaves_nothing_behind() {
    let mut lab = Lab::new("replace", Some(8.0));
    lab.rounds(3, None);
    lab.then(Change::TenantRemoved { name: "ada".into() });
    for job in lab.world.jobs.keys().copied().collect::<Vec<_>>() {
        let Some(run) = lab.world.jobs[&job].run() else { continue };
        let (generation, ending) = (run.generation, RunEnding::Checkpointed);
        lab.then(Change::ended(job, generation, ending, "it saved its work"));
    }
    assert_eq!(lab.world.guard, oef_sched::guard::Guard::default());
}
