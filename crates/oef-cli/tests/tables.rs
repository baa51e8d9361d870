//! Speedup tables in CSV.

mod common;

use common::{Dir, near, oef, oef_with};

const TABLE: &str = "\
model,batch_size,thr_k80,thr_p100,thr_v100,w_k80,bs_k80
vgg,32,1.0,2.0,5.0,1.0,8
vgg,32,2.0,4.0,4.0,1.0,8
lm,5,,1.0,3.0,,
";

#[test]
fn rows_become_tenants() {
    let dir = Dir::new();
    let file = dir.file("t.csv", TABLE);
    let json = oef(&["share", &file, "--counts", "K80=1,V100=2", "--json"]).json();
    let names: Vec<&str> = (json["tenants"].as_array().expect("a list").iter())
        .map(|t| t["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(names, ["vgg-32", "vgg-32#2", "lm-5"]);
    let share = json["tenants"][0]["share"].as_object().expect("an object");
    assert_eq!(share.keys().collect::<Vec<_>>(), ["K80", "V100"]);
    near(&json["tenants"][2]["share"]["K80"], 0.0);
    assert_eq!(json["reference"], "K80");
}

#[test]
fn tables_come_from_stdin_too() {
    let ran =
        oef_with(&["share", "-", "--counts", "k80=1", "--counts", "v100=1.5", "--json"], TABLE);
    assert_eq!(ran.json()["tenants"].as_array().map(Vec::len), Some(3));
}

#[test]
fn weights_and_demands_may_be_columns() {
    let table = "model,weight,demand,thr_a\nx,2,,1\ny,1,0.1,1\n";
    let json = oef_with(&["share", "-", "--counts", "a=1", "--json"], table).json();
    near(&json["tenants"][0]["weight"], 2.0);
    near(&json["tenants"][1]["demand"], 0.1);
}

#[test]
fn counts_must_fit_the_table() {
    let run = |counts: &[&str]| {
        let args: Vec<&str> = ["share", "-"].iter().chain(counts).copied().collect();
        oef_with(&args, TABLE)
    };
    run(&[]).fails(2, &["--counts k80=8,p100=8,v100=8"]);
    run(&["--counts", "k80=1,p10=1"]).fails(2, &["`p10`", "did you mean `p100`?"]);
    run(&["--counts", "k80=1,K80=1"]).fails(2, &["counted twice"]);
    run(&["--counts", "k80"]).fails(2, &["`k80` has no `=`"]);
    run(&["--counts", "k80=many"]).fails(2, &["`many`", "is not a number"]);
    run(&["--counts", "v100=-1"]).fails(2, &["--counts", "count -1"]);
    run(&["--counts", "k80=1"]).fails(2, &["<stdin>:4", "lm-5"]);
    let ambiguous = "model,thr_a,thr_A\nx,1,1\n";
    oef_with(&["share", "-", "--counts", "a=1"], ambiguous);
    oef_with(&["share", "-", "--counts", "á=1"], ambiguous).fails(2, &["known types: a, A"]);
}

#[test]
fn rows_must_be_whole() {
    let ragged = format!("{TABLE}resnet,1,2.0\nbert,1,1,2,3,4,5,6\n");
    let ran = oef_with(&["share", "-", "--counts", "v100=1"], ragged);
    ran.fails(2, &["<stdin>:5", "the row has 3 fields, the header has 7", "<stdin>:6", "8 fields"]);
    let wrong = TABLE.replace("2.0,4.0,4.0", "2.0,fast,nan");
    let ran = oef_with(&["share", "-", "--counts", "p100=1,v100=1"], wrong);
    ran.fails(2, &["<stdin>:3", "thr_p100", "`fast` is not a number", "thr_v100", "NaN"]);
    oef_with(&["share", "-", "--counts", "a=1"], "model,thr_a\n").fails(2, &["no tenants"]);
    let dir = Dir::new();
    let file = dir.file("t.csv", "model,speed\nx,1\n");
    oef(&["share", &file, "--counts", "a=1"]).fails(2, &["t.csv:1", "thr_"]);
}

#[test]
fn lines_are_counted_as_an_editor_does() {
    let table = "model,thr_a\r\n\r\n\r\nx,bad\r\n\"two\nlines\",oops\r\ny,worse\r\n";
    let ran = oef_with(&["share", "-", "--counts", "a=1"], table);
    ran.fails(
        2,
        &["<stdin>:4:1: thr_a: `bad`", "<stdin>:5:1: thr_a: `oops`", "<stdin>:7:1: thr_a: `worse`"],
    );
}
