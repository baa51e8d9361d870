//! What is in a table.

use crate::format::Unit;

/// A table with a caption.
///
/// ```
/// use oef_report::table::{Column, Table};
/// let mut table = Table::new("What each mechanism won and lost")
///     .column(Column::text("mechanism"))
///     .column(Column::number("throughput").unit("jobs/h").highest_is_best());
/// table.row(["noncooperative".into(), 12.5.into()]);
/// table.row(["max-min".into(), 11.0.into()]);
/// assert!(table.to_html().contains("12.5<span"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    pub(crate) caption: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<Cell>>,
}

/// One column of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    pub(crate) name: String,
    pub(crate) unit: Unit,
    pub(crate) align: Align,
    pub(crate) best: Option<Best>,
    pub(crate) marks_worst: bool,
}

/// To which side the cells of a column lean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// One cell of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Text as it is.
    Text(String),
    /// A number in the unit of its column.
    Number(f64),
    /// Nothing: unknown, or not applicable.
    Missing,
}

/// Which number of a column is the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Best {
    Highest,
    Lowest,
}

impl Table {
    /// A table without columns.
    pub fn new(caption: impl Into<String>) -> Self {
        Table { caption: caption.into(), columns: Vec::new(), rows: Vec::new() }
    }

    /// Adds a column.
    pub fn column(mut self, column: Column) -> Self {
        self.columns.push(column);
        self
    }

    /// A row for each of these, and columns that say what is in their cells.
    pub fn of<T>(
        caption: impl Into<String>,
        rows: &[T],
        columns: impl IntoIterator<Item = (Column, fn(&T) -> Cell)>,
    ) -> Self {
        let (columns, cells): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
        let row = |row: &T| cells.iter().map(|cell| cell(row)).collect();
        Table { caption: caption.into(), columns, rows: rows.iter().map(row).collect() }
    }

    /// Adds a row. Cells that are too few are missing; those that are too many are left out.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) -> &mut Self {
        let mut row: Vec<Cell> = cells.into_iter().take(self.columns.len()).collect();
        row.resize(self.columns.len(), Cell::Missing);
        self.rows.push(row);
        self
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

impl Column {
    /// A column of text.
    pub fn text(name: impl Into<String>) -> Self {
        Column {
            name: name.into(),
            unit: Unit::None,
            align: Align::Left,
            best: None,
            marks_worst: false,
        }
    }

    /// A column of numbers.
    pub fn number(name: impl Into<String>) -> Self {
        Column { align: Align::Right, ..Column::text(name) }
    }

    /// A column of durations in seconds, shown in the unit that fits.
    pub fn duration(name: impl Into<String>) -> Self {
        Column::number(name).unit(Unit::Seconds)
    }

    /// A column of parts of one, shown in per cent.
    pub fn fraction(name: impl Into<String>) -> Self {
        Column::number(name).unit(Unit::Fraction)
    }

    /// With this unit: a name such as `"jobs/h"`, or a [`Unit`].
    pub fn unit(mut self, unit: impl Into<Unit>) -> Self {
        self.unit = unit.into();
        self
    }

    /// The higher, the better: marks the highest number and the lowest.
    pub fn rising(self) -> Self {
        self.highest_is_best().mark_worst()
    }

    /// The lower, the better: marks the lowest number and the highest.
    pub fn falling(self) -> Self {
        self.lowest_is_best().mark_worst()
    }

    /// Marks the highest number.
    pub fn highest_is_best(mut self) -> Self {
        self.best = Some(Best::Highest);
        self
    }

    /// Marks the lowest number.
    pub fn lowest_is_best(mut self) -> Self {
        self.best = Some(Best::Lowest);
        self
    }

    /// Marks the worst number, too.
    pub fn mark_worst(mut self) -> Self {
        self.marks_worst = true;
        self
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::Text(text.to_string())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Cell::Text(text)
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Cell::Number(value)
    }
}

impl From<usize> for Cell {
    fn from(value: usize) -> Self {
        Cell::Number(value as f64)
    }
}

impl From<u64> for Cell {
    fn from(value: u64) -> Self {
        Cell::Number(value as f64)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::Missing, Into::into)
    }
}
