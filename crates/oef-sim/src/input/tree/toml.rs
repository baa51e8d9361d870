//! TOML to a tree.

use super::node::{Entry, Node, Table, Value, Wrong};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Reads a whole TOML document; syntax errors are all found, not only the first.
pub fn parse(text: &str) -> Result<Table, Vec<Wrong>> {
    let (table, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Ok(tree(table.into_inner()));
    }
    let wrong = errors.iter().map(|error| Wrong {
        at: error.span().map_or(0, |span| span.start),
        key: String::new(),
        message: format!("not TOML: {}", error.message()),
        hint: None,
    });
    Err(wrong.collect())
}

fn tree(table: DeTable<'_>) -> Table {
    let entries = table.into_iter().map(|(key, value)| Entry {
        key_at: key.span().start,
        key: key.into_inner().into_owned(),
        node: node(value),
    });
    let mut entries: Vec<Entry> = entries.collect();
    // The parser sorts by key; complaints and results follow the file.
    entries.sort_by_key(|entry| entry.key_at);
    Table { entries }
}

fn node(value: Spanned<DeValue<'_>>) -> Node {
    let at = value.span().start;
    let value = match value.into_inner() {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(x) => Value::Number(integer(x.as_str(), x.radix())),
        DeValue::Float(x) => Value::Number(x.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(b) => Value::Bool(b),
        DeValue::Datetime(date) => Value::Date(date.to_string()),
        DeValue::Array(list) => Value::List(list.into_iter().map(node).collect()),
        DeValue::Table(table) => Value::Table(tree(table)),
    };
    Node { at, value }
}

/// Counts are real numbers here, so an integer may have any length.
fn integer(digits: &str, radix: u32) -> f64 {
    if radix == 10 {
        return digits.parse().unwrap_or(f64::NAN);
    }
    let digit = |c: char| c.to_digit(radix).map_or(f64::NAN, f64::from);
    digits.chars().fold(0.0, |sum, c| sum * f64::from(radix) + digit(c))
}
