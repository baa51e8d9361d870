//! The commands that work on a problem file.

mod compare;
pub mod dispatch;
mod explain;
mod lie;
mod mechanisms;
mod named;
mod share;
pub mod solving;
mod whatif;
