//! Jobs as processes on this machine.
//!
//! The executor writes what it wants into the folder of a start and spawns a runner, which is no child
//! of it and outlives it; from then on it only reads what the runner writes. So a daemon that is killed
//! and started again finds everything as it is.

mod check;
mod logs;
mod open;
mod perform;
mod recover;
mod spawn;
mod warm;
mod watch;

pub use open::{LocalConfig, LocalExecutor};
