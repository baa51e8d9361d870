//! `oef bench shares`: how fast this machine solves, with a reference beside it.

mod again;
mod cases;
pub mod daemon;
pub mod instances;
mod measure;
mod prototype;
mod reference;
mod report;
mod run;
pub mod sim;

pub use run::run;
