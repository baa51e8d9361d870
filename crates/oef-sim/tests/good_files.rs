//! What is right is read as it is meant.

use oef_sim::input::{
    Placement, ProfileTable, Source, TraceOptions, Work, assign_models, check_models, read_cluster,
    read_profiles, read_trace,
};

fn profiles(text: &str) -> ProfileTable {
    read_profiles(Source::new("p.csv", text), None, false).unwrap().value
}

#[test]
fn a_trace_with_durations_and_one_with_steps() {
    let text = "\u{feff}Tenant, job_id ,submit_s,gpus,duration_s,duration_load1_s,total_steps_v100ref,model,batch_size,vc\n\
                b,j2,20,2.0,60,6,600,m,0,x\n\
                \"a, b\",j1,10,1,,,,,,x\n\
                c,j3,10,1,1,2,3,n,8,x\n";
    let options = TraceOptions { skip_bad_rows: true, ..TraceOptions::default() };
    let read = read_trace(Source::new("t.csv", text), None, &options).unwrap();
    assert_eq!(read.skipped.len(), 1);
    let jobs = &read.value.jobs;
    assert_eq!((jobs[0].id.as_str(), jobs[1].id.as_str()), ("j3", "j2"));
    assert_eq!((jobs[1].gpus, jobs[1].batch_size, jobs[1].line), (2, None, 2));
    assert_eq!(jobs[1].work, Work::DurationOnFastest(60.0));
    for (column, work) in [
        ("duration_load1_s", Work::DurationOnFastest(6.0)),
        ("total_steps_v100ref", Work::Steps(600.0)),
    ] {
        let options = TraceOptions { duration_column: Some(column.into()), ..options.clone() };
        let read = read_trace(Source::new("t.csv", text), None, &options).unwrap();
        assert_eq!(read.value.jobs[1].work, work);
    }
    let options = TraceOptions { tenant_column: Some("VC".into()), ..options };
    let read = read_trace(Source::new("t.csv", text), None, &options).unwrap();
    assert_eq!(read.value.tenants(), ["x"]);
}

#[test]
fn a_profile_table_with_everything() {
    let table = profiles(
        "source,model,batch,scale_factor,placement,thr_K80,w_K80,thr_V100\n\
         s,m,16,1,,1.5,1,3\n\
         s,m,16,4,consolidated,5,1,\n\
         s,m,16,4,unconsolidated,4,1,0\n\
         s,A3C,0,1,,1,1,2\n",
    );
    assert_eq!(table.types, ["K80", "V100"]);
    let row = table.find("M", Some(16), 4, Placement::Spread).unwrap();
    assert_eq!(row.throughput, [Some(4.0), None]);
    assert_eq!(table.find("m", None, 4, Placement::Unknown).unwrap().scale_factor, 4);
    assert_eq!(table.find("a3c", None, 1, Placement::Consolidated).unwrap().batch_size, None);
    assert!(table.find("m", Some(32), 1, Placement::Unknown).is_none());
    assert_eq!(table.nearest_scale("m", None, 2).unwrap().scale_factor, 1);
    assert_eq!(table.nearest_scale("m", None, 8).unwrap().scale_factor, 4);
}

#[test]
fn precisions_become_part_of_the_name_where_there_are_several() {
    let table = profiles("precision,model,thr_a\nfp16,m,2\nfp32,m,1\nfp32,n,1\n");
    let names: Vec<&str> = table.rows.iter().map(|r| r.model.as_str()).collect();
    assert_eq!(names, ["m/fp16", "m/fp32", "n"]);
}

#[test]
fn a_long_table_becomes_a_wide_one() {
    let text = "source,model,batch,sm,samples_per_s\nalone,m,8,12,1\nalone,m,8,32,2\nalone,n,8,12,3\nall,m,8,12,9\n";
    let read = read_profiles(Source::new("p.csv", text), None, false).unwrap();
    assert_eq!(read.value.types, ["sm12", "sm32"]);
    assert_eq!(read.value.rows[0].throughput, [Some(1.0), Some(2.0)]);
    assert_eq!(read.value.rows[1].throughput, [Some(3.0), None]);
    assert_eq!(read.notes, ["figures that came again, of which the first counts: 1"]);
}

#[test]
fn clusters_in_toml_and_json_are_the_same() {
    let toml = "[[node]]\nname = 'n1'\ngpu_type = 'a100'\ngpus = 4\n\
                [[node]]\nhost = 'h'\ngpu_type = 't4'\ngpus = 2\n\
                [[gpu]]\ntype = 'V100'\ncount = 10\nper_node = 4\n";
    let json = r#"{"node": [{"name": "n1", "gpu_type": "a100", "gpus": 4},
                            {"host": "h", "gpu_type": "t4", "gpus": 2}],
                   "gpu": [{"type": "V100", "count": 10, "per_node": 4}]}"#;
    let toml = read_cluster(Source::new("c", toml), None, false).unwrap().value;
    let json = read_cluster(Source::new("c", json), None, false).unwrap().value;
    assert_eq!(toml.types(), ["a100", "t4", "V100"]);
    assert_eq!((toml.gpus(), toml.count("v100"), toml.nodes.len()), (16, 10, 5));
    assert_eq!((toml.nodes[1].name.as_str(), toml.nodes[0].host.as_str()), ("h", "n1"));
    assert_eq!(toml.nodes[4].gpus, 2);
    let sorted = |mut c: oef_sim::input::ClusterSpec| {
        c.nodes.sort_by(|a, b| a.name.cmp(&b.name));
        c
    };
    assert_eq!(sorted(toml), sorted(json));
}

#[test]
fn jobs_without_a_model_get_one_and_keep_it() {
    let table = profiles("model,batch_size,thr_a\nm,8,1\nn,16,2\no,32,\n");
    let text = "tenant,job_id,submit_s,gpus,duration_s,model,batch_size\n\
                a,j1,0,1,60,,\na,j2,1,1,60,,\nb,j3,0,1,60,n,16\nb,j4,1,1,60,,\n";
    let read = || read_trace(Source::new("t", text), None, &TraceOptions::default()).unwrap().value;
    let (mut once, mut again) = (read(), read());
    assert_eq!(assign_models(&mut once, &table, 5), 3);
    again.jobs.reverse();
    assign_models(&mut again, &table, 5);
    again.jobs.reverse();
    assert_eq!(once, again);
    let of = |id: &str| once.jobs.iter().find(|j| j.id == id).unwrap();
    assert_eq!(of("j1").model, of("j2").model);
    assert_eq!((of("j4").model.as_deref(), of("j4").batch_size), (Some("n"), Some(16)));
    assert!(once.jobs.iter().all(|j| j.model.as_deref() != Some("o")), "it runs nowhere");
    assert_eq!(check_models(&once, &table, "t"), Ok(()));
}

#[test]
fn models_that_the_profiles_do_not_have_are_told_once() {
    let table = profiles("model,batch_size,thr_a\nresnet50,8,1\nresnet50,16,1\nbig,8,\nplain,,1\n");
    let text = "tenant,job_id,submit_s,gpus,duration_s,model,batch_size\n\
                a,j1,0,1,60,resnet-50,8\na,j2,0,1,60,resnet-50,8\na,j3,0,1,60,resnet50,32\n\
                a,j4,0,1,60,big,8\na,j5,0,1,60,plain,8\na,j6,0,1,60,ResNet50,\n";
    let trace = read_trace(Source::new("t.csv", text), None, &TraceOptions::default()).unwrap();
    let error = check_models(&trace.value, &table, "t.csv").unwrap_err();
    let said: Vec<String> = error.problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "t.csv:2: model: the profiles have no model `resnet-50` (did you mean `resnet50`?)",
            "t.csv:4: batch_size: the profiles have no batch size 32 of `resnet50` (it has 8, 16)",
            "t.csv:5: model: `big` runs on no type of the cluster (its cells in the profile table are empty)",
            "t.csv:6: batch_size: the profiles have no batch sizes of `plain` (leave the cell empty)",
        ]
    );
}
