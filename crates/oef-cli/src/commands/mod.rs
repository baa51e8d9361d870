//! One module per command: from arguments to what is shown.

pub mod client;
pub mod compare;
pub mod daemon;
pub mod explain;
pub mod generate;
pub mod lie;
pub mod manual;
pub mod mechanisms;
pub mod named;
pub mod share;
pub mod simulate;
pub mod solving;
pub mod whatif;
