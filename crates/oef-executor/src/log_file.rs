//! What a worker writes, kept within a limit: the beginning and the end.
//!
//! A log is a row of files. The first has the beginning; when it is full, a second follows, named by
//! the offset of its first byte, and so on. Of those that follow only the last two are kept, so a job that
//! writes for a year leaves the first half of the limit and at least its last quarter.

use crate::logs::LogFrom;
use crate::untrusted;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

/// A log smaller than a page is of no use to anybody.
const MIN_LIMIT: u64 = 4096;

/// More entries are in no folder of a start: those of a gang of a thousand, each with two streams of four files.
const ENTRIES_MAX: usize = 10_000;

/// Files after the first that are kept.
const KEPT: usize = 2;

/// How much the first file holds, of a limit for the whole.
fn head_bytes(limit: u64) -> u64 {
    limit.max(MIN_LIMIT) / 2
}

/// How much each file after the first holds.
fn part_bytes(limit: u64) -> u64 {
    limit.max(MIN_LIMIT) / 4
}

/// Appends to a log.
#[derive(Debug)]
pub(crate) struct LogWriter {
    path: PathBuf,
    limit: u64,
    file: File,
    /// What the current file still takes.
    room: u64,
    /// The bytes written so far, kept or not.
    offset: u64,
    parts: Vec<u64>,
}

impl LogWriter {
    /// Begins a log.
    pub(crate) fn create(path: &Path, limit: u64) -> io::Result<LogWriter> {
        let file = untrusted::create(path)?;
        let room = head_bytes(limit);
        Ok(LogWriter { path: path.to_path_buf(), limit, file, room, offset: 0, parts: Vec::new() })
    }

    /// Appends bytes. On an error what could not be written is left out: a job does not wait for a full
    /// disk to get better.
    pub(crate) fn append(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            if self.room == 0 {
                self.next_part()?;
            }
            let count = usize::try_from(self.room).unwrap_or(usize::MAX).min(bytes.len());
            let written = self.file.write(&bytes[..count])?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.offset += written as u64;
            self.room -= written as u64;
            bytes = &bytes[written..];
        }
        Ok(())
    }

    fn next_part(&mut self) -> io::Result<()> {
        self.file = untrusted::create(&part_path(&self.path, self.offset))?;
        self.room = part_bytes(self.limit);
        self.parts.push(self.offset);
        if self.parts.len() > KEPT {
            let oldest = self.parts.remove(0);
            if oldest == head_bytes(self.limit) {
                self.say_so()?;
            }
            fs::remove_file(part_path(&self.path, oldest))?;
        }
        Ok(())
    }

    /// For people who look at the files. The reader stops before this line.
    fn say_so(&self) -> io::Result<()> {
        let mut head = untrusted::open_for_appending(&self.path)?;
        let note = format!(
            "\n[left out here: this log is kept within {} bytes, and its end is in the files beside \
             this one]\n",
            self.limit.max(MIN_LIMIT)
        );
        head.write_all(note.as_bytes())
    }
}

/// A part of a log as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) bytes: Vec<u8>,
    /// Of the first byte.
    pub(crate) offset: u64,
    /// Bytes between what was asked for and that.
    pub(crate) left_out: u64,
    /// The end of the log now.
    pub(crate) end: u64,
}

/// A stretch of a log that is in one file.
#[derive(Clone, Debug)]
struct Piece {
    path: PathBuf,
    start: u64,
    end: u64,
}

/// Reads a part of a log of which `limit` bytes were to be kept. A log that nobody wrote to is empty.
pub(crate) fn read(path: &Path, limit: u64, from: LogFrom, max_bytes: u64) -> io::Result<Chunk> {
    let pieces = pieces(path, limit)?;
    let end = pieces.last().map_or(0, |piece| piece.end);
    match from {
        LogFrom::Offset(offset) => read_from(&pieces, offset, max_bytes, end),
        LogFrom::LastLines(lines) => {
            let mut start = end.saturating_sub(max_bytes);
            // Back over pieces that follow each other without a gap.
            let mut first = end;
            for piece in pieces.iter().rev().take_while(|piece| piece.end > start) {
                if piece.end != first {
                    break;
                }
                first = piece.start;
            }
            start = start.max(first);
            let mut chunk = read_from(&pieces, start, end - start, end)?;
            let skip = start_of_last_lines(&chunk.bytes, lines);
            chunk.bytes.drain(..skip);
            chunk.offset += skip as u64;
            Ok(chunk)
        }
    }
}

fn read_from(pieces: &[Piece], offset: u64, max_bytes: u64, end: u64) -> io::Result<Chunk> {
    let mut chunk = Chunk { bytes: Vec::new(), offset: offset.min(end), left_out: 0, end };
    let mut at = chunk.offset;
    for piece in pieces.iter().filter(|piece| piece.end > offset) {
        if piece.start > at {
            // A gap: it is told at the beginning of an answer, never within one.
            if !chunk.bytes.is_empty() {
                break;
            }
            chunk.left_out += piece.start - at;
            chunk.offset = piece.start;
            at = piece.start;
        }
        // Two that overlap: somebody else than our writer made them.
        let Some(left) = piece.end.checked_sub(at) else { continue };
        let wanted = (max_bytes - chunk.bytes.len() as u64).min(left);
        let before = chunk.bytes.len() as u64;
        match untrusted::open(&piece.path) {
            Ok(mut file) => {
                file.seek(SeekFrom::Start(at - piece.start))?;
                file.take(wanted).read_to_end(&mut chunk.bytes)?;
            }
            // The writer has just dropped it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        }
        let read = chunk.bytes.len() as u64 - before;
        at += read;
        if read < wanted || chunk.bytes.len() as u64 >= max_bytes {
            break;
        }
    }
    Ok(chunk)
}

/// Where the last so many lines begin.
fn start_of_last_lines(bytes: &[u8], lines: u32) -> usize {
    // The newline at the very end ends a line and begins none.
    let body = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    if lines == 0 {
        return bytes.len();
    }
    let newlines = body.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
    newlines.map(|(at, _)| at + 1).nth(lines as usize - 1).unwrap_or(0)
}

fn pieces(path: &Path, limit: u64) -> io::Result<Vec<Piece>> {
    let length = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => metadata.len(),
        // Somebody put something else in its place: there is nothing to read.
        Ok(_) => return Ok(Vec::new()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let head = Piece { path: path.to_path_buf(), start: 0, end: length.min(head_bytes(limit)) };
    let mut pieces = vec![head];
    let folder = path.parent().unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // The folder may be that of a runner of another user, with anything in it.
    for entry in fs::read_dir(folder)?.take(ENTRIES_MAX) {
        let entry = entry?;
        let file_name = entry.file_name();
        let offset = file_name
            .to_str()
            .and_then(|other| other.strip_prefix(&name)?.strip_prefix('.')?.parse::<u64>().ok());
        let (Some(start), Ok(metadata)) = (offset, entry.metadata()) else { continue };
        let end = start.checked_add(metadata.len());
        let Some(end) = end.filter(|_| metadata.is_file()) else { continue };
        pieces.push(Piece { path: entry.path(), start, end });
    }
    pieces.sort_by_key(|piece| piece.start);
    Ok(pieces)
}

fn part_path(path: &Path, offset: u64) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{offset}"));
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(path: &Path, limit: u64, step: u64) -> (Vec<u8>, u64) {
        let (mut bytes, mut left_out, mut at) = (Vec::new(), 0, 0);
        loop {
            let chunk = read(path, limit, LogFrom::Offset(at), step).expect("readable");
            left_out += chunk.left_out;
            at = chunk.offset + chunk.bytes.len() as u64;
            if chunk.bytes.is_empty() {
                return (bytes, left_out);
            }
            bytes.extend(chunk.bytes);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn beginning_and_end_are_kept_within_the_limit(
            writes in prop::collection::vec(0usize..3000, 0..40),
            limit in 4096u64..20_000,
            step in 1u64..5000,
        ) {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("rank-0.out");
            let mut writer = LogWriter::create(&path, limit).expect("a log");
            let mut written = Vec::new();
            for (round, count) in writes.iter().enumerate() {
                let bytes = vec![b'a' + (round % 26) as u8; *count];
                writer.append(&bytes).expect("written");
                written.extend(bytes);
            }
            let (kept, left_out) = all(&path, limit, step);
            prop_assert_eq!(kept.len() as u64 + left_out, written.len() as u64);
            prop_assert!(kept.len() as u64 <= limit);
            let head = kept.len().min(head_bytes(limit) as usize);
            prop_assert_eq!(&kept[..head], &written[..head]);
            let tail = &kept[head..];
            prop_assert!(written.ends_with(tail));
            if left_out > 0 {
                prop_assert!(tail.len() as u64 >= part_bytes(limit));
            }
        }
    }

    #[test]
    fn last_lines() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rank-0.err");
        let mut writer = LogWriter::create(&path, 4096).expect("a log");
        for line in 0..1000 {
            writer.append(format!("line {line}\n").as_bytes()).expect("written");
        }
        let last = |lines, max| {
            let chunk = read(&path, 4096, LogFrom::LastLines(lines), max).expect("readable");
            String::from_utf8(chunk.bytes).expect("text")
        };
        assert_eq!(last(2, 4096), "line 998\nline 999\n");
        assert_eq!(last(0, 4096), "");
        assert_eq!(last(5, 9), "line 999\n");
        writer.append(b"half").expect("written");
        assert_eq!(last(2, 4096), "line 999\nhalf");
        assert!(fs::read_to_string(&path).expect("text").contains("[left out here"));
    }
}
