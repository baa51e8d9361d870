//! `oef generate`: what it writes, and what it refuses.

mod common;

use common::{Dir, oef};

#[test]
fn a_trace_has_a_row_per_job_and_the_same_seed_gives_the_same_bytes() {
    let args = ["generate", "trace", "--jobs", "50", "--tenants", "5", "--seed", "3"];
    let (one, two) = (oef(&args), oef(&args));
    assert_eq!((one.code, one.out.lines().count()), (0, 51), "{}", one.err);
    assert!(one.out.starts_with("tenant,job_id,submit_s,gpus,duration_s,model,batch_size\n"));
    assert_eq!(one.out, two.out);
    let other = oef(&["generate", "trace", "--jobs", "50", "--tenants", "5", "--seed", "4"]);
    assert_ne!(one.out, other.out);
}

#[test]
fn a_cluster_profiles_for_it_and_a_trace_for_those() {
    let dir = Dir::new();
    let path = |name: &str| dir.join(name).display().to_string();
    let (cluster, profiles, trace) = (path("c.toml"), path("p.csv"), path("t.csv"));
    let made = oef(&["generate", "cluster", "--like", "company", "-o", &cluster, "--json"]).json();
    assert_eq!((&made["gpus"], &made["types"]["t4"]), (&92.into(), &32.into()));
    let args = ["generate", "profiles", "--cluster", &cluster, "--scale-factors", "2,4"];
    let made = oef(&[&args[..], &["-o", &profiles, "--json"]].concat()).json();
    assert_eq!((&made["rows"], &made["types"][4]), (&60.into(), &"h100".into()));
    let args = ["generate", "trace", "--profiles", &profiles, "--load", "0.5", "--gpus", "92"];
    let made = oef(&[&args[..], &["-o", &trace, "--json"]].concat()).json();
    assert_eq!(made["jobs"], 1000);
    let hours = made["gpu_hours"].as_f64().expect("a number");
    assert!((hours - 0.5 * 92.0 * 72.0).abs() < 1.0, "{hours}");
    assert_eq!(std::fs::read_to_string(&trace).expect("it is there").lines().count(), 1001);
}

#[test]
fn the_defaults_go_together() {
    let dir = Dir::new();
    let file = |kind: &str| dir.file(kind, &oef(&["generate", kind]).out);
    let (cluster, profiles, trace) = (file("cluster"), file("profiles"), file("trace"));
    let files = ["--cluster", &cluster, "--profiles", &profiles, "--trace", &trace];
    let run = [&["simulate", "-m", "max-min", "--until", "6h", "--json"][..], &files].concat();
    let json = oef(&run).json();
    assert!(json["runs"][0]["jobs"]["finished"].as_u64() > Some(0), "{json}");
}

#[test]
fn the_measured_table_can_be_shared_at_once() {
    let dir = Dir::new();
    let table = oef(&["generate", "profiles", "--measured"]);
    let path = dir.file("h200.csv", &table.out);
    let json = oef(&["share", &path, "--counts", "sm12=4,sm132=2", "--json"]).json();
    assert_eq!(json["tenants"].as_array().map(Vec::len), Some(14));
}

#[test]
fn what_cannot_be_made_is_said() {
    let dir = Dir::new();
    let bad = dir.file("p.csv", "model,thr_a\nm,fast\n");
    for (args, code, said) in [
        (vec!["trace", "--jobs", "0"], 2, "--jobs: 0 is out of range"),
        (vec!["trace", "--jobs", "5", "--tenants", "6"], 2, "--tenants: 6 is out of range"),
        (vec!["trace", "--days", "nan"], 2, "--days: NaN is out of range"),
        (vec!["trace", "--load", "1"], 2, "--gpus <N>"),
        (vec!["trace", "--job-gpus", "many"], 2, "write GPUs and weight"),
        (vec!["trace", "--profiles", bad.as_str()], 2, "p.csv:2: thr_a: \"fast\" is not a number"),
        (vec!["trace", "--profiles", "nowhere.csv"], 2, "nowhere.csv: no such file"),
        (vec!["profiles", "--types", "a,A"], 2, "`A` is named twice"),
        (vec!["profiles", "--cluster", bad.as_str()], 2, "p.csv:1: not TOML"),
        (vec!["cluster", "--json"], 2, "--output <FILE>"),
        (vec!["cluster", "-o", "/nowhere/c.toml"], 2, "/nowhere/c.toml: there is no directory"),
    ] {
        let all: Vec<&str> = ["generate"].into_iter().chain(args).collect();
        oef(&all).fails(code, &[said]);
    }
}
