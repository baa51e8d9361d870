//! The table of the benchmark, and the same for machines.

use super::load::Load;
use oef_report::format::{bytes, duration};
use oef_sim::engine::Quantiles;
use oef_terminal::document::Document;
use oef_terminal::mark::Mark;
use oef_terminal::table::{Cell, Table};
use serde::Serialize;

/// What an answer may take at the 99th percentile.
const ANSWER_BAR: f64 = 0.05;
const MEMORY_BAR: u64 = 1_000_000_000;
const RESTART_BAR: f64 = 10.0;

/// All that was measured.
#[derive(Debug, Default)]
pub struct Figures {
    /// Submissions a second that were asked for.
    pub rate: u32,
    /// What came of them.
    pub load: Load,
    /// Acknowledged jobs that a power cut lost.
    pub missing: usize,
    /// Jobs in the queue for what follows.
    pub queued: u32,
    /// Seconds for each page.
    pub pages: Vec<f64>,
    /// Bytes that the daemon used.
    pub memory: Option<u64>,
    /// Seconds from the start after a power cut to the first answer.
    pub restart: f64,
}

/// One line: what, how much, what it should be, whether it is.
struct Line {
    what: String,
    figure: String,
    bar: String,
    cleared: Option<bool>,
}

impl Figures {
    fn achieved(&self) -> f64 {
        self.load.acknowledged.len() as f64 / self.load.seconds.max(f64::MIN_POSITIVE)
    }

    fn lines(&self) -> Vec<Line> {
        let answers = |what: &str, took: &[f64]| {
            let p99 = Quantiles::of(took).p99;
            let figure =
                format!("p50 {}, p99 {}", duration(Quantiles::of(took).p50), duration(p99));
            let (what, bar) = (what.to_owned(), format!("p99 under {}", duration(ANSWER_BAR)));
            Line { what, figure, bar, cleared: Some(p99 < ANSWER_BAR) }
        };
        // The last submissions are under way when the time is over: a hundredth is not a shortfall.
        let kept_up = self.achieved() >= 0.99 * f64::from(self.rate) && self.load.refused == 0;
        vec![
            Line {
                what: format!("submissions in {}", duration(self.load.seconds)),
                figure: format!("{:.0} a second, {} refused", self.achieved(), self.load.refused),
                bar: format!("{} a second", self.rate),
                cleared: Some(kept_up),
            },
            answers("a submission, durable", &self.load.submissions),
            answers("a question meanwhile", &self.load.questions),
            Line {
                what: "acknowledged and lost by a power cut".into(),
                figure: format!("{} of {}", self.missing, self.load.acknowledged.len()),
                bar: "0".into(),
                cleared: Some(self.missing == 0),
            },
            answers(&format!("a page of {} queued jobs", self.queued), &self.pages),
            Line {
                what: "memory with that queue".into(),
                figure: self.memory.map_or("unknown".into(), bytes),
                bar: format!("under {}", bytes(MEMORY_BAR)),
                cleared: self.memory.map(|used| used < MEMORY_BAR),
            },
            Line {
                what: "from a power cut to ready again".into(),
                figure: duration(self.restart),
                bar: format!("under {}", duration(RESTART_BAR)),
                cleared: Some(self.restart < RESTART_BAR),
            },
        ]
    }
}

/// The table for people.
pub fn render(figures: &Figures) -> String {
    let mark = |line: &Line| match line.cleared.map(Mark::of) {
        Some(mark) => Cell::text(mark.symbol()).style(mark.style()),
        None => Cell::text(""),
    };
    let table = Table::each(&figures.lines())
        .column("what", |line| &line.what)
        .column("measured", |line| &line.figure)
        .column("bar", |line| &line.bar)
        .column("", mark)
        .table();
    let reason =
        figures.load.reason.as_deref().map(|reason| format!("\nFirst refusal: {reason}\n"));
    let legend = "\nA submission's time counts from the instant at which it was due, over loopback, with the client on the \
                  same machine.\n";
    table.render() + legend + reason.as_deref().unwrap_or_default()
}

/// `oef bench daemon --json`
pub fn document(figures: &Figures) -> impl Serialize {
    let load = &figures.load;
    let (submissions, questions) =
        (Quantiles::of(&load.submissions), Quantiles::of(&load.questions));
    Document::whole()
        .with("rate", figures.rate)
        .number("seconds", load.seconds)
        .number("achieved_per_second", figures.achieved())
        .with("refused", load.refused)
        .number("submission_p50", submissions.p50)
        .number("submission_p99", submissions.p99)
        .number("question_p99", questions.p99)
        .with("acknowledged", load.acknowledged.len())
        .with("missing", figures.missing)
        .with("queued", figures.queued)
        .number("page_p99", Quantiles::of(&figures.pages).p99)
        .with("memory_bytes", figures.memory)
        .number("restart_seconds", figures.restart)
}
