//! `oef reproduce`: the paper's evaluation, its figures beside ours.

mod args;
mod data;
mod draw;
mod page;
mod run;
mod table;
mod timing;

pub use args::{EXAMPLES, ReproduceArgs};
pub use run::run;
