//! What a file says, as a tree.

/// A value and where it starts, as a byte offset into the text.
#[derive(Clone, Debug)]
pub struct Node {
    /// Byte offset of its first character.
    pub at: usize,
    /// What it is.
    pub value: Value,
}

/// A value of a file.
#[derive(Clone, Debug)]
pub enum Value {
    /// JSON's `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// Any number, also the ones that are not finite: the checks refuse those by name.
    Number(f64),
    /// A string.
    Text(String),
    /// A date or a time, as TOML has them.
    Date(String),
    /// A list.
    List(Vec<Node>),
    /// A table, or object.
    Table(Table),
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Byte offset of the place.
    pub at: usize,
    /// The key it is about, where it is about one.
    pub key: String,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub hint: Option<String>,
}

/// The entries of a table, in the order of the file.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The entries.
    pub entries: Vec<Entry>,
}

/// A key with its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Byte offset of the key.
    pub key_at: usize,
    /// What it is set to.
    pub node: Node,
}

impl Table {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries.iter().find(|e| e.key == key).map(|e| &e.node)
    }
}

impl Value {
    /// The value and its kind in words, for "expected a number, found ...".
    pub fn describe(&self) -> String {
        match self {
            Value::Null => "null".into(),
            Value::Bool(b) => format!("{b}"),
            Value::Number(x) => format!("the number {x}"),
            Value::Text(text) => format!("the text {:?}", cut(text)),
            Value::Date(text) => format!("the date {}", cut(text)),
            Value::List(list) => format!("a list of {}", list.len()),
            Value::Table(_) => "a table".into(),
        }
    }
}

/// A value is quoted, not reprinted: a megabyte of text helps nobody.
fn cut(text: &str) -> String {
    const QUOTED_CHARS_MAX: usize = 40;
    if text.chars().count() <= QUOTED_CHARS_MAX {
        return text.into();
    }
    text.chars().take(QUOTED_CHARS_MAX).chain(['…']).collect()
}
