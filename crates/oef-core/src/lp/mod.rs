//! Linear programs and the simplex method that solves them to a vertex.
//!
//! Vertices are what OEF wants: sparse shares, exact ties, duals that add up, and a basis to start
//! the next solve from. Programs too large for it (cooperative with hundreds of profiles) are first
//! brought close to the optimum by the interior-point method in [`crate::cooperative`].

mod basis;
mod leximin;
mod lu;
mod nucleus;
mod program;
mod scaling;
mod simplex;

pub(crate) use leximin::{Guess, Guide, Level, leximin, leximin_guided};
pub(crate) use lu::Lu;
pub(crate) use program::Program;
pub(crate) use simplex::{LpError, Simplex};
