//! A plain aligned table: a header, a rule, rows.

use super::names::cut;
use super::width::columns;
use owo_colors::Style;
use std::fmt::Write as _;
use unicode_width::UnicodeWidthStr;

/// No column of words is made narrower than this, whatever the screen: a name is still told from others.
const COLUMN_WIDTH_MIN: usize = 8;
/// Unless the table would be wider than the screen all the same: then down to this.
const COLUMN_WIDTH_LEAST: usize = 4;
/// Blanks between two columns.
const GAP: usize = 2;
/// The last column holds sentences: it gives way first, down to this.
const LAST_COLUMN_WIDTH_MIN: usize = 20;

/// So many columns stay whatever the screen.
const COLUMNS_LEAST: usize = 2;

/// One cell. The width is counted before the style is applied.
#[derive(Clone, Debug)]
pub struct Cell {
    text: String,
    right: bool,
    /// Of a header: the column is never cut.
    whole: bool,
    style: Style,
}

impl Cell {
    /// Words, on the left.
    pub fn text(text: impl Into<String>) -> Self {
        Cell { text: text.into(), right: false, whole: false, style: Style::new() }
    }

    /// Figures, on the right.
    pub fn number(text: impl Into<String>) -> Self {
        Cell { text: text.into(), right: true, whole: true, style: Style::new() }
    }

    /// Of a header, by the name of its column.
    fn head(name: &str) -> Self {
        match (name.strip_suffix('>'), name.strip_suffix('!')) {
            (Some(name), _) => Cell::number(name),
            (None, Some(name)) => Cell::text(name).whole(),
            (None, None) => Cell::text(name),
        }
    }

    /// Of a header: the words of its column are never cut.
    pub fn whole(mut self) -> Self {
        self.whole = true;
        self
    }

    /// The same in this style, on a terminal that has it.
    pub fn style(mut self, style: Style) -> Self {
        self.style = style;
        self
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Cell::text(text)
    }
}

/// A table in the making: a row for each of some things, to which columns are added.
#[derive(Clone, Debug)]
pub struct Each<'t, T> {
    things: Vec<&'t T>,
    table: Table,
}

impl<'t, T> Each<'t, T> {
    /// With a column of this name (as in [`Table::headed`]), whose cells stand on its side.
    pub fn column<C: Into<Cell>>(mut self, name: &str, cell: impl Fn(&'t T) -> C) -> Self {
        let head = Cell::head(name);
        for (thing, row) in self.things.iter().zip(&mut self.table.rows) {
            row.push(Cell { right: head.right, ..cell(thing).into() });
        }
        self.table.header.push(head);
        self
    }

    /// The same where it is of use.
    pub fn column_if<C: Into<Cell>>(
        self,
        is_shown: bool,
        name: &str,
        cell: impl Fn(&'t T) -> C,
    ) -> Self {
        if is_shown { self.column(name, cell) } else { self }
    }

    /// With all its columns.
    pub fn table(self) -> Table {
        self.table
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

    /// A table with columns of these names; one whose name ends with `>` has figures, on the right; one with `!` has
    /// words that are never cut.
    pub fn headed<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Table::new(names.into_iter().map(Cell::head).collect())
    }

    /// A table with a row for each of these, still without columns.
    pub fn each<'t, T: 't>(things: impl IntoIterator<Item = &'t T>) -> Each<'t, T> {
        let things: Vec<&T> = things.into_iter().collect();
        let rows = vec![Vec::new(); things.len()];
        Each { things, table: Table { header: Vec::new(), rows } }
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

    /// The same, cut to the reader's screen.
    pub fn fitted(&self) -> String {
        self.render_within(columns())
    }

    /// The same; a table without rows is a sentence instead.
    pub fn fitted_or(&self, none: &str) -> String {
        if self.rows.is_empty() { none.into() } else { self.fitted() }
    }

    /// The same, cut so that its lines fit into so many columns where words can be cut. Where that is not enough,
    /// columns without content and bars go, the others stand closer together, and words are cut further. Then the last columns
    /// are left out, and a line says which.
    pub fn render_within(&self, columns: Option<usize>) -> String {
        let widths = self.widths(columns, GAP, COLUMN_WIDTH_MIN);
        let Some(columns) = columns.filter(|&columns| total(&widths, GAP) > columns) else {
            return self.drawn(&widths, GAP);
        };
        let mut tight = self.without_empty_columns();
        // Bars have no heading. Their figures stand beside them.
        while let Some(bars) = tight.header.iter().position(|cell| cell.text.is_empty()) {
            tight.without_column(bars);
        }
        let mut left_out = Vec::new();
        loop {
            let widths = tight.widths(Some(columns), 1, COLUMN_WIDTH_LEAST);
            if total(&widths, 1) <= columns || tight.header.len() <= COLUMNS_LEAST {
                let mut out = tight.drawn(&widths, 1);
                if !left_out.is_empty() {
                    left_out.reverse();
                    let text = cut(&format!("not shown: {}", left_out.join(", ")), columns);
                    let _ = writeln!(out, "{}", Style::new().dimmed().style(text));
                }
                return out;
            }
            left_out.push(tight.without_column(tight.header.len() - 1));
        }
    }

    /// Takes a column out, and gives its name.
    fn without_column(&mut self, place: usize) -> String {
        let width = self.header.len();
        for row in self.rows.iter_mut().filter(|row| row.len() == width) {
            row.remove(place);
        }
        self.header.remove(place).text.trim().to_string()
    }

    /// The width of every column, cut to fit where words can be cut.
    fn widths(&self, columns: Option<usize>, gap: usize, least: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = self.header.iter().map(|c| c.text.width()).collect();
        for row in self.rows.iter().filter(|row| row.len() == self.header.len()) {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.text.width());
            }
        }
        if let Some(columns) = columns {
            let excess = total(&widths, gap).saturating_sub(columns);
            self.narrow(&mut widths, excess, least);
        }
        widths
    }

    fn without_empty_columns(&self) -> Table {
        let whole = |row: &&Vec<Cell>| row.len() == self.header.len();
        let is_full = |i: usize| self.rows.iter().filter(whole).any(|row| !row[i].text.is_empty());
        let kept: Vec<bool> = (0..self.header.len()).map(is_full).collect();
        let only = |cells: &Vec<Cell>| match cells.len() == kept.len() {
            true => {
                cells.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(c, _)| c.clone()).collect()
            }
            false => cells.clone(),
        };
        Table { header: only(&self.header), rows: self.rows.iter().map(only).collect() }
    }

    fn drawn(&self, widths: &[usize], gap: usize) -> String {
        let mut out = String::new();
        let bold =
            self.header.iter().cloned().map(|c| c.style(Style::new().bold())).collect::<Vec<_>>();
        line(&mut out, &bold, widths, gap);
        let rule = "─".repeat(total(widths, gap));
        let _ = writeln!(out, "{}", Style::new().dimmed().style(rule));
        for row in &self.rows {
            line(&mut out, row, widths, gap);
        }
        out
    }

    /// Takes the excess from columns of words: from the last column first.
    fn narrow(&self, widths: &mut [usize], mut excess: usize, least: usize) {
        let is_words = |column: usize| self.header.get(column).is_some_and(|cell| !cell.whole);
        let Some(last) = widths.len().checked_sub(1) else { return };
        if is_words(last) {
            let given = excess.min(widths[last].saturating_sub(LAST_COLUMN_WIDTH_MIN));
            widths[last] -= given;
            excess -= given;
        }
        // Then from the widest of the others, and only then from the last again.
        for columns in [0..last, last..last + 1] {
            while excess > 0 {
                let wide = |c: &usize| is_words(*c) && widths[*c] > least;
                let widest = columns.clone().filter(wide).max_by_key(|&c| widths[c]);
                let Some(widest) = widest else { break };
                widths[widest] -= 1;
                excess -= 1;
            }
        }
    }
}

fn total(widths: &[usize], gap: usize) -> usize {
    widths.iter().sum::<usize>() + gap * widths.len().saturating_sub(1)
}

fn line(out: &mut String, cells: &[Cell], widths: &[usize], gap: usize) {
    // Nothing is written behind the last text, so that copied lines carry no blanks.
    let last = cells.iter().rposition(|c| !c.text.trim_end().is_empty()).unwrap_or(0);
    for (i, cell) in cells.iter().enumerate().take(last + 1) {
        let width = if cells.len() == widths.len() { widths[i] } else { usize::MAX };
        let text = if cell.text.width() > width { &cut(&cell.text, width) } else { &cell.text };
        let is_row = cells.len() == widths.len();
        let pad = " ".repeat(if is_row { width.saturating_sub(text.width()) } else { 0 });
        let styled = cell.style.style(text);
        let gap = " ".repeat(if i == last { 0 } else { gap });
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
    fn columns_of_figures_are_left_out_by_name_where_they_do_not_fit() {
        let mut table = Table::headed(["mechanism", "total>", "", "envy>", "types>", "time>"]);
        let row = ["noncooperative", "26.434", "████████▊", "18.8 %", "1.33", "175 µs"];
        table.row(row.map(Cell::text).to_vec());
        assert!(table.render_within(Some(80)).contains("████████▊"));
        let narrow = table.render_within(Some(36));
        assert!(!narrow.contains('█') && narrow.contains("18.8 %"), "{narrow}");
        let narrower = table.render_within(Some(24));
        assert!(narrower.contains("26.434") && narrower.contains("not shown: "), "{narrower}");
        for (columns, text) in [(36, narrow), (24, narrower)] {
            for line in text.lines() {
                let plain = anstream::adapter::strip_str(line).to_string();
                assert!(plain.width() <= columns, "{plain}");
            }
        }
    }

    #[test]
    fn figures_are_never_cut() {
        let mut table = Table::new(vec![Cell::number("a figure"), Cell::number("another")]);
        table.row(vec![Cell::number("1234567890123"), Cell::number("1234567890123")]);
        assert!(table.render_within(Some(10)).contains("1234567890123 1234567890123"));
    }

    #[test]
    fn short_words_that_matter_are_never_cut() {
        let mut table = Table::headed(["id>", "name", "tenant", "state!", "steps>", "reason"]);
        let row =
            ["12", "a-long-name.py", "vision-lab", "timed out", "1234567", "it was very long"];
        table.row(row.map(Cell::text).to_vec());
        let narrow = table.render_within(Some(44));
        assert!(narrow.contains("timed out") && !narrow.contains("vision-lab"), "{narrow}");
        for line in narrow.lines() {
            let plain = anstream::adapter::strip_str(line).to_string();
            assert!(plain.width() <= 44, "{plain}");
        }
    }

    #[test]
    fn what_is_empty_goes_first_where_there_is_no_room() {
        let mut table = Table::headed(["tenant", "weight>", "holds", "group", "share"]);
        table.row(["vision-lab", "1", "2×rtx3090", "", "1.33×rtx3090"].map(Cell::text).to_vec());
        assert!(table.render_within(Some(80)).contains("group"));
        let narrow = table.render_within(Some(30));
        assert!(!narrow.contains("group"), "{narrow}");
        for line in narrow.lines() {
            let plain = anstream::adapter::strip_str(line).to_string();
            assert!(plain.width() <= 30, "{plain}");
        }
    }
}
