//! `oef simulate`: a trace replayed on a cluster under several mechanisms.

mod csv_files;
mod document;
mod drive;
mod gather;
mod guard;
mod lies;
pub mod made_up;
mod report;
mod run;
mod table;
mod unfinished;

pub use run::run;
