//! Deciding: from what is to what should be, changing nothing.

mod floor;
mod place;
mod plan;
mod room;
mod select;

pub(crate) use floor::Floor;
pub use plan::plan;
#[cfg(test)]
pub(crate) use select::{between_tenants, select};
