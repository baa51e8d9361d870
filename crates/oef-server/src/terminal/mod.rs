//! Terminals of jobs: both ends come to the daemon, which passes on what they say. Nothing of it is journalled.

mod endpoint;
mod relay;

pub(crate) use endpoint::address_for_jobs;
pub use endpoint::{TerminalEndpoint, new_key};
pub(crate) use relay::{End, Full, Gap, Put, Relay, Session, TerminalId};
