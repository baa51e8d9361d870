//! Which jobs run on which gpu types.

mod deficit;
mod extra;
mod guaranteed;
mod paper;
mod pick;
mod queue;
mod rooms;
mod urgent;
mod windows;

pub(crate) use deficit::{Selection, between_tenants, select};
pub(crate) use paper::{grants as paper_grants, select as select_paper};
pub(crate) use pick::{Pick, Types, count_types};
pub(crate) use windows::Draft;
