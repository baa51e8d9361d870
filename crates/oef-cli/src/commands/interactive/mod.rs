//! Jobs in this terminal: `oef run` and `oef shell`.

mod frames;
pub mod host;
mod line;
pub mod run;
pub mod shell;
