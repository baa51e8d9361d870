//! The report as a whole.

use super::page;
use super::prose::Prose;
use super::section::Section;

/// A report: one HTML file with its style and charts inside, which fetches nothing and runs no script.
///
/// ```
/// use oef_report::html::{Card, Report, Section};
/// let html = Report::new("Three days at Philly's contention")
///     .subtitle("50 tenants, 24 GPUs, five mechanisms")
///     .card(Card::new("-17 %", "job completion time", "Mean over 1,000 jobs, against gandiva-fair."))
///     .section(Section::new("Throughput").paragraph("All tenants get the same."))
///     .version("oef 0.1.0")
///     .parameter("seed", "42")
///     .to_html();
/// assert!(html.starts_with("<!DOCTYPE html>"));
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    pub(crate) title: String,
    pub(crate) subtitle: String,
    pub(crate) cards: Vec<Card>,
    pub(crate) sections: Vec<Section>,
    pub(crate) version: String,
    pub(crate) parameters: Vec<(String, String)>,
}

/// One big number with a sentence.
#[derive(Debug, Clone, PartialEq)]
pub struct Card {
    pub(crate) value: String,
    pub(crate) label: String,
    pub(crate) sentence: Prose,
    pub(crate) tone: Tone,
}

/// How something is meant. Each tone has a word or a sign of its own, since colour alone is not enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    /// A remark.
    #[default]
    Plain,
    /// Holds, gained.
    Good,
    /// Holds in part; look twice.
    Warning,
    /// Does not hold, lost.
    Bad,
}

impl Card {
    /// A number, what it measures, and a sentence about it.
    pub fn new(
        value: impl Into<String>,
        label: impl Into<String>,
        sentence: impl Into<Prose>,
    ) -> Self {
        let (value, label, sentence) = (value.into(), label.into(), sentence.into());
        Card { value, label, sentence, tone: Tone::Plain }
    }

    /// How the number is meant.
    pub fn tone(mut self, tone: Tone) -> Self {
        self.tone = tone;
        self
    }
}

impl Report {
    /// A report without content.
    pub fn new(title: impl Into<String>) -> Self {
        Report { title: title.into(), ..Report::default() }
    }

    /// One sentence below the title.
    pub fn subtitle(mut self, subtitle: impl Into<String>) -> Self {
        self.subtitle = subtitle.into();
        self
    }

    /// Adds a big number to the summary.
    pub fn card(mut self, card: Card) -> Self {
        self.cards.push(card);
        self
    }

    /// Adds a section.
    pub fn section(mut self, section: Section) -> Self {
        self.sections.push(section);
        self
    }

    /// What made the report, for the footer.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// Adds a parameter of the run to the footer: what somebody needs to make the report again.
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.parameters.push((name.into(), value.into()));
        self
    }

    /// The file. The same report gives the same bytes.
    pub fn to_html(&self) -> String {
        page::render(self)
    }
}
