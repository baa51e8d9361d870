//! Slurm's accounting, as `sacct -P` prints it.

use oef_sim::input::{
    InputError, Read, Source, Trace, TraceOptions, Work, read_profiles, read_trace, resolve_types,
};

/// In the form that Slurm 22.05 prints: steps below their job, `Unknown` for what has not happened.
const SAMPLE: &str = "\
JobID|JobName|User|Account|Partition|Submit|Start|End|Elapsed|ElapsedRaw|AllocTRES|ReqTRES|State
11|train|ada|vision|gpu|2024-05-01T08:00:00|2024-05-01T08:00:01|2024-05-01T09:00:01|01:00:00|3600|billing=1,cpu=1,gres/gpu:rtx3090=4,gres/gpu=4,mem=500M,node=1|billing=1,cpu=1,gres/gpu:rtx3090=4,gres/gpu=4,mem=500M,node=1|COMPLETED
11.batch|batch||vision||2024-05-01T08:00:01|2024-05-01T08:00:01|2024-05-01T09:00:01|01:00:00|3600|cpu=1,gres/gpu:rtx3090=4,gres/gpu=4,mem=500M,node=1||COMPLETED
11.0|python||vision||2024-05-01T08:00:01|2024-05-01T08:00:01|2024-05-01T09:00:01|01:00:00|3600|cpu=1,gres/gpu:rtx3090=4,gres/gpu=4,mem=500M,node=1||COMPLETED
12|prepare|ada|vision|gpu|2024-05-01T07:59:00|2024-05-01T07:59:01|2024-05-01T07:59:03|00:00:02|2|billing=1,cpu=1,mem=500M,node=1|billing=1,cpu=1,mem=500M,node=1|COMPLETED
13_1|sweep|bob|speech|gpu|2024-05-01T07:59:30|2024-05-01T08:00:46|2024-05-02T10:03:50|1-02:03:04|93784|billing=1,cpu=1,gres/gpu:nvidia_rtx3080-10gb=1,gres/gpu=1,mem=500M,node=1|billing=1,cpu=1,gres/gpu=1,mem=500M,node=1|CANCELLED by 1001
13_[2-9]|sweep|bob|speech|gpu|2024-05-01T07:59:30|Unknown|Unknown|00:00:00|0||billing=1,cpu=1,gres/gpu=1,mem=500M,node=1|PENDING
14|big|bob|speech|gpu|2024-05-01T08:10:00|2024-05-01T08:10:42|Unknown|00:00:35|35|billing=2,cpu=2,gres/gpu=8,mem=1000M,node=2|billing=2,cpu=2,gres/gpu=8,mem=1000M,node=2|RUNNING
14|big|bob|speech|gpu|2024-05-01T08:20:00|2024-05-01T08:20:42|2024-05-01T08:21:42|00:01:00|60|gres/gpu:k80=8,gres/gpu=8|gres/gpu=8|NODE_FAIL
";

fn read(text: &str, tenant_column: Option<&str>) -> Result<Read<Trace>, InputError> {
    let tenant_column = tenant_column.map(String::from);
    let options = TraceOptions { tenant_column, ..TraceOptions::default() };
    read_trace(Source::new("s.txt", text), None, &options)
}

#[test]
fn jobs_with_gpus_are_read_and_the_rest_is_counted() {
    let read = read(SAMPLE, None).unwrap();
    let jobs: Vec<_> = read
        .value
        .jobs
        .iter()
        .map(|j| (j.id.as_str(), j.tenant.as_str(), j.submit_s, j.gpus, j.line))
        .collect();
    assert_eq!(
        jobs,
        [
            ("13_1", "speech", 0.0, 1, 6),
            ("11", "vision", 30.0, 4, 2),
            ("14", "speech", 630.0, 8, 8),
            ("14#2", "speech", 1230.0, 8, 9),
        ]
    );
    let on = |gpu_type: &str, seconds| Work::DurationOn { gpu_type: gpu_type.into(), seconds };
    assert_eq!(read.value.jobs[0].work, on("nvidia_rtx3080-10gb", 93_784.0));
    assert_eq!(read.value.jobs[2].work, Work::DurationOnFastest(35.0));
    assert_eq!(
        read.notes,
        [
            "jobs without GPUs, left out: 1",
            "jobs that never ran, left out: 1",
            "jobs that do not say their gpu type, whose time counts as on the fastest: 1",
            "jobs that were still running, whose time so far counts: 1",
        ]
    );
}

#[test]
fn the_tenant_is_the_account_or_what_is_asked_for() {
    let by_user = read(SAMPLE, Some("user")).unwrap();
    assert_eq!(by_user.value.tenants(), ["bob", "ada"]);
    let error = read(SAMPLE, Some("group")).unwrap_err();
    assert!(error.to_string().starts_with("s.txt:1: group: this column is missing"), "{error}");
}

#[test]
fn types_become_those_of_the_profiles() {
    let mut trace = read(SAMPLE, None).unwrap().value;
    let table = "model,thr_rtx3080,thr_rtx3090\nm,1,2\n";
    let profiles = read_profiles(Source::new("p", table), None, false).unwrap().value;
    let notes = resolve_types(&mut trace, &profiles);
    assert_eq!(notes, ["jobs on `k80`, which has no profiles and counts as the fastest type: 1"]);
    let rate = profiles.rows[0].units_of(&trace.jobs[0].work, &profiles.types);
    assert_eq!(rate, Some(93_784.0));
    assert_eq!(profiles.rows[0].units_of(&trace.jobs[1].work, &profiles.types), Some(7_200.0));
}

#[test]
fn elapsed_time_comes_from_any_of_its_columns() {
    let tail = "|vision|2024-05-01T08:00:00";
    for (columns, cells) in [
        ("ElapsedRaw", "90"),
        ("Elapsed", "00:01:30"),
        ("Start|End", "2024-05-01T08:00:00|2024-05-01T08:01:30"),
    ] {
        // With `-p` every line ends in a bar.
        let text =
            format!("JobID|AllocTRES|{columns}|Account|Submit|\n1|gres/gpu:a=1|{cells}{tail}|\n");
        let read = read(&text, None).unwrap();
        let expected = Work::DurationOn { gpu_type: "a".into(), seconds: 90.0 };
        assert_eq!(read.value.jobs[0].work, expected, "{columns}");
    }
}

#[test]
fn every_mistake_has_its_place() {
    let header = "JobID|Account|Submit|Elapsed|AllocTRES";
    for (text, expected) in [
        (
            format!("{header}\n1|v|yesterday|00:01:00|gres/gpu=1\n"),
            "s.txt:2: Submit: \"yesterday\" is not a time (such as 2024-05-01T12:00:00)",
        ),
        (
            format!("{header}\n1|v|2024-05-01T08:00:00|soon|gres/gpu=1\n"),
            "s.txt:2: Elapsed: \"soon\" is not a duration (such as 1-02:03:04, or ask sacct for ElapsedRaw)",
        ),
        (
            format!("{header}\n1|v|2024-05-01T08:00:00|00:01:00|gres/gpu=x\n"),
            "s.txt:2: AllocTRES: \"gres/gpu=x\" has no count of GPUs",
        ),
        (
            format!("{header}\n1||2024-05-01T08:00:00|00:01:00|gres/gpu=1\n"),
            "s.txt:2: Account: is empty (every row needs a name here)",
        ),
        (
            format!("{header}\n1|a|b|2024-05-01T08:00:00|00:01:00|gres/gpu=1\n"),
            "s.txt:2: the row has 6 cells, the header has 5 (a name with a `|` in it splits its row: leave that column out, JobName for example)",
        ),
        (
            format!("{header}\n1|v|2024-05-01T08:00:00|00:01:00|cpu=1\n"),
            "s.txt: no job with GPUs ran in it (1 without GPUs, 0 that never ran) (ask sacct for AllocTRES, and for all users with -a)",
        ),
    ] {
        assert_eq!(read(&text, None).unwrap_err().to_string(), expected);
    }
    for (header, field) in [
        ("JobID|Account|Submit|Elapsed", "AllocTRES"),
        ("JobID|Account|Submit|AllocTRES", "ElapsedRaw"),
        ("JobID|Submit|Elapsed|AllocTRES", "Account"),
        ("JobID|Account|Elapsed|AllocTRES", "Submit"),
    ] {
        let error = read(&format!("{header}\n"), None).unwrap_err();
        assert!(error.to_string().starts_with(&format!("s.txt:1: {field}: ")), "{error}");
    }
}
