//! Jobs as processes on this machine.
//!
//! The executor writes what it wants into the folder of a start and spawns a runner, which is no child
//! of it and outlives it; from then on it only reads what the runner writes. So a daemon that is killed
//! and started again finds everything as it is.
//!
//! Every job has a lane of its own (`lanes`), so that nothing waits for another job's programs or files. One
//! thread reads what runners write (`watch`); others remove what nobody needs (`clean`).

mod check;
mod clean;
mod enforce;
mod isolation;
mod lanes;
mod logs;
mod open;
mod remote_copies;
mod resume;
pub(crate) mod site;
mod spawn;
mod start;
mod warm;
mod watch;

pub use isolation::Isolation;
pub(crate) use isolation::SERVICE;
pub(crate) use open::Inner;
pub use open::{LocalConfig, LocalExecutor};
