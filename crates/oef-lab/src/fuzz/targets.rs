//! What reads, one function each.

use crate::torture::take_wishes;
use oef_api::types::{
    GroupPut, JobBatch, JobPatch, JobSubmit, NodePatch, NotificationCreate, Scenario,
    SettingsPatch, TenantCreate, TenantPatch, TokenCreate, WhatIf, WorkloadPut,
};
use oef_executor::reading;
use oef_server::config::Config;
use oef_server::core::Wish;
use oef_server::replay::Replay;
use oef_server::store::StoredRecord;
use oef_sim::input::{
    ClusterFormat, ProfileFormat, Source, TraceFormat, TraceOptions, read_cluster, read_profiles,
    read_trace, tree,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Something that reads.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, and that of its corpus.
    pub name: &'static str,
    /// Reads. It must not panic, whatever it is given.
    pub read: fn(&[u8]),
    /// Whether it takes an input: whatever is kept has to be right, or its changes are worth nothing.
    pub takes: fn(&[u8]) -> bool,
    /// How many changed inputs are worth one of the quickest: some start a whole daemon's core.
    pub cost: u32,
}

/// All of them.
pub const TARGETS: [Target; 10] = [
    Target { name: "trees", read: trees, takes: takes_trees, cost: 1 },
    Target { name: "traces", read: traces, takes: takes_traces, cost: 1 },
    Target { name: "accounting", read: accounting, takes: takes_accounting, cost: 1 },
    Target { name: "profiles", read: profiles, takes: takes_profiles, cost: 1 },
    Target { name: "clusters", read: clusters, takes: takes_clusters, cost: 1 },
    Target { name: "configuration", read: configuration, takes: takes_configuration, cost: 1 },
    Target { name: "bodies", read: bodies, takes: takes_bodies, cost: 20 },
    Target { name: "progress", read: progress, takes: takes_progress, cost: 1 },
    Target { name: "records", read: records, takes: takes_records, cost: 1 },
    Target { name: "journal", read: journal, takes: takes_journal, cost: 20 },
];

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The reader under problem files: TOML and JSON with the place of every value.
fn trees(bytes: &[u8]) {
    let text = text(bytes);
    for wrong in [tree::toml(&text).err(), tree::json(&text).err()] {
        assert!(wrong.is_none_or(|wrong| !wrong.is_empty()), "refused without a word");
    }
}

fn takes_trees(bytes: &[u8]) -> bool {
    let text = text(bytes);
    tree::toml(&text).is_ok() || tree::json(&text).is_ok()
}

fn takes_trace_as(bytes: &[u8], formats: &[TraceFormat]) -> bool {
    let (text, options) = (text(bytes), TraceOptions::default());
    formats
        .iter()
        .any(|format| read_trace(Source::new("any", &text), Some(*format), &options).is_ok())
}

fn takes_traces(bytes: &[u8]) -> bool {
    takes_trace_as(bytes, &[TraceFormat::Csv, TraceFormat::Gavel])
}

fn takes_accounting(bytes: &[u8]) -> bool {
    takes_trace_as(bytes, &[TraceFormat::Slurm])
}

fn takes_profiles(bytes: &[u8]) -> bool {
    let text = text(bytes);
    let source = Source::new("any", &text);
    ProfileFormat::ALL.into_iter().any(|format| read_profiles(source, Some(format), true).is_ok())
}

fn takes_clusters(bytes: &[u8]) -> bool {
    let text = text(bytes);
    let source = Source::new("any", &text);
    ClusterFormat::ALL.into_iter().any(|format| read_cluster(source, Some(format), true).is_ok())
}

fn takes_configuration(bytes: &[u8]) -> bool {
    Config::check(&text(bytes)).is_ok()
}

fn takes_bodies(bytes: &[u8]) -> bool {
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else { return false };
    is_question(&value) || !wishes(&value).is_empty()
}

fn takes_progress(bytes: &[u8]) -> bool {
    reading::progress(&[bytes]).is_some()
}

fn takes_records(bytes: &[u8]) -> bool {
    [reading::status, reading::order, reading::launch].iter().any(|read| read(bytes))
}

fn takes_journal(bytes: &[u8]) -> bool {
    replayed(&text(bytes)).is_ok()
}

fn trace_as(bytes: &[u8], formats: &[Option<TraceFormat>]) {
    let text = text(bytes);
    let source = Source::new("any", &text);
    for skip_bad_rows in [false, true] {
        let options = TraceOptions { skip_bad_rows, tenants: Some(3), ..TraceOptions::default() };
        for format in formats {
            if let Err(error) = read_trace(source, *format, &options) {
                assert!(!error.problems.is_empty(), "refused without a word");
            }
        }
    }
}

fn traces(bytes: &[u8]) {
    trace_as(bytes, &[None, Some(TraceFormat::Csv), Some(TraceFormat::Gavel)]);
}

fn accounting(bytes: &[u8]) {
    trace_as(bytes, &[Some(TraceFormat::Slurm)]);
}

fn profiles(bytes: &[u8]) {
    let text = text(bytes);
    for format in ProfileFormat::ALL {
        let _ = read_profiles(Source::new("any", &text), Some(format), true);
    }
}

fn clusters(bytes: &[u8]) {
    let text = text(bytes);
    for format in ClusterFormat::ALL {
        let _ = read_cluster(Source::new("any", &text), Some(format), true);
    }
}

fn configuration(bytes: &[u8]) {
    if let Err(problems) = Config::check(&text(bytes)) {
        assert!(!problems.is_empty(), "refused without a word");
    }
}

fn read_as<T: DeserializeOwned>(value: &Value) -> Option<T> {
    T::deserialize(value).ok()
}

/// Bodies of requests: read as everything they could be, and given to a daemon's core that has to go on.
fn bodies(bytes: &[u8]) {
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else { return };
    let _ = is_question(&value);
    let wishes = wishes(&value);
    if !wishes.is_empty()
        && let Err(broken) = take_wishes(wishes)
    {
        panic!("{}: {}", broken.invariant, broken.what);
    }
}

/// Bodies of requests that change nothing in the core.
fn is_question(value: &Value) -> bool {
    read_as::<WhatIf>(value).is_some()
        || read_as::<Scenario>(value).is_some()
        || read_as::<TokenCreate>(value).is_some()
}

/// Everything that a body could ask for.
fn wishes(value: &Value) -> Vec<Wish> {
    let job = |job: JobSubmit| JobBatch::of(vec![job]);
    let tenant = || "t0".to_string();
    let edited = read_as::<JobPatch>(value);
    let held = edited.is_some().then(|| JobSubmit {
        tenant: tenant().parse().ok(),
        command: vec!["true".into()],
        held: true,
        ..JobSubmit::default()
    });
    let wishes = [
        held.map(|held| Wish::Submit(job(held), None)),
        edited.map(|patch| Wish::PatchJob(1, patch)),
        read_as::<NotificationCreate>(value).map(Wish::AddNotification),
        read_as::<GroupPut>(value).map(|group| Wish::PutGroup("g".into(), group)),
        read_as::<TenantCreate>(value).map(Wish::CreateTenant),
        read_as::<SettingsPatch>(value).map(Wish::PatchSettings),
        read_as::<TenantPatch>(value).map(|patch| Wish::PatchTenant(tenant(), patch)),
        read_as::<WorkloadPut>(value).map(|put| Wish::PutWorkload(tenant(), "default".into(), put)),
        read_as::<NodePatch>(value).map(|patch| Wish::PatchNode("s0".into(), patch)),
        read_as::<JobBatch>(value).map(|batch| Wish::Submit(batch, None)),
        read_as::<JobSubmit>(value).map(|one| Wish::Submit(job(one), None)),
    ];
    wishes.into_iter().flatten().collect()
}

/// What a job says of itself: the whole, and in two pieces.
fn progress(bytes: &[u8]) {
    let _ = reading::progress(&[bytes]);
    let (first, second) = bytes.split_at(bytes.len() / 2);
    let _ = reading::progress(&[first, second]);
}

/// The files by which executor and runner know of each other.
fn records(bytes: &[u8]) {
    let _ = (reading::status(bytes), reading::order(bytes), reading::launch(bytes));
}

/// A journal, a record on each line, or a snapshot: replayed until a record is refused.
fn journal(bytes: &[u8]) {
    if let Err(why) = replayed(&text(bytes)) {
        assert!(!why.is_empty(), "refused without a word");
    }
}

fn replayed(text: &str) -> Result<(), String> {
    let mut replay = Replay::default();
    if replay.text(&mut text.as_bytes()).is_ok() {
        let _ = replay.finish().to_snapshot();
        return Ok(());
    }
    for (seq, line) in (1..).zip(text.lines()) {
        let value: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let at_ms = value.get("at").and_then(Value::as_u64).ok_or("no time")?;
        let change = value.get("change").ok_or("no change")?;
        let record = StoredRecord { seq, at_ms, kind: "any".into(), body: change.to_string() };
        replay.record(&record)?;
    }
    let _ = replay.finish().to_snapshot();
    Ok(())
}
