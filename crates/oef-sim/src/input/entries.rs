//! Lists of tables in TOML or JSON (`[[node]]`, `{"node": [{..}]}`) with the line of every value.

use super::lines::Lines;
use super::read::{InputError, Source};
use super::tree::{Table, Value, Wrong};

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

/// Everything at the top of a file that is a list of tables, in the order of the file, and what is not.
#[derive(Default)]
pub(crate) struct Document {
    pub entries: Vec<Entry>,
    /// Keys at the top whose value is no list of tables, with their lines.
    pub others: Vec<(String, usize)>,
}

/// A reader of TOML or JSON.
pub(crate) type Parse = fn(&str) -> Result<Table, Vec<Wrong>>;

/// What is wrong with a text, by lines.
pub(crate) fn malformed(source: Source<'_>, wrong: Vec<Wrong>) -> InputError {
    let lines = Lines::of(source.text);
    let placed = wrong.into_iter().map(|wrong| {
        let bad = source.at(lines.line(wrong.at), &wrong.key, wrong.message);
        wrong.hint.into_iter().fold(bad, |bad, hint| bad.hint(hint))
    });
    InputError { problems: placed.collect(), is_limit: false }
}

/// Reads the lists of a text in the form of `parse`.
pub(crate) fn document(source: Source<'_>, parse: Parse) -> Result<Document, InputError> {
    source.check_size()?;
    let root = parse(source.text).map_err(|wrong| malformed(source, wrong))?;
    let lines = Lines::of(source.text);
    let mut document = Document::default();
    for entry in root.entries {
        let list = entry.key;
        let Value::List(items) = entry.node.value else {
            document.others.push((list, lines.line(entry.key_at)));
            continue;
        };
        for (index, item) in items.into_iter().enumerate() {
            let line = lines.line(item.at);
            let Value::Table(table) = item.value else {
                document.others.push((list.clone(), line));
                continue;
            };
            let fields = table.entries.into_iter().map(|field| Field {
                key: field.key,
                line: lines.line(field.key_at),
                value: field.node.value,
            });
            let (list, number, fields) = (list.clone(), index + 1, fields.collect());
            document.entries.push(Entry { list, number, line, fields });
        }
    }
    document.entries.sort_by_key(|entry| entry.line);
    Ok(document)
}
