//! `oef share`: the document, the paper's numbers, `--require`, streams.

mod common;

use common::{Dir, TWO, near, oef, oef_with};
use serde_json::Value;
use std::io::Read as _;
use std::process::{Command, Stdio};

#[test]
fn the_document_has_the_published_shape() {
    let json = oef_with(&["share", "-", "--mechanism", "cooperative", "--json"], TWO).json();
    assert_eq!(json["version"], 1);
    assert_eq!(json["mechanism"], "cooperative");
    assert_eq!(json["reference"], "g1");
    near(&json["total"], 5.25);
    let u1 = &json["tenants"][0];
    assert_eq!(u1["name"], "u1");
    near(&u1["weight"], 1.0);
    near(&u1["throughput"], 1.5);
    near(&u1["equal_split"], 1.5);
    near(&u1["share"]["g1"], 1.0);
    near(&u1["share"]["g2"], 0.25);
    assert_eq!(u1["workloads"][0]["name"], "default");
    near(&u1["workloads"][0]["share"]["g2"], 0.25);
    near(&json["tenants"][1]["share"]["g2"], 0.75);
    assert_eq!(json["audit"]["capacity"]["holds"], true);
    for property in ["envy_free", "sharing_incentive", "pareto_efficient", "adjacent"] {
        assert_eq!(json["audit"][property]["holds"], true, "{property}");
        assert_eq!(json["audit"][property]["witness"], Value::Null, "{property}");
    }
    near(&json["audit"]["sharing_incentive"]["worst"], 1.0);
    assert!(json["prices"]["g2"].is_number());
    assert_eq!(json["solver"]["status"], "optimal");
    assert!(json["solver"]["method"].is_string());
    assert!(json["solver"]["seconds"].is_number() && json["solver"]["gap"].is_number());
}

#[test]
fn every_mechanism_answers_with_finite_numbers() {
    for (mechanism, total) in [
        ("noncooperative", Some(30.0 / 7.0)),
        ("cooperative", Some(5.25)),
        ("nash", None),
        ("incentive", Some(5.25)),
        ("max-min", Some(4.5)),
        ("efficiency", Some(6.0)),
        ("gavel", Some(5.0)),
        ("gandiva-fair", None),
    ] {
        let json = oef_with(&["share", "-", "--mechanism", mechanism, "--json"], TWO).json();
        if let Some(total) = total {
            near(&json["total"], total);
        }
        assert!(!json.to_string().contains("null,\"total\""), "{mechanism}");
        near(&json["audit"]["capacity"]["worst"], 0.0);
    }
}

#[test]
fn json_and_toml_say_the_same() {
    let json = r#"{"gpu":[{"type":"g1","count":1},{"type":"g2","count":1}],"tenant":[
        {"name":"u1","weight":1.0,"workload":[{"name":"default","throughput":{"g1":1,"g2":2}}]},
        {"name":"u2","workload":[{"name":"default","weight":3,"throughput":{"g2":5.0,"g1":1}}]}]}"#;
    let mut a = oef_with(&["share", "-", "--json"], json).json();
    let mut b = oef_with(&["share", "-", "--json"], TWO).json();
    a["solver"]["seconds"] = Value::Null;
    b["solver"]["seconds"] = Value::Null;
    assert_eq!(a, b);
}

#[test]
fn failed_requirements_end_with_code_1_and_still_print() {
    let args = ["share", "-", "-m", "noncooperative", "--require"];
    let run = |require: &str, more: &[&str]| {
        let args: Vec<&str> =
            args.iter().copied().chain([require]).chain(more.iter().copied()).collect();
        oef_with(&args, TWO)
    };
    let ran = run("ef,si", &["--json"]);
    ran.fails(1, &["envy-free", "u2", "sharing incentive", "an equal split would give it 3"]);
    let json: Value = serde_json::from_str(&ran.out).expect("the result is printed");
    assert_eq!(json["audit"]["envy_free"]["witness"]["envious"], "u2");
    assert_eq!(json["audit"]["sharing_incentive"]["witness"]["tenant"], "u2");
    assert_eq!(run("pe", &[]).code, 0);
    assert_eq!(oef_with(&["share", "-", "--require", "ef,si,pe"], TWO).code, 0);
}

#[test]
fn pareto_witnesses_can_be_checked() {
    let three = "\
gpu = [{ type = \"a\", count = 1 }, { type = \"b\", count = 1 }, { type = \"c\", count = 1 }]
[[tenant]]
name = \"x\"
workload = [{ throughput = { a = 1, b = 1.5, c = 2 } }]
[[tenant]]
name = \"y\"
workload = [{ throughput = { a = 1, b = 2, c = 3.5 } }]
[[tenant]]
name = \"z\"
workload = [{ throughput = { a = 1, b = 2.5, c = 4.5 } }]
";
    let args = ["share", "-", "-m", "cooperative", "--require", "pe", "--json"];
    let ran = oef_with(&args, three);
    ran.fails(1, &["Pareto efficient", "could gain", "nobody losing"]);
    let json: Value = serde_json::from_str(&ran.out).expect("the result is printed");
    let witness = &json["audit"]["pareto_efficient"]["witness"];
    assert!(witness["gain"].as_object().is_some_and(|g| !g.is_empty()), "{witness}");
    assert_eq!(witness["shares"].as_array().map(Vec::len), Some(3));
}

/// A gain that lies between the workloads of one tenant changes nothing of its sum.
#[test]
fn pareto_witnesses_have_every_workload() {
    const PROBLEM: &str = r#"{"gpu": [{"type": "g1", "count": 1}, {"type": "g2", "count": 1}],
        "tenant": [{"name": "u", "workload": [{"name": "a", "throughput": {"g1": 1, "g2": 1}},
                                              {"name": "b", "throughput": {"g1": 1, "g2": 3}}]}]}"#;
    let json = oef_with(&["share", "-", "--mechanism", "max-min", "--json"], PROBLEM).json();
    let better = &json["audit"]["pareto_efficient"]["witness"]["shares"][0];
    let share = |w: usize, gpu: &str| better["workloads"][w]["share"][gpu].as_f64().unwrap();
    assert_eq!(better["workloads"][0]["name"], "a");
    // Each has half of both: 1 and 2.
    assert!(share(0, "g1") + share(0, "g2") >= 1.0 - 1e-6, "{better}");
    assert!(share(1, "g1") + 3.0 * share(1, "g2") > 2.5, "{better}");
}

#[test]
fn envy_across_weights_reads_as_a_sentence() {
    let weighted = TWO.replacen("name = \"u2\"", "name = \"u2\"\nweight = 0.25", 1);
    assert_ne!(weighted, TWO);
    let text = oef_with(&["share", "-", "--mechanism", "efficiency"], weighted.as_str()).out;
    assert!(text.contains(" would rather have the bundle of "), "{text}");
    assert!(text.contains(" times it): ") && !text.contains(",:"), "{text}");
}

#[test]
fn people_get_a_table_and_a_certificate() {
    let ran = oef_with(&["share", "-"], TWO);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for part in ["u1", "0.250", "total", "5.25", "reference", "derived", "prices", "✓ envy-free"]
    {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    assert!(!ran.out.contains('\u{1b}'), "no colours in a pipe");
}

#[test]
fn many_tenants_are_summed_up() {
    let mut table = String::from("model,thr_a,thr_b\n");
    for i in 0..60 {
        table += &format!("m{i},1,{}\n", 1.0 + f64::from(i) / 10.0);
    }
    let args = ["share", "-", "--counts", "a=4,b=4", "-m", "max-min"];
    let ran = oef_with(&args, table.as_str());
    assert!(ran.out.contains("40 between the least and the most favoured"), "{}", ran.out);
    let all: Vec<&str> = args.iter().copied().chain(["--all"]).collect();
    assert!(oef_with(&all, table).out.contains("m33"));
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let dir = Dir::new();
    let mut table = String::from("model,thr_a\n");
    for i in 0..20_000 {
        table += &format!("m{i},1\n");
    }
    let file = dir.file("t.csv", table);
    for json in [&["--json"][..], &["--all"][..]] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_oef"))
            .args(["share", &file, "--counts", "a=4", "-m", "max-min"])
            .args(json)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let mut out = child.stdout.take().expect("a pipe");
        out.read_exact(&mut [0; 10]).expect("ten bytes");
        drop(out);
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(0));
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn the_gavel_cap_is_gavels() {
    let rows = "model,thr_a,thr_b\nx,1,2\ny,1,3\nz,1,4\n";
    let args = ["share", "-", "--counts", "a=1,b=1", "--json", "--gavel-cap", "1", "-m"];
    let run =
        |m: &'static str| oef_with(&args.iter().copied().chain([m]).collect::<Vec<_>>(), rows);
    let capped = run("gavel").json();
    for (t, expected) in [1.0909, 1.4545, 1.8182].into_iter().enumerate() {
        let x = capped["tenants"][t]["throughput"].as_f64().expect("a number");
        assert!((x - expected).abs() < 1e-4, "{x}");
    }
    assert!(run("max-min").err.contains("no effect"));
}

#[test]
fn a_time_limit_of_nothing_still_has_an_answer_or_ends_with_code_4() {
    let commands: [&[&str]; 5] = [
        &["share", "-", "-m", "cooperative"],
        &["compare", "-"],
        &["explain", "-", "-m", "cooperative"],
        &["whatif", "-", "-m", "cooperative", "--set", "u1.weight=2"],
        &["lie", "-", "--tenant", "u1"],
    ];
    for command in commands {
        let args: Vec<&str> = command.iter().copied().chain(["--time-limit", "0s"]).collect();
        let ran = oef_with(&args, TWO);
        assert!(ran.code == 0 || ran.code == 4, "{command:?}: {}: {}", ran.code, ran.err);
        assert!(ran.err.contains("stopped"), "{command:?}: {}", ran.err);
    }
}

#[test]
fn an_answer_that_a_time_limit_cut_short_has_a_gap_and_no_envy() {
    let mut table = String::from("model");
    (0..8).for_each(|j| table += &format!(",thr_g{j}"));
    for i in 0..400_u64 {
        table += &format!("\nm{i}");
        let mut speedup = 1.0;
        for j in 0..8 {
            table += &format!(",{speedup}");
            speedup *= 1.0 + ((i * 7919 + j * 104_729) % 1009) as f64 / 1009.0;
        }
    }
    let counts = (0..8).map(|j| format!("g{j}=40")).collect::<Vec<_>>().join(",");
    let args = ["share", "-", "--counts", &counts, "--time-limit", "100ms", "--json"];
    let ran = oef_with(&args, table);
    let json = ran.json();
    assert_eq!(json["audit"]["envy_free"]["holds"], true);
    let (status, gap) = (&json["solver"]["status"], json["solver"]["gap"].as_f64());
    assert!(status == "optimal" || status == "feasible", "{status}");
    assert!(gap.is_some_and(|gap| (0.0..f64::MAX).contains(&gap)), "{gap:?}");
    assert_eq!(status == "feasible", ran.err.contains("at least"), "{}", ran.err);
}

#[test]
fn help_leads_everywhere() {
    let help = oef(&["--help"]);
    assert_eq!(help.code, 0);
    for part in ["compare", "share", "explain", "whatif", "lie", "completions", "man", "Exit codes"]
    {
        assert!(help.out.contains(part), "{part}");
    }
    assert!(oef(&["--version"]).out.starts_with("oef "));
}
