//! Both streams of all workers in one log: line by line in the order of writing, each with its mark.

use crate::log_file::LogWriter;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// A line that is longer goes into the log in parts.
const LINE_MAX: usize = 16 << 10;

/// The one log that all streams go into.
#[derive(Clone, Debug)]
pub(super) struct Merged {
    log: Arc<Mutex<LogWriter>>,
}

impl Merged {
    /// Begins the log of a start.
    pub(super) fn create(path: &Path, limit: u64) -> io::Result<Merged> {
        Ok(Merged { log: Arc::new(Mutex::new(LogWriter::create(path, limit)?)) })
    }

    /// The way of one stream into it; the mark stands before each of its lines.
    pub(super) fn lines(&self, mark: String) -> MarkedLines {
        MarkedLines { merged: self.clone(), mark, line: Vec::new(), state: At::Start }
    }

    fn write(&self, bytes: &[u8]) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        // What a full disk does not take is lost; the job goes on.
        let _ = log.append(bytes);
    }
}

/// Where in a line a stream is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Start,
    /// After a carriage return: a line feed belongs to it.
    Return,
    /// Behind a part of a long line that is written already.
    Middle,
}

/// One stream, cut into lines. A progress bar ends its lines with a carriage return, which is kept.
#[derive(Debug)]
pub(super) struct MarkedLines {
    merged: Merged,
    mark: String,
    line: Vec<u8>,
    state: At,
}

impl MarkedLines {
    /// Takes what the stream has written.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") || part.ends_with(b"\r") || self.line.len() > LINE_MAX {
                self.flush();
            }
        }
    }

    /// The stream has ended: what is left is its last line.
    pub(super) fn finish(mut self) {
        if !self.line.is_empty() {
            self.line.push(b'\n');
            self.flush();
        }
    }

    fn flush(&mut self) {
        let rest_of_return = self.state == At::Return && self.line == b"\n";
        if self.state != At::Middle && !rest_of_return {
            self.line.splice(..0, self.mark.bytes());
        }
        // One write for a line, so that no other stream's stands in its middle.
        self.merged.write(&self.line);
        self.state = match self.line.last() {
            Some(b'\n') => At::Start,
            Some(b'\r') => At::Return,
            _ => At::Middle,
        };
        self.line.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_marked_whole_and_in_the_order_of_writing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("all");
        let merged = Merged::create(&path, 1 << 20).expect("a log");
        let (mut out, mut err) = (merged.lines("[0] ".into()), merged.lines("[1 err] ".into()));
        out.push(b"be");
        err.push(b"Traceback\n  line 1\n");
        out.push(b"gun\n10%\r20%\r\n");
        err.push(b"no end");
        out.push(&[b'x'; LINE_MAX + 1]);
        out.push(b"y\n");
        err.finish();
        out.finish();
        let text =
            std::fs::read_to_string(&path).expect("text").replace(&"x".repeat(LINE_MAX + 1), "x");
        let expected = "[1 err] Traceback\n[1 err]   line 1\n[0] begun\n[0] 10%\r[0] 20%\r\n[0] xy\n[1 err] no end\n";
        assert_eq!(text, expected);
    }
}
