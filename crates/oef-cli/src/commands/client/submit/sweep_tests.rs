use super::*;
use proptest::prelude::*;

fn job(command: &[&str]) -> JobSubmit {
    let command = command.iter().map(|word| word.to_string()).collect();
    JobSubmit { command, ..JobSubmit::default() }
}

fn axes(texts: &[&str]) -> Vec<Axis> {
    texts.iter().map(|text| Axis::parse(text).expect(text)).collect()
}

fn complaints(template: &JobSubmit, sweeps: &[&str]) -> String {
    let found = expand(template, &axes(sweeps)).expect_err("a complaint");
    let words = |c: &Complaint| format!("{} | {}", c.message, c.hint.clone().unwrap_or_default());
    found.iter().map(words).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_combination_is_a_job() {
    let mut template = job(&["/usr/bin/train", "--lr={lr}", "{bs}"]);
    template.env.insert("RUN".into(), "run-{lr}-{bs}".into());
    template.checkpoint_dir = Some("/ckpt/{lr}/{bs}".into());
    let batch = expand(&template, &axes(&["lr=0.1,1e-2", "bs=32,64"])).expect("a batch");
    let commands: Vec<String> = batch.jobs.iter().map(|job| job.command.join(" ")).collect();
    let expected = ["0.1 32", "0.1 64", "1e-2 32", "1e-2 64"]
        .map(|pair| format!("/usr/bin/train --lr={}", pair));
    assert_eq!(commands, expected);
    let last = &batch.jobs[3];
    assert_eq!(last.env["RUN"], "run-1e-2-64");
    assert_eq!(last.checkpoint_dir.as_deref(), Some("/ckpt/1e-2/64"));
    assert_eq!(last.name.as_deref(), Some("train lr=1e-2 bs=64"));
    assert_eq!((&*last.labels["lr"], &*last.labels["bs"]), ("1e-2", "64"));
    assert_eq!(batch.name.as_deref(), Some("train"));
}

#[test]
fn a_name_may_hold_placeholders() {
    let template = JobSubmit { name: Some("vgg-{lr}".into()), ..job(&["t", "{lr}"]) };
    let batch = expand(&template, &axes(&["lr=1,2"])).expect("a batch");
    assert_eq!(batch.jobs[1].name.as_deref(), Some("vgg-2"));
    let plain = JobSubmit { name: Some("vgg".into()), ..job(&["t", "{lr}"]) };
    let batch = expand(&plain, &axes(&["lr=1,2"])).expect("a batch");
    assert_eq!((batch.name.as_deref(), batch.jobs[1].name.as_deref()), (Some("vgg"), Some("vgg")));
}

#[test]
fn braces_that_are_no_placeholder_stay() {
    let cases = [
        ("{x}", "1"),
        ("{{x}}", "{x}"),
        ("${x} {x}", "${x} 1"),
        (r#"{"a":{"b":1}} {x}"#, r#"{"a":{"b":1}} 1"#),
        ("{ x } {x}", "{ x } 1"),
        ("{} {{}} {x} {", "{} {{}} 1 {"),
        ("{{x} {x}", "{{x} 1"),
        ("ü{x}é", "ü1é"),
    ];
    for (text, expected) in cases {
        assert_eq!(replace(text, &[("x", "1")]), expected, "{text}");
    }
}

#[test]
fn what_is_unknown_or_unused_is_told() {
    let said = complaints(&job(&["t", "{lrr}", "{lr}"]), &["lr=1,2"]);
    assert!(said.contains("{lrr} is not swept") && said.contains("did you mean `lr`?"), "{said}");
    assert!(said.contains("{{lrr}}"), "{said}");
    let said = complaints(&job(&["t"]), &["lr=1,2"]);
    assert!(said.contains("the sweep of `lr` changes nothing") && said.contains("{lr}"), "{said}");
    let said = complaints(&job(&["t", "{a}"]), &["a=1", "a=2"]);
    assert!(said.contains("swept twice"), "{said}");
    let mut labelled = job(&["t", "{a}"]);
    labelled.labels.insert("a".into(), "1".into());
    assert!(complaints(&labelled, &["a=1"]).contains("a label and a sweep"));
    // A script has braces of its own.
    let script = JobSubmit { script: Some("echo {x} {other}".into()), ..JobSubmit::default() };
    let batch = expand(&script, &axes(&["x=1"])).expect("a batch");
    assert_eq!(batch.jobs[0].script.as_deref(), Some("echo 1 {other}"));
}

#[test]
fn sweeps_have_a_form() {
    for (text, said) in [
        ("lr", "no `=`"),
        ("=1", "cannot be a placeholder"),
        ("a b=1", "cannot be a placeholder"),
        ("lr=1,,2", "empty value"),
        ("lr=", "empty value"),
        ("lr=1,2,1", "twice"),
    ] {
        let complaint = Axis::parse(text).expect_err(text);
        assert!(complaint.message.contains(said), "{text}: {}", complaint.message);
        assert!(complaint.hint.is_some() && complaint.place.is_some(), "{text}");
    }
}

#[test]
fn a_sweep_has_a_limit() {
    let many: Vec<String> = (0..40).map(|n| n.to_string()).collect();
    let many = many.join(",");
    let (a, b) = (format!("a={many}"), format!("b={many}"));
    assert!(complaints(&job(&["t", "{a}{b}"]), &[&a, &b]).contains("1600 jobs"));
}

proptest! {
    /// As many jobs as combinations, all different, no placeholder left.
    #[test]
    fn the_product_is_whole(sizes in prop::collection::vec(1usize..6, 1..4)) {
        let axes: Vec<Axis> = sizes.iter().enumerate().map(|(i, &n)| {
            let values = (0..n).map(|v| format!("v{v}")).collect();
            Axis { name: format!("axis{i}"), values }
        }).collect();
        let words: Vec<String> = axes.iter().map(|axis| format!("--x={{{}}}", axis.name)).collect();
        let words: Vec<&str> = words.iter().map(|word| &**word).collect();
        let batch = expand(&job(&words), &axes).expect("a batch");
        prop_assert_eq!(batch.jobs.len(), sizes.iter().product::<usize>());
        let commands: BTreeSet<String> = batch.jobs.iter().map(|j| j.command.join(" ")).collect();
        prop_assert_eq!(commands.len(), batch.jobs.len());
        for job in &batch.jobs {
            let is_filled = |word: &String| !word.contains(['{', '}']);
            prop_assert!(job.command.iter().all(is_filled), "{:?}", job.command);
            prop_assert_eq!(job.labels.len(), axes.len());
        }
    }

    /// No text makes the reader of placeholders panic, and without values nothing but `{{x}}` changes.
    #[test]
    fn any_text_is_read(text in "[{}$a\u{e9} ]{0,24}") {
        let same = replace(&text, &[]);
        prop_assert!(same.len() <= text.len());
        if !text.contains("{{") {
            prop_assert_eq!(same, text);
        }
    }
}
