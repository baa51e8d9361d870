//! Deciding: from what is to what should be, changing nothing.

mod floor;
mod place;
mod plan;
mod room;
mod select;

pub(crate) use floor::Floor;
pub use plan::plan;
pub(crate) use plan::plan_without_displacing;
pub(crate) use select::Pick;
#[cfg(test)]
pub(crate) use select::{between_tenants, select};
