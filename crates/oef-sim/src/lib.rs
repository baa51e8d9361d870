//! The simulator of OEF and what it needs from outside: traces, profiles and clusters, read from the forms
//! in which they are kept elsewhere ([`input`]) or made from a seed ([`generate`]).
//!
//! Nothing here opens a file or asks a clock: text comes in, values go out, and the same seed gives the same
//! bytes on every platform.
#![forbid(unsafe_code)]

pub mod generate;
pub mod input;
