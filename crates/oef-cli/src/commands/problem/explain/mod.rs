//! `oef explain`: why a result is what it is.

mod document;
mod run;

pub use run::run;
