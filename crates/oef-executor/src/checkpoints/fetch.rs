//! A checkpoint that lies elsewhere, and how it is brought here.

use oef_sched::Span;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What is to be brought before a job starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fetch {
    /// Where it is, for people: a host's name.
    pub from: String,
    /// Where it is, for rsync.
    pub source: Source,
    /// Whether the job has said that it has a checkpoint. It is not started from nothing then.
    #[serde(default)]
    pub is_known: bool,
    /// How long it may take, and how much of the line.
    #[serde(default)]
    pub limits: FetchLimits,
}

/// How the files are reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// On this machine: hosts that share one, or a disk that all of them see.
    Folder {
        /// The folder.
        path: PathBuf,
    },
    /// By ssh.
    Ssh {
        /// `HOST` or `USER@HOST`.
        destination: String,
        /// Another port than ssh's own.
        port: Option<u16>,
        /// More options for ssh, such as `-i` and a file.
        #[serde(default)]
        options: Vec<String>,
        /// The folder, there.
        path: PathBuf,
    },
    /// From an rsync daemon.
    Daemon {
        /// `rsync://HOST:PORT/MODULE/FOLDER`.
        url: String,
        /// A file with the password, if it wants one.
        password_file: Option<PathBuf>,
    },
}

/// How long it may take, and how much of the line.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FetchLimits {
    /// All tries together.
    pub time: Span,
    /// A line on which nothing comes for so long is dead.
    pub silence: Span,
    /// KiB a second; `None`: as fast as it goes.
    pub kib_per_second: Option<u64>,
    /// How often it is tried.
    pub tries: u32,
}

impl Default for FetchLimits {
    /// An hour is 36 GB on a slow line of 100 Mbit/s. Two minutes of silence, because both sides read every
    /// file once before the first byte is sent, and the largest take a while. Eight tries with their waits
    /// outlast a switch that restarts.
    fn default() -> Self {
        FetchLimits {
            time: Span(3_600_000),
            silence: Span(120_000),
            kib_per_second: None,
            tries: 8,
        }
    }
}
