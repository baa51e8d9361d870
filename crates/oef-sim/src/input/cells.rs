//! Tables with a header: rows with their lines, cells as names and numbers.

use super::limits;
use super::lines::Lines;
use super::nearest;
use super::read::{BadRow, BadRows, InputError, Source};
use csv::StringRecord;

/// A table whose header has been read.
pub(crate) struct Table<'a> {
    source: Source<'a>,
    header: Vec<String>,
    reader: csv::Reader<&'a [u8]>,
    header_line: usize,
    dialect: Dialect,
}

/// How a table is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dialect {
    /// Between the cells.
    pub delimiter: u8,
    /// Whether a cell may stand in quotes.
    pub quoted: bool,
}

impl Dialect {
    /// Comma separated values.
    pub const CSV: Dialect = Dialect { delimiter: b',', quoted: true };
}

/// One row.
pub(crate) struct Row<'t> {
    source: Source<'t>,
    header: &'t [String],
    record: &'t StringRecord,
    /// Its line in the file.
    pub line: usize,
}

impl<'a> Table<'a> {
    /// Reads the header.
    pub fn open(source: Source<'a>, dialect: Dialect) -> Result<Self, InputError> {
        source.check_size()?;
        let mut reader = csv::ReaderBuilder::new()
            .flexible(true)
            .trim(csv::Trim::All)
            .delimiter(dialect.delimiter)
            .quoting(dialect.quoted)
            .from_reader(source.text.as_bytes());
        let header = reader.headers().map_err(|e| not_a_table(source, &e))?;
        if header.iter().all(str::is_empty) {
            let bad = source.whole("there is no header line");
            return Err(InputError::one(bad.hint("the first line must name the columns")));
        }
        let header: Vec<String> = header.iter().map(String::from).collect();
        let header_line = line_of_row(&Lines::of(source.text), source.text, 0);
        Ok(Table { source, header, reader, header_line, dialect })
    }

    /// The names of the columns.
    pub fn header(&self) -> &[String] {
        &self.header
    }

    /// The column of the first of these names that the header has, in any case.
    pub fn column(&self, names: &[&str]) -> Option<usize> {
        names.iter().find_map(|name| self.header.iter().position(|h| h.eq_ignore_ascii_case(name)))
    }

    /// The same where it must be there.
    pub fn require(&self, names: &[&str]) -> Result<usize, InputError> {
        self.column(names).ok_or_else(|| {
            let name = names.first().copied().unwrap_or_default();
            let bad = self.bad_header(name, "this column is missing");
            let known = self.header.iter().map(String::as_str);
            InputError::one(bad.hint(nearest::hint("the header has", name, known)))
        })
    }

    /// Something that is wrong with the header.
    pub fn bad_header(&self, field: &str, message: impl Into<String>) -> BadRow {
        self.source.at(self.header_line, field, message)
    }

    /// Reads every row; what `each` complains about is a bad row. Gives their number.
    pub fn rows(
        &mut self,
        bad: &mut BadRows,
        mut each: impl FnMut(&Row<'_>) -> Result<(), BadRow>,
    ) -> Result<usize, InputError> {
        let mut record = StringRecord::new();
        let lines = Lines::of(self.source.text);
        let mut count = 0;
        loop {
            let more = self.reader.read_record(&mut record);
            if !more.map_err(|e| not_a_table(self.source, &e))? {
                return Ok(count);
            }
            count += 1;
            if count > limits::ROWS_MAX {
                let message = format!("there are more than {} rows", limits::ROWS_MAX);
                return Err(InputError::limit(self.source.whole(message).hint("cut the file")));
            }
            let at = record.position().map_or(0, |p| p.byte() as usize);
            let line = line_of_row(&lines, self.source.text, at);
            let row = Row { source: self.source, header: &self.header, record: &record, line };
            row.check_width(self.dialect)
                .and_then(|()| each(&row))
                .or_else(|wrong| bad.push(wrong))?;
        }
    }
}

impl Row<'_> {
    /// A cell as it is; empty where there is no such column.
    pub fn text(&self, column: Option<usize>) -> &str {
        column.and_then(|c| self.record.get(c)).unwrap_or_default()
    }

    /// A name that must be there.
    pub fn name(&self, column: usize) -> Result<String, BadRow> {
        let text = self.text(Some(column));
        if text.is_empty() {
            return Err(self.bad(column, "is empty").hint("every row needs a name here"));
        }
        self.optional_name(Some(column)).map(Option::unwrap_or_default)
    }

    /// A name that may be left out.
    pub fn optional_name(&self, column: Option<usize>) -> Result<Option<String>, BadRow> {
        let text = self.text(column);
        match column.filter(|_| !text.is_empty()) {
            None => Ok(None),
            Some(c) => check_name(text).map(Some).map_err(|message| self.bad(c, message)),
        }
    }

    /// A finite number; `None` for an empty cell.
    pub fn number(&self, column: Option<usize>) -> Result<Option<f64>, BadRow> {
        let text = self.text(column);
        let Some(column) = column.filter(|_| !text.is_empty()) else { return Ok(None) };
        match text.parse::<f64>() {
            Ok(x) if x.is_finite() => Ok(Some(x)),
            _ => Err(self.bad(column, format!("{} is not a number", quoted(text)))),
        }
    }

    /// A number in a range; `None` for an empty cell.
    pub fn within(
        &self,
        column: Option<usize>,
        least: f64,
        most: f64,
    ) -> Result<Option<f64>, BadRow> {
        let number = self.number(column)?;
        match (number, column) {
            (Some(x), Some(c)) if !(least..=most).contains(&x) => {
                let message = format!("{} is out of range", short(x));
                let hint = if most < f64::MAX {
                    format!("between {least} and {most}")
                } else {
                    format!("at least {least}")
                };
                Err(self.bad(c, message).hint(hint))
            }
            _ => Ok(number),
        }
    }

    /// A whole number in a range; `None` for an empty cell. `4.0` counts as whole.
    pub fn whole(
        &self,
        column: Option<usize>,
        least: i64,
        most: i64,
    ) -> Result<Option<i64>, BadRow> {
        let text = self.text(column);
        let Some(c) = column.filter(|_| !text.is_empty()) else { return Ok(None) };
        let exact = |x: f64| (x.fract() == 0.0 && x.abs() < 9.0e15).then_some(x as i64);
        let number = text.parse::<i64>().ok().or_else(|| text.parse().ok().and_then(exact));
        let hint = format!("a whole number between {least} and {most}");
        match number {
            Some(n) if (least..=most).contains(&n) => Ok(Some(n)),
            Some(n) => Err(self.bad(c, format!("{n} is out of range")).hint(hint)),
            None => Err(self.bad(c, format!("{} is not a whole number", quoted(text))).hint(hint)),
        }
    }

    /// Something that is wrong with a cell.
    pub fn bad(&self, column: usize, message: impl Into<String>) -> BadRow {
        let field = self.header.get(column).map(String::as_str).unwrap_or_default();
        self.source.at(self.line, field, message)
    }

    fn check_width(&self, dialect: Dialect) -> Result<(), BadRow> {
        let (found, expected) = (self.record.len(), self.header.len());
        if found == expected {
            return Ok(());
        }
        let message = format!("the row has {found} cells, the header has {expected}");
        let hint = if dialect.quoted {
            "give every row a cell for each column, empty where there is nothing to say"
        } else {
            "a name with a `|` in it splits its row: leave that column out, JobName for example"
        };
        Err(self.source.at(self.line, "", message).hint(hint))
    }
}

/// A name as it may be shown and compared.
pub(crate) fn check_name(text: &str) -> Result<String, String> {
    if text.chars().count() > limits::NAME_CHARS_MAX {
        return Err(format!("a name has at most {} characters", limits::NAME_CHARS_MAX));
    }
    if text.chars().any(char::is_control) {
        return Err(format!("{} contains a control character", quoted(text)));
    }
    Ok(text.into())
}

/// A value is quoted, not reprinted: a megabyte of text helps nobody.
pub(crate) fn quoted(text: &str) -> String {
    const QUOTED_CHARS_MAX: usize = 40;
    let cut: String = text.chars().take(QUOTED_CHARS_MAX).collect();
    let more = if cut.len() < text.len() { "…" } else { "" };
    format!("{cut:?}{more}")
}

/// A number as short as it can be said.
fn short(x: f64) -> String {
    if x.abs() < 1e15 { format!("{x}") } else { format!("{x:e}") }
}

fn not_a_table(source: Source<'_>, error: &csv::Error) -> InputError {
    let line = error.position().map_or(0, |p| p.line() as usize);
    let bad = source.at(line, "", format!("cannot be read as a table: {error}"));
    InputError::one(bad.hint("tables are text with one row per line"))
}

/// The line on which the row at an offset begins: line breaks before it belong to the row for the reader.
fn line_of_row(lines: &Lines, text: &str, offset: usize) -> usize {
    let rest = text.as_bytes().get(offset..).unwrap_or_default();
    lines.line(offset + rest.iter().take_while(|b| matches!(b, b'\r' | b'\n')).count())
}
