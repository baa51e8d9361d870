//! Checkpoints that lie on another host are brought to this one, with rsync.
//!
//! They arrive in a folder beside the one that the job uses, and take its place in one step when all of
//! them are there, whole and on disk. Until then the last good ones stay as they were, whatever breaks: the
//! link, rsync, the runner, or the machine.
//!
//! ```text
//! DIR/NAME                  what the job uses
//! DIR/.NAME.oef-incoming    what is on its way; kept, so that the next try goes on from there
//! DIR/.NAME.oef-previous    for a moment, on file systems that cannot exchange two folders
//! ```

mod bandwidth;
mod bring;
mod carry;
mod command;
mod config;
mod fetch;
mod files;
mod locations;
mod outcome;
mod pulse;
mod replace;
mod tools;
mod transfer;

pub use bandwidth::Bandwidth;
pub use bring::{Brought, Look, NotBrought, Progress, bring};
pub use config::{CheckpointConfig, HOST, Keeping, Transport};
pub use fetch::{Fetch, FetchLimits, Source};
pub use outcome::{BringError, Report};
pub use replace::remove;
pub use tools::{ToolsMissing, check_tools};
pub use transfer::{Transfer, TransferResult};

pub(crate) use bring::bring_as;
pub(crate) use locations::Locations;
pub(crate) use replace::{is_leftover, recover, with_leftovers};
