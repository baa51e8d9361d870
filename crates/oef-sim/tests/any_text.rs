//! No text makes a reader panic: random bytes, and valid files with something changed.

use oef_sim::input::{
    ClusterFormat, ProfileFormat, Source, TraceFormat, TraceOptions, assign_models, check_models,
    match_types, read_cluster, read_profiles, read_trace, resolve_types, scale_to_load,
};
use proptest::prelude::*;

const CLUSTERS: [&str; 3] = [
    "[[node]]\nname = \"a\"\ngpu_type = \"v100\"\ngpus = 4\nhost = 'h'\n[[gpu]]\ntype = \"k80\"\ncount = 9\nper_node = 4\n",
    "{\"node\": [{\"name\": \"a\", \"gpu_type\": \"v100\", \"gpus\": 4}]}",
    "sn,cpu_milli,memory_mib,gpu,model\nn0,1,1,0,\nn1,1,1,2,v100\n",
];
const PROFILES: [&str; 3] = [
    "model,batch_size,scale_factor,placement,precision,thr_v100,thr_k80\nm,8,1,spread,fp16,1,2\nn,,2,,fp32,,3\n",
    "source,model,batch,sm,samples_per_s\ns,m,8,12,1.5\ns,n,8,32,2\n",
    "{\"v100\": {\"('m (batch size 8)', 1)\": {\"null\": 1.5, \"('n', 1)\": [1, 2]}}, \"k80_unconsolidated\": {}}",
];
const TRACES: [&str; 3] = [
    "tenant,job_id,submit_s,gpus,duration_s,total_steps,model,batch_size,priority,weight\na,j1,0,1,60,,m,8,1,2\nb,j2,5,2,,10,,,,\n",
    "m (batch size 8)\tcmd\twd\t--n\t1\t346\t2\t1\t-1.0\t0\nn\tcmd\twd\t--n\t1\t36\t1\t1\t-1.0\t9\n",
    "JobID|Account|User|Submit|Start|End|Elapsed|AllocTRES|State\n1|v|u|2024-05-01T08:00:00|2024-05-01T08:00:00|Unknown|1-00:01:00|gres/gpu:v100=4,gres/gpu=4|RUNNING\n1.batch|v||||||| \n2_1|v|u|2024-05-01T08:01:00|None|None||gres/gpu=1|X\n",
];

/// Reads a text as everything it could be.
fn read_as_anything(text: &str) {
    let source = Source::new("any", text);
    for skip in [false, true] {
        let options = TraceOptions { skip_bad_rows: skip, tenants: Some(3), ..Default::default() };
        let traces =
            [None, Some(TraceFormat::Csv), Some(TraceFormat::Gavel), Some(TraceFormat::Slurm)];
        let profiles =
            [None, Some(ProfileFormat::Csv), Some(ProfileFormat::Long), Some(ProfileFormat::Gavel)];
        let clusters = [
            None,
            Some(ClusterFormat::Toml),
            Some(ClusterFormat::Json),
            Some(ClusterFormat::Nodes),
        ];
        for format in traces {
            check(read_trace(source, format, &options).map(|read| use_trace(read.value)));
        }
        for format in profiles {
            check(read_profiles(source, format, skip).map(|read| {
                let cluster = read_cluster(Source::new("c", CLUSTERS[0]), None, false).unwrap();
                let _ = match_types(&cluster.value, &read.value);
            }));
        }
        for format in clusters {
            check(read_cluster(source, format, skip).map(|read| {
                assert!(read.value.gpus() > 0);
            }));
        }
    }
}

fn check(result: Result<(), oef_sim::input::InputError>) {
    if let Err(error) = result {
        assert!(!error.problems.is_empty());
        assert!(error.problems.iter().all(|p| p.file == "any" && !p.message.is_empty()));
        let _ = error.to_string();
    }
}

fn use_trace(mut trace: oef_sim::input::Trace) {
    let profiles = read_profiles(Source::new("p", PROFILES[0]), None, false).unwrap().value;
    assert!(trace.jobs.iter().all(|j| j.gpus > 0 && j.submit_s >= 0.0 && !j.tenant.is_empty()));
    assert!(trace.jobs.is_sorted_by(|a, b| a.submit_s <= b.submit_s));
    let _ = check_models(&trace, &profiles, "t");
    assign_models(&mut trace, &profiles, 1);
    resolve_types(&mut trace, &profiles);
    let _ = scale_to_load(&mut trace, &profiles, 8, None, 1.0);
}

/// A valid file with a few bytes changed, removed, doubled or put in.
fn mutated() -> impl Strategy<Value = String> {
    let files: Vec<&str> = [CLUSTERS, PROFILES, TRACES].concat();
    let edit = (any::<prop::sample::Index>(), 0..5_u8, any::<u8>(), 0..30_usize);
    (prop::sample::select(files), prop::collection::vec(edit, 1..6)).prop_map(|(file, edits)| {
        let mut bytes = file.as_bytes().to_vec();
        for (at, kind, byte, length) in edits {
            let at = at.index(bytes.len().max(1)).min(bytes.len().saturating_sub(1));
            let to = (at + length).min(bytes.len());
            match kind {
                _ if bytes.is_empty() => bytes.push(byte),
                0 => bytes[at] = byte,
                1 => drop(bytes.drain(at..to)),
                2 => bytes.insert(at, byte),
                3 => bytes.extend_from_within(at..to),
                _ => bytes.splice(at..to, *b"-9e400").for_each(drop),
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn random_bytes_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        read_as_anything(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn random_tables_are_refused_or_read(text in "[a-c0-9,|\t\n\\-:.=\"'{}\\[\\]]{0,200}") {
        read_as_anything(&text);
    }

    #[test]
    fn changed_files_are_refused_or_read(text in mutated()) {
        read_as_anything(&text);
    }
}

#[test]
fn the_files_that_are_changed_are_valid() {
    for text in CLUSTERS {
        assert!(read_cluster(Source::new("c", text), None, false).is_ok(), "{text}");
    }
    for text in PROFILES {
        assert!(read_profiles(Source::new("p", text), None, false).is_ok(), "{text}");
    }
    for text in TRACES {
        let read = read_trace(Source::new("t", text), None, &TraceOptions::default());
        assert!(read.is_ok(), "{text} {read:?}");
    }
}

#[test]
fn deep_and_long_texts_are_refused() {
    for text in [
        "[".repeat(100_000),
        "{\"node\":".repeat(50_000),
        format!("{{\"v100\":{}", "[".repeat(90_000)),
    ] {
        read_as_anything(&text);
    }
    read_as_anything(&format!(
        "model,{}\n",
        (0..400).map(|i| format!("thr_t{i}")).collect::<Vec<_>>().join(",")
    ));
}
