//! Sentences, with the little emphasis that a report needs.

use crate::escape::escape;

/// A paragraph. Plain text converts into one; nothing in it is ever read as markup.
///
/// ```
/// use oef_report::html::Prose;
/// let prose = Prose::new().text("Tenant a<b gained ").strong("17 %").text(".");
/// let plain = Prose::from("Nothing changed.");
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Prose {
    html: String,
}

impl Prose {
    /// An empty paragraph.
    pub fn new() -> Self {
        Prose::default()
    }

    /// Adds plain text.
    pub fn text(mut self, text: impl AsRef<str>) -> Self {
        self.html += &escape(text.as_ref());
        self
    }

    /// Adds text that matters.
    pub fn strong(mut self, text: impl AsRef<str>) -> Self {
        self.html += &format!("<strong>{}</strong>", escape(text.as_ref()));
        self
    }

    pub(crate) fn html(&self) -> &str {
        &self.html
    }
}

impl From<&str> for Prose {
    fn from(text: &str) -> Self {
        Prose::new().text(text)
    }
}

impl From<String> for Prose {
    fn from(text: String) -> Self {
        Prose::new().text(text)
    }
}
