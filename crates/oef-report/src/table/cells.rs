//! What each cell of a table says, and which are the best and the worst of their column.

use super::model::{Best, Cell, Column, Table};
use crate::format::{self, MISSING, Unit};

/// How a cell compares with its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rank {
    Plain,
    Best,
    Worst,
}

impl Rank {
    /// The sign after the cell: colour and weight alone are not enough.
    pub fn sign(self) -> &'static str {
        match self {
            Rank::Plain => "",
            Rank::Best => " ★",
            Rank::Worst => " ▽",
        }
    }
}

/// The text and the rank of every cell, row by row.
pub(crate) fn shown(table: &Table) -> Vec<Vec<(String, Rank)>> {
    let columns: Vec<Vec<(String, Rank)>> =
        (0..table.columns.len()).map(|c| shown_column(table, c)).collect();
    (0..table.rows.len())
        .map(|r| columns.iter().map(|column| column[r].clone()).collect())
        .collect()
}

/// The name of a column with its unit.
pub(crate) fn head(column: &Column) -> String {
    match column.unit.name() {
        Some(unit) => format!("{} ({unit})", column.name),
        None => column.name.clone(),
    }
}

fn shown_column(table: &Table, index: usize) -> Vec<(String, Rank)> {
    let column = &table.columns[index];
    let numbers: Vec<f64> = table.rows.iter().filter_map(|row| finite(&row[index])).collect();
    let decimals = common_decimals(column, &numbers);
    let (best, worst) = ends(column, &numbers);
    let show = |row: &Vec<Cell>| {
        let cell = &row[index];
        let rank = match finite(cell) {
            value if value.is_some() && value == best => Rank::Best,
            value if value.is_some() && value == worst => Rank::Worst,
            _ => Rank::Plain,
        };
        (shown_cell(cell, &column.unit, decimals), rank)
    };
    table.rows.iter().map(show).collect()
}

fn shown_cell(cell: &Cell, unit: &Unit, decimals: Option<usize>) -> String {
    match (cell, decimals) {
        (Cell::Text(text), _) => text.clone(),
        (Cell::Missing, _) => MISSING.into(),
        (Cell::Number(value), Some(decimals)) if value.is_finite() => {
            let text = format::fixed(*value, decimals);
            // A number that is small beside its column must not look like nothing.
            let is_nothing = *value != 0.0 && !text.contains(|c: char| matches!(c, '1'..='9'));
            if is_nothing { unit.show_bare(*value) } else { text }
        }
        (Cell::Number(value), _) => unit.show_bare(*value),
    }
}

fn finite(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Number(value) if value.is_finite() => Some(*value),
        _ => None,
    }
}

/// The same decimals for a whole column of plain numbers, so that the points stand below each other.
fn common_decimals(column: &Column, numbers: &[f64]) -> Option<usize> {
    if !matches!(column.unit, Unit::None | Unit::Named(_)) {
        return None;
    }
    let largest = numbers.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    if !(0.001..999_999.5).contains(&largest) {
        return None;
    }
    if numbers.iter().all(|v| v.fract() == 0.0) {
        return Some(0);
    }
    Some(format::decimals(largest).clamp(usize::from(largest < 1_000.0), 3))
}

/// The best and the worst number, where they are marked and are not the same.
fn ends(column: &Column, numbers: &[f64]) -> (Option<f64>, Option<f64>) {
    let low = numbers.iter().copied().min_by(f64::total_cmp);
    let high = numbers.iter().copied().max_by(f64::total_cmp);
    if low == high {
        return (None, None);
    }
    let (best, worst) = match column.best {
        None => return (None, None),
        Some(Best::Highest) => (high, low),
        Some(Best::Lowest) => (low, high),
    };
    (best, worst.filter(|_| column.marks_worst))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(column: Column, values: &[f64]) -> Vec<(String, Rank)> {
        let mut table = Table::new("").column(column);
        for value in values {
            table.row([Cell::Number(*value)]);
        }
        shown_column(&table, 0)
    }

    fn texts(column: Vec<(String, Rank)>) -> Vec<String> {
        column.into_iter().map(|cell| cell.0).collect()
    }

    #[test]
    fn a_column_has_common_decimals() {
        assert_eq!(
            texts(column(Column::number("a"), &[1.0, 2.5, 0.125])),
            ["1.00", "2.50", "0.12"]
        );
        assert_eq!(texts(column(Column::number("a"), &[1.0, 2.0, f64::NAN])), ["1", "2", "–"]);
        assert_eq!(texts(column(Column::number("a"), &[150.3, 0.0004])), ["150.3", "4e-4"]);
        assert_eq!(texts(column(Column::duration("a"), &[90.0, 9_000.0])), ["90 s", "2.5 h"]);
    }

    #[test]
    fn best_and_worst_are_marked_once_they_differ() {
        let ranks = |c: Column, values: &[f64]| -> Vec<Rank> {
            column(c, values).into_iter().map(|cell| cell.1).collect()
        };
        let lowest = || Column::number("a").lowest_is_best().mark_worst();
        assert_eq!(ranks(lowest(), &[2.0, 1.0, 3.0]), [Rank::Plain, Rank::Best, Rank::Worst]);
        assert_eq!(ranks(lowest(), &[1.0, 1.0]), [Rank::Plain, Rank::Plain]);
        assert_eq!(ranks(Column::number("a").highest_is_best(), &[2.0, 1.0])[1], Rank::Plain);
    }
}
