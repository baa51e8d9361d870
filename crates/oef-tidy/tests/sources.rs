//! What must not be in the sources.

use std::fs;
use std::path::{Path, PathBuf};

/// A file that is longer wants to be two.
const MAX_LINES: usize = 800;

/// Words that have no place in the core, which is a pure function of its arguments.
const NOT_IN_CORE: [(&str, &str); 12] = [
    ("std::fs", "files are read and written in oef-cli"),
    ("std::net", "nothing here talks to anybody"),
    ("std::io", "parsed values come in, values go out"),
    ("std::env", "settings are arguments"),
    ("std::process", "exit codes belong to oef-cli"),
    ("std::thread", "the core runs on its caller's thread"),
    ("Instant::now", "the core has no clock: see `Options::stop`"),
    ("SystemTime", "the core has no clock: see `Options::stop`"),
    ("HashMap", "its order changes from run to run"),
    ("HashSet", "its order changes from run to run"),
    ("println!", "only oef-cli prints"),
    ("unsafe {", "the core is safe Rust"),
];

#[test]
fn the_core_is_pure() {
    let mut wrong = Vec::new();
    for path in rust_files(&root().join("crates/oef-core/src")) {
        for (number, line) in read(&path).lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            for (word, why) in NOT_IN_CORE.iter().filter(|(word, _)| code.contains(word)) {
                wrong.push(format!("{}:{}: `{word}`: {why}", path.display(), number + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "in the core:\n{}", wrong.join("\n"));
    let lib = read(&root().join("crates/oef-core/src/lib.rs"));
    assert!(lib.contains("#![forbid(unsafe_code)]"), "oef-core must forbid unsafe code");
}

/// What the oracle may use of the core: the problem and the answer that it judges, and nothing that finds one.
const IN_ORACLE: [&str; 14] = [
    "problem",
    "Problem",
    "ProblemSpec",
    "GpuSpec",
    "TenantSpec",
    "WorkloadSpec",
    "GpuType",
    "Workload",
    "Mechanism",
    "Shares",
    "TenantId",
    "TypeId",
    "WorkloadId",
    "OPTIMALITY_TOLERANCE",
];

#[test]
fn the_oracle_uses_no_solver_of_the_core() {
    for path in rust_files(&root().join("crates/oef-oracle/src")) {
        for used in read(&path).split("oef_core::").skip(1) {
            let end = if used.starts_with('{') { '}' } else { ';' };
            let list = used.split(end).next().unwrap_or_default();
            let list =
                if end == ';' { list.split([' ', '(', ',', ')']).next() } else { Some(list) };
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            let words = list.unwrap_or_default().split(|c| !is_word(c)).filter(|w| !w.is_empty());
            for word in words {
                assert!(IN_ORACLE.contains(&word), "{}: the core's `{word}`", path.display());
            }
        }
    }
}

/// Debug tables were four fifths of the binary; without its symbols a backtrace would be a list of numbers.
#[test]
fn the_shipped_binary_has_symbols_and_no_debug_tables() {
    let manifest = read(&root().join("Cargo.toml"));
    let release = manifest.split("[profile.release]").nth(1).unwrap_or_default();
    let release = release.split("\n[").next().unwrap_or_default();
    for line in ["debug = false", "strip = \"debuginfo\""] {
        assert!(release.lines().any(|found| found == line), "[profile.release] has no `{line}`");
    }
}

#[test]
fn files_fit_in_a_head() {
    for path in rust_files(&root().join("crates")) {
        let lines = read(&path).lines().count();
        assert!(lines <= MAX_LINES, "{} has {lines} lines: split it", path.display());
    }
}

#[test]
fn nothing_is_left_for_later() {
    // Put together here, so that this file does not find itself.
    let words = [concat!("FIX", "ME"), concat!("TO", "DO"), concat!("XX", "X")];
    for path in rust_files(&root().join("crates")) {
        for (number, line) in read(&path).lines().enumerate() {
            for word in words {
                assert!(!line.contains(word), "{}:{}: {word}", path.display(), number + 1);
            }
        }
    }
}

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap_or(root)
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        for path in entries.map(|entry| entry.expect("an entry").path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    assert!(!files.is_empty(), "no sources under {}", folder.display());
    files
}
