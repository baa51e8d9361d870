//! Every kind of bad input: its message, its place and its exit code.

mod common;

use common::{Dir, TWO, oef, oef_with};

/// `TWO` with one line replaced; the line numbers stay.
fn two_with(line: &str, replacement: &str) -> String {
    assert!(TWO.contains(line), "{line}");
    TWO.replacen(line, replacement, 1)
}

/// The file fails with code 2, and the message has all of these parts.
#[track_caller]
fn refused(name: &str, content: impl AsRef<[u8]>, said: &[&str]) {
    let dir = Dir::new();
    let file = dir.file(name, content);
    let ran = oef(&["share", &file]);
    ran.fails(2, said);
    assert!(ran.err.contains(name), "{}", ran.err);
    assert!(ran.out.is_empty(), "{}", ran.out);
}

#[test]
fn unknown_fields_have_the_nearest_right_name() {
    refused(
        "a.toml",
        two_with("name = \"u1\"", "name = \"u1\"\nwieght = 2"),
        &["a.toml:10:1", "tenant.wieght", "did you mean `weight`?"],
    );
    refused(
        "a.toml",
        format!("refrence = \"g1\"{TWO}"),
        &["a.toml:1:1", "did you mean `reference`?"],
    );
    refused("a.toml", TWO.replace("[[gpu]]", "[[gpus]]"), &["gpus", "did you mean `gpu`?"]);
    refused("a.toml", TWO.replace("throughput", "throughputs"), &["did you mean `throughput`?"]);
    refused(
        "a.toml",
        two_with("name = \"u1\"", "name = \"u1\"\nthroughput = {}"),
        &["`throughput` belongs in `tenant.workload`"],
    );
    refused(
        "a.json",
        r#"{"gpu":[{"type":"a","count":1,"colour":"red"}],"tenant":[{"name":"t","workload":[{"throughput":{"a":1}}]}]}"#,
        &["a.json:1:31", "gpu.colour", "known fields: type, count"],
    );
}

#[test]
fn a_misspelt_field_is_told_once() {
    let dir = Dir::new();
    let file = dir.file("a.toml", TWO.replace("throughput", "throughputs"));
    let ran = oef(&["share", &file]);
    assert_eq!(ran.err.matches("error:").count(), 2, "{}", ran.err);
}

#[test]
fn names_must_be_unique() {
    refused("a.toml", two_with("\"u2\"", "\"u1\""), &["a.toml:13:8", "`u1` occurs twice"]);
    refused("a.toml", two_with("\"g2\"", "\"g1\""), &["a.toml:6:8", "`g1` occurs twice"]);
    refused(
        "a.json",
        r#"{"gpu":[{"type":"a","count":1,"count":2}],"tenant":[]}"#,
        &["a.json:1:31", "key `count` occurs twice"],
    );
    // A third type behind two equal ones.
    let more = two_with("\"g2\"", "\"g1\"").replace(
        "[[tenant]]\nname = \"u1\"",
        "[[gpu]]\ntype = \"g2\"\ncount = 1\n[[tenant]]\nname = \"u1\"",
    );
    refused("a.toml", more, &["`g1` occurs twice"]);
}

#[test]
fn numbers_must_be_finite_and_in_range() {
    let weight = |w: &str| two_with("name = \"u1\"", &format!("name = \"u1\"\nweight = {w}"));
    for (wrong, shown) in
        [("nan", "NaN"), ("inf", "inf"), ("-1", "-1"), ("0", "0"), ("-inf", "-inf")]
    {
        refused(
            "a.toml",
            weight(wrong),
            &["a.toml:10:10", "tenant.weight", &format!("weight {shown}")],
        );
    }
    let demand = |d: &str| two_with("name = \"u1\"", &format!("name = \"u1\"\ndemand = {d}"));
    refused("a.toml", demand("-2"), &["a.toml:10:10", "tenant.demand", "demand -2"]);
    refused(
        "a.toml",
        two_with("count = 1", "count = -1"),
        &["a.toml:4:9", "gpu.count", "count -1"],
    );
    refused("a.toml", two_with("count = 1", "count = nan"), &["a.toml:4:9", "gpu.count", "NaN"]);
    refused("a.toml", two_with("g2 = 2", "g2 = inf"), &["a.toml:11:24", "throughput.g2", "inf"]);
    refused("a.toml", two_with("g2 = 2", "g2 = -2"), &["a.toml:11:24", "throughput.g2", "-2"]);
    for number in ["NaN", "Infinity", "-Infinity", "1e999"] {
        let json = format!(r#"{{"gpu":[{{"type":"a","count":{number}}}],"tenant":[]}}"#);
        refused("a.json", json, &["a.json:1:29", "gpu.count"]);
    }
}

#[test]
fn fields_must_have_the_right_type() {
    let weight = two_with("name = \"u1\"", "name = \"u1\"\nweight = \"two\"");
    refused("a.toml", weight, &["a.toml:10:10", "tenant.weight", "the text \"two\"", "a number"]);
    refused("a.toml", two_with("\"u1\"", "7"), &["a.toml:9:8", "tenant.name", "the number 7"]);
    refused("a.toml", two_with("count = 1", "count = 1979-05-27"), &["a.toml:4:9", "1979-05-27"]);
    refused(
        "a.json",
        r#"{"gpu":{"type":"a","count":1},"tenant":"x"}"#,
        &["a.json:1:40", "[[tenant]]"],
    );
    refused("a.json", r#"{"gpu":[1, null, true],"tenant":[]}"#, &["a.json:1:9", "null", "true"]);
    refused("a.json", "[1, 2]", &["a list of 2"]);
    let list = two_with("throughput = { g1 = 1, g2 = 2 }", "throughput = [1, 2]");
    refused("a.toml", list, &["a.toml:11:14", "tenant.workload.throughput", "a list of 2"]);
}

#[test]
fn required_fields_must_be_there() {
    refused("a.toml", two_with("name = \"u1\"\n", ""), &["a.toml:8:1", "has no `name`"]);
    refused("a.toml", two_with("count = 1\n", ""), &["a.toml:2:1", "has no `count`"]);
    refused("a.toml", two_with("type = \"g1\"\n", ""), &["a.toml:2:1", "has no `type`"]);
    refused(
        "a.toml",
        two_with("throughput = { g1 = 1, g2 = 2 }\n", ""),
        &["a.toml:10:1", "no throughputs"],
    );
    let empty = two_with("[[tenant.workload]]\nthroughput = { g1 = 1, g2 = 2 }\n", "");
    refused("a.toml", empty, &["tenant `u1` has no workload"]);
}

#[test]
fn somebody_must_be_able_to_run_somewhere() {
    refused(
        "a.toml",
        two_with("g1 = 1, g2 = 2", "g1 = 0"),
        &["a.toml:11:14", "can run on no gpu type"],
    );
    refused("a.toml", two_with("g2 = 2", "g3 = 2"), &["a.toml:11:24", "`g3`", "did you mean `g"]);
    refused("a.toml", format!("reference = \"h1\"{TWO}"), &["a.toml:1:13", "reference", "`h1`"]);
    refused("a.toml", "[[gpu]]\ntype = \"a\"\ncount = 1\n", &["no tenants"]);
    refused("a.toml", "reference = \"a\"", &["no gpu types", "no tenants"]);
    refused("a.toml", TWO.replace("count = 1", "count = 0"), &["gpu.count", "nothing to share"]);
}

#[test]
fn texts_must_be_well_formed() {
    refused("a.toml", "[[gpu]\ntype = ", &["a.toml:1", "not TOML"]);
    refused("a.json", "{\"gpu\": [}", &["a.json:1:10", "not JSON"]);
    refused("a.json", "[".repeat(1_000_000), &["deep"]);
    refused("a.toml", format!("x = {}", "[".repeat(100_000)), &["not TOML"]);
    refused("a.toml", "", &["the file is empty", "`oef generate problem` prints an example"]);
    refused("a.toml", " \n\t\n", &["the file is empty"]);
    refused("a.toml", b"a = 1\nb = \"\xff\"\n", &["a.toml:2:6", "not UTF-8", "0xff"]);
    refused("a.json", [0_u8, 159, 146, 150], &["not UTF-8"]);
}

#[test]
fn all_mistakes_are_listed_up_to_a_limit() {
    let mut text = String::from("[[gpu]]\ntype = \"a\"\ncount = 1\n");
    for i in 0..30 {
        text += &format!(
            "[[tenant]]\nname = \"t{i}\"\nweight = -1\n[[tenant.workload]]\nthroughput = {{ a = 1 }}\n"
        );
    }
    let dir = Dir::new();
    let ran = oef(&["share", &dir.file("a.toml", text)]);
    ran.fails(2, &["a.toml:6:10", "a.toml:11:10", "... and 10 more"]);
    assert_eq!(ran.err.matches("error:").count(), 20);
}

#[test]
fn files_must_be_readable() {
    let dir = Dir::new();
    oef(&["share", &dir.join("none.toml").display().to_string()])
        .fails(2, &["none.toml", "no such file"]);
    oef(&["share", &dir.path().display().to_string()]).fails(2, &["is a directory"]);
    oef_with(&["share", "-"], "").fails(2, &["<stdin>", "empty"]);
    // Nobody writes into it: whoever opened it would wait for ever.
    let pipe = dir.join("pipe.toml").display().to_string();
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().is_ok_and(|s| s.success()));
    oef(&["share", &pipe]).fails(2, &["is a named pipe", "stdin"]);
}

#[test]
fn a_file_of_100_megabytes_is_refused_unread() {
    let dir = Dir::new();
    let path = dir.join("big.json");
    let file = std::fs::File::create(&path).expect("a file");
    file.set_len(100_000_000).expect("a sparse file");
    oef(&["share", &path.display().to_string()]).fails(2, &["big.json", "95.4 MiB", "64 MiB"]);
}

#[test]
fn limits_end_with_code_4() {
    let types: Vec<String> = (0..300).map(|j| format!(r#"{{"type":"g{j}","count":1}}"#)).collect();
    let json = format!(
        r#"{{"gpu":[{}],"tenant":[{{"name":"t","workload":[{{"throughput":{{"g1":1}}}}]}}]}}"#,
        types.join(",")
    );
    oef_with(&["share", "-"], json).fails(4, &["300 gpu types", "limit is 256"]);
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let dir = Dir::new();
    let evil = two_with("\"u2\"", "\"u1\\u001b[31m\"").replace("\"u1\"", "\"u1\\u001b[31m\"");
    let ran = oef(&["share", &dir.file("a.toml", evil)]);
    ran.fails(2, &["\\u{1b}[31m"]);
    assert!(!ran.err.contains('\u{1b}'), "{:?}", ran.err);
}

#[test]
fn usage_errors_end_with_code_2() {
    oef(&["share"]).fails(2, &["PROBLEM"]);
    oef(&["share", "x", "--mechanism", "cooperativ"]).fails(2, &["cooperative"]);
    oef(&["share", "x", "--gavel-cap", "0"]).fails(2, &["above 0"]);
    oef(&["share", "x", "--time-limit", "soon"]).fails(2, &["500ms"]);
    oef(&["share", "x", "--require", "fair"]).fails(2, &["ef, si, pe"]);
    oef(&["shrae", "x"]).fails(2, &["share"]);
}
