//! `oef whatif`: what changes to a problem file, or to the live cluster, do to everybody.

mod changes;
mod live;
mod run;
mod table;

pub use run::run;
