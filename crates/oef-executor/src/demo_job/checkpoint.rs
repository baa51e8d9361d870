//! What the demonstration job leaves on disk: checkpoints, progress, and a trace for tests.

use crate::clock::now_ms;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Everything that is needed to go on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Checkpoint {
    pub(super) step: u64,
    pub(super) loss: f64,
}

impl Checkpoint {
    /// The work before the first step.
    pub(super) const NONE: Checkpoint = Checkpoint { step: 0, loss: 10.0 };

    /// The last one of a folder.
    pub(super) fn load(folder: &Path) -> io::Result<Checkpoint> {
        match fs::read(path(folder)) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::from),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Checkpoint::NONE),
            Err(error) => Err(error),
        }
    }

    /// Replaces the last one: whole, and on disk when this returns.
    pub(super) fn save(&self, folder: &Path) -> io::Result<()> {
        let beside = folder.join(".checkpoint.json.new");
        let mut file = File::create(&beside)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.sync_all()?;
        fs::rename(&beside, path(folder))?;
        File::open(folder)?.sync_all()
    }
}

fn path(folder: &Path) -> PathBuf {
    folder.join("checkpoint.json")
}

/// Lines that are appended whole, each in one write.
#[derive(Debug)]
pub(super) struct Lines(File);

impl Lines {
    pub(super) fn open(path: &Path) -> io::Result<Lines> {
        OpenOptions::new().create(true).append(true).open(path).map(Lines)
    }

    pub(super) fn append<T: Serialize>(&mut self, line: &T) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        self.0.write_all(&bytes)
    }
}

/// One line of `trace.jsonl`: from the traces of all its starts one can see whether a job ever ran
/// twice at once, and whether a step before a checkpoint was ever repeated.
#[derive(Debug, Serialize)]
pub(super) struct Event<'a> {
    pub(super) event: &'static str,
    pub(super) job: &'a str,
    pub(super) generation: &'a str,
    pub(super) pid: u32,
    pub(super) step: u64,
    pub(super) at_ms: u64,
}

impl<'a> Event<'a> {
    pub(super) fn new(event: &'static str, job: &'a str, generation: &'a str, step: u64) -> Self {
        Event { event, job, generation, pid: std::process::id(), step, at_ms: now_ms() }
    }
}
