//! Files that are there whole or not at all.

use crate::untrusted;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{PermissionsExt as _, fchown};
use std::path::Path;

/// Whether a file must survive the machine, or only the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// It is on disk, under its name, when the function returns.
    Disk,
    /// Whoever looks sees the old or the new one.
    Process,
}

/// Who else may read a file than the user that writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    Nobody,
    /// It says nothing that others must not know.
    Everybody,
    /// A user and its group: the runner of a start that runs as somebody else.
    User(u32, u32),
}

impl Reader {
    fn admit(self, file: &File) -> io::Result<()> {
        match self {
            Reader::Nobody => Ok(()),
            Reader::Everybody => file.set_permissions(Permissions::from_mode(0o644)),
            Reader::User(uid, gid) => {
                file.set_permissions(Permissions::from_mode(0o400))?;
                fchown(file, Some(uid), Some(gid))
            }
        }
    }
}

/// Writes a file beside its place and moves it there.
pub(crate) fn write_atomically(
    path: &Path,
    bytes: &[u8],
    durability: Durability,
    reader: Reader,
) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // With the process's id: executor and runner may both write a status, one after the other.
    let beside = folder.join(format!(".{name}.{}", std::process::id()));
    let written = (|| {
        let mut file = untrusted::create(&beside)?;
        file.write_all(bytes)?;
        reader.admit(&file)?;
        if durability == Durability::Disk {
            file.sync_all()?;
        }
        untrusted::put(&beside, path)
    })();
    if let Err(error) = written {
        // On a full disk the half-written file is what to get rid of first.
        let _ = fs::remove_file(&beside);
        return Err(error);
    }
    match durability {
        Durability::Disk => File::open(folder)?.sync_all(),
        Durability::Process => Ok(()),
    }
}

/// Writes a value as JSON, whole or not at all.
pub(crate) fn write_json<T: Serialize>(
    path: &Path,
    value: &T,
    durability: Durability,
) -> io::Result<()> {
    write_json_for(path, value, durability, Reader::Nobody)
}

/// The same for somebody else to read.
pub(crate) fn write_json_for<T: Serialize>(
    path: &Path,
    value: &T,
    durability: Durability,
    reader: Reader,
) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(value).map_err(io::Error::from)?;
    bytes.push(b'\n');
    write_atomically(path, &bytes, durability, reader)
}

/// Reads a value from JSON; `None` if there is no such file.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    match untrusted::read(path, untrusted::RECORD_BYTES_MAX) {
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(io::Error::from),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
