//! Answers that `oef-core` is held against, found without any of its code.
//!
//! Small problems are answered exactly, in fractions ([`exact`]); middle ones by another solver on the
//! plain programs. Nothing here is fast, and nothing here is shared with the mechanisms under
//! test: only the problem itself is.
#![forbid(unsafe_code)]

pub mod exact;
mod instance;
mod int;
mod program;
mod tableau;

pub use instance::{Instance, Matrix, fraction};
pub use program::{Program, Q, Stage, Terms};
