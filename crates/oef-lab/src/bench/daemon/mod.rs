//! `oef bench daemon`: what a real daemon on this machine takes, with every submission durable.

mod args;
mod host;
mod load;
mod report;
mod run;

pub use args::BenchDaemonArgs;
pub(super) use host::trouble;
pub use run::run;
