//! `oef reproduce` and `oef bench`: the commands of the feature `lab`.

mod common;

use common::oef_with;
use serde_json::Value;

fn oef(args: &[&str]) -> common::Ran {
    oef_with(args, "")
}

#[test]
fn one_document_for_machines() {
    let ran = oef(&["reproduce", "--quick", "--only", "e,a", "--json"]);
    let document = ran.json();
    let letters: Vec<&str> = document["experiments"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|e| e["id"].as_str())
        .collect();
    assert_eq!((letters, document["seed"].as_u64()), (vec!["a", "e"], Some(1)));
    assert!(document["rules"].as_array().is_some_and(|rules| !rules.is_empty()));
    for experiment in document["experiments"].as_array().unwrap() {
        for field in ["paper", "done", "claims", "verdict", "why", "exhibits"] {
            assert!(!experiment[field].is_null(), "{field}");
        }
    }
    let again: Value = oef(&["reproduce", "--quick", "--only", "a,e", "--json"]).json();
    assert_eq!(document, again);
}

#[test]
fn a_table_and_a_report_for_people() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.html");
    let ran =
        oef(&["reproduce", "--quick", "--only", "b,c,d,e", "--report", path.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("A tenant cheats") && ran.out.contains("holds"), "{}", ran.out);
    let html = std::fs::read_to_string(path).unwrap();
    for part in [
        "Overview",
        "(b) A tenant cheats",
        "What the simulated world assumes",
        "<svg",
        "the paper says",
    ] {
        assert!(html.contains(part), "{part}");
    }
}

#[test]
fn what_is_wrong_is_said() {
    oef(&["reproduce", "--only", "z"]).fails(2, &["there is no experiment `z`"]);
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().to_str().unwrap();
    oef(&["reproduce", "--quick", "--only", "e", "--data", here])
        .fails(2, &["none of the known data files"]);
    let file = folder.path().join("no/such/dir.html");
    let file = file.to_str().unwrap();
    oef(&["reproduce", "--quick", "--only", "e", "--report", file])
        .fails(2, &["there is no directory"]);
    std::fs::write(folder.path().join("philly_3day_50tenants.csv"), "tenant,gpus\na,1\n").unwrap();
    oef(&["reproduce", "--quick", "--only", "e", "--data", here])
        .fails(2, &["philly_3day_50tenants.csv"]);
}

#[test]
fn the_benchmark_measures_and_compares() {
    let json =
        oef(&["bench", "shares", "--cases", "cooperative-50", "--repeat", "1", "--json"]).json();
    let case = &json["cases"][0];
    assert_eq!(case["case"], "cooperative-50");
    assert_eq!(case["tenants"], 50);
    assert_eq!(case["status"], "optimal");
    let reference = &case["references"][0];
    assert!(reference["difference"].as_f64().is_some_and(|d| d < 1e-6), "{reference}");
    oef(&["bench", "shares", "--cases", "nothing"]).fails(2, &["--cases", "cooperative-50"]);
    let none =
        ["bench", "shares", "--cases", "cooperative-50", "--with-prototype", "--prototype", "none"];
    oef(&none).fails(2, &["no run.py"]);
}
