//! What a reader is given, and what it gives back.

use super::limits;
use std::fmt;

/// A text and the name under which it is complained about.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The path as the user gave it, or another name.
    pub name: &'a str,
    /// What it says. A byte order mark is skipped.
    pub text: &'a str,
}

/// What was read, and what was not.
#[derive(Clone, Debug, PartialEq)]
pub struct Read<T> {
    /// The value.
    pub value: T,
    /// Rows that were wrong and left out; empty unless the caller asked to skip them.
    pub skipped: Vec<BadRow>,
    /// What the user should know beside it, in sentences: "nodes without GPUs, left out: 310".
    pub notes: Vec<String>,
}

/// One thing that is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRow {
    /// The name of the source.
    pub file: String,
    /// The line, counted from 1; 0 where it is about the file as a whole.
    pub line: usize,
    /// The column or field; empty where it is about the whole row.
    pub field: String,
    /// What is wrong, with the value.
    pub message: String,
    /// What would be right.
    pub hint: Option<String>,
}

/// Why nothing was read. Everything that is wrong is listed, not only the first thing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct InputError {
    /// What is wrong, in the order of the file; never empty.
    pub problems: Vec<BadRow>,
    /// Whether a limit of OEF was hit, and not a mistake made.
    pub is_limit: bool,
}

impl<'a> Source<'a> {
    /// A source of this name.
    pub fn new(name: &'a str, text: &'a str) -> Self {
        Source { name, text: text.strip_prefix('\u{feff}').unwrap_or(text) }
    }

    /// Refuses a text that is too large to be meant.
    pub(crate) fn check_size(&self) -> Result<(), InputError> {
        if self.text.len() <= limits::TEXT_BYTES_MAX {
            return Ok(());
        }
        let mib = limits::TEXT_BYTES_MAX / 1_048_576;
        let bad = self.whole(format!("the text is larger than {mib} MiB"));
        Err(InputError::limit(bad.hint("cut it, for example to one month")))
    }

    /// Something that is wrong with the text as a whole.
    pub(crate) fn whole(&self, message: impl Into<String>) -> BadRow {
        self.at(0, "", message)
    }

    /// Something that is wrong with a field of a line.
    pub(crate) fn at(&self, line: usize, field: &str, message: impl Into<String>) -> BadRow {
        BadRow {
            file: self.name.into(),
            line,
            field: field.into(),
            message: message.into(),
            hint: None,
        }
    }
}

impl BadRow {
    /// The same, with what would be right.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// File, line and field, as far as they are known.
    pub fn place(&self) -> String {
        let mut place = self.file.clone();
        if self.line > 0 {
            place.push_str(&format!(":{}", self.line));
        }
        if !self.field.is_empty() {
            place.push_str(&format!(": {}", self.field));
        }
        place
    }
}

impl fmt::Display for BadRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place(), self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

impl InputError {
    /// One mistake.
    pub(crate) fn one(problem: BadRow) -> Self {
        InputError { problems: vec![problem], is_limit: false }
    }

    /// A limit that was hit.
    pub(crate) fn limit(problem: BadRow) -> Self {
        InputError { problems: vec![problem], is_limit: true }
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.as_slice() {
            [] => write!(f, "nothing could be read"),
            [one] => write!(f, "{one}"),
            [first, rest @ ..] => write!(f, "{first}, and {} more", rest.len()),
        }
    }
}

/// The bad rows of one reading.
#[derive(Debug)]
pub(crate) struct BadRows {
    rows: Vec<BadRow>,
    skip: bool,
}

impl BadRows {
    /// None yet; `skip` says whether they may be left out at the end.
    pub fn new(skip: bool) -> Self {
        BadRows { rows: Vec::new(), skip }
    }

    /// Keeps a bad row; too many of them end the reading.
    pub fn push(&mut self, bad: BadRow) -> Result<(), InputError> {
        if self.rows.len() >= limits::BAD_ROWS_MAX {
            let message = format!("more than {} rows are wrong", limits::BAD_ROWS_MAX);
            let first = self.rows.swap_remove(0);
            let hint = "the file is hardly in this form: name the right one";
            let all = BadRow { line: 0, field: String::new(), ..first.clone() };
            let all = BadRow { message, hint: Some(hint.into()), ..all };
            return Err(InputError { problems: vec![all, first], is_limit: true });
        }
        self.rows.push(bad);
        Ok(())
    }

    /// The value with what was skipped, or everything that is wrong.
    pub fn finish<T>(self, value: T, notes: Vec<String>) -> Result<Read<T>, InputError> {
        if self.skip || self.rows.is_empty() {
            Ok(Read { value, skipped: self.rows, notes })
        } else {
            Err(InputError { problems: self.rows, is_limit: false })
        }
    }
}
