//! The table of the benchmark, and the same for machines.

use super::cases::{Bar, Case};
use super::measure::CaseFigures;
use oef_report::format::{self, duration, number};
use oef_terminal::document::{VERSION, finite};
use oef_terminal::mark::Mark;
use oef_terminal::table::{Cell, Table};
use owo_colors::Style;
use serde::Serialize;

/// One line of the table.
#[derive(Debug)]
pub struct Line {
    /// The case.
    pub case: Case,
    /// What was measured.
    pub measured: CaseFigures,
}

impl Line {
    /// Whether the bar is cleared; `None` where that was not measured.
    fn cleared(&self) -> Option<bool> {
        match self.case.bar {
            Bar::Seconds(limit) => Some(self.measured.seconds < limit),
            Bar::RoundsPerSecond(least) => Some(self.rate() >= least),
            Bar::SecondsAndBytes(limit, bytes) => {
                let peak = self.measured.peak?;
                Some(self.measured.seconds < limit && peak < bytes)
            }
            Bar::Parts(_) => Some(self.measured.parts.iter().all(|part| part.holds != Some(false))),
        }
    }

    fn rate(&self) -> f64 {
        self.measured.rounds as f64 / self.measured.seconds.max(f64::MIN_POSITIVE)
    }
}

fn bar_text(bar: Bar) -> String {
    match bar {
        Bar::Seconds(limit) => format!("under {}", duration(limit)),
        Bar::RoundsPerSecond(least) => format!("≥ {} rounds/s", number(least)),
        Bar::SecondsAndBytes(limit, bytes) => {
            format!("under {} and {}", duration(limit), format::bytes(bytes))
        }
        Bar::Parts(text) => text.into(),
    }
}

/// The table for people.
pub fn render(lines: &[Line]) -> String {
    let mut header = vec![Cell::text("case")];
    header.extend(["time", "on the wall", "rounds", "rounds/s", "peak memory"].map(Cell::number));
    header.extend(["bar", "", ""].map(Cell::text));
    let mut table = Table::new(header);
    for line in lines {
        let mark = line.cleared().map(Mark::of);
        let measured = &line.measured;
        table.row(vec![
            Cell::text(line.case.name).style(Style::new().bold()),
            Cell::number(duration(measured.seconds)),
            Cell::number(duration(measured.wall)),
            Cell::number(number(measured.rounds as f64)),
            Cell::number(number(line.rate())),
            Cell::number(measured.peak.map_or("".into(), format::bytes)),
            Cell::text(bar_text(line.case.bar)),
            mark.map_or(Cell::text(""), |m| Cell::text(m.symbol()).style(m.style())),
            Cell::text(line.case.reference.unwrap_or_default()),
        ]);
        table.remark(format!("  {} ({})", line.case.about, measured.origin));
        for part in &measured.parts {
            let mark = part.holds.map_or(" ", |holds| Mark::of(holds).symbol());
            let took = duration(part.seconds);
            table.remark(format!("  {:<14} {took:>9} {mark} {}", part.name, part.note));
        }
    }
    let legend = "\nThe time is that of one thread on the processor, the median of the repeats, for the simulation alone, without \
                  reading; of `planning`\nthe mean for one round without the shares. References are known figures, not measured in \
                  this run.\n";
    table.render() + legend
}

/// The benchmark for machines.
#[derive(Debug, Serialize)]
pub struct BenchSimDocument {
    version: u32,
    seed: u64,
    cases: Vec<CaseDocument>,
}

#[derive(Debug, Serialize)]
struct CaseDocument {
    case: &'static str,
    about: &'static str,
    origin: &'static str,
    seconds: f64,
    wall_seconds: f64,
    rounds: u64,
    rounds_per_second: f64,
    peak_bytes: Option<u64>,
    parts: Vec<PartDocument>,
    reference: Option<&'static str>,
    bar: String,
    cleared: Option<bool>,
}

#[derive(Debug, Serialize)]
struct PartDocument {
    name: &'static str,
    seconds: f64,
    rounds: u64,
    note: String,
}

impl BenchSimDocument {
    /// The document of all lines.
    pub fn new(seed: u64, lines: &[Line]) -> Self {
        BenchSimDocument { version: VERSION, seed, cases: lines.iter().map(case).collect() }
    }
}

fn case(line: &Line) -> CaseDocument {
    let measured = &line.measured;
    let parts = measured.parts.iter().map(|part| PartDocument {
        name: part.name,
        seconds: finite(part.seconds),
        rounds: part.rounds,
        note: part.note.clone(),
    });
    CaseDocument {
        case: line.case.name,
        about: line.case.about,
        origin: measured.origin,
        seconds: finite(measured.seconds),
        wall_seconds: finite(measured.wall),
        rounds: measured.rounds,
        rounds_per_second: finite(line.rate()),
        peak_bytes: measured.peak,
        parts: parts.collect(),
        reference: line.case.reference,
        bar: bar_text(line.case.bar),
        cleared: line.cleared(),
    }
}
