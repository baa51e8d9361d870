//! Sections of a report.

use super::prose::Prose;
use super::report::Tone;
use crate::chart::{Chart, Figure};
use crate::table::Table;

/// A part of a report with a heading: paragraphs, figures, tables, notes, and sections below it.
///
/// ```
/// use oef_report::chart::Cdf;
/// use oef_report::html::Section;
/// let section = Section::new("How long jobs take")
///     .paragraph("Half of all jobs are done within an hour.")
///     .figure(&Cdf::new("Job completion time", "No data yet"), "Lower and further left is better.");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    pub(crate) heading: String,
    pub(crate) blocks: Vec<Block>,
}

/// One thing in a section.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Block {
    Paragraph(Prose),
    List(Vec<Prose>),
    /// Figures that stand beside each other where there is room.
    Figures(Vec<(Figure, Prose)>),
    Table(Table),
    Note(Tone, Prose),
    Verdict(Tone, Prose),
    Preformatted(String),
    Details(Section),
    Section(Section),
}

impl Section {
    /// A section without content.
    pub fn new(heading: impl Into<String>) -> Self {
        Section { heading: heading.into(), blocks: Vec::new() }
    }

    /// Adds a paragraph.
    pub fn paragraph(self, prose: impl Into<Prose>) -> Self {
        self.with(Block::Paragraph(prose.into()))
    }

    /// Adds a list of points.
    pub fn list<T: Into<Prose>>(self, points: impl IntoIterator<Item = T>) -> Self {
        self.with(Block::List(points.into_iter().map(Into::into).collect()))
    }

    /// Adds a chart with a caption. What the picture leaves out is added to the caption.
    pub fn figure(self, chart: &impl Chart, caption: impl Into<Prose>) -> Self {
        self.with(Block::Figures(vec![(chart.draw(), caption.into())]))
    }

    /// Adds drawn charts that stand beside each other where there is room.
    pub fn figures<T: Into<Prose>>(self, figures: impl IntoIterator<Item = (Figure, T)>) -> Self {
        let figures = figures.into_iter().map(|(figure, caption)| (figure, caption.into()));
        self.with(Block::Figures(figures.collect()))
    }

    /// Adds a table.
    pub fn table(self, table: Table) -> Self {
        self.with(Block::Table(table))
    }

    /// Adds whether a claim holds, and why: good is "holds", a warning is "holds in part", bad is "does not hold",
    /// and plain is "not decided".
    pub fn verdict(self, tone: Tone, prose: impl Into<Prose>) -> Self {
        self.with(Block::Verdict(tone, prose.into()))
    }

    /// Adds a remark that stands out: how to read something, a warning.
    pub fn note(self, tone: Tone, prose: impl Into<Prose>) -> Self {
        self.with(Block::Note(tone, prose.into()))
    }

    /// Adds text as it is, with its line breaks: a command, a file.
    pub fn preformatted(self, text: impl Into<String>) -> Self {
        self.with(Block::Preformatted(text.into()))
    }

    /// Adds a section that is closed until somebody opens it; in print it is open.
    pub fn details(self, section: Section) -> Self {
        self.with(Block::Details(section))
    }

    /// Adds a section below this one.
    pub fn section(self, section: Section) -> Self {
        self.with(Block::Section(section))
    }

    fn with(mut self, block: Block) -> Self {
        self.blocks.push(block);
        self
    }
}
