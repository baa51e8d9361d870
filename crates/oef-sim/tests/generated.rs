//! What is generated has the published figures, comes back through the readers, and never changes.

use oef_sim::generate::{
    ClusterLike, GenerateError, Load, ProfileSpec, TraceLike, TraceSpec, cluster, demo,
    measured_profiles, profiles, trace, write_cluster, write_profiles, write_trace,
};
use oef_sim::input::{
    Placement, Source, Trace, TraceOptions, Work, check_models, read_cluster, read_profiles,
    read_trace,
};

fn philly(jobs: u32, seed: u64) -> TraceSpec {
    TraceSpec { jobs, days: 30.0, ..TraceSpec::new(TraceLike::Philly, seed) }
}

fn seconds(trace: &Trace) -> Vec<f64> {
    let duration = |work: &Work| match work {
        Work::DurationOnFastest(s) => *s,
        other => panic!("{other:?}"),
    };
    trace.jobs.iter().map(|j| duration(&j.work)).collect()
}

#[test]
fn philly_has_the_published_figures() {
    let trace = trace(&philly(200_000, 1), &measured_profiles()).unwrap();
    let mut sorted = seconds(&trace);
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let close = |found: f64, wanted: f64, part: f64| {
        assert!((found / wanted - 1.0).abs() < part, "{found} instead of {wanted}");
    };
    close(sorted[n / 2], 19.0 * 60.0, 0.02);
    close(sorted[n * 9 / 10], 3.1 * 3600.0, 0.03);
    close(sorted.iter().sum::<f64>() / n as f64, 3.6 * 3600.0, 0.08);
    let share = |gpus: u32| trace.jobs.iter().filter(|j| j.gpus == gpus).count() as f64 / n as f64;
    close(share(1), 0.93, 0.01);
    for gpus in [2, 4, 8] {
        close(share(gpus), 0.02, 0.1);
    }
    let time = |least: u32| -> f64 {
        let pairs = trace.jobs.iter().zip(seconds(&trace));
        pairs.filter(|(j, _)| j.gpus >= least).map(|(j, s)| s * f64::from(j.gpus)).sum()
    };
    let large = time(8) / time(1);
    assert!((0.4..0.7).contains(&large), "8 and more GPUs use {large} of the GPU time");
}

#[test]
fn gavel_has_its_scale_factors_and_durations() {
    let spec = TraceSpec { jobs: 20_000, ..TraceSpec::new(TraceLike::Gavel, 1) };
    let trace = trace(&spec, &measured_profiles()).unwrap();
    assert_eq!(trace.tenants().len(), 20_000);
    for (gpus, part) in [(1, 0.7), (2, 0.1), (4, 0.15), (8, 0.05)] {
        let found = trace.jobs.iter().filter(|j| j.gpus == gpus).count() as f64 / 20_000.0;
        assert!((found - part).abs() < 0.01, "{gpus}: {found}");
    }
    let seconds = seconds(&trace);
    let in_range = |s: &&f64| (60.0 * 31.6..60.0 * 10_001.0).contains(*s);
    assert_eq!(seconds.iter().filter(in_range).count(), 20_000);
    let long = seconds.iter().filter(|s| **s > 60_000.0).count() as f64 / 20_000.0;
    assert!((long - 0.2).abs() < 0.01, "{long}");
    let last = trace.jobs.last().unwrap().submit_s / 86_400.0;
    assert!((2.9..3.1).contains(&last), "{last} days");
    let spec = TraceSpec { at_once: true, tenants: Some(7), jobs: 20, ..spec };
    let trace = oef_sim::generate::trace(&spec, &measured_profiles()).unwrap();
    assert!(trace.jobs.iter().all(|j| j.submit_s == 0.0));
    assert_eq!(trace.tenants().len(), 7);
}

#[test]
fn a_load_is_met() {
    for like in [TraceLike::Philly, TraceLike::Gavel, TraceLike::Itp] {
        let load = Some(Load { gpus: 24, load: 0.8 });
        let spec = TraceSpec { load, ..TraceSpec::new(like, 3) };
        let trace = trace(&spec, &measured_profiles()).unwrap();
        let pairs = trace.jobs.iter().zip(seconds(&trace));
        let offered: f64 = pairs.map(|(j, s)| s * f64::from(j.gpus)).sum();
        let found = offered / (24.0 * 3.0 * 86_400.0);
        assert!((found - 0.8).abs() < 1e-3, "{like:?}: {found}");
    }
}

#[test]
fn everything_comes_back_through_the_readers() {
    let demo = demo();
    for like in [ClusterLike::Paper, ClusterLike::Lab, ClusterLike::OpenbSize] {
        let text = write_cluster(&cluster(like));
        assert_eq!(
            read_cluster(Source::new("c", &text), None, false).unwrap().value,
            cluster(like)
        );
    }
    for table in [demo.profiles.clone(), measured_profiles(), profiles(&spec(5, 9)).unwrap()] {
        let text = write_profiles(&table);
        assert_eq!(read_profiles(Source::new("p", &text), None, false).unwrap().value, table);
    }
    for like in [TraceLike::Philly, TraceLike::Gavel, TraceLike::Itp] {
        let mut made = trace(&TraceSpec::new(like, 2), &demo.profiles).unwrap();
        assert_eq!(check_models(&made, &demo.profiles, "t"), Ok(()));
        let text = write_trace(&made);
        let read = read_trace(Source::new("t", &text), None, &TraceOptions::default()).unwrap();
        // The header is line 1.
        made.jobs.iter_mut().for_each(|j| j.line += 1);
        assert_eq!(read.value, made);
    }
}

fn spec(types: usize, models: u32) -> ProfileSpec {
    ProfileSpec {
        types: (1..=types).map(|i| format!("g{i}")).collect(),
        models,
        scale_factors: vec![2, 4, 8],
        empty: 0.1,
        seed: 4,
    }
}

#[test]
fn profiles_look_measured() {
    let table = profiles(&spec(6, 500)).unwrap();
    assert_eq!(table.rows.len(), 500 * 7);
    let alone: Vec<_> = table.rows.iter().filter(|r| r.scale_factor == 1).collect();
    let empty = alone.iter().flat_map(|r| &r.throughput).filter(|x| x.is_none()).count() as f64;
    let part = empty / (500.0 * 6.0);
    assert!((0.05..0.15).contains(&part), "empty: {part}");
    assert!(alone.iter().all(|r| r.throughput[5].is_some()));
    let pairs = alone.iter().flat_map(|r| r.throughput.windows(2));
    let both: Vec<(f64, f64)> = pairs.filter_map(|w| Some((w[0]?, w[1]?))).collect();
    let ordered = both.iter().filter(|(a, b)| b > a).count() as f64 / both.len() as f64;
    assert!((0.8..0.99).contains(&ordered), "in order: {ordered}");
    let model = &alone[0].model;
    let rate = |size, placement| table.find(model, None, size, placement).unwrap().throughput[5];
    let (near, far) = (rate(4, Placement::Consolidated), rate(4, Placement::Spread));
    let one = rate(1, Placement::Unknown).unwrap();
    assert!(near < Some(4.0 * one) && far < near && near > Some(one));
}

/// Of the four files below.
const FILES: [u64; 4] =
    [13884904265581047896, 10073776840214236863, 10986502213592234188, 17460213480881614497];

/// A promise: the file of a seed does not change from version to version.
#[test]
fn the_files_of_a_seed_never_change() {
    let hash = |text: &str| {
        let step = |h: u64, b: u8| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3);
        text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, step)
    };
    let table = measured_profiles();
    let made = [
        write_trace(&trace(&philly(300, 1), &table).unwrap()),
        write_trace(&trace(&TraceSpec::new(TraceLike::Gavel, 1), &table).unwrap()),
        write_profiles(&profiles(&spec(4, 20)).unwrap()),
        write_trace(&demo().trace),
    ];
    assert_eq!(made.map(|text| hash(&text)), FILES);
}

#[test]
fn what_cannot_be_made_is_refused() {
    let table = measured_profiles();
    let base = TraceSpec::new(TraceLike::Philly, 1);
    let out_of_range = |spec: TraceSpec| match trace(&spec, &table) {
        Err(GenerateError::OutOfRange { option, .. }) => option,
        other => panic!("{other:?}"),
    };
    assert_eq!(out_of_range(TraceSpec { jobs: 0, ..base.clone() }), "--jobs");
    assert_eq!(out_of_range(TraceSpec { tenants: Some(2_000), ..base.clone() }), "--tenants");
    assert_eq!(out_of_range(TraceSpec { days: f64::NAN, ..base.clone() }), "--days");
    let load = Some(Load { gpus: 0, load: 1.0 });
    assert_eq!(out_of_range(TraceSpec { load, ..base.clone() }), "--gpus");
    let none = TraceSpec { gpus: Some(vec![(1, 0.0)]), ..base.clone() };
    assert_eq!(trace(&none, &table), Err(GenerateError::NoSizes));
    assert_eq!(trace(&base, &Default::default()), Err(GenerateError::NoModels));
    let twice = ProfileSpec { types: vec!["a".into(), "A".into()], ..spec(1, 1) };
    assert_eq!(profiles(&twice), Err(GenerateError::TwiceNamed("A".into())));
}
