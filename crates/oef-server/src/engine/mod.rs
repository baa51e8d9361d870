//! The one thread that owns time and order.
//!
//! Commands and observations come in as messages. What is there is taken together: checked against the
//! world, journalled in one transaction, and only then applied, performed and answered. Whatever may take
//! long happens on other threads: the executor's orders and observations (`hands`), shares (`solver`),
//! snapshots and the documents of rounds (`scribe`).

mod batch;
mod checks;
mod clock;
mod command;
mod environment;
mod hands;
mod launch;
mod message;
mod observations;
mod parties;
mod prepare;
mod recovery;
mod rounds;
mod run;
mod scribe;
mod shared;
mod solver;
mod submission;
#[cfg(test)]
mod tests;

pub(crate) use checks::refused;
pub(crate) use command::{Command, Done};
pub(crate) use message::Message;
pub(crate) use recovery::start;
pub(crate) use shared::Shared;
