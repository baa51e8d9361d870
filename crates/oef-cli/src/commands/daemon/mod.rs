//! The commands that are a daemon, or look after its state folder.

pub mod config;
pub mod hidden;
pub mod journal;
pub mod serve;
