//! JSON to a tree.

use super::node::{Entry, Node, Table, Value, Wrong};
use jsonc_parser::ast;
use jsonc_parser::common::Ranged as _;
use jsonc_parser::errors::{ParseError, ParseErrorKind};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use std::collections::BTreeSet;

/// Plain JSON, and two words that some writers put in the place of numbers: that these are not finite is for the
/// checks to say.
const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: true,
    allow_extended_string_escapes: false,
};

/// Reads a whole JSON document, which must be an object. Reading ends at the first syntax error.
pub fn parse(text: &str) -> Result<Table, Vec<Wrong>> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &STRICT);
    let value = parsed.map_err(|error| vec![syntax(text, &error)])?.value;
    let Some(ast::Value::Object(object)) = value else {
        let found = value.map(|value| node(value, &mut Vec::new()).value.describe());
        let found = found.unwrap_or_else(|| "empty".into());
        return Err(vec![Wrong {
            at: text.len() - text.trim_start().len(),
            key: String::new(),
            message: format!("the file is {found}, not an object"),
            hint: Some("a file in JSON is one object: {\"gpu\": [...], ...}".into()),
        }]);
    };
    let mut wrong = Vec::new();
    let root = table(object, &mut wrong);
    if wrong.is_empty() { Ok(root) } else { Err(wrong) }
}

/// What is wrong, and the text that is.
fn syntax(text: &str, error: &ParseError) -> Wrong {
    const QUOTED_CHARS_MAX: usize = 20;
    let at = error.range().start;
    let message = match error.kind() {
        ParseErrorKind::NestingDepthExceeded => "nested too deep".into(),
        ParseErrorKind::ExpectedComma => "expected `,` or a closing bracket".into(),
        kind => kind.to_string().to_lowercase(),
    };
    let rest = text.get(at..).unwrap_or_default().trim_start();
    let word = rest.split(|c: char| c.is_whitespace() || ",:[]{}".contains(c)).next();
    let found = match word.unwrap_or_default() {
        // A text or a bracket that is never closed says so itself.
        _ if message.starts_with("unterminated") => String::new(),
        "" if rest.is_empty() => ", found the end of the file".into(),
        "" => format!(", found `{}`", rest.chars().take(1).collect::<String>()),
        word => format!(", found `{}`", word.chars().take(QUOTED_CHARS_MAX).collect::<String>()),
    };
    let message = format!("not JSON: {message}{found}");
    Wrong { at, key: String::new(), message, hint: None }
}

fn node(value: ast::Value<'_>, wrong: &mut Vec<Wrong>) -> Node {
    let at = value.range().start;
    let value = match value {
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::BooleanLit(literal) => Value::Bool(literal.value),
        ast::Value::NumberLit(literal) => Value::Number(number(literal.value)),
        ast::Value::StringLit(literal) => Value::Text(literal.value.into_owned()),
        ast::Value::Array(list) => {
            Value::List(list.elements.into_iter().map(|value| node(value, wrong)).collect())
        }
        ast::Value::Object(object) => Value::Table(table(object, wrong)),
    };
    Node { at, value }
}

fn table(object: ast::Object<'_>, wrong: &mut Vec<Wrong>) -> Table {
    let mut seen = BTreeSet::new();
    let mut entries = Vec::new();
    for property in object.properties {
        let key_at = property.name.range().start;
        let key = property.name.into_string();
        if !seen.insert(key.clone()) {
            let message = format!("key `{key}` occurs twice");
            let hint = Some("keep one of them".into());
            wrong.push(Wrong { at: key_at, key: key.clone(), message, hint });
        }
        entries.push(Entry { key_at, key, node: node(property.value, wrong) });
    }
    Table { entries }
}

/// A number like 1e999 is well formed and not finite.
fn number(digits: &str) -> f64 {
    digits.parse().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn fails(text: &str, at: usize, part: &str) {
        let wrong = parse(text).expect_err("a mistake").remove(0);
        assert!(wrong.message.contains(part), "{}", wrong.message);
        assert_eq!(wrong.at, at, "{}", wrong.message);
    }

    #[test]
    fn places_are_kept() {
        let root = parse("{\"a\": [1, {\"b\\n\": -2.5e1}], \"c\": null}").unwrap();
        let Some(Node { at: 6, value: Value::List(list) }) = root.get("a") else {
            panic!("{root:?}");
        };
        let Value::Table(inner) = &list[1].value else { panic!("{list:?}") };
        assert!(
            matches!(inner.get("b\n"), Some(Node { value: Value::Number(x), .. }) if *x == -25.0)
        );
    }

    #[test]
    fn mistakes_are_placed() {
        fails("", 0, "empty");
        fails("[1]", 0, "a list of 1");
        fails("{\"a\": 1,}", 7, "trailing commas");
        fails("{\"a\" 1}", 5, "colon");
        fails("{\"a\": 1 \"b\": 2}", 7, "expected `,` or a closing bracket, found `\"b\"`");
        fails("{\"a\": \"x", 6, "unterminated string");
        fails("{\"a\": \"\\q\"}", 7, "invalid escape");
        fails("{\"a\": 01}", 7, "expected `,`");
        fails("{\"a\": nope}", 6, "unexpected token, found `nope`");
        fails("{\"a\": 1", 0, "unterminated object");
        fails("{} x", 3, "more than one json value");
        fails("{\"a\": 1, \"a\": 2}", 9, "occurs twice");
        fails(&"[".repeat(100_000), 512, "deep");
        fails("{\"é\": é}", 7, "unexpected token, found `é`");
    }

    #[test]
    fn numbers_beyond_the_range_stay_numbers() {
        for (text, x) in
            [("1e999", f64::INFINITY), ("-Infinity", f64::NEG_INFINITY), ("1e-3", 1e-3)]
        {
            let root = parse(&format!("{{\"a\": {text}}}")).unwrap();
            assert!(matches!(root.get("a"), Some(Node { value: Value::Number(y), .. }) if *y == x));
        }
    }
}
