//! `oef simulate`: its document, its files, and what it refuses.

mod common;

use common::{Dir, oef};
use serde_json::Value;
use std::collections::BTreeSet;

/// Two types, two hosts.
const CLUSTER: &str = "[[gpu]]\ntype = 'slow'\ncount = 2\nper_node = 2\n[[gpu]]\ntype = 'fast'\ncount = 2\nper_node = 2\n";
const PROFILES: &str = "model,thr_slow,thr_fast\nvgg,10,14\nlstm,10,21\n";
const TRACE: &str = "tenant,job_id,submit_s,gpus,duration_s,model\n\
                     a,j1,0,1,3000,vgg\nb,j2,0,2,2000,lstm\nb,j3,60,1,900,lstm\n";

/// The three files, and the arguments that name them.
struct Files {
    _dir: Dir,
    args: Vec<String>,
}

fn files(cluster: &str, profiles: &str, trace: &str) -> Files {
    let dir = Dir::new();
    let list = [
        ("--cluster", "c.toml", cluster),
        ("--profiles", "p.csv", profiles),
        ("--trace", "t.csv", trace),
    ];
    let args = list.iter().flat_map(|(flag, name, text)| [flag.to_string(), dir.file(name, text)]);
    let args = args.collect();
    Files { _dir: dir, args }
}

impl Files {
    fn run(&self, more: &[&str]) -> common::Ran {
        let own = self.args.iter().map(String::as_str);
        let all: Vec<&str> =
            ["simulate"].into_iter().chain(own).chain(more.iter().copied()).collect();
        oef(&all)
    }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

#[test]
fn without_files_the_demonstration_runs_under_six_mechanisms() {
    let ran = oef(&["simulate", "--json"]);
    assert!(ran.err.contains("this is the demonstration"), "{}", ran.err);
    let json = ran.json();
    assert_eq!(
        (&json["version"], &json["seed"], &json["round"]),
        (&1.into(), &1.into(), &300.0.into())
    );
    let names: Vec<&str> = json["runs"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|r| r["mechanism"].as_str())
        .collect();
    assert_eq!(
        names,
        ["nash", "cooperative", "noncooperative", "gavel", "gandiva-fair", "max-min"]
    );
    for run in json["runs"].as_array().expect("a list") {
        assert_eq!(
            (&run["jobs"]["finished"], &run["jobs"]["unfinished"]),
            (&120.into(), &0.into())
        );
        for key in
            ["rounds", "seconds", "makespan", "straggler_workers", "migrations", "deficit_max"]
        {
            assert!(number(&run[key]) >= 0.0, "{key}");
        }
        let jct = &run["jct"];
        assert!(number(&jct["p50"]) <= number(&jct["p99"]) && number(&jct["mean"]) > 0.0);
        assert!(
            number(&run["throughput"]["estimated"]) > 0.0
                && number(&run["throughput"]["actual"]) > 0.0
        );
        let held = number(&run["utilisation"]);
        assert!(held > 0.3 && held <= 1.0, "{held}");
        assert!(number(&run["worst_sharing_incentive"]) > 0.2);
        assert_eq!(run["trouble"], Value::Null);
        assert_eq!(run["tenants"].as_object().map(serde_json::Map::len), Some(8));
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_does_not() {
    let args = ["simulate", "--json", "--profile-error", "0.2", "--failures", "4h,20m", "--seed"];
    let run = |seed: &str| oef(&[&args[..], &[seed]].concat()).out;
    assert_eq!(run("3"), run("3"));
    assert_ne!(run("3"), run("4"));
}

#[test]
fn a_run_alone_is_the_same_as_among_others() {
    let both = oef(&["simulate", "--json", "-m", "gavel,max-min"]).json();
    let alone = oef(&["simulate", "--json", "-m", "max-min"]).json();
    assert_eq!(both["runs"][1], alone["runs"][0]);
}

#[test]
fn own_files_give_what_can_be_worked_out_by_hand() {
    let json = files(CLUSTER, PROFILES, TRACE)
        .run(&["--json", "-m", "max-min", "--restart-cost", "0"])
        .json();
    let run = &json["runs"][0];
    assert_eq!(run["jobs"]["finished"], 3);
    assert_eq!(
        json["cluster"],
        serde_json::json!({"nodes": 2, "gpus": 4, "types": {"fast": 2, "slow": 2}})
    );
    // Nothing is faster than all jobs on the fastest type, and nothing slower than one after the other on the slowest.
    let makespan = number(&run["makespan"]);
    assert!((3000.0..=2.1 * 5900.0).contains(&makespan), "{makespan}");
    assert!(number(&run["utilisation"]) <= 1.0);
}

#[test]
fn whatever_is_not_given_is_made_up_and_said() {
    let dir = Dir::new();
    let (cluster, profiles) = (dir.file("c.toml", CLUSTER), dir.file("p.csv", PROFILES));
    let trace = dir.file("t.csv", TRACE);
    for (flag, file, said) in [
        ("--cluster", &cluster, ["no profiles are given", "no trace is given"]),
        ("--profiles", &profiles, ["no cluster is given", "no trace is given"]),
        ("--trace", &trace, ["no cluster is given", "no profiles are given"]),
    ] {
        let ran = oef(&["simulate", flag, file, "--json", "-m", "max-min"]);
        assert_eq!(ran.json()["runs"][0]["jobs"]["unfinished"], 0, "{flag}");
        for part in said {
            assert!(ran.err.contains(part), "{part}: {}", ran.err);
        }
    }
}

#[test]
fn bad_input_is_told_with_its_place_and_the_way_out() {
    let with = |trace: &str, more: &[&str]| files(CLUSTER, PROFILES, trace).run(more);
    let bad = TRACE.replace("j2,0,2", "j2,soon,2");
    with(&bad, &[]).fails(2, &["t.csv:3: submit_s", "soon"]);
    with(&TRACE.replace(",lstm\nb,j3", ",lstn\nb,j3"), &[])
        .fails(2, &["t.csv:3: model", "did you mean `lstm`?"]);
    with(TRACE, &["--lie", "c=fast:2"]).fails(2, &["--lie c=fast:2", "no tenant `c`"]);
    with(TRACE, &["--lie", "a=quick:2"]).fails(2, &["no gpu type `quick`"]);
    with(TRACE, &["--lie", "a=fast:-1"]).fails(2, &["is not a factor above 0"]);
    with(TRACE, &["--lie", "a"]).fails(2, &["TENANT=TYPE:FACTOR"]);
    with(TRACE, &["--reference", "fst"]).fails(2, &["--reference", "did you mean `fast`?"]);
    with(TRACE, &["--failures", "1h"]).fails(2, &["such as 7d,2h"]);
    with(TRACE, &["--failures", "10ms,10ms"]).fails(4, &["--failures", "less often"]);
    with(TRACE, &["--round", "0"]).fails(2, &["a time above 0"]);
    with(TRACE, &["--load", "0"]).fails(2, &["above 0"]);
    with(TRACE, &["--duration-column", "nothing"]).fails(2, &["nothing"]);
    with(TRACE, &["--report", "/nowhere/out.html"])
        .fails(2, &["/nowhere/out.html", "no directory"]);
    let other = files("[[gpu]]\ntype = 'odd'\ncount = 2\n", PROFILES, TRACE).run(&[]);
    other.fails(2, &["no gpu type is in both", "odd", "slow, fast"]);
    oef(&["simulate", "--trace", "nowhere.csv"]).fails(2, &["nowhere.csv: no such file"]);
}

#[test]
fn bad_rows_can_be_skipped_and_are_counted() {
    let trace = TRACE.replace("j2,0,2", "j2,soon,2") + "c,j4,0,1,10,unheard-of\n";
    let ran = files(CLUSTER, PROFILES, &trace).run(&["--skip-bad-rows", "--json", "-m", "max-min"]);
    let json = ran.json();
    assert_eq!((&json["skipped_rows"], &json["jobs"]), (&2.into(), &2.into()), "{}", ran.err);
    assert!(ran.err.contains("left out"), "{}", ran.err);
}

#[test]
fn too_many_bad_rows_are_a_limit() {
    let mut trace = String::from("tenant,job_id,submit_s,gpus,duration_s,model\n");
    for i in 0..100_002 {
        trace.push_str(&format!("a,j{i},x,1,1,vgg\n"));
    }
    files(CLUSTER, PROFILES, &trace).run(&["--skip-bad-rows"]).fails(4, &["rows are wrong"]);
}

#[test]
fn jobs_that_never_run_are_counted_and_explained() {
    let trace = format!("{TRACE}c,huge,0,64,10,vgg\n");
    let ran = files(CLUSTER, PROFILES, &trace).run(&["-m", "max-min"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.err.contains("1 job can never run") && ran.err.contains("huge wants 64"),
        "{}",
        ran.err
    );
    let ran = files(CLUSTER, PROFILES, TRACE).run(&["-m", "max-min", "--until", "10m"]);
    assert!(ran.err.contains("had not finished at 10 min"), "{}", ran.err);
}

#[test]
fn the_load_is_what_was_asked_for() {
    let json = oef(&["simulate", "--json", "-m", "max-min", "--load", "0.4"]).json();
    assert!((number(&json["load"]) - 0.4).abs() < 1e-9);
}

#[test]
fn a_lie_changes_what_is_told_and_not_what_is_true() {
    let trace = "tenant,job_id,submit_s,gpus,duration_s,model\na,j1,0,1,9000,vgg\nb,j2,0,1,9000,lstm\n\
                 a,j3,0,1,9000,vgg\nb,j4,0,1,9000,lstm\na,j5,0,1,9000,vgg\nb,j6,0,1,9000,lstm\n";
    let honest = files(CLUSTER, PROFILES, trace).run(&["--json", "-m", "noncooperative"]).json();
    let lied = files(CLUSTER, PROFILES, trace)
        .run(&["--json", "-m", "noncooperative", "--lie", "a=fast:3"])
        .json();
    let (honest, lied) = (&honest["runs"][0], &lied["runs"][0]);
    assert_eq!(lied["jobs"]["finished"], 6);
    assert_ne!(honest["tenants"]["a"], lied["tenants"]["a"]);
}

#[test]
fn what_the_guard_found_is_in_the_document() {
    let run = |more: &[&str]| {
        let args = ["simulate", "--json", "-m", "noncooperative", "--lie", "t3=rtx3090:3"];
        let ran = oef(&args.iter().chain(more).copied().collect::<Vec<_>>());
        (ran.json()["runs"][0]["guard"].clone(), ran.err)
    };
    assert_eq!(run(&[]).0, Value::Null, "nobody looked");
    for (policy, replaced) in [("report", false), ("replace", true)] {
        let (guard, said) = run(&["--guard", policy]);
        assert_eq!(guard["policy"], policy);
        let [found] = guard["found"].as_array().expect("a list").as_slice() else {
            panic!("one lies, and one is found: {guard}")
        };
        let names = ["tenant", "fast", "slow", "direction"].map(|key| found[key].as_str());
        assert_eq!(names, [Some("t3"), Some("rtx3090"), Some("rtx3070"), Some("over")]);
        assert_eq!((&found["replaced"], &found["counted"]), (&replaced.into(), &true.into()));
        let (told, seen) = (number(&found["declared"]), number(&found["seen"]));
        assert!((told / seen - 3.0).abs() < 0.2, "{told} {seen}");
        assert!(number(&found["seconds"]) >= 300.0 * (number(&found["round"]) - 1.0), "{found}");
        assert!(number(&found["windows"]) > 0.0 && number(&found["tolerance"]) < told / seen);
        assert_eq!(said.contains("which counts now"), replaced, "{said}");
    }
    let (honest, _) = run(&["--guard", "report", "--until", "1h"]);
    assert_eq!(honest["found"], serde_json::json!([]), "an hour is too short to know");
}

#[test]
fn what_may_have_been_told_in_good_faith_is_not_counted_as_false() {
    let args = ["simulate", "--json", "-m", "cooperative", "--profile-error", "0.2"];
    let json = oef(&[&args[..], &["--guard", "report"]].concat()).json();
    let found = json["runs"][0]["guard"]["found"].as_array().expect("a list");
    assert!(!found.is_empty(), "of the demonstration's profiles one is off by more than chance");
    assert!(found.iter().all(|f| f["counted"] == false), "{found:?}");
}

#[test]
fn the_report_says_what_the_guard_found() {
    let dir = Dir::new();
    let path = dir.join("out.html");
    let file = path.display().to_string();
    let report = |more: &[&str]| {
        let ran = oef(&[&["simulate", "--report", &file, "-m", "noncooperative"], more].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        std::fs::read_to_string(&path).expect("a report")
    };
    let found = report(&["--lie", "t3=rtx3090:3", "--guard", "replace"]);
    for part in ["Profiles and the guard", "rtx3090 over rtx3070", "corrected; counted as false"] {
        assert!(found.contains(part), "{part}");
    }
    assert!(report(&["--guard", "report"]).contains("found nothing that does not fit"));
    assert!(!report(&[]).contains("the guard"), "nobody looked");
}

#[test]
fn the_table_marks_the_best() {
    let ran = oef(&["simulate"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for part in ["mean JCT", "★", "█", "8 rtx3070", "cooperative", "next: --report"] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    let widest = ran.out.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(125), "{widest:?}");
}

#[test]
fn the_report_is_one_whole_file_that_fetches_nothing() {
    let dir = Dir::new();
    let path = dir.join("out.html");
    let file = path.display().to_string();
    let ran = oef(&["simulate", "--report", &file, "-m", "cooperative,noncooperative", "--json"]);
    ran.json();
    assert!(ran.err.contains("report written to"), "{}", ran.err);
    let html = std::fs::read_to_string(&path).expect("a report");
    assert!(html.starts_with("<!DOCTYPE html>") && html.trim_end().ends_with("</html>"));
    for part in [
        "What each mechanism won and lost",
        "Job completion time",
        "Waiting time",
        "Who ran where",
        "Throughput by tenant",
        "GPUs promised and held",
        "Deficits",
        "Who would prefer whose share",
        "What the figures mean",
        "<details>",
    ] {
        assert!(html.contains(part), "{part}");
    }
    is_self_contained(&html);
    is_balanced(&html);
    let _ = oef(&["simulate", "--report", &file, "-m", "cooperative,noncooperative", "--json"]);
    let again = std::fs::read_to_string(&path).expect("a report");
    assert!(again == html, "the same command gives the same bytes");
}

#[track_caller]
fn is_self_contained(html: &str) {
    for word in ["<script", "<link", "<img", "@import", "src=", "url(http", "NaN", "Infinity"] {
        assert!(!html.contains(word), "{word}");
    }
    let fetched =
        html.match_indices("href=\"").filter(|(i, m)| !html[i + m.len()..].starts_with('#'));
    assert_eq!(fetched.count(), 0, "only links inside the page");
    for (i, _) in html.match_indices("http") {
        assert!(
            html[i..].starts_with("http://www.w3.org/"),
            "{}",
            &html[i..(i + 60).min(html.len())]
        );
    }
}

/// Every element that is opened is closed, in order.
#[track_caller]
fn is_balanced(html: &str) {
    let empty: BTreeSet<&str> = ["meta", "br", "hr", "!DOCTYPE"].into();
    let style_end = html.find("</style>").expect("a style");
    let mut open: Vec<&str> = vec!["html", "head"];
    for (i, _) in html[style_end + 8..].match_indices('<') {
        let tag = &html[style_end + 8 + i + 1..];
        let tag = &tag[..tag.find('>').expect("an end")];
        let name = tag.split([' ', '\n', '/']).find(|part| !part.is_empty()).unwrap_or_default();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "</{name}>");
        } else if !tag.ends_with('/') && !empty.contains(name) {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn csv_files_have_every_figure() {
    let dir = Dir::new();
    let path = dir.join("figures");
    let ran = oef(&["simulate", "--csv", &path.display().to_string(), "-m", "gavel,max-min"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let lines = |name: &str| {
        let text =
            std::fs::read_to_string(path.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        let width = text.lines().next().map(|header| header.split(',').count());
        assert!(text.lines().all(|line| Some(line.split(',').count()) == width), "{name}");
        text.lines().count()
    };
    assert_eq!(lines("results.csv"), 3);
    for mechanism in ["gavel", "max-min"] {
        let file = |name: &str| lines(&format!("{mechanism}/{name}.csv"));
        assert_eq!((file("jobs"), file("tenants")), (121, 9));
        assert!(file("rounds") > 100 && file("segments") > 120);
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_the_run_and_leaves_no_file() {
    use std::process::{Command, Stdio};
    let dir = Dir::new();
    let report = dir.join("out.html");
    // Rounds of a hundredth of a second: it would take hours.
    let child = Command::new(env!("CARGO_BIN_EXE_oef"))
        .args(["simulate", "--round", "10ms", "--restart-cost", "0", "--report"])
        .arg(&report)
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("the binary runs");
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(killed.is_ok_and(|status| status.success()));
    let ended = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(130), "{said}");
    assert!(said.contains("stopped; nothing was written") && !report.exists(), "{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_takes_the_report_but_not_the_result() {
    let ran = oef(&["simulate", "--json", "-m", "max-min", "--report", "/dev/full"]);
    ran.fails(4, &["/dev/full: cannot be written", "make room"]);
    assert!(ran.out.contains("\"mechanism\":\"max-min\""), "{}", ran.out);
}
