//! Profile runs, from their submission to the profile of their workload.

use super::check::check;
use super::life::{created, empty, train};
use crate::world::{
    Action, Change, NewJob, ProfileEntry, Record, RunEnd, RunEnding, Telemetry, WorkloadEntry,
    World,
};
use oef_api::parsed::Workers;
use oef_api::types::Provenance::{self, Declared, Estimated};
use oef_api::types::{JobState, JobSubmit, Measured, Probe};
use oef_sched::{JobId, NodeSpec, Stands, Time};

/// A cluster with two GPUs of each of three types, and two tenants.
struct Story {
    world: World,
    at: u64,
    actions: Vec<Action>,
}

impl Story {
    fn new() -> Story {
        let mut story = Story { world: empty(), at: 1_000, actions: Vec::new() };
        for gpu_type in ["fast", "mid", "slow"] {
            let name = format!("{gpu_type}-0");
            story.then(Change::NodeUp(NodeSpec { name, gpu_type: gpu_type.into(), gpus: 2 }));
        }
        for name in ["ada", "bob"] {
            story.then(created(name, 1.0));
        }
        story.then(Change::Round { kept: false });
        story
    }

    fn then(&mut self, change: Change) {
        self.at += 1_000;
        (_, self.actions) = self.world.happen(Time(self.at), change).expect("taken");
        check(&self.world);
    }

    /// A workload with a profile that its tenant told.
    fn declared(&mut self, tenant: &str, name: &str, figures: &[(&str, f64)]) {
        let throughput = figures.iter().map(|(gpu, on)| ((*gpu).into(), *on)).collect();
        let profile = ProfileEntry::plain(throughput, Declared, self.at, "told".into());
        let (tenant, name) = (tenant.into(), name.parse().expect("a name"));
        self.then(Change::WorkloadPut {
            tenant,
            name,
            weight: None,
            profile: Some(Box::new(profile)),
            told: None,
        });
    }

    /// Submits profile runs of `ada/w`, and gives the number of the first.
    fn submit(&mut self, runs: &[(&str, u32)]) -> u64 {
        self.submit_with_retries(runs, 0)
    }

    fn submit_with_retries(&mut self, runs: &[(&str, u32)], retries: u32) -> u64 {
        let first = self.world.next_job;
        let jobs = (first..).zip(runs).map(|(id, (gpu, workers))| NewJob {
            id,
            spec: JobSubmit {
                types: vec![(*gpu).into()],
                workers: Workers::up_to(*workers),
                retries,
                probe: Some(Probe::default()),
                ..train()
            },
        });
        let change = Change::Submitted { jobs: jobs.collect(), key: None, sweep: None };
        self.then(change);
        first
    }

    fn end(&mut self, id: u64, ending: RunEnding, batch_seconds: Option<f64>) {
        let job = JobId(id);
        let generation = self.world.jobs[&job].run().expect("a run").generation;
        self.then(Change::Started { job, generation, at_ms: None, host: None });
        if let Some(batch_seconds) = batch_seconds {
            let measured = Measured {
                batch_seconds,
                spread: 0.02,
                batches: 20,
                lots: 1,
                wait: None,
                timed: true,
            };
            let telemetry =
                Telemetry { steps: 25.0, measured: Some(measured), ..Telemetry::default() };
            self.then(Change::Progress { job, generation, telemetry });
        }
        let detail = "worker 0 ended with exit code 3".into();
        let last_lines = (ending == RunEnding::Failed).then(|| "a\nno kernel\n".to_string());
        self.then(Change::Ended(RunEnd {
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

    /// Measures `ada/w` on a type.
    fn measure(&mut self, gpu: &str, workers: u32, batch_seconds: f64) {
        let id = self.submit(&[(gpu, workers)]);
        self.end(id, RunEnding::Finished, Some(batch_seconds));
        assert_eq!(self.world.jobs[&JobId(id)].state, JobState::Finished);
    }

    fn entry(&self) -> &WorkloadEntry {
        let key = self.world.tenants["ada"].workloads["w"];
        &self.world.workloads[&key]
    }

    fn figures(&self) -> Vec<(String, f64, Provenance)> {
        let profile = &self.entry().profile;
        let figure = |(gpu, on): (&String, &f64)| {
            (gpu.clone(), (on * 1000.0).round() / 1000.0, profile.provenance_on(gpu))
        };
        profile.throughput.iter().map(figure).collect()
    }

    fn said(&self, words: &str) -> bool {
        self.world.events.iter().any(|event| event.message.contains(words))
    }
}

fn figure(gpu: &str, on: f64, provenance: Provenance) -> (String, f64, Provenance) {
    (gpu.into(), on, provenance)
}

#[test]
fn what_was_measured_counts_and_the_rest_is_estimated_from_the_nearest() {
    let mut story = Story::new();
    story.declared("ada", "near", &[("slow", 1.0), ("mid", 2.0), ("fast", 3.0)]);
    story.declared("ada", "far", &[("slow", 1.0), ("mid", 9.0), ("fast", 50.0)]);
    story.measure("slow", 1, 0.1);
    let mean = |a: f64, b: f64| (10.0 * (a * b).sqrt() * 1000.0).round() / 1000.0;
    let measured = Provenance::Measured;
    let expected = [
        figure("fast", mean(3.0, 50.0), Estimated),
        figure("mid", mean(2.0, 9.0), Estimated),
        figure("slow", 10.0, measured),
    ];
    assert_eq!(story.figures(), expected);
    // Two types tell which of the others is a relative.
    story.measure("mid", 1, 0.05);
    let figures = story.figures();
    assert!((figures[0].1 - 30.0).abs() < 1.0 && figures[0].2 == Estimated, "{figures:?}");
    assert_eq!(figures[1], figure("mid", 20.0, measured));
    story.measure("fast", 1, 0.025);
    assert_eq!(story.figures()[0], figure("fast", 40.0, measured));
    let mark = &story.entry().profile.marks["fast"];
    assert_eq!((mark.spread, mark.batches), (Some(0.02), Some(20)));
    assert_eq!(mark.cost_s, Some(2.0), "two seconds of one GPU");
    assert_eq!(story.entry().history.len(), 1, "one profile, measured type by type");
    assert!(story.said("workload ada/w was measured on fast: 40 steps/s"));
}

/// Before, whoever declared much decided what the new workloads of others were worth on each type, and could read the
/// profiles of others in the estimates of their own.
#[test]
fn no_tenant_is_estimated_by_the_profiles_of_others() {
    let mut story = Story::new();
    for n in 0..10 {
        story.declared("bob", &format!("w{n}"), &[("slow", 1.0), ("mid", 1e-6), ("fast", 1e-6)]);
    }
    let id = story.submit(&[("slow", 1)]);
    let nothing_known = ["fast", "mid", "slow"].map(|gpu| figure(gpu, 1.0, Estimated));
    assert_eq!(story.figures(), nothing_known);
    story.end(id, RunEnding::Finished, Some(0.1));
    assert_eq!(story.figures()[0], figure("fast", 10.0, Estimated), "as it was, in the new unit");
}

#[test]
fn without_relatives_the_declared_ratios_stay_in_the_new_unit() {
    let mut story = Story::new();
    story.declared("ada", "w", &[("slow", 1.0), ("mid", 2.0), ("fast", 0.0)]);
    story.measure("slow", 1, 0.1);
    let measured = Provenance::Measured;
    let expected = [
        figure("fast", 0.0, Declared),
        figure("mid", 20.0, Estimated),
        figure("slow", 10.0, measured),
    ];
    // What its tenant ruled out stays so until it is measured.
    let figures = story.figures();
    assert_eq!(figures[1..], expected[1..]);
    assert_eq!(figures[0].1, 0.0);
    story.measure("fast", 1, 0.02);
    assert_eq!(story.figures()[0], figure("fast", 50.0, measured));
}

#[test]
fn a_crash_on_one_type_marks_that_type_and_the_others_go_on() {
    let mut story = Story::new();
    let first = story.submit(&[("slow", 1), ("mid", 1), ("fast", 1)]);
    story.end(first, RunEnding::Failed, None);
    story.end(first + 1, RunEnding::Finished, Some(0.1));
    story.end(first + 2, RunEnding::Finished, Some(0.05));
    let profile = &story.entry().profile;
    assert_eq!((profile.throughput["slow"], profile.throughput["mid"]), (0.0, 10.0));
    let detail = profile.marks["slow"].detail.clone().unwrap_or_default();
    assert!(detail.contains("exit code 3") && detail.ends_with("a\nno kernel"), "{detail}");
    assert!(story.said("workload ada/w cannot run on slow: worker 0 ended with exit code 3"));
    // A later run that goes well makes it usable again.
    story.measure("slow", 1, 0.5);
    assert_eq!(story.entry().profile.throughput["slow"], 2.0);
}

#[test]
fn where_every_run_fails_the_profile_stays() {
    let mut story = Story::new();
    story.declared("ada", "w", &[("slow", 1.0), ("mid", 2.0), ("fast", 4.0)]);
    let before = story.entry().profile.throughput.clone();
    let first = story.submit(&[("slow", 1), ("mid", 1), ("fast", 1)]);
    for id in first..first + 3 {
        story.end(id, RunEnding::Failed, None);
        assert_eq!(story.world.jobs[&JobId(id)].state, JobState::Failed, "tried once");
    }
    assert_eq!(story.entry().profile.throughput, before);
    assert_eq!(story.entry().profile.provenance, Declared);
    assert!(story.said("every profile run of workload ada/w failed: its profile stays as it was"));
}

#[test]
fn what_says_nothing_about_the_type_changes_no_figure() {
    let mut story = Story::new();
    story.declared("ada", "w", &[("slow", 1.0), ("mid", 2.0), ("fast", 4.0)]);
    let before = story.entry().profile.clone();
    for ending in [RunEnding::Unmeasured, RunEnding::Impossible, RunEnding::Finished] {
        let id = story.submit(&[("slow", 1)]);
        story.end(id, ending, None);
        assert_eq!(story.world.jobs[&JobId(id)].state, JobState::Failed, "{ending:?}");
        assert_eq!(story.entry().profile, before, "{ending:?}");
    }
    // A lost node and a stop by others: it waits again, and starts as soon as it may.
    let id = story.submit(&[("slow", 1)]);
    story.end(id, RunEnding::Lost, Some(0.1));
    let job = &story.world.jobs[&JobId(id)];
    assert!(!job.state.is_final() && job.telemetry.measured.is_none(), "{:?}", job.state);
    assert_eq!(story.entry().profile, before);
}

#[test]
fn a_cancelled_profile_run_ends_cancelled_unless_it_was_measured() {
    let endings = [
        RunEnding::Finished,
        RunEnding::Checkpointed,
        RunEnding::Stopped,
        RunEnding::Failed,
        RunEnding::Lost,
        RunEnding::TimedOut,
        RunEnding::Impossible,
        RunEnding::Unmeasured,
    ];
    for (ending, batch_seconds) in endings
        .map(|e| (e, None))
        .into_iter()
        .chain([(RunEnding::Finished, Some(0.1)), (RunEnding::Checkpointed, Some(0.1))])
    {
        let mut story = Story::new();
        let id = story.submit_with_retries(&[("slow", 1)], 3);
        story.then(Change::Cancelled { job: JobId(id), by: "ada".into(), why: None });
        story.end(id, ending, batch_seconds);
        let is_measured = ending == RunEnding::Finished && batch_seconds.is_some();
        let expected = if is_measured { JobState::Finished } else { JobState::Cancelled };
        let job = &story.world.jobs[&JobId(id)];
        assert_eq!(job.state, expected, "{ending:?}: {}", job.reason);
        assert!(story.world.index.next_wakeup().is_none(), "{ending:?}");
        assert!(story.world.sched.job(JobId(id)).is_none(), "{ending:?}");
    }
}

#[test]
fn gangs_tell_how_it_scales_whichever_is_measured_first() {
    let mut story = Story::new();
    story.measure("fast", 2, 0.125);
    let kept = |story: &Story| {
        let gangs = story.entry().profile.gangs();
        gangs.iter().map(|g| (g.gpu_type.clone(), g.workers, g.stands, g.kept)).collect::<Vec<_>>()
    };
    let fast = |kept| vec![("fast".to_string(), 2, Stands::Together, kept)];
    assert_eq!(kept(&story), fast(None), "nothing to compare with yet");
    assert_eq!(story.entry().profile.provenance, Estimated);
    story.measure("fast", 1, 0.1);
    assert_eq!(kept(&story), fast(Some(0.8)));
    // It counts for the scheduler, in the unit of the profile,.
    let key = story.world.tenants["ada"].workloads["w"];
    let per_gpu = |story: &Story| {
        let fast = story.world.sched.cluster().type_named("fast").expect("a type").0;
        story.world.sched.workloads()[key.0].profile.of_gang(fast, 2, 1)
    };
    assert_eq!(per_gpu(&story), 8.0);
    let id = story.submit(&[("fast", 2)]);
    story.end(id, RunEnding::Failed, None);
    assert_eq!(story.entry().profile.throughput["fast"], 10.0, "a gang that crashed says no more");
}

#[test]
fn a_type_without_a_free_gpu_waits_and_is_estimated_until_then() {
    let mut story = Story::new();
    // Bob's jobs, which must not be stopped, hold every GPU of the slow type.
    let long = |id| NewJob {
        id,
        spec: JobSubmit {
            tenant: "bob".parse().ok(),
            types: vec!["slow".into()],
            min_run_s: Some(1e6),
            ..train()
        },
    };
    let next = story.world.next_job;
    let jobs = vec![long(next), long(next + 1)];
    story.then(Change::Submitted { jobs, key: None, sweep: None });
    let first = story.submit(&[("slow", 1), ("fast", 1)]);
    story.end(first + 1, RunEnding::Finished, Some(0.1));
    assert_eq!(story.world.jobs[&JobId(first)].state, JobState::Queued);
    let figures = story.figures();
    assert_eq!(figures[2], figure("slow", 10.0, Estimated), "nothing is known: as on the other");
    // The demand and the profile of its workload are those of its other jobs: there are none.
    let key = story.world.tenants["ada"].workloads["w"];
    assert_eq!(story.world.sched.workloads()[key.0].wanted(), 0);
    // One of bob's ends, and the GPU is the next one's that waits for it.
    story.end(next, RunEnding::Finished, None);
    story.then(Change::Round { kept: false });
    story.end(first, RunEnding::Finished, Some(0.4));
    assert_eq!(story.figures()[2], figure("slow", 2.5, Provenance::Measured));
}

#[test]
fn a_new_gpu_type_is_estimated_in_the_unit_of_the_measured_ones() {
    let mut story = Story::new();
    story.declared("ada", "v", &[("slow", 1.0), ("mid", 2.0), ("fast", 3.0), ("new", 6.0)]);
    story.measure("slow", 1, 0.1);
    let spec = NodeSpec { name: "new-0".into(), gpu_type: "new".into(), gpus: 2 };
    story.then(Change::NodeUp(spec));
    assert_eq!(story.figures()[2], figure("new", 60.0, Estimated));
}

#[test]
fn a_profile_run_names_one_type() {
    let mut story = Story::new();
    for types in [vec![], vec!["slow".to_string(), "fast".into()], vec!["none".into()]] {
        let spec = JobSubmit { types, probe: Some(Probe::default()), ..train() };
        let jobs = vec![NewJob { id: story.world.next_job, spec }];
        let change = Change::Submitted { jobs, key: None, sweep: None };
        let refused = story.world.apply(&Record { at: Time(story.at), change });
        assert!(refused.is_err_and(|why| why.to_string().contains("one gpu type")));
    }
}
