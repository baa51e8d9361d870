//! Jobs that run in the terminal of whoever submits them.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// The terminal of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(examples(json!({"pty": true, "key_hash": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"})))]
pub struct Terminal {
    /// The command gets a terminal of its own; otherwise its streams are passed on as they are.
    #[serde(default)]
    pub pty: bool,
    /// SHA-256, in hexadecimal digits, of a secret: only whoever sends that secret may read and write there.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    pub key_hash: String,
}

impl Terminal {
    /// Whether its hash can be one.
    pub fn has_hash(&self) -> bool {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        self.key_hash.len() == 64 && self.key_hash.bytes().all(is_digit)
    }
}

/// A shell beside a running job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(examples(json!({"worker": 0, "command": ["nvidia-smi"], "env": {"TERM": "xterm"}, "terminal": {"pty": true, "key_hash": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}})))]
pub struct ShellCreate {
    /// The worker whose environment and GPU it gets.
    #[serde(default)]
    pub worker: u32,
    /// A command instead of a shell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 1000)]
    pub command: Vec<String>,
    /// More variables: what programs need to know of the terminal.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Its terminal.
    pub terminal: Terminal,
}

/// A shell that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(examples(json!({"shell": 1790000000000_u64, "run": 3})))]
pub struct Shell {
    /// Its number.
    pub shell: u64,
    /// The run of the job that it is beside.
    pub run: u64,
}

/// What became of bytes that were sent to the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(examples(json!({"next": 4096, "read": 4000})))]
pub struct TerminalWritten {
    /// The offset of the next byte to send. After a restart of the daemon it may lie further back.
    pub next: u64,
    /// The other end has everything before this one; none: it has not come yet.
    pub read: Option<u64>,
}
