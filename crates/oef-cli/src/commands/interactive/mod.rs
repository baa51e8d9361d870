//! Jobs in this terminal: `oef run` and `oef shell`.

mod frames;
pub mod host;
pub mod run;
pub mod shell;
