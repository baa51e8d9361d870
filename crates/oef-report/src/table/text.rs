//! Tables as plain text, Markdown and CSV.

use super::cells::{head, shown};
use super::model::{Align, Cell, Table};
use crate::csv::{Csv, Field};

impl Table {
    /// For a terminal or a log: columns lined up, no colours.
    pub fn to_text(&self) -> String {
        let heads: Vec<String> = self.columns.iter().map(head).collect();
        let rows = self.signed_cells(one_line);
        let widths: Vec<usize> = (0..heads.len())
            .map(|c| {
                rows.iter().map(|row| cells_wide(&row[c])).chain([cells_wide(&heads[c])]).max()
            })
            .map(|widest| widest.unwrap_or(0))
            .collect();
        let line = |cells: &[String]| {
            let padded: Vec<String> = cells
                .iter()
                .enumerate()
                .map(|(c, cell)| padded(cell, widths[c], self.columns[c].align))
                .collect();
            padded.join("  ").trim_end().to_string() + "\n"
        };
        let rule: Vec<String> = widths.iter().map(|w| "─".repeat(*w)).collect();
        let mut out = String::new();
        if !self.caption.is_empty() {
            out += &(one_line(&self.caption) + "\n\n");
        }
        out += &line(&heads);
        out += &line(&rule);
        rows.iter().for_each(|row| out += &line(row));
        out
    }

    /// For a document or an issue.
    pub fn to_markdown(&self) -> String {
        let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut out = String::new();
        if !self.caption.is_empty() {
            out += &format!("**{}**\n\n", markdown(&self.caption));
        }
        out += &row(self.columns.iter().map(|c| markdown(&head(c))).collect());
        let rule = |align: Align| match align {
            Align::Left => ":--",
            Align::Centre => ":-:",
            Align::Right => "--:",
        };
        out += &row(self.columns.iter().map(|c| rule(c.align).to_string()).collect());
        self.signed_cells(markdown).into_iter().for_each(|cells| out += &row(cells));
        out
    }

    /// For machines: all digits, no signs. Units are in the header.
    pub fn to_csv(&self) -> String {
        let mut csv = Csv::new(self.columns.iter().map(|column| match column.unit {
            crate::format::Unit::Seconds => format!("{} (s)", column.name),
            _ => head(column),
        }));
        for row in &self.rows {
            csv.row(row.iter().map(|cell| match cell {
                Cell::Text(text) => Field::Text(text.clone()),
                Cell::Number(value) => Field::Number(*value),
                Cell::Missing => Field::Text(String::new()),
            }));
        }
        csv.finish()
    }

    fn signed_cells(&self, clean: fn(&str) -> String) -> Vec<Vec<String>> {
        let signed = |row: Vec<(String, super::cells::Rank)>| {
            row.into_iter().map(|(text, rank)| clean(&text) + rank.sign()).collect()
        };
        shown(self).into_iter().map(signed).collect()
    }
}

/// Line breaks would tear a table apart, and control characters might do worse to a terminal.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn markdown(text: &str) -> String {
    one_line(text).replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;")
}

/// How many cells of a terminal a text takes, about.
fn cells_wide(text: &str) -> usize {
    text.chars().map(|c| if c as u32 >= 0x1100 && !is_narrow_sign(c) { 2 } else { 1 }).sum()
}

/// Punctuation, arrows, lines and signs above the plain letters that take one cell all the same.
fn is_narrow_sign(c: char) -> bool {
    matches!(c as u32, 0x1e00..=0x2e7f)
}

fn padded(text: &str, width: usize, align: Align) -> String {
    let free = width.saturating_sub(cells_wide(text));
    let before = match align {
        Align::Left => 0,
        Align::Centre => free / 2,
        Align::Right => free,
    };
    format!("{}{text}{}", " ".repeat(before), " ".repeat(free - before))
}

#[cfg(test)]
mod tests {
    use super::super::{Column, Table};

    fn table() -> Table {
        let mut table = Table::new("Who won")
            .column(Column::text("mechanism"))
            .column(Column::number("rate").unit("jobs/h").highest_is_best())
            .column(Column::duration("jct").lowest_is_best().mark_worst());
        table.row(["a|b".into(), 12.5.into(), 5_400.0.into()]);
        table.row(["公平, yes".into(), 11.0.into(), 600.0.into()]);
        table.row(["c".into()]);
        table
    }

    #[test]
    fn as_text() {
        let expected = "Who won\n\n\
                        mechanism  rate (jobs/h)       jct\n\
                        ─────────  ─────────────  ────────\n\
                        a|b               12.5 ★  90 min ▽\n\
                        公平, yes           11.0  10 min ★\n\
                        c                      –         –\n";
        assert_eq!(table().to_text(), expected);
    }

    #[test]
    fn as_markdown() {
        let expected = "**Who won**\n\n| mechanism | rate (jobs/h) | jct |\n| :-- | --: | --: |\n\
                        | a\\|b | 12.5 ★ | 90 min ▽ |\n| 公平, yes | 11.0 | 10 min ★ |\n| c | – | – |\n";
        assert_eq!(table().to_markdown(), expected);
    }

    #[test]
    fn as_csv() {
        let expected =
            "mechanism,rate (jobs/h),jct (s)\na|b,12.5,5400\n\"公平, yes\",11,600\nc,,\n";
        assert_eq!(table().to_csv(), expected);
    }
}
