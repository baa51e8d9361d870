//! What a soak says.

use super::args::Load;
use oef_report::format;
use serde::Serialize;
use std::fmt::Write as _;

/// Lines of the table for people; a document has every sample.
const LINES: usize = 16;

/// How things stood at an instant.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Sample {
    /// Since the load began.
    pub second: f64,
    /// Resident memory of the process.
    pub memory_bytes: Option<u64>,
    /// The database and its log.
    pub journal_bytes: u64,
    /// Records that were ever written.
    pub journal_records: u64,
    /// Jobs that run.
    pub running: usize,
    /// Jobs that wait.
    pub queued: u64,
    /// Ended jobs that are remembered.
    pub ended: u64,
    /// The current round.
    pub round: u64,
}

/// A figure in the third quarter of a run and in the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Growth {
    /// The most in the third quarter.
    pub before: u64,
    /// The most in the last.
    pub after: u64,
    /// Whether it is the same, but for a little.
    pub is_flat: bool,
}

/// The figures of a soak.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Soak {
    /// Of this document.
    pub version: u32,
    /// How long it took in all.
    pub seconds: f64,
    /// What was done.
    pub load: Option<Load>,
    /// Submissions that were acknowledged.
    pub submitted: usize,
    /// Submissions that were not taken.
    pub refused: u64,
    /// From the instant at which a submission was due to its acknowledgement: half of them.
    pub submission_p50_s: f64,
    /// The same: 99 of 100.
    pub submission_p99_s: f64,
    /// The same: all.
    pub submission_max_s: f64,
    /// Jobs that did their work.
    pub finished: u64,
    /// Events that all streams together got.
    pub events: u64,
    /// Events that were missing in them.
    pub lost_events: u64,
    /// Rounds that began.
    pub rounds: u64,
    /// Rounds that should have begun.
    pub rounds_expected: u64,
    /// Memory at the end, compared with before.
    pub memory: Option<Growth>,
    /// The same of the journal on the disk.
    pub journal: Option<Growth>,
    /// What broke first: after how many seconds, and how it said so.
    pub broke_first: Option<(f64, String)>,
    /// How things stood on the way.
    pub samples: Vec<Sample>,
}

impl Soak {
    /// Whether everything was as it should be.
    pub fn holds(&self) -> bool {
        let grows = |growth: Option<Growth>| growth.is_some_and(|growth| !growth.is_flat);
        self.broke_first.is_none() && !grows(self.memory) && !grows(self.journal)
    }
}

/// As a table for people.
pub(super) fn render(soak: &Soak) -> String {
    let mut text = String::new();
    if let Some(load) = &soak.load {
        text = format!(
            "{:.0} s of {} submissions/s by {} tenants on {} emulated GPUs, rounds of {} s, {} event streams\n",
            soak.seconds, load.rate, load.tenants, load.gpus, load.round, load.streams
        );
    }
    let mut line = |name: &str, value: String| {
        // Writing to a text does not fail.
        let _ = writeln!(text, "  {name:<24} {value}");
    };
    line("taken, refused", format!("{}, {}", soak.submitted, soak.refused));
    let ms = |seconds: f64| format!("{:.1} ms", seconds * 1000.0);
    let (p50, p99) = (ms(soak.submission_p50_s), ms(soak.submission_p99_s));
    line("acknowledged in", format!("p50 {p50}, p99 {p99}, max {}", ms(soak.submission_max_s)));
    line("jobs finished", soak.finished.to_string());
    line("rounds", format!("{} of {}", soak.rounds, soak.rounds_expected));
    line("events, lost", format!("{}, {}", soak.events, soak.lost_events));
    line("memory", told(soak.memory, "flat", "it grows"));
    line("journal on disk", told(soak.journal, "bounded", "it grows"));
    line(
        "broke first",
        match &soak.broke_first {
            Some((at, what)) => format!("after {at:.0} s: {what}"),
            None => "nothing".into(),
        },
    );
    text.push_str(HEADING);
    text.push('\n');
    let every = soak.samples.len().div_ceil(LINES).max(1);
    for sample in soak.samples.iter().rev().step_by(every).collect::<Vec<_>>().into_iter().rev() {
        text.push_str(&row(sample));
        text.push('\n');
    }
    text
}

fn told(growth: Option<Growth>, flat: &str, grows: &str) -> String {
    match growth {
        Some(Growth { before, after, is_flat }) => format!(
            "{}: {} in the third quarter of the run, {} in the last",
            if is_flat { flat } else { grows },
            format::bytes(before),
            format::bytes(after)
        ),
        None => "not judged: the run was too short to fill the list of ended jobs".into(),
    }
}

/// The heading of [`row`]s.
pub(super) const HEADING: &str =
    "  second   running   queued    ended    records    journal     memory";

/// How things stood, in a line.
pub(super) fn row(sample: &Sample) -> String {
    let memory = sample.memory_bytes.map_or("-".into(), format::bytes);
    let journal = format::bytes(sample.journal_bytes);
    format!(
        "  {:>6.0} {:>9} {:>8} {:>8} {:>10} {journal:>10} {memory:>10}",
        sample.second, sample.running, sample.queued, sample.ended, sample.journal_records
    )
}
