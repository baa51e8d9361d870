//! Files that a job can touch: each may be a FIFO, a link, a folder, endless, or gone a moment later.
//!
//! Everything of a start is opened here and nowhere else. Opening never waits and never follows a link, what is
//! opened must be a plain file, and what is read has a limit.

use crate::remove_tree::remove_tree;
use rustix::fs::OFlags;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

/// The most that is read of a record: a launch has 256 KiB of text at most, a status much less.
pub(crate) const RECORD_BYTES_MAX: u64 = 4 << 20;

/// Only the owner of the state folder reads what is made here; a job's own files are made by the job.
const PRIVATE: u32 = 0o600;

/// Opens a plain file for reading.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    plain(OpenOptions::new().read(true).custom_flags(careful()).open(path))
}

/// Opens a plain file that is there for writing. One with a second name may be somebody else's file: not every system keeps
/// users from linking those.
pub(crate) fn open_for_writing(path: &Path) -> io::Result<File> {
    let file = plain(OpenOptions::new().write(true).custom_flags(careful()).open(path))?;
    match file.metadata()?.nlink() {
        0 | 1 => Ok(file),
        _ => Err(invalid("it has another name".to_string())),
    }
}

/// Opens a plain file for writing, or makes it.
pub(crate) fn open_or_create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(PRIVATE).custom_flags(careful());
    plain(options.open(path))
}

/// The same, at its end.
pub(crate) fn open_for_appending(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(PRIVATE).custom_flags(careful());
    plain(options.open(path))
}

/// Makes a new file. Whatever lies in its place is removed, not written to.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    clear(path)?;
    OpenOptions::new().write(true).create_new(true).mode(PRIVATE).custom_flags(careful()).open(path)
}

/// Reads a whole plain file; one that is longer than the limit is an error.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > limit {
        true => Err(invalid(format!("it is longer than {limit} bytes"))),
        false => Ok(bytes),
    }
}

/// The length of a plain file; `None`: there is none, or something else.
pub(crate) fn length(path: &Path) -> Option<u64> {
    let metadata = fs::symlink_metadata(path).ok()?;
    metadata.is_file().then_some(metadata.len())
}

/// Removes whatever has this name: a file, a link (not what it names), a folder with all that is in it.
pub(crate) fn clear(path: &Path) -> io::Result<()> {
    remove_tree(path)
}

/// Moves a file to a name; a folder that somebody made there is removed.
pub(crate) fn put(from: &Path, to: &Path) -> io::Result<()> {
    let is_folder = || fs::symlink_metadata(to).is_ok_and(|metadata| metadata.is_dir());
    match fs::rename(from, to) {
        Err(_) if is_folder() => {
            remove_tree(to)?;
            fs::rename(from, to)
        }
        moved => moved,
    }
}

fn careful() -> i32 {
    (OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY).bits() as i32
}

fn plain(opened: io::Result<File>) -> io::Result<File> {
    let file = opened.map_err(|error| match rustix::io::Errno::from_io_error(&error) {
        // A link, and a FIFO that nobody reads: what no further try would open.
        Some(rustix::io::Errno::LOOP) => invalid("it is a link".to_string()),
        Some(rustix::io::Errno::NXIO) => invalid("it is not a plain file".to_string()),
        _ => error,
    })?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(invalid("it is not a plain file".to_string())),
    }
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use std::os::unix::fs::symlink;

    fn fifo(path: &Path) {
        mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("a FIFO");
    }

    #[test]
    fn nothing_but_a_plain_file_is_opened_and_nothing_waits() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::write(path("plain"), "text").expect("written");
        fifo(&path("fifo"));
        symlink(path("plain"), path("link")).expect("a link");
        fs::create_dir(path("folder")).expect("made");
        assert_eq!(read(&path("plain"), 4).expect("read"), b"text");
        assert!(read(&path("plain"), 3).is_err_and(|e| e.to_string().contains("longer")));
        for name in ["fifo", "link", "folder"] {
            let is_wrong = |opened: io::Result<File>| opened.is_err();
            assert!(is_wrong(open(&path(name))), "{name}");
            assert!(is_wrong(open_for_writing(&path(name))), "{name}");
            assert!(is_wrong(open_or_create(&path(name))), "{name}");
            assert!(is_wrong(open_for_appending(&path(name))), "{name}");
            assert_eq!(length(&path(name)), None, "{name}");
        }
        assert_eq!(length(&path("plain")), Some(4));
        open_for_writing(&path("plain")).expect("it has one name");
        fs::hard_link(path("plain"), path("second")).expect("linked");
        assert!(open_for_writing(&path("second")).is_err_and(|e| e.to_string().contains("name")));
    }

    #[test]
    fn what_lies_in_the_way_is_replaced_and_never_written_to() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::write(path("secret"), "text").expect("written");
        for name in ["fifo", "link", "folder"] {
            match name {
                "fifo" => fifo(&path(name)),
                "link" => symlink(path("secret"), path(name)).expect("a link"),
                _ => fs::create_dir_all(path(name).join("deep")).expect("made"),
            }
            let made = create(&path(name)).expect("made");
            assert!(made.metadata().expect("there").is_file(), "{name}");
        }
        assert_eq!(fs::read(path("secret")).expect("read"), b"text");
        fs::create_dir_all(path("target/deep")).expect("made");
        put(&path("secret"), &path("target")).expect("moved");
        assert_eq!(fs::read(path("target")).expect("read"), b"text");
    }
}
