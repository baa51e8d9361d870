//! The one thread that owns time and order.
//!
//! Commands and the executor's events come in as messages. What is there is taken together: checked against the
//! world, journalled in one transaction, and only then applied, ordered and answered. Whatever may take
//! long happens elsewhere: orders in the executor, which tells what became of them (`watcher`), shares on a thread
//! (`solver`), snapshots and the documents of rounds on another (`archiver`).

mod archiver;
mod batch;
mod budgets;
mod checks;
mod clock;
mod command;
#[cfg(test)]
mod commits;
mod coverage;
mod environment;
mod gang_figures;
mod health;
mod jobs;
mod launch;
mod message;
mod meter;
mod nodes;
mod notifications;
mod observations;
mod others;
mod outage;
mod prepare;
mod readings;
mod recovery;
mod rounds;
mod run;
mod shared;
mod solver;
mod submission;
mod tenancy;
#[cfg(test)]
mod tests;
mod threads;
mod watcher;

pub(crate) use archiver::Document;
pub use budgets::Budgets;
pub(crate) use checks::{all_right, parse};
pub(crate) use clock::wall;
pub use clock::{Clock, ClockSource};
pub(crate) use command::{Command, Done};
pub(crate) use message::{Message, Reply};
pub(crate) use notifications::{is_own, own};
pub(crate) use readings::{GpuNow, Latest};
pub(crate) use recovery::{Beginning, Parts, assemble, replay, start};
pub(crate) use run::Engine;
pub(crate) use shared::Shared;
pub(crate) use solver::Asked;
pub(crate) use tenancy::known_type;
