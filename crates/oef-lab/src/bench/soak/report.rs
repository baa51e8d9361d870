//! What a soak says.

use oef_report::format;
use serde::Serialize;
use std::fmt::Write as _;

/// How things stood at an instant.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Sample {
    pub second: f64,
    pub memory_bytes: Option<u64>,
    pub journal_bytes: u64,
    pub journal_records: u64,
    pub running: usize,
    pub queued: u64,
    pub round: u64,
}

/// The figures of a soak.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Soak {
    pub version: u32,
    pub seconds: f64,
    pub rate: u32,
    pub tenants: u32,
    pub gpus: u32,
    pub streams: u32,
    pub submitted: usize,
    pub refused: u64,
    /// What broke first: after how many seconds, and what was said.
    pub first_refusal: Option<(f64, String)>,
    pub submission_p50_s: f64,
    pub submission_p99_s: f64,
    pub submission_max_s: f64,
    pub finished: u64,
    pub events: u64,
    pub lost_events: u64,
    pub rounds: u64,
    pub rounds_expected: u64,
    /// What `/readyz` said, the first time that it said anything.
    pub first_problem: Option<(f64, String)>,
    pub samples: Vec<Sample>,
}

/// As a table for people.
pub(super) fn render(soak: &Soak) -> String {
    let mut text = format!(
        "{:.0} s of {} submissions/s by {} tenants on {} emulated GPUs, {} event streams\n",
        soak.seconds, soak.rate, soak.tenants, soak.gpus, soak.streams
    );
    let mut line = |name: &str, value: String| {
        // Writing to a text does not fail.
        let _ = writeln!(text, "  {name:<24} {value}");
    };
    line("taken, refused", format!("{}, {}", soak.submitted, soak.refused));
    let ms = |seconds: f64| format!("{:.1} ms", seconds * 1000.0);
    let (p50, p99) = (ms(soak.submission_p50_s), ms(soak.submission_p99_s));
    line(
        "acknowledged in",
        format!("{p50} (half), {p99} (99 %), {} (all)", ms(soak.submission_max_s)),
    );
    line("jobs finished", soak.finished.to_string());
    line("rounds", format!("{} of {}", soak.rounds, soak.rounds_expected));
    line("events, lost", format!("{}, {}", soak.events, soak.lost_events));
    let told = |first: &Option<(f64, String)>| match first {
        Some((at, what)) => format!("after {at:.0} s: {what}"),
        None => "nothing".into(),
    };
    line("refused first", told(&soak.first_refusal));
    line("not ready first", told(&soak.first_problem));
    text.push_str("  second   running   queued    records    journal     memory\n");
    for s in &soak.samples {
        let memory = s.memory_bytes.map_or("-".into(), |bytes| format::bytes(bytes));
        let journal = format::bytes(s.journal_bytes);
        let _ = writeln!(
            text,
            "  {:>6.0} {:>9} {:>8} {:>10} {journal:>10} {memory:>10}",
            s.second, s.running, s.queued, s.journal_records
        );
    }
    text
}
