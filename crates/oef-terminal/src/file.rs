//! Files that are written whole or not at all.

use crate::{Complaint, Failure};
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The file that was named for a result: none, and none called `-`, is standard output.
pub fn unless_stdout(path: Option<&Path>) -> Option<&Path> {
    path.filter(|path| path.as_os_str() != "-")
}

/// Says before the work, which may take minutes, that a file has no place to go.
pub fn check_place(path: &Path) -> Result<(), Failure> {
    let place = || path.display().to_string();
    if path.as_os_str() == "-" {
        let complaint = Complaint::new("this is written to a file, not to standard output");
        return Err(complaint.at("-").hint("name a file, such as report.html").into());
    }
    if path.is_dir() {
        let complaint = Complaint::new("one file is to be written, and this is a directory");
        return Err(complaint.at(place()).hint("name a file, such as report.html").into());
    }
    match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() && !dir.is_dir() => {
            let complaint = Complaint::new(format!("there is no directory {}", dir.display()));
            Err(complaint.at(place()).hint("make the directory, or name another file").into())
        }
        _ => Ok(()),
    }
}

/// Writes a file. What was there before stays until the new one is complete; after an error nothing of the
/// new one is left.
pub fn write(path: &Path, text: &str) -> Result<(), Failure> {
    // A device or a pipe cannot be replaced, and somebody may be reading it.
    let special = fs::metadata(path).is_ok_and(|meta| !meta.is_file());
    let written = if special { fs::write(path, text) } else { replace(path, text) };
    written.map_err(|error| unwritable(path, &error))
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    // What a link points to is replaced, not the link.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let part = part_of(&path);
    let written = fill(&part, text).and_then(|()| fs::rename(&part, &path));
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written
}

fn part_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.part", std::process::id()));
    path.with_file_name(name)
}

fn fill(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    let complaint = Complaint::new(format!("cannot be written: {error}"));
    let complaint = complaint.at(path.display().to_string());
    if matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge) {
        return Failure::limit(complaint.hint("make room, or name a file on another disk"));
    }
    complaint.hint("name a file that can be written").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_else_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("report.html");
        for text in ["one", "another"] {
            write(&path, text).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_written_is_told_and_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        assert!(check_place(dir.path()).is_err());
        assert!(check_place(Path::new("-")).is_err(), "no file called `-` is left behind");
        assert!(check_place(&dir.path().join("no/report.html")).is_err());
        assert!(write(&dir.path().join("no/report.html"), "text").is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_a_limit() {
        let full = write(Path::new("/dev/full"), "text").unwrap_err();
        assert!(matches!(full, Failure::Said { exit: crate::Exit::Limit, .. }), "{full:?}");
    }
}
