//! Which format a file is in.

use oef_terminal::Source;

/// A format of problem files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Tables of TOML.
    Toml,
    /// One JSON object.
    Json,
    /// A speedup table with `thr_<type>` columns.
    Csv,
}

impl Format {
    /// By the extension, or else by the look of the text.
    pub fn of(source: &Source) -> Format {
        match source.extension().as_deref() {
            Some("toml") => Format::Toml,
            Some("json") => Format::Json,
            Some("csv") => Format::Csv,
            _ => Format::sniff(&source.text),
        }
    }

    fn sniff(text: &str) -> Format {
        let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("");
        if first.starts_with('{') {
            Format::Json
        } else if first.split(',').any(|cell| cell.trim().starts_with("thr_")) {
            Format::Csv
        } else {
            Format::Toml
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_recognised_by_their_look() {
        assert_eq!(Format::sniff("\n{\"gpu\": []}"), Format::Json);
        assert_eq!(Format::sniff("model,thr_k80,thr_v100\n"), Format::Csv);
        assert_eq!(Format::sniff("[[gpu]]\n"), Format::Toml);
        assert_eq!(Format::sniff("# comment, with thr_\n"), Format::Toml);
    }
}
