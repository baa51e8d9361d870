//! A plain aligned table: a header, a rule, rows.

use owo_colors::Style;
use std::fmt::Write as _;
use unicode_width::UnicodeWidthStr;

/// One cell. The width is counted before the style is applied.
#[derive(Clone, Debug)]
pub struct Cell {
    text: String,
    right: bool,
    style: Style,
}

impl Cell {
    /// Words, on the left.
    pub fn text(text: impl Into<String>) -> Self {
        Cell { text: text.into(), right: false, style: Style::new() }
    }

    /// Figures, on the right.
    pub fn number(text: impl Into<String>) -> Self {
        Cell { text: text.into(), right: true, style: Style::new() }
    }

    /// The same in this style, on a terminal that has it.
    pub fn style(mut self, style: Style) -> Self {
        self.style = style;
        self
    }
}

/// Rows below a header.
#[derive(Clone, Debug)]
pub struct Table {
    header: Vec<Cell>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table with this header; a column stands on the side of its header.
    pub fn new(header: Vec<Cell>) -> Self {
        Table { header, rows: Vec::new() }
    }

    /// Adds a row of as many cells as the header has.
    pub fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// A row with one text over all columns.
    pub fn remark(&mut self, text: impl Into<String>) {
        self.rows.push(vec![Cell::text(text).style(Style::new().dimmed())]);
    }

    /// The whole table, each line ended.
    pub fn render(&self) -> String {
        let mut widths: Vec<usize> = self.header.iter().map(|c| c.text.width()).collect();
        for row in self.rows.iter().filter(|row| row.len() == self.header.len()) {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.text.width());
            }
        }
        let mut out = String::new();
        let bold =
            self.header.iter().cloned().map(|c| c.style(Style::new().bold())).collect::<Vec<_>>();
        line(&mut out, &bold, &widths);
        let rule: usize = widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
        let _ = writeln!(out, "{}", Style::new().dimmed().style("─".repeat(rule)));
        for row in &self.rows {
            line(&mut out, row, &widths);
        }
        out
    }
}

fn line(out: &mut String, cells: &[Cell], widths: &[usize]) {
    // Nothing is written behind the last text, so that copied lines carry no blanks.
    let last = cells.iter().rposition(|c| !c.text.trim_end().is_empty()).unwrap_or(0);
    for (i, cell) in cells.iter().enumerate().take(last + 1) {
        let width = if cells.len() == widths.len() { widths[i] } else { 0 };
        let pad = " ".repeat(width.saturating_sub(cell.text.width()));
        let styled = cell.style.style(&cell.text);
        let gap = if i == last { "" } else { "  " };
        let _ = match (cell.right, i == last) {
            (true, _) => write!(out, "{pad}{styled}{gap}"),
            (false, true) => write!(out, "{styled}"),
            (false, false) => write!(out, "{styled}{pad}{gap}"),
        };
    }
    out.push('\n');
}
