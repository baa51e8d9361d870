//! A plain aligned table: a header, a rule, rows.

use super::names::cut;
use owo_colors::Style;
use std::fmt::Write as _;
use unicode_width::UnicodeWidthStr;

/// No column of words is made narrower than this, whatever the screen: a name is still told from others.
const COLUMN_WIDTH_MIN: usize = 8;
/// The last column holds sentences: it gives way first, down to this.
const LAST_COLUMN_WIDTH_MIN: usize = 20;

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

    /// A table with columns of these names; one whose name ends with `>` has figures, on the right.
    pub fn headed<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let cell = |name: &str| match name.strip_suffix('>') {
            Some(name) => Cell::number(name),
            None => Cell::text(name),
        };
        Table::new(names.into_iter().map(cell).collect())
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
        self.render_within(None)
    }

    /// The same, cut so that its lines fit into so many columns where words can be cut.
    pub fn render_within(&self, columns: Option<usize>) -> String {
        let mut widths: Vec<usize> = self.header.iter().map(|c| c.text.width()).collect();
        for row in self.rows.iter().filter(|row| row.len() == self.header.len()) {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.text.width());
            }
        }
        if let Some(columns) = columns {
            self.narrow(&mut widths, columns);
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

    /// Takes from columns of words until it fits: from the last column first.
    fn narrow(&self, widths: &mut [usize], columns: usize) {
        let is_words = |column: usize| self.header.get(column).is_some_and(|cell| !cell.right);
        let gaps = 2 * widths.len().saturating_sub(1);
        let mut excess = (widths.iter().sum::<usize>() + gaps).saturating_sub(columns);
        let Some(last) = widths.len().checked_sub(1) else { return };
        if is_words(last) {
            let given = excess.min(widths[last].saturating_sub(LAST_COLUMN_WIDTH_MIN));
            widths[last] -= given;
            excess -= given;
        }
        // Then from the widest of the others, and only then from the last again.
        for columns in [0..last, last..last + 1] {
            while excess > 0 {
                let wide = |c: &usize| is_words(*c) && widths[*c] > COLUMN_WIDTH_MIN;
                let widest = columns.clone().filter(wide).max_by_key(|&c| widths[c]);
                let Some(widest) = widest else { break };
                widths[widest] -= 1;
                excess -= 1;
            }
        }
    }
}

fn line(out: &mut String, cells: &[Cell], widths: &[usize]) {
    // Nothing is written behind the last text, so that copied lines carry no blanks.
    let last = cells.iter().rposition(|c| !c.text.trim_end().is_empty()).unwrap_or(0);
    for (i, cell) in cells.iter().enumerate().take(last + 1) {
        let width = if cells.len() == widths.len() { widths[i] } else { usize::MAX };
        let text = if cell.text.width() > width { &cut(&cell.text, width) } else { &cell.text };
        let is_row = cells.len() == widths.len();
        let pad = " ".repeat(if is_row { width.saturating_sub(text.width()) } else { 0 });
        let styled = cell.style.style(text);
        let gap = if i == last { "" } else { "  " };
        let _ = match (cell.right, i == last) {
            (true, _) => write!(out, "{pad}{styled}{gap}"),
            (false, true) => write!(out, "{styled}"),
            (false, false) => write!(out, "{styled}{pad}{gap}"),
        };
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table =
            Table::new(vec![Cell::number("id"), Cell::text("name"), Cell::text("reason")]);
        table.row(vec![Cell::number("12"), Cell::text("n".repeat(60)), Cell::text("r".repeat(90))]);
        table.row(vec![Cell::number("7"), Cell::text("漢字"), Cell::text("short")]);
        table
    }

    #[test]
    fn lines_fit_the_screen() {
        for columns in [40, 60, 80, 120] {
            for line in table().render_within(Some(columns)).lines() {
                let plain = anstream::adapter::strip_str(line).to_string();
                assert!(plain.width() <= columns, "{} > {columns}: {plain}", plain.width());
            }
        }
        assert!(table().render().contains(&"r".repeat(90)));
    }

    #[test]
    fn figures_are_never_cut() {
        let mut table = Table::new(vec![Cell::number("a figure"), Cell::number("another")]);
        table.row(vec![Cell::number("1234567890123"), Cell::number("1234567890123")]);
        assert!(table.render_within(Some(10)).contains("1234567890123  1234567890123"));
    }
}
