//! The simulator of OEF: the real scheduler in a simulated world.
//!
//! Traces, profiles and clusters come from the forms in which they are kept elsewhere ([`input`]) or are made
//! from a seed ([`generate`]); [`world`] says how fast jobs really run; [`engine`] drives
//! [`oef_sched::step`] through virtual time.
//!
//! Nothing here opens a file or asks a clock: text comes in, values go out, and the same seed gives the same
//! bytes on every platform.
#![forbid(unsafe_code)]

pub mod engine;
pub mod generate;
pub mod input;
pub mod world;
