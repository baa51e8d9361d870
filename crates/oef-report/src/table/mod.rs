//! Tables as HTML.

mod cells;
mod html;
mod model;

pub use model::{Cell, Column, Table};
