//! Where jobs' checkpoints are: in one folder that all hosts see, or on the host that ran the job last.
//!
//! In the second case the next host fetches them before the job starts, and copies that are no longer needed
//! are collected. The world knows where the last good ones are (`JobEntry::home`); they are never removed.

mod bandwidth;
mod places;
mod settings;
mod sweep;
mod tools;

pub use bandwidth::Bandwidth;
pub use settings::{CheckpointSettings, Keeping, Transport};
pub use tools::ToolsMissing;

pub(crate) use places::{Place, Places};
pub(crate) use sweep::{Sweeper, host_of_gone};
pub(crate) use tools::check as check_tools;
