//! Everything that reads what others wrote, as functions of bytes that must not panic, and texts that are nearly right.
//!
//! The targets are the same for a fuzzer (the folder `fuzz` of the repository, with cargo-fuzz) and for the bounded run of
//! the test command (`tests/fuzz.rs`). Readers of the command line itself (problem files, job files) are tried by its own
//! tests, with the same [`Mutator`].

mod mutate;
mod targets;

pub use mutate::Mutator;
pub use targets::{TARGETS, Target};

use std::path::{Path, PathBuf};

/// The kept inputs of a target, in the order of their names; none where there is no source tree.
pub fn corpus(name: &str) -> Vec<Vec<u8>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.sort();
    files.iter().filter_map(|file| std::fs::read(file).ok()).collect()
}
