//! Answers that `oef-core` is held against, found without any of its code.
//!
//! Small problems are answered exactly, in fractions ([`exact`]); middle ones by another solver on the
//! plain programs. Nothing here is fast, and nothing here is shared with the mechanisms under
//! test: only the problem itself is.
#![forbid(unsafe_code)]

pub mod check;
pub mod divide;
pub mod exact;
pub mod families;
mod instance;
mod int;
pub mod market;
mod normal;
pub mod plain;
mod program;
mod random;
mod report;
mod shrink;
mod tableau;
pub mod trade;
pub mod verdict;

pub use instance::{Instance, Matrix, fraction};
pub use program::{Program, Q, Stage, Terms};
pub use random::Random;
pub use report::problem_file;
pub use shrink::shrink;
