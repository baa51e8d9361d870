//! The paper's experiments in their smallest form.

use oef_core::Mechanism;
use oef_lab::experiment::{
    Claim, Exhibit, Experiment, Id, Lab, Setup, Size, SolveTime, Verdict, solver_time,
};
use oef_sched::{RoundingRule, Settings};
use oef_sim::engine::{Inputs, Scenario, simulate};
use oef_sim::generate::{ClusterLike, cluster};
use oef_sim::input::{Placement, ProfileRow, ProfileTable, Trace, TraceJob, Work};

fn run(ids: &[Id], seed: u64) -> Vec<Experiment> {
    let setup = Setup { seed, size: Size::Tiny, ..Setup::default() };
    let mut watch = |_: &str| {};
    let mut lab = Lab::new(&setup, &mut watch);
    ids.iter().map(|&id| lab.run(id).unwrap()).collect()
}

fn run_one(id: Id) -> Experiment {
    run(&[id], 1).remove(0)
}

fn claim<'a>(experiment: &'a Experiment, text: &str) -> &'a Claim {
    let found = experiment.claims.iter().find(|c| c.text.contains(text));
    found.unwrap_or_else(|| panic!("no claim has `{text}`"))
}

#[test]
fn four_tenants_get_the_same() {
    let a = run_one(Id::A);
    assert!(claim(&a, "first 40 minutes").ours.median < 0.25, "{:?}", a.claims);
    assert!(claim(&a, "Over eight hours, with our rounding").ours.high < 0.15, "{:?}", a.claims);
}

#[test]
fn whoever_exaggerates_loses() {
    let b = run_one(Id::B);
    assert!(claim(&b, "that cheats").ours.high < 0.0, "{:?}", b.claims);
    assert!(claim(&b, "honest").ours.low > 0.0, "{:?}", b.claims);
}

#[test]
fn nobody_loses_against_max_min_and_nobody_envies() {
    let (c, e) = (run_one(Id::C), run_one(Id::E));
    assert_eq!(claim(&c, "Least of any tenant").verdict, Verdict::Holds);
    assert_eq!(claim(&e, "another's share, over its own").verdict, Verdict::Holds);
    let Some(Exhibit::Heat { values, .. }) = e.exhibits.first() else { panic!("no matrix") };
    assert!(values.len() == 4 && values.iter().flatten().all(|x| *x <= 1.0 + 1e-6));
}

#[test]
fn a_second_workload_gets_half() {
    let d = run_one(Id::D);
    for text in ["The first workload over", "The second workload over"] {
        let ours = claim(&d, text).ours.median;
        assert!((0.3..0.7).contains(&ours), "{text}: {ours}");
    }
}

#[test]
fn under_reporting_pays_under_noncooperative_and_never_under_max_min() {
    let l = run_one(Id::L);
    assert!(claim(&l, "noncooperative").ours.high > 0.05, "{:?}", l.claims);
    assert!(claim(&l, "max-min").ours.high < 1e-6, "{:?}", l.claims);
    assert_eq!(l.verdict, Verdict::Beyond);
}

#[test]
fn the_large_loads_run_and_are_the_same_again() {
    let ids = [Id::F, Id::G, Id::H, Id::I, Id::K, Id::M];
    let first = run(&ids, 7);
    assert_eq!(format!("{first:?}"), format!("{:?}", run(&ids, 7)));
    assert_ne!(format!("{first:?}"), format!("{:?}", run(&ids, 8)));
    for experiment in &first {
        let counted = experiment.claims.iter().filter(|c| c.counts);
        // Few workers wait for others in runs this small, so (i) may have nothing to compare.
        let known = experiment.id == Id::I || counted.clone().all(|c| c.ours.median.is_finite());
        assert!(known && counted.count() > 0, "{experiment:?}");
        assert!(!experiment.exhibits.is_empty() && !experiment.why.is_empty());
    }
}

#[test]
fn experiments_as_json() {
    let e = serde_json::to_value(run_one(Id::E)).unwrap();
    assert_eq!((e["id"].as_str(), e["verdict"].as_str()), (Some("e"), Some("holds")));
    let claim = &e["claims"][1];
    assert_eq!((claim["paper"].as_f64(), claim["quantity"].as_str()), (Some(1.58), Some("ratio")));
    assert!(claim["ours"]["median"].is_f64() && claim["rule"]["effect"]["none"].is_f64());
    assert_eq!(e["exhibits"][0]["kind"], "heat");
}

#[test]
fn solver_times_come_from_outside() {
    let time = |mechanism, seconds| SolveTime { mechanism, tenants: 300, seconds };
    let j =
        solver_time(&[time(Mechanism::Cooperative, 0.4), time(Mechanism::Noncooperative, 0.01)]);
    assert_eq!(j.verdict, Verdict::Holds);
    let j = solver_time(&[time(Mechanism::Cooperative, 100.0)]);
    assert_eq!(j.verdict, Verdict::DoesNotHold);
    assert_eq!(solver_time(&[]).verdict, Verdict::Beyond);
    let setup = Setup::default();
    assert!(Lab::new(&setup, &mut |_| {}).run(Id::J).is_err());
}

/// Under the paper's rounding nobody may run while everybody saves up for a gang: the run goes on.
#[test]
fn tenants_save_up_under_the_papers_rounding() {
    let types = cluster(ClusterLike::Paper).types();
    let row = ProfileRow {
        model: "m".into(),
        batch_size: None,
        scale_factor: 1,
        placement: Placement::Unknown,
        throughput: vec![Some(1.0), Some(1.5), Some(2.0)],
    };
    let profiles = ProfileTable { types, rows: vec![row] };
    let job = |t: usize| TraceJob {
        tenant: format!("t{t}"),
        id: format!("j{t}"),
        submit_s: 0.0,
        gpus: 8,
        work: Work::DurationOnFastest(3_000.0),
        model: Some("m".into()),
        batch_size: None,
        priority: 0,
        weight: None,
        line: 0,
    };
    let trace = Trace { jobs: (0..9).map(job).collect() };
    let inputs =
        Inputs { cluster: &cluster(ClusterLike::Paper), profiles: &profiles, trace: &trace };
    let settings = Settings { rounding: RoundingRule::Paper, ..Settings::default() };
    let result = simulate(&inputs, &Scenario::new(settings, 1), &mut |_| true).unwrap();
    assert_eq!((result.finished, result.unfinished), (9, 0));
}
