//! What stands beside a job while it runs: starts its workers, passes their words on, tells them to
//! stop, and writes down how it ended.
//!
//! The runner is a process of its own in a session of its own. The daemon may end, crash or be replaced:
//! the job does not notice. It trusts nothing but its files (see `records`) and locks.

mod conclusion;
mod environment;
mod fetching;
mod gang;
mod measure;
mod merged;
mod output;
mod prepare;
mod probe;
mod progress;
mod remote;
mod session;
mod stage;
mod worker;

pub(crate) use progress::last_word;
pub use stage::run;
