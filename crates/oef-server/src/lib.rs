//! The OEF daemon: it journals what happens, lets the scheduler decide, has the executor carry it out, and
//! tells everybody who asks.
//!
//! One thread, the *engine*, owns time and order: it turns commands and observations into [`world::Record`]s,
//! writes them to the journal, and only then applies them to the [`world::World`], a pure value. After a
//! restart the same records give the same world. Everybody else reads the world, and never waits for a
//! computation of shares, which runs aside.
#![forbid(unsafe_code)]
#![expect(
    clippy::result_large_err,
    reason = "a problem is built once, on its way to somebody who waits for the network"
)]

mod access;
pub mod caller;
pub mod config;
pub mod core;
pub mod daemon;
mod demo;
mod engine;
pub mod http;
pub mod invariants;
mod logging;
pub mod metrics;
pub mod notify;
pub mod preflight;
pub mod problem;
pub mod replay;
mod run_error;
mod secret;
pub mod serve;
pub mod slurm;
pub mod socket;
pub mod store;
pub mod terminal;
pub mod up;
pub mod view;
pub mod watchful;
pub mod world;

pub use run_error::RunError;
