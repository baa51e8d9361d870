//! How Gavel names jobs: `ResNet-18 (batch size 16)`, `('LM (batch size 5)', 2)`, `A3C (scale factor 4)`.

/// Model and batch size of a job type.
pub(crate) fn job_type(text: &str) -> (String, Option<u32>) {
    match number_in_brackets(text, "batch size") {
        Some((model, size)) => (model.into(), Some(size).filter(|&s| s > 0)),
        None => (text.trim().into(), None),
    }
}

/// Job type and scale factor of a key of a throughput file, in either of its two forms.
pub(crate) fn key(text: &str) -> Option<(&str, u32)> {
    let text = text.trim();
    if let Some(tuple) = text.strip_prefix('(').and_then(|t| t.strip_suffix(')'))
        && let Some((name, scale)) = tuple.rsplit_once(',')
    {
        let name = name.trim().trim_matches(['\'', '"']);
        return scale.trim().parse().ok().filter(|&s| s > 0).map(|s| (name, s));
    }
    Some(number_in_brackets(text, "scale factor").unwrap_or((text, 1)))
}

/// `name (words 12)` to `name` and 12.
fn number_in_brackets<'a>(text: &'a str, words: &str) -> Option<(&'a str, u32)> {
    let (name, rest) = text.trim().strip_suffix(')')?.rsplit_once('(')?;
    let number = rest.trim().strip_prefix(words)?.trim().parse().ok()?;
    Some((name.trim(), number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        assert_eq!(job_type("ResNet-18 (batch size 16)"), ("ResNet-18".into(), Some(16)));
        assert_eq!(job_type("A3C"), ("A3C".into(), None));
        assert_eq!(job_type("x (batch size many)"), ("x (batch size many)".into(), None));
        assert_eq!(key("('LM (batch size 5)', 2)"), Some(("LM (batch size 5)", 2)));
        assert_eq!(key("('A3C', 0)"), None);
        assert_eq!(key("LM (batch size 5) (scale factor 4)"), Some(("LM (batch size 5)", 4)));
        assert_eq!(key("LM (batch size 5)"), Some(("LM (batch size 5)", 1)));
        for odd in ["", "(", "()", "(,)", "('', 1)"] {
            let _ = key(odd);
        }
    }
}
