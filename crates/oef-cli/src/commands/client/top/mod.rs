//! `oef top`: the cluster live in the terminal.

mod draw;
mod live;
mod once;
mod run;
mod screen;
mod snapshot;

pub use run::run;
