//! Nothing to call here: the tests of this crate keep the tree as ARCHITECTURE.md says it is.
//!
//! `tests/edges.rs` looks at which crate depends on which, `tests/sources.rs` at the sources, and
//! `tests/documents.rs` at the documents and the examples.
#![forbid(unsafe_code)]

/// The Rust code of the book, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/src/library.md")]
struct Library;
