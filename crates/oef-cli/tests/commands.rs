//! The other commands.

mod common;

use common::{Dir, TWO, near, oef, oef_with};
use serde_json::Value;

#[test]
fn compare_has_all_mechanisms() {
    let json = oef_with(&["compare", "-", "--json"], TWO).json();
    let entries = json["mechanisms"].as_array().expect("a list");
    assert_eq!(entries.len(), 8);
    let cooperative =
        entries.iter().find(|e| e["mechanism"] == "cooperative").expect("it is there");
    near(&cooperative["total"], 5.25);
    near(&cooperative["least"]["ratio"], 1.0);
    assert_eq!(cooperative["least"]["name"], "u1");
    assert_eq!(cooperative["most"]["name"], "u2");
    near(&cooperative["types_per_tenant"], 1.5);
    for key in ["envy_free", "sharing_incentive", "pareto_efficient"] {
        assert_eq!(cooperative[key], true);
    }
    let some =
        oef_with(&["compare", "-", "--json", "--mechanism", "efficiency,max-min"], TWO).json();
    assert_eq!(some["mechanisms"][0]["mechanism"], "efficiency");
    assert_eq!(some["mechanisms"].as_array().map(Vec::len), Some(2));
}

#[test]
fn compare_draws_bars() {
    let ran = oef_with(&["compare", "-", "-m", "cooperative,efficiency"], TWO);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for part in ["█", "1.250x u2", "least favoured", "✗"] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
}

fn whatif(more: &[&str]) -> common::Ran {
    let named = TWO.replace("\"u1\"", "\"vision-lab\"").replace("\"u2\"", "\"speech\"");
    let args: Vec<&str> = ["whatif", "-"].iter().chain(more).copied().collect();
    oef_with(&args, named)
}

#[test]
fn whatif_shows_before_after_and_difference() {
    let json = whatif(&["--add-gpu", "g2=1", "--json"]).json();
    near(&json["total"]["before"], 5.25);
    let difference = json["total"]["difference"].as_f64().expect("a number");
    let after = json["total"]["after"].as_f64().expect("a number");
    assert!((after - 5.25 - difference).abs() < 1e-9 && difference > 0.0);
    assert_eq!(json["tenants"].as_array().map(Vec::len), Some(2));
    near(&json["tenants"][0]["before"]["throughput"], 1.5);
    let text = whatif(&["--set", "vision-lab.weight=2"]);
    assert_eq!(text.code, 0, "{}", text.err);
    assert!(text.out.contains("difference") && text.out.contains("speech"), "{}", text.out);
}

#[test]
fn whatif_takes_every_kind_of_change() {
    let dir = Dir::new();
    let tenant = "[[tenant]]\nname = \"robots\"\n[[tenant.workload]]\nname = \"arm\"\nthroughput = { g2 = 3 }\n";
    let file = dir.file("robots.toml", tenant);
    let changes = [
        "--set",
        "vision.weight=2",
        "--set",
        "vision-lab.demand=0.5",
        "--set",
        "vision-lab.default.g2=3.5",
        "--set",
        "g1.count=2",
        "--set",
        "robots.arm.g1=1",
        "--remove",
        "speech",
        "--add-tenant",
        &file,
        "--add-gpu",
        "G2=8",
        "--json",
    ];
    let ran = whatif(&changes);
    assert!(ran.err.contains("`vision` is taken as tenant `vision-lab`"), "{}", ran.err);
    assert!(ran.err.contains("`G2` is taken as gpu type `g2`"), "{}", ran.err);
    let json = ran.json();
    let names: Vec<&Value> =
        json["tenants"].as_array().expect("a list").iter().map(|t| &t["name"]).collect();
    assert_eq!(names, ["vision-lab", "speech", "robots"]);
    assert_eq!(json["tenants"][1]["after"], Value::Null);
    assert_eq!(json["tenants"][2]["before"], Value::Null);
}

#[test]
fn whatif_refuses_what_it_does_not_know() {
    whatif(&[]).fails(2, &["no change was given"]);
    whatif(&["--remove", "speach"]).fails(2, &["`speach`", "did you mean `speech`?"]);
    whatif(&["--set", "speech.wieght=2"]).fails(2, &["`wieght`", "did you mean `weight`?"]);
    whatif(&["--set", "speech.default.g9=2"]).fails(2, &["no gpu type `g9`"]);
    whatif(&["--set", "speech.vgg.g1=2"]).fails(2, &["no workload `vgg`"]);
    whatif(&["--set", "nobody.weight=2"]).fails(2, &["no tenant `nobody`", "vision-lab"]);
    whatif(&["--set", "speech.weight=heavy"]).fails(2, &["`heavy` is not a number"]);
    whatif(&["--set", "speech.weight=-1"]).fails(2, &["weight -1"]);
    whatif(&["--set", "speech"]).fails(2, &["no `=`"]);
    whatif(&["--add-gpu", "g1"]).fails(2, &["--add-gpu", "no `=`"]);
    whatif(&["--add-tenant", "none.toml"]).fails(2, &["none.toml", "no such file"]);
    whatif(&["--remove", "speech", "--remove", "vision-lab"]).fails(2, &["no tenants"]);
    let dir = Dir::new();
    let bad = dir
        .file("t.toml", "[[tenant]]\nname = \"x\"\n[[tenant.workload]]\nthroughput = { g7 = 1 }\n");
    whatif(&["--add-tenant", &bad]).fails(2, &["t.toml:4:16", "`g7`"]);
    let twice = dir.file(
        "u.toml",
        "[[tenant]]\nname = \"speech\"\n[[tenant.workload]]\nthroughput = { g1 = 1 }\n",
    );
    whatif(&["--add-tenant", &twice]).fails(2, &["u.toml", "`speech` already"]);
}

#[test]
fn whatif_warns_of_a_type_that_nobody_can_use() {
    let ran = whatif(&["--add-gpu", "b200=8", "--json"]);
    assert!(ran.err.contains("nobody has a throughput for the new gpu type `b200`"), "{}", ran.err);
    near(&ran.json()["total"]["difference"], 0.0);
}

#[test]
fn lying_pays_by_saying_less_and_never_by_saying_more() {
    let json =
        oef_with(&["lie", "-", "-m", "noncooperative", "--tenant", "u2", "--json"], TWO).json();
    near(&json["honest"], 15.0 / 7.0);
    assert!(json["best"].as_f64().is_some_and(|best| best > 3.6), "{json}");
    assert_eq!(json["direction"], "under");
    assert!(json["report"]["g2"].as_f64().is_some_and(|g2| g2 < 5.0), "{json}");
    if let Some(over) = json["over"]["throughput"].as_f64() {
        assert!(over <= 15.0 / 7.0 * (1.0 + 1e-6), "{over}");
    }
    oef_with(&["lie", "-", "--tenant", "u3"], TWO).fails(2, &["no tenant `u3`"]);
    let text = oef_with(&["lie", "-", "-m", "noncooperative", "--tenant", "u2"], TWO);
    assert!(text.out.contains("under-reporting pays"), "{}", text.out);
}

#[test]
fn explanations_have_prices_and_sentences() {
    let json = oef_with(&["explain", "-", "--json"], TWO).json();
    assert_eq!(json["types"].as_array().map(Vec::len), Some(2));
    assert_eq!(json["tenants"].as_array().map(Vec::len), Some(2));
    assert!(json["sentences"].as_array().is_some_and(|s| !s.is_empty()));
    let one = oef_with(&["explain", "-", "--tenant", "u2", "--json"], TWO).json();
    assert_eq!(one["tenants"].as_array().map(Vec::len), Some(1));
    let text = oef_with(&["explain", "-", "--tenant", "u2"], TWO);
    assert_eq!(text.code, 0, "{}", text.err);
    assert!(
        text.out.contains("one more adds") && text.out.contains("value for money"),
        "{}",
        text.out
    );
    oef_with(&["explain", "-", "--tenant", "zz"], TWO).fails(2, &["--tenant", "no tenant `zz`"]);
}

#[test]
fn completions_and_manuals_are_written() {
    for (shell, part) in
        [("bash", "complete"), ("zsh", "#compdef oef"), ("fish", "complete -c oef")]
    {
        let ran = oef(&["completions", shell]);
        assert!(ran.code == 0 && ran.out.contains(part), "{shell}");
    }
    let page = oef(&["man"]);
    assert!(page.code == 0 && page.out.contains(".TH oef 1"), "{}", page.out);
    let dir = Dir::new();
    let into = dir.join("man");
    assert_eq!(oef(&["man", &into.display().to_string()]).code, 0);
    for name in ["oef.1", "oef-share.1", "oef-bench-shares.1"] {
        assert!(into.join(name).exists(), "{name}");
    }
    let blocked = dir.file("file", "");
    oef(&["man", &blocked]).fails(2, &["cannot be written"]);
}

#[test]
fn mechanisms_are_listed() {
    let text = oef(&["mechanisms"]);
    assert!(text.out.contains("gandiva-fair"), "{}", text.out);
    let json = oef(&["mechanisms", "--json"]).json();
    assert_eq!(json.as_array().map(Vec::len), Some(8));
}
