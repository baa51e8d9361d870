//! The report: one HTML file that needs nothing else.

mod page;
mod prose;
mod report;
mod section;

pub use prose::Prose;
pub use report::{Card, Report, Tone};
pub use section::Section;
