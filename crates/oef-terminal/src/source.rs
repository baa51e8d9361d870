//! The text of a file or of stdin, or what is wrong with it.

use crate::{Complaint, Failure};
use oef_report::format;
use oef_sim::input::{Lines, limits};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

/// The largest problem file. Two hundred thousand tenants with ten types each fit into it, and reading
/// it takes about a second; whatever is larger is a log or a data set given by mistake.
pub const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// A text and the name under which it is complained about.
#[derive(Debug)]
pub struct Source {
    /// The path as the user gave it, or `<stdin>`.
    pub label: String,
    /// What it says, without a byte order mark.
    pub text: String,
}

impl Source {
    /// Reads a problem file, or stdin for `-`. `example` says what to do where it is empty: where an example is.
    pub fn read(path: &Path, example: &str) -> Result<Source, Failure> {
        Source::read_up_to(path, MAX_FILE_BYTES, example)
    }

    /// Reads a trace, profiles or a cluster, which may be larger, or stdin for `-`.
    pub fn read_data(path: &Path, example: &str) -> Result<Source, Failure> {
        Source::read_up_to(path, limits::TEXT_BYTES_MAX as u64, example)
    }

    fn read_up_to(path: &Path, bytes_max: u64, example: &str) -> Result<Source, Failure> {
        let stdin = path.as_os_str() == "-";
        let label = if stdin { "<stdin>".into() } else { path.display().to_string() };
        let bytes = if stdin {
            limited(io::stdin().lock(), &label, bytes_max)?
        } else {
            open(path, &label, bytes_max).and_then(|file| limited(file, &label, bytes_max))?
        };
        let text = decode(bytes, &label)?;
        if text.trim().is_empty() {
            return Err(Complaint::new("the file is empty").at(label).hint(example).into());
        }
        Ok(Source { label, text })
    }

    /// The file's extension in lower case.
    pub fn extension(&self) -> Option<String> {
        Path::new(&self.label).extension().map(|e| e.to_string_lossy().to_lowercase())
    }
}

fn open(path: &Path, label: &str, bytes_max: u64) -> Result<File, Complaint> {
    // Opening a named pipe waits for its writer, who may never come. What a shell gives as `<(...)` has one.
    let is_pipe = path.metadata().is_ok_and(|meta| meta.file_type().is_fifo());
    if is_pipe && !path.starts_with("/dev") && !path.starts_with("/proc") {
        let hint = format!("read it from stdin instead: `- < {label}`");
        return Err(Complaint::new("is a named pipe, not a file").at(label).hint(hint));
    }
    let file = File::open(path).map_err(|error| cannot_read(&error, label))?;
    let meta = file.metadata().map_err(|error| cannot_read(&error, label))?;
    if meta.is_dir() {
        return Err(Complaint::new("is a directory").at(label).hint("name a file in it"));
    }
    if meta.is_file() && meta.len() > bytes_max {
        let size = format!("has {}", format::bytes(meta.len()));
        return Err(too_large(&size, label, bytes_max));
    }
    Ok(file)
}

fn limited(reader: impl Read, label: &str, bytes_max: u64) -> Result<Vec<u8>, Complaint> {
    let mut bytes = Vec::new();
    let read = reader.take(bytes_max + 1).read_to_end(&mut bytes);
    read.map_err(|error| cannot_read(&error, label))?;
    if bytes.len() as u64 > bytes_max {
        return Err(too_large("is too large", label, bytes_max));
    }
    Ok(bytes)
}

fn decode(bytes: Vec<u8>, label: &str) -> Result<String, Complaint> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let bytes = error.as_bytes();
        let readable = String::from_utf8_lossy(&bytes[..valid]);
        let (line, column) = Lines::of(&readable).locate(valid);
        Complaint::new(format!("not UTF-8: byte 0x{:02x}", bytes.get(valid).unwrap_or(&0)))
            .at(format!("{label}:{line}:{column}"))
            .hint("files are read as text in UTF-8; save this one in that encoding")
    })?;
    Ok(text.strip_prefix('\u{feff}').map(String::from).unwrap_or(text))
}

fn cannot_read(error: &io::Error, label: &str) -> Complaint {
    let (message, hint) = match error.kind() {
        io::ErrorKind::NotFound => ("no such file", "check the path; `-` reads stdin"),
        io::ErrorKind::PermissionDenied => {
            ("no permission to read it", "make the file readable for this user")
        }
        io::ErrorKind::IsADirectory => ("is a directory", "name a file in it"),
        _ => return Complaint::new(format!("cannot be read: {error}")).at(label),
    };
    Complaint::new(message).at(label).hint(hint)
}

fn too_large(size: &str, label: &str, bytes_max: u64) -> Complaint {
    let limit = format::bytes(bytes_max);
    Complaint::new(format!("the file {size}, but at most {limit} are read"))
        .at(label)
        .hint("is this the right file? If it is, cut it to what is needed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_not_to_be_read_has_a_hint() {
        for kind in
            [io::ErrorKind::NotFound, io::ErrorKind::PermissionDenied, io::ErrorKind::IsADirectory]
        {
            let complaint = cannot_read(&kind.into(), "x.toml");
            assert_eq!(complaint.place.as_deref(), Some("x.toml"));
            assert!(complaint.hint.is_some(), "{kind}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_no_text() {
        assert_eq!(decode(b"\xef\xbb\xbfa".to_vec(), "x").as_deref(), Ok("a"));
    }
}
