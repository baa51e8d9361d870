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

pub mod caller;
pub mod daemon;
mod engine;
pub mod problem;
mod secret;
pub mod store;
pub mod view;
pub mod world;
