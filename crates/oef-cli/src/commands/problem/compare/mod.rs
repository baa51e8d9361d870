//! `oef compare`: all mechanisms side by side.

mod run;
mod table;

pub use run::run;
