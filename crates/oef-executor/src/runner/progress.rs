//! Following the file in which a job tells how far it is.

use crate::clock::now_ms;
use crate::event::Progress;
use crate::timing::Timing;
use crate::untrusted;
use rustix::fs::{FallocateFlags, fallocate};
use serde::Deserialize;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// A longer line is no progress, and nobody keeps it in memory.
const MAX_LINE_BYTES: usize = 64 << 10;

/// How much is read in one go; a job that writes faster than this is followed in the next.
const MAX_READ_BYTES: u64 = 1 << 20;

/// What was read is given back to the disk in pieces of this size: a job that tells its progress for a
/// month needs no more room than one that does so for an hour.
const FREE_BYTES: u64 = 4 << 20;

/// A job that is further ahead than this is not followed line by line.
const BEHIND_MAX_BYTES: u64 = 16 << 20;

/// What is kept of the file when the job has ended, for people who look.
const KEPT_BYTES: u64 = 1 << 20;

/// The job has ended: cuts its file to what may be kept, and removes what is none.
pub(super) fn cut(path: &Path) -> io::Result<()> {
    match untrusted::length(path) {
        Some(length) if length <= KEPT_BYTES => Ok(()),
        // Those that are long and full of holes as well: the length says nothing of the disk.
        Some(_) => untrusted::open_for_writing(path)?.set_len(KEPT_BYTES),
        None => untrusted::clear(path),
    }
}

/// One line of the file. Other fields are the job's own.
#[derive(Debug, Deserialize)]
struct Line {
    step: f64,
    throughput: Option<f64>,
    loss: Option<f64>,
    checkpoint: Option<f64>,
    /// What a profile run measured itself. Of anything, because other jobs may use the word for their own.
    profile: Option<serde_json::Value>,
    wait: Option<f64>,
}

/// What the Python package writes at the end of a profile run.
#[derive(Debug, Deserialize)]
struct Profile {
    batch_seconds: f64,
    spread: f64,
    batches: u32,
    #[serde(default = "one")]
    lots: u32,
    wait: Option<f64>,
}

fn one() -> u32 {
    1
}

impl Profile {
    fn measured(self) -> Option<Timing> {
        let Profile { batch_seconds, spread, batches, lots, wait } = self;
        let measured = Timing { batch_seconds, spread, batches, lots, wait };
        measured.is_sound().then_some(measured)
    }
}

/// The last word in these pieces of a file, as they come one after the other.
pub(crate) fn last_word(pieces: &[&[u8]]) -> Option<Progress> {
    let mut follower = Follower::new(PathBuf::new());
    pieces.iter().for_each(|piece| follower.take(piece));
    follower.last
}

/// Follows one progress file.
#[derive(Debug)]
pub(super) struct Follower {
    path: PathBuf,
    offset: u64,
    /// Up to which the disk has its room back.
    freed: u64,
    /// The beginning of a line whose end is not written yet.
    partial: Vec<u8>,
    /// The rest of the current line is thrown away: it was too long.
    is_skipping: bool,
    last: Option<Progress>,
    skipped_lines: u64,
}

impl Follower {
    pub(super) fn new(path: PathBuf) -> Follower {
        Follower {
            path,
            offset: 0,
            freed: 0,
            partial: Vec::new(),
            is_skipping: false,
            last: None,
            skipped_lines: 0,
        }
    }

    /// Reads what is new; the last word so far.
    pub(super) fn look(&mut self) -> Option<Progress> {
        if let Ok(bytes) = self.read_new() {
            self.take(&bytes);
        }
        self.last
    }

    fn read_new(&mut self) -> io::Result<Vec<u8>> {
        let mut file = untrusted::open(&self.path)?;
        let length = file.metadata()?.len();
        if length < self.offset {
            // The job wrote it anew.
            (self.offset, self.freed) = (0, 0);
            self.partial.clear();
            self.is_skipping = false;
        }
        let mut bytes = Vec::new();
        if length - self.offset > BEHIND_MAX_BYTES {
            // It writes faster than anybody reads: only the end counts, and nobody keeps the rest.
            self.offset = length - MAX_READ_BYTES;
            self.partial.clear();
            self.is_skipping = true;
            self.skipped_lines += 1;
        }
        if length > self.offset {
            file.seek(SeekFrom::Start(self.offset))?;
            file.take(MAX_READ_BYTES).read_to_end(&mut bytes)?;
            self.offset += bytes.len() as u64;
            self.free_disk();
        }
        Ok(bytes)
    }

    /// Frees the disk of what was read. The file keeps its length, so that no writer notices.
    fn free_disk(&mut self) {
        if self.offset - self.freed < FREE_BYTES {
            return;
        }
        if let Ok(file) = untrusted::open_for_writing(&self.path) {
            // Not every file system can; then the file grows.
            let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            let _ = fallocate(&file, hole, self.freed, self.offset - self.freed);
        }
        self.freed = self.offset;
    }

    fn take(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let is_whole = part.ends_with(b"\n");
            if !self.is_skipping {
                self.partial.extend_from_slice(part);
            }
            if self.partial.len() > MAX_LINE_BYTES {
                self.partial.clear();
                self.is_skipping = true;
            }
            if is_whole {
                let line = std::mem::take(&mut self.partial);
                let was_skipping = std::mem::replace(&mut self.is_skipping, false);
                self.take_line(&line, was_skipping);
            }
        }
    }

    fn take_line(&mut self, line: &[u8], is_too_long: bool) {
        if !is_too_long && line.trim_ascii().is_empty() {
            return;
        }
        let read = serde_json::from_slice::<Line>(line).ok();
        let is_sound = |line: &Line| line.step.is_finite() && line.step >= 0.0;
        match read.filter(|line| !is_too_long && is_sound(line)) {
            Some(line) => {
                // A checkpoint, once told, holds until the next is.
                let checkpoint = line.checkpoint.or(self.last.and_then(|last| last.checkpoint));
                let profile = line.profile.and_then(|value| serde_json::from_value(value).ok());
                let measured = profile.and_then(Profile::measured);
                self.last = Some(Progress {
                    steps: line.step,
                    throughput: line.throughput,
                    loss: line.loss,
                    checkpoint,
                    wait: line.wait,
                    skipped_lines: self.skipped_lines,
                    measured: measured.or(self.last.and_then(|last| last.measured)),
                    at_ms: now_ms(),
                });
            }
            None => {
                self.skipped_lines += 1;
                if let Some(last) = &mut self.last {
                    last.skipped_lines = self.skipped_lines;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(pieces: &[&[u8]]) -> Option<(f64, u64)> {
        let mut follower = Follower::new(PathBuf::new());
        for piece in pieces {
            follower.take(piece);
        }
        follower.last.map(|last| (last.steps, last.skipped_lines))
    }

    #[test]
    fn whatever_a_job_writes() {
        let long = [b"{\"step\": 9, \"x\": \"".as_slice(), &[b'a'; 100_000], b"\"}\n"].concat();
        let check = |pieces: &[&[u8]], expected: Option<(f64, u64)>| {
            assert_eq!(follow(pieces), expected, "{pieces:?}");
        };
        check(&[], None);
        check(&[b"{\"step\": 3}\n"], Some((3.0, 0)));
        check(&[b"{\"step\": 3}\n{\"step\": 4"], Some((3.0, 0)));
        check(&[b"{\"step\": 3}\n{\"st", b"ep\": 4}", b"\n"], Some((4.0, 0)));
        check(&[b"garbage\n\xff\xfe\n{\"step\": 1.5, \"mine\": []}\n\n  \n[]\n"], Some((1.5, 3)));
        check(
            &[b"{\"step\": -1}\n{\"step\": 1e999}\n{\"step\": \"2\"}\n{\"step\": 2}\n"],
            Some((2.0, 3)),
        );
        check(&[b"{\"step\": 8, \"loss\": null}\n"], Some((8.0, 0)));
        check(&[&long, b"{\"step\": 5}\n"], Some((5.0, 1)));
        check(&[b"{\"step\": 9}\n{\"step\": 2}\n"], Some((2.0, 0)));
        check(&[&[0; 5000], b"\n{\"step\": 2}\n"], Some((2.0, 1)));
    }

    #[test]
    fn a_measurement_is_taken_only_if_it_can_be_one() {
        let check = |profile: &str, expected: Option<f64>| {
            let mut follower = Follower::new(PathBuf::new());
            follower.take(format!("{{\"step\": 9, \"profile\": {profile}}}\n").as_bytes());
            follower.take(b"{\"step\": 10}\n");
            let last = follower.last.expect("a word");
            assert_eq!((last.measured.map(|m| m.batch_seconds), last.skipped_lines), (expected, 0));
        };
        let whole =
            r#"{"batch_seconds": 0.5, "spread": 0.01, "batches": 20, "lots": 1, "wait": 0.1}"#;
        check(whole, Some(0.5));
        check(r#"{"batch_seconds": 0.5, "spread": 0, "batches": 20}"#, Some(0.5));
        check(r#"{"batch_seconds": 0, "spread": 0.01, "batches": 20}"#, None);
        check(r#"{"batch_seconds": -1, "spread": 0.01, "batches": 20}"#, None);
        check(r#"{"batch_seconds": 1e-320, "spread": 0.01, "batches": 20}"#, None);
        check(r#"{"batch_seconds": 0.5, "spread": -1, "batches": 20}"#, None);
        check(r#"{"batch_seconds": 0.5, "spread": 0.01, "batches": 0}"#, None);
        check(r#"{"batch_seconds": 0.5, "spread": 0.01, "batches": 20, "wait": 7}"#, None);
        check(r#""fast""#, None);
        check("null", None);
    }

    #[test]
    fn a_job_that_floods_is_not_followed_line_by_line_and_its_file_is_cut() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("progress-0.jsonl");
        let mut follower = Follower::new(path.clone());
        let line = "{\"step\": 1}\n";
        let many = line.repeat(usize::try_from(BEHIND_MAX_BYTES).expect("fits") / line.len() + 9);
        std::fs::write(&path, many + "{\"step\": 2}\n").expect("written");
        let last = follower.look().expect("a word");
        assert_eq!((last.steps, last.skipped_lines > 0), (2.0, true));
        cut(&path).expect("cut");
        assert_eq!(std::fs::metadata(&path).expect("there").len(), KEPT_BYTES);
        std::fs::remove_file(&path).expect("removed");
        std::fs::create_dir(&path).expect("made");
        assert!(follower.look().is_some(), "what was told stays");
        cut(&path).expect("cut");
        assert!(!path.exists());
        cut(&path).expect("nothing to cut");
    }

    #[test]
    fn a_file_is_followed_and_may_begin_anew() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("progress-0.jsonl");
        let mut follower = Follower::new(path.clone());
        assert!(follower.look().is_none());
        let line = "{\"step\": 1, \"checkpoint\": 1}\n";
        std::fs::write(&path, line.repeat(300_000)).expect("written");
        for _ in 0..20 {
            follower.look();
        }
        assert_eq!(follower.offset, 300_000 * line.len() as u64);
        assert!(follower.freed > 0);
        std::fs::write(&path, "{\"step\": 2}\n").expect("written");
        let last = follower.look().expect("a word");
        assert_eq!((last.steps, last.checkpoint, last.skipped_lines), (2.0, Some(1.0), 0));
    }
}
