//! JSON to a tree with places. Written out because the usual reader tells neither where a value
//! stands nor that a key occurs twice.

use super::tree::{Entry, Node, Table, Value};
use super::{Finding, Parsed};
use std::collections::BTreeSet;

/// Problem files nest five deep; the limit keeps a hostile file from exhausting the stack.
const MAX_DEPTH: usize = 32;

/// Reads a whole JSON document. Reading ends at the first syntax error.
pub fn parse(text: &str) -> Parsed {
    let mut reader = Reader { text, at: 0, findings: Vec::new() };
    let root = match reader.document() {
        Ok(root) => root,
        Err(finding) => {
            reader.findings.push(finding);
            Table::default()
        }
    };
    Parsed { root, findings: reader.findings }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    findings: Vec<Finding>,
}

impl Reader<'_> {
    fn document(&mut self) -> Result<Table, Finding> {
        let node = self.value(0)?;
        self.blank();
        if self.at < self.text.len() {
            return Err(self.unexpected("nothing after the closing `}`"));
        }
        match node.value {
            Value::Table(table) => Ok(table),
            other => {
                let message = format!("the file is {}, not a problem", other.describe());
                Err(Finding::new(node.at, "", message)
                    .hint("a problem is an object: {\"gpu\": [...], \"tenant\": [...]}"))
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, Finding> {
        self.blank();
        let at = self.at;
        if depth > MAX_DEPTH {
            return Err(Finding::new(at, "", format!("nested more than {MAX_DEPTH} deep")));
        }
        let value = match self.peek() {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.list(depth)?,
            Some(b'"') => Value::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b'a'..=b'z' | b'A'..=b'Z') => self.word()?,
            _ => return Err(self.unexpected("a value")),
        };
        Ok(Node { at, value })
    }

    fn object(&mut self, depth: usize) -> Result<Value, Finding> {
        self.at += 1;
        let mut entries: Vec<Entry> = Vec::new();
        let mut seen = BTreeSet::new();
        while !self.closes(b'}', entries.is_empty())? {
            self.blank();
            let key_at = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("a key in double quotes"));
            }
            let key = self.string()?;
            self.blank();
            if self.peek() != Some(b':') {
                return Err(self.unexpected("`:` after the key"));
            }
            self.at += 1;
            let node = self.value(depth + 1)?;
            if !seen.insert(key.clone()) {
                let finding =
                    Finding::new(key_at, key.as_str(), format!("key `{key}` occurs twice"));
                self.findings.push(finding.hint("keep one of them"));
            }
            entries.push(Entry { key, key_at, node });
        }
        Ok(Value::Table(Table { entries }))
    }

    fn list(&mut self, depth: usize) -> Result<Value, Finding> {
        self.at += 1;
        let mut list = Vec::new();
        while !self.closes(b']', list.is_empty())? {
            list.push(self.value(depth + 1)?);
        }
        Ok(Value::List(list))
    }

    /// Takes the closing bracket, or the comma before a further element.
    fn closes(&mut self, bracket: u8, first: bool) -> Result<bool, Finding> {
        self.blank();
        match self.peek() {
            Some(b) if b == bracket => {
                self.at += 1;
                Ok(true)
            }
            _ if first => Ok(false),
            Some(b',') => {
                self.at += 1;
                Ok(false)
            }
            _ => Err(self.unexpected(&format!("`,` or `{}`", char::from(bracket)))),
        }
    }

    fn string(&mut self) -> Result<String, Finding> {
        let (start, bytes) = (self.at, self.text.as_bytes());
        let mut end = start + 1;
        while end < bytes.len() && bytes[end] != b'"' {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        if end >= bytes.len() {
            return Err(Finding::new(start, "", "the text that begins here has no closing quote"));
        }
        self.at = end + 1;
        // The escapes are the library's business; only the place was missing.
        serde_json::from_str(&self.text[start..self.at])
            .map_err(|error| Finding::new(start, "", format!("not JSON: {error}")))
    }

    fn number(&mut self) -> Result<Value, Finding> {
        if self.text[self.at..].starts_with("-Infinity") {
            self.at += "-Infinity".len();
            return Ok(Value::Number(f64::NEG_INFINITY));
        }
        let start = self.at;
        let rest = &self.text.as_bytes()[start..];
        let part_of_number = |b: &u8| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
        self.at += rest.iter().take_while(|b| part_of_number(b)).count();
        let digits = &self.text[start..self.at];
        // The library decides what is a number; the standard library reads it exactly.
        let is_json =
            serde_json::from_str::<serde_json::Number>(digits).is_ok() || overflows(digits);
        match digits.parse() {
            Ok(x) if is_json => Ok(Value::Number(x)),
            _ => Err(Finding::new(start, "", format!("`{digits}` is no JSON number"))),
        }
    }

    /// The three words of JSON, and two that some writers put in their place for numbers.
    fn word(&mut self) -> Result<Value, Finding> {
        let start = self.at;
        let rest = &self.text.as_bytes()[start..];
        self.at += rest.iter().take_while(|b| b.is_ascii_alphanumeric()).count();
        match &self.text[start..self.at] {
            "null" => Ok(Value::Null),
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            "NaN" => Ok(Value::Number(f64::NAN)),
            "Infinity" => Ok(Value::Number(f64::INFINITY)),
            word => Err(Finding::new(start, "", format!("`{word}` is no JSON value"))),
        }
    }

    fn blank(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().take_while(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r')).count();
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn unexpected(&self, expected: &str) -> Finding {
        let found = match self.text[self.at..].chars().next() {
            Some(c) => format!("`{c}`"),
            None => "the end of the file".into(),
        };
        Finding::new(self.at, "", format!("not JSON: expected {expected}, found {found}"))
    }
}

/// A number like 1e999 is well formed; that it is not finite is for the checks to say.
fn overflows(digits: &str) -> bool {
    digits.bytes().any(|b| b.is_ascii_digit()) && digits.parse().is_ok_and(f64::is_infinite)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn fails(text: &str, at: usize, part: &str) {
        let parsed = parse(text);
        let finding = parsed.findings.first().expect("a finding");
        assert!(finding.message.contains(part), "{}", finding.message);
        assert_eq!(finding.at, at, "{}", finding.message);
    }

    #[test]
    fn places_are_kept() {
        let parsed = parse("{\"a\": [1, {\"b\\n\": -2.5e1}], \"c\": null}");
        assert!(parsed.findings.is_empty(), "{:?}", parsed.findings);
        let Some(Node { at: 6, value: Value::List(list) }) = parsed.root.get("a") else {
            panic!("{:?}", parsed.root);
        };
        let Value::Table(inner) = &list[1].value else { panic!("{list:?}") };
        assert!(
            matches!(inner.get("b\n"), Some(Node { value: Value::Number(x), .. }) if *x == -25.0)
        );
    }

    #[test]
    fn mistakes_are_placed() {
        fails("", 0, "end of the file");
        fails("[1]", 0, "a list of 1");
        fails("{\"a\": 1,}", 8, "a key in double quotes");
        fails("{\"a\" 1}", 5, "`:`");
        fails("{\"a\": 1 \"b\": 2}", 8, "`,` or `}`");
        fails("{\"a\": \"x", 6, "closing quote");
        fails("{\"a\": \"\\q\"}", 6, "not JSON");
        fails("{\"a\": 01}", 6, "`01` is no JSON number");
        fails("{\"a\": nope}", 6, "`nope` is no JSON value");
        fails("{} x", 3, "nothing after");
        fails("{\"a\": 1, \"a\": 2}", 9, "occurs twice");
        fails(&"[".repeat(100_000), 33, "deep");
        fails("{\"é\": é}", 7, "expected a value, found `é`");
    }

    #[test]
    fn numbers_beyond_the_range_stay_numbers() {
        for (text, x) in
            [("1e999", f64::INFINITY), ("-Infinity", f64::NEG_INFINITY), ("1e-3", 1e-3)]
        {
            let parsed = parse(&format!("{{\"a\": {text}}}"));
            assert!(
                matches!(parsed.root.get("a"), Some(Node { value: Value::Number(y), .. }) if *y == x)
            );
        }
    }
}
