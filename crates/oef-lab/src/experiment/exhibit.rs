//! What an experiment shows, as data: a report draws it.

use super::claim::Spread;
use serde::Serialize;

/// Something to look at.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Exhibit {
    /// Lines over time or over another quantity.
    Lines {
        /// What it shows.
        title: String,
        /// What one sees, in a sentence.
        caption: String,
        /// The quantity along the horizontal axis; `None`: time in seconds.
        x: Option<String>,
        /// The quantity along the vertical axis.
        y: String,
        /// Whether the axes are logarithmic: horizontal, vertical.
        log: (bool, bool),
        /// The lines.
        lines: Vec<Line>,
        /// Moments at which something happens.
        markers: Vec<(f64, String)>,
    },
    /// Groups of bars, with the paper's figure as a mark.
    Bars {
        /// What it shows.
        title: String,
        /// What one sees.
        caption: String,
        /// What the bars measure.
        axis: String,
        /// Whether the figures are parts of one, to be shown in per cent.
        fraction: bool,
        /// The names of the bars of a group.
        series: Vec<String>,
        /// The groups.
        groups: Vec<Group>,
    },
    /// A matrix in which 1 is the middle.
    Heat {
        /// What it shows.
        title: String,
        /// What one sees.
        caption: String,
        /// The names of the rows and what they are.
        rows: (Vec<String>, String),
        /// The names of the columns and what they are.
        columns: (Vec<String>, String),
        /// Row after row.
        values: Vec<Vec<f64>>,
    },
    /// The part of the sample below each value, in seconds.
    Cdf {
        /// What it shows.
        title: String,
        /// What one sees.
        caption: String,
        /// What is distributed.
        x: String,
        /// Samples by name.
        samples: Vec<(String, Vec<f64>)>,
    },
    /// A table.
    Table {
        /// What it shows.
        caption: String,
        /// The columns.
        columns: Vec<Column>,
        /// The rows.
        rows: Vec<Vec<Cell>>,
    },
}

/// A line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// Its name.
    pub name: String,
    /// Its points.
    pub points: Vec<(f64, f64)>,
}

/// A group of bars.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// One bar per series.
    pub bars: Vec<Bar>,
}

/// A bar with its range over the draws, and the paper's figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bar {
    /// Ours.
    pub ours: Spread,
    /// The paper's.
    pub paper: Option<f64>,
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Column {
    /// Text.
    Text(&'static str),
    /// Numbers.
    Number(&'static str),
    /// Parts of one.
    Fraction(&'static str),
    /// Seconds.
    Duration(&'static str),
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Cell {
    /// Text.
    Text(String),
    /// A number in the unit of its column.
    Number(f64),
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::Text(text.into())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Cell::Text(text)
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        Cell::Number(number)
    }
}

impl Bar {
    /// A bar without a figure of the paper.
    pub fn new(ours: Spread) -> Self {
        Bar { ours, paper: None }
    }
}
