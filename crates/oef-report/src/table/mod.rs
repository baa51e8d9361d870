//! Tables: one description, rendered as HTML, plain text, Markdown or CSV.

mod cells;
mod html;
mod model;
mod text;

pub use model::{Align, Cell, Column, Table};
