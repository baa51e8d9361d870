//! The table of the benchmark, and the same for machines.

use super::cases::{Bar, Case};
use super::measure::CaseFigures;
use oef_report::format::{self, duration, number};
use oef_terminal::document::Document;
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

/// `oef bench sim --json`
pub fn document(seed: u64, lines: &[Line]) -> impl Serialize {
    Document::whole().with("seed", seed).list("cases", lines.iter().map(case))
}

fn case(line: &Line) -> impl Serialize {
    let (case, measured) = (&line.case, &line.measured);
    let parts = measured.parts.iter().map(|part| {
        Document::part()
            .with("name", part.name)
            .number("seconds", part.seconds)
            .with("rounds", part.rounds)
            .with("note", &part.note)
    });
    Document::part()
        .with("case", case.name)
        .with("about", case.about)
        .with("origin", measured.origin)
        .number("seconds", measured.seconds)
        .number("wall_seconds", measured.wall)
        .with("rounds", measured.rounds)
        .number("rounds_per_second", line.rate())
        .with("peak_bytes", measured.peak)
        .list("parts", parts)
        .with("reference", case.reference)
        .with("bar", bar_text(case.bar))
        .with("cleared", line.cleared())
}
