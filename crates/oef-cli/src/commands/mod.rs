//! One module per command: from arguments to what is shown.

pub mod client;
pub mod compare;
pub mod compare_table;
pub mod daemon;
pub mod explain;
pub mod explain_document;
pub mod generate;
pub mod lie;
pub mod manual;
pub mod mechanisms;
pub mod named;
pub mod reproduce;
pub mod share;
pub mod share_table;
pub mod simulate;
pub mod solving;
pub mod whatif;
pub mod whatif_changes;
pub mod whatif_table;
