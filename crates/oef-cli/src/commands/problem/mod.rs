//! The commands that work on a problem file.

pub mod compare;
pub mod explain;
pub mod lie;
pub mod mechanisms;
mod named;
pub mod share;
pub mod solving;
pub mod whatif;
