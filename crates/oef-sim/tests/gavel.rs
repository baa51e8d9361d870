//! Gavel's traces and throughput files, and Alibaba's node lists.

use oef_sim::input::{
    Placement, Source, TraceOptions, Work, offered_load, read_cluster, read_profiles, read_trace,
    scale_to_load, seconds_on_fastest,
};

/// The same job in every form that Gavel has had.
const FORMS: [&str; 5] = [
    "LM (batch size 5)\tpython main.py\t--steps\t1000\t30\t2",
    "LM (batch size 5)\tpython main.py\t--steps\t1\t1000\t30.000000\t2",
    "LM (batch size 5)\tpython main.py\t--steps\t1\t1000\t2\t1.5\t-1.000000\t30",
    "LM (batch size 5)\tpython main.py\tlanguage_modeling\t--steps\t1\t1000\t2\t1.5\t-1.000000\t30",
    "LM (batch size 5)\tpython main.py\tlanguage_modeling\t--steps\t1\t1000\t2\tstatic\t1.5\t-1\t30",
];

#[test]
fn every_form_of_a_line_is_read() {
    for line in FORMS {
        let text = format!("{line}\nA3C{}\n", &line["LM (batch size 5)".len()..]);
        let read = read_trace(Source::new("g", &text), None, &TraceOptions::default()).unwrap();
        let job = &read.value.jobs[0];
        assert_eq!((job.model.as_deref(), job.batch_size), (Some("LM"), Some(5)));
        assert_eq!((job.submit_s, job.gpus, &job.work), (30.0, 2, &Work::Steps(1000.0)));
        assert_eq!((job.tenant.as_str(), job.id.as_str()), ("t1", "j1"));
        let other = &read.value.jobs[1];
        assert_eq!((other.model.as_deref(), other.batch_size), (Some("A3C"), None));
        assert_eq!(other.tenant, "t2");
        let options = TraceOptions { tenants: Some(1), ..TraceOptions::default() };
        let read = read_trace(Source::new("g", &text), None, &options).unwrap();
        assert_eq!((read.value.tenants().len(), read.value.jobs[0].weight), (1, None));
    }
}

#[test]
fn bad_lines_have_their_place() {
    let good = FORMS[3];
    for (line, expected) in [
        (good.replace("\t1000\t", "\tmany\t"), "g:2: total_steps: \"many\" is not possible"),
        (good.replace("\t2\t", "\t0\t"), "g:2: scale_factor: \"0\" is not possible"),
        (good.replace("\t30", "\t-30"), "g:2: arrival_time: \"-30\" is not possible"),
        (good.replace("\t1.5\t", "\t0\t"), "g:2: priority_weight: \"0\" is not possible"),
        (good.replace("LM (batch size 5)", ""), "g:2: job_type: is empty"),
        ("a\tb\tc".into(), "g:2: the line has 3 fields separated by tabs"),
    ] {
        let text = format!("{good}\n{line}\n");
        let error =
            read_trace(Source::new("g", &text), None, &TraceOptions::default()).unwrap_err();
        assert!(error.to_string().starts_with(expected), "{error}");
    }
}

#[test]
fn throughputs_alone_are_taken_and_pairs_are_not() {
    let text = r#"{"v100": {"('LM (batch size 5)', 1)": {"null": 10.0, "('A3C', 1)": [4.0, 5.0]},
                            "('LM (batch size 5)', 2)": {"null": 18.0},
                            "('A3C', 1)": {"null": 0.0}},
                   "v100_unconsolidated": {"('LM (batch size 5)', 2)": {"null": 12.0}},
                   "k80": {"('A3C', 1)": {"null": 2.0}}}"#;
    let table = read_profiles(Source::new("g", text), None, false).unwrap().value;
    assert_eq!(table.types, ["k80", "v100"]);
    let cells = |model, scale, placement| {
        table.find(model, None, scale, placement).map(|r| r.throughput.clone())
    };
    assert_eq!(cells("LM", 2, Placement::Consolidated), Some(vec![None, Some(18.0)]));
    assert_eq!(cells("LM", 2, Placement::Spread), Some(vec![None, Some(12.0)]));
    assert_eq!(cells("A3C", 1, Placement::Consolidated), Some(vec![Some(2.0), None]));
    let old = r#"{"p100": {"LM (batch size 5) (scale factor 4)": {"null": 3.0}}}"#;
    let table = read_profiles(Source::new("g", old), None, false).unwrap().value;
    assert_eq!((table.rows[0].scale_factor, table.rows[0].batch_size), (4, Some(5)));
}

#[test]
fn bad_throughputs_have_their_place() {
    for (text, expected) in [
        ("{\"v100\": {\n\"('A3C', 1)\": {\"x\": 1}}}", "g:2: ('A3C', 1): has no figure `null`"),
        (
            "{\"v100\": {\n\n\"('A3C', 1)\": {\"null\": -1}}}",
            "g:3: ('A3C', 1): the number -1 is not a throughput",
        ),
        ("{\"v100\": {\"('A3C', 1)\": [1]}}", "g:1: ('A3C', 1): is not a table of figures"),
        (
            "{\"v100\": {\"('A3C', 0)\": {\"null\": 1}}}",
            "g:1: ('A3C', 0): is not the name of a job",
        ),
        ("{\"v100\": 3}", "g:1: v100: expected a table of jobs, found the number 3"),
        ("{\"v100\": {", "g:1: not JSON: unterminated object"),
    ] {
        let error = read_profiles(Source::new("g", text), None, false).unwrap_err();
        assert!(error.to_string().starts_with(expected), "{error}");
    }
}

#[test]
fn a_node_list_is_a_cluster() {
    let text = "sn,cpu_milli,memory_mib,gpu,model\nn0,1,1,0,\nn1,1,1,2,P100\nn2,1,1,8,G2\n";
    let read = read_cluster(Source::new("n.csv", text), None, false).unwrap();
    assert_eq!((read.value.gpus(), read.value.types()), (10, vec!["P100".into(), "G2".into()]));
    assert_eq!(read.notes, ["nodes without GPUs, left out: 1"]);
    for (row, expected) in [
        ("n3,1,1,2,", "n.csv:2: model: is empty"),
        ("n3,1,1,-2,P100", "n.csv:2: gpu: -2 is out of range"),
        (",1,1,2,P100", "n.csv:2: sn: is empty"),
    ] {
        let text = format!("sn,cpu_milli,memory_mib,gpu,model\n{row}\n");
        let error = read_cluster(Source::new("n.csv", &text), None, false).unwrap_err();
        assert!(error.to_string().starts_with(expected), "{error}");
    }
}

#[test]
fn a_load_is_reached_by_scaling_the_work() {
    let profiles = "model,scale_factor,thr_a,thr_b\nm,1,1,4\n";
    let profiles = read_profiles(Source::new("p", profiles), None, false).unwrap().value;
    let text = "tenant,job_id,submit_s,gpus,duration_s,total_steps,model\n\
                a,j1,0,1,100,,m\nb,j2,100,2,,800,m\n";
    let mut trace =
        read_trace(Source::new("t", text), None, &TraceOptions::default()).unwrap().value;
    // 800 steps on two GPUs of 4 steps/s each take 100 s.
    assert_eq!(seconds_on_fastest(&trace.jobs[1], &profiles), Some(100.0));
    assert_eq!(offered_load(&trace, &profiles, 3, 100.0), 1.0);
    assert_eq!(scale_to_load(&mut trace, &profiles, 3, None, 0.5), Ok(0.5));
    assert_eq!(trace.jobs[1].work, Work::Steps(400.0));
    trace.jobs.iter_mut().for_each(|j| j.submit_s = 7.0);
    assert!(scale_to_load(&mut trace, &profiles, 3, None, 0.5).is_err());
}
