//! Comma-separated values: a header, rows, and quotes where they are needed.

use std::fmt::Write;

/// A CSV file in the making.
///
/// ```
/// use oef_report::csv::Csv;
/// let mut csv = Csv::new(["tenant", "throughput"]);
/// csv.row(["a, b".into(), 1.5.into()]);
/// assert_eq!(csv.finish(), "tenant,throughput\n\"a, b\",1.5\n");
/// ```
#[derive(Debug, Clone)]
pub struct Csv {
    text: String,
    width: usize,
}

/// One field of a row: text, or a number in full precision.
#[derive(Debug, Clone, PartialEq)]
pub enum Field {
    /// Text, quoted where it must be.
    Text(String),
    /// A number with all its digits; empty where it is not finite.
    Number(f64),
}

impl Csv {
    /// A file with this header.
    pub fn new<T: AsRef<str>>(header: impl IntoIterator<Item = T>) -> Self {
        let mut csv = Csv { text: String::new(), width: 0 };
        let names: Vec<Field> = header.into_iter().map(|name| name.as_ref().into()).collect();
        csv.width = names.len();
        csv.row(names);
        csv
    }

    /// Adds a row. A short one is filled with empty fields and a long one is cut, so that every row has the
    /// width of the header.
    pub fn row(&mut self, fields: impl IntoIterator<Item = Field>) -> &mut Self {
        let mut fields = fields.into_iter();
        for i in 0..self.width {
            if i > 0 {
                self.text.push(',');
            }
            match fields.next() {
                Some(Field::Text(text)) => self.text.push_str(&quoted(&text)),
                Some(Field::Number(value)) if value.is_finite() => {
                    // Writing to a string cannot fail.
                    let _ = write!(self.text, "{}", value + 0.0);
                }
                _ => {}
            }
        }
        self.text.push('\n');
        self
    }

    /// The file.
    pub fn finish(self) -> String {
        self.text
    }
}

/// Series of points in long form: one line per point, as `series,x,y`. Long form takes series with points of
/// their own, and most tools can read it as it is.
pub fn series<'a>(
    header: [&str; 3],
    series: impl IntoIterator<Item = (&'a str, &'a [(f64, f64)])>,
) -> String {
    let mut csv = Csv::new(header);
    for (name, points) in series {
        for &(x, y) in points {
            csv.row([name.into(), x.into(), y.into()]);
        }
    }
    csv.finish()
}

fn quoted(text: &str) -> String {
    let is_plain = !text.contains([',', '"', '\n', '\r']) && text.trim() == text;
    if is_plain { text.to_string() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}

impl From<&str> for Field {
    fn from(text: &str) -> Self {
        Field::Text(text.to_string())
    }
}

impl From<String> for Field {
    fn from(text: String) -> Self {
        Field::Text(text)
    }
}

impl From<f64> for Field {
    fn from(value: f64) -> Self {
        Field::Number(value)
    }
}

impl From<usize> for Field {
    fn from(value: usize) -> Self {
        // Counts above 2^53 keep their digits as text.
        Field::Text(value.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_only_where_they_must_be() {
        let mut csv = Csv::new(["a", "b \"c\"", "d"]);
        csv.row(["two\nlines".into(), Field::Number(f64::NAN), (-0.0).into()]);
        csv.row([7usize.into()]);
        assert_eq!(csv.finish(), "a,\"b \"\"c\"\"\",d\n\"two\nlines\",,0\n7,,\n");
    }

    #[test]
    fn series_are_in_long_form() {
        let text = series(["tenant", "time_s", "rate"], [("a", &[(0.0, 1.0), (300.0, 0.1)][..])]);
        assert_eq!(text, "tenant,time_s,rate\na,0,1\na,300,0.1\n");
    }
}
