//! The real binary, run on files in a fresh directory.
#![allow(dead_code, reason = "every test file uses a part of it")]

use assert_cmd::Command;
use serde_json::Value;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// W = <1,2; 1,5> with one GPU of each type: the paper's smallest example.
pub const TWO: &str = r#"
[[gpu]]
type = "g1"
count = 1
[[gpu]]
type = "g2"
count = 1
[[tenant]]
name = "u1"
[[tenant.workload]]
throughput = { g1 = 1, g2 = 2 }
[[tenant]]
name = "u2"
[[tenant.workload]]
throughput = { g1 = 1, g2 = 5 }
"#;

/// What a run of the binary left behind.
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// The result as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        assert_eq!(self.code, 0, "{}", self.err);
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {}", self.out))
    }

    /// Ended with this code, said all of this, and did not panic.
    #[track_caller]
    pub fn fails(&self, code: i32, said: &[&str]) {
        assert!(!self.err.contains("panicked"), "{}", self.err);
        assert_eq!(self.code, code, "stdout: {}\nstderr: {}", self.out, self.err);
        for part in said {
            assert!(self.err.contains(part), "`{part}` is not in: {}", self.err);
        }
    }
}

/// Runs `oef` with these arguments and this on stdin.
pub fn oef_with(args: &[&str], stdin: impl Into<Vec<u8>>) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oef"));
    command.env("LC_ALL", "C.UTF-8");
    let output = command.args(args).write_stdin(stdin).output().expect("the binary runs");
    Ran {
        code: output.status.code().expect("not killed"),
        out: String::from_utf8(output.stdout).expect("stdout is UTF-8"),
        err: String::from_utf8(output.stderr).expect("stderr is UTF-8"),
    }
}

/// Runs `oef` with these arguments.
pub fn oef(args: &[&str]) -> Ran {
    oef_with(args, "")
}

/// A directory with files in it, gone when dropped.
pub struct Dir(TempDir);

impl Dir {
    pub fn new() -> Dir {
        Dir(TempDir::new().expect("a directory"))
    }

    /// Writes a file and gives its path.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.0.path().join(name);
        std::fs::write(&path, content).expect("a file");
        path.display().to_string()
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

/// Equal to within what the interface promises.
#[track_caller]
pub fn near(value: &Value, expected: f64) {
    let x = value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"));
    assert!((x - expected).abs() <= 1e-6 * expected.abs().max(1e-3), "{x} is not {expected}");
}
