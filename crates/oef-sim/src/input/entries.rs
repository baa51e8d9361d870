//! Lists of tables in TOML or JSON (`[[node]]`, `{"node": [{..}]}`) with the line of every value.

use super::cells::quoted;
use super::read::{BadRow, InputError, Source};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};

/// One table of a list.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The list it is in.
    pub list: String,
    /// Its position in the list, counted from 1.
    pub number: usize,
    /// The line where it begins.
    pub line: usize,
    /// Its fields, in the order of the file.
    pub fields: Vec<Field>,
}

/// A field of a table.
#[derive(Debug)]
pub(crate) struct Field {
    pub key: String,
    pub line: usize,
    pub value: Value,
}

/// A value as far as a cluster file needs it.
#[derive(Debug)]
pub(crate) enum Value {
    Text(String),
    Number(f64),
    /// Anything else, in words.
    Other(String),
}

impl Value {
    /// The value and its kind, for "expected a number, found ...".
    pub fn describe(&self) -> String {
        match self {
            Value::Text(text) => format!("the text {}", quoted(text)),
            Value::Number(x) => format!("the number {x}"),
            Value::Other(words) => words.clone(),
        }
    }
}

/// Everything at the top of a file that is a list of tables, in the order of the file, and what is not.
pub(crate) struct Document {
    pub entries: Vec<Entry>,
    /// Keys at the top whose value is no list of tables, with their lines.
    pub others: Vec<(String, usize)>,
}

/// Reads TOML.
pub(crate) fn toml(source: Source<'_>) -> Result<Document, InputError> {
    source.check_size()?;
    let lines = Lines::of(source.text);
    let (root, errors) = DeTable::parse_recoverable(source.text);
    if !errors.is_empty() {
        let at = |e: &toml::de::Error| lines.locate(e.span().map_or(0, |span| span.start));
        let wrong =
            |e: &toml::de::Error| source.at(at(e), "", format!("not TOML: {}", e.message()));
        return Err(InputError { problems: errors.iter().map(wrong).collect(), is_limit: false });
    }
    let mut document = Document { entries: Vec::new(), others: Vec::new() };
    for (key, value) in root.get_ref() {
        let DeValue::Array(list) = value.get_ref() else {
            document.others.push((key.get_ref().to_string(), lines.locate(key.span().start)));
            continue;
        };
        for (index, item) in list.iter().enumerate() {
            let line = lines.locate(item.span().start);
            let DeValue::Table(table) = item.get_ref() else {
                document.others.push((key.get_ref().to_string(), line));
                continue;
            };
            let fields = table.iter().map(|(k, v)| Field {
                key: k.get_ref().to_string(),
                line: lines.locate(k.span().start),
                value: toml_value(v.get_ref()),
            });
            let mut fields: Vec<Field> = fields.collect();
            fields.sort_by_key(|f| f.line);
            let list = key.get_ref().to_string();
            document.entries.push(Entry { list, number: index + 1, line, fields });
        }
    }
    document.entries.sort_by_key(|e| e.line);
    Ok(document)
}

fn toml_value(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(x) if x.radix() == 10 => number(x.as_str()),
        DeValue::Integer(x) => {
            Value::Other(format!("the number {} in base {}", x.as_str(), x.radix()))
        }
        DeValue::Float(x) => number(x.as_str()),
        DeValue::Boolean(b) => Value::Other(b.to_string()),
        DeValue::Datetime(date) => Value::Other(format!("the date {date}")),
        DeValue::Array(list) => Value::Other(format!("a list of {}", list.len())),
        DeValue::Table(_) => Value::Other("a table".into()),
    }
}

fn number(text: &str) -> Value {
    Value::Number(text.parse().unwrap_or(f64::NAN))
}

/// Reads JSON with the same lists.
pub(crate) fn json(source: Source<'_>) -> Result<Document, InputError> {
    source.check_size()?;
    let lines = Lines::of(source.text);
    let root: BTreeMap<String, &RawValue> =
        serde_json::from_str(source.text).map_err(|e| InputError::one(not_json(source, &e)))?;
    let mut document = Document { entries: Vec::new(), others: Vec::new() };
    for (key, raw) in &root {
        let Ok(list) = serde_json::from_str::<Vec<&RawValue>>(raw.get()) else {
            document.others.push((key.clone(), lines.locate(offset(source.text, raw.get()))));
            continue;
        };
        for (index, item) in list.iter().enumerate() {
            let line = lines.locate(offset(source.text, item.get()));
            let Ok(table) = serde_json::from_str::<BTreeMap<String, &RawValue>>(item.get()) else {
                document.others.push((key.clone(), line));
                continue;
            };
            let fields = table.into_iter().map(|(key, raw)| Field {
                key,
                line: lines.locate(offset(source.text, raw.get())),
                value: json_value(raw.get()),
            });
            let mut fields: Vec<Field> = fields.collect();
            fields.sort_by_key(|f| f.line);
            document.entries.push(Entry { list: key.clone(), number: index + 1, line, fields });
        }
    }
    document.entries.sort_by_key(|e| e.line);
    Ok(document)
}

fn json_value(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(serde_json::Value::String(text)) => Value::Text(text),
        Ok(serde_json::Value::Number(x)) => Value::Number(x.as_f64().unwrap_or(f64::NAN)),
        Ok(serde_json::Value::Array(list)) => Value::Other(format!("a list of {}", list.len())),
        Ok(serde_json::Value::Object(_)) => Value::Other("a table".into()),
        _ => Value::Other(text.into()),
    }
}

pub(crate) fn not_json(source: Source<'_>, error: &serde_json::Error) -> BadRow {
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    source.at(error.line(), "", format!("not the JSON that is expected: {message}"))
}

/// Where a part of a text begins in it.
pub(crate) fn offset(whole: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize).min(whole.len())
}

/// Where the lines of a text begin.
pub(crate) struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    pub fn of(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|&(_, b)| b == b'\n').map(|(i, _)| i + 1);
        Lines { starts: std::iter::once(0).chain(breaks).collect() }
    }

    pub fn locate(&self, offset: usize) -> usize {
        self.starts.partition_point(|&start| start <= offset)
    }
}
