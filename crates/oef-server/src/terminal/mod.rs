//! Terminals of jobs: both ends come to the daemon, which passes on what they say. Nothing of it is journalled.

mod access;
mod relay;

pub(crate) use access::address_for_jobs;
pub use access::{TerminalAccess, new_key};
pub(crate) use relay::{End, Full, Gap, Place, Put, Relay, Session};
