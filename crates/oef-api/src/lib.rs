//! The interface of the OEF daemon, version 1: what goes over the wire, and a client that speaks it.
//!
//! The types here are for the wire alone. They know nothing of scheduling: the daemon turns its own values
//! into these at the border. Names that stand here are relied on by scripts and dashboards: fields are added,
//! never renamed.
#![forbid(unsafe_code)]

pub mod check;
pub mod client;
pub mod limits;
pub mod memory;
pub mod parsed;
pub mod types;

/// The path under which version 1 lives.
pub const PREFIX: &str = "/api/v1";
