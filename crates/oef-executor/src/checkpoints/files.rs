//! What is done with all files of a folder.

use super::command::PARTIAL;
use crate::remove_tree::remove_tree;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// How rsync calls a file that is on its way: `.NAME.` and so many letters and digits.
const RANDOM_LETTERS: usize = 6;

/// Each of so many files is written to disk by itself; of more, one call for the whole disk takes less time, also
/// if others write to it.
const SYNC_EACH_MAX: usize = 256;

/// Every file and folder is on disk when this returns.
pub(super) fn sync_all(folder: &Path) -> io::Result<()> {
    let mut files = Vec::new();
    list(folder, &mut files)?;
    if files.len() > SYNC_EACH_MAX {
        return Ok(rustix::fs::syncfs(File::open(folder)?)?);
    }
    // The list has folders first; a name is written after what it leads to.
    for path in files.iter().rev() {
        File::open(path)?.sync_all()?;
    }
    Ok(())
}

/// The folder, and the files and folders in it, as many as are needed to know that they are many.
fn list(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    files.push(folder.to_path_buf());
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            list(&entry.path(), files)?;
        } else if kind.is_file() {
            files.push(entry.path());
        }
        if files.len() > SYNC_EACH_MAX {
            return Ok(());
        }
    }
    Ok(())
}

/// The bytes of all files of a folder; what cannot be seen counts nothing.
pub(super) fn bytes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes(&entry.path()),
        Ok(metadata) if metadata.is_file() => metadata.size(),
        _ => 0,
    });
    sizes.fold(0, u64::saturating_add)
}

/// Removes halves of files that the other host has no more: rsync leaves them, and the job would have them.
pub(super) fn clear_partial(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            continue;
        }
        match entry.file_name() == PARTIAL {
            true => remove_tree(&entry.path())?,
            false => clear_partial(&entry.path())?,
        }
    }
    Ok(())
}

/// rsync names a file on its way at random, and finds it again only where it would have put it itself. A
/// file of the job's own that has such a name is sent again, and nothing is lost.
pub(super) fn salvage(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (kind, name) = (entry.file_type()?, entry.file_name());
        if kind.is_dir() && name != PARTIAL {
            salvage(&entry.path())?;
        }
        let Some(own) = name.to_str().and_then(on_its_way).filter(|_| kind.is_file()) else {
            continue;
        };
        let partial = folder.join(PARTIAL).join(own);
        let has = fs::metadata(&partial).map_or(0, |metadata| metadata.len());
        if entry.metadata()?.len() > has {
            fs::create_dir_all(folder.join(PARTIAL))?;
            fs::rename(entry.path(), &partial)?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// The name that a file will have that has this one on its way.
fn on_its_way(name: &str) -> Option<&str> {
    let (own, random) = name.strip_prefix('.')?.rsplit_once('.')?;
    let is_random = random.len() == RANDOM_LETTERS;
    let is_random = is_random && random.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_random && !own.is_empty()).then_some(own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    /// Every file below a folder.
    fn tree(folder: &Path) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            match fs::read_to_string(entry.path()) {
                Ok(text) => drop(found.insert(name, text)),
                Err(_) => {
                    let below = tree(&entry.path()).into_iter();
                    found.extend(below.map(|(path, text)| (format!("{name}/{path}"), text)));
                }
            }
        }
        found
    }

    fn expect(folder: &Path, files: &[(&str, &str)]) {
        let files = files.iter().map(|(name, text)| (name.to_string(), text.to_string()));
        assert_eq!(tree(folder), files.collect());
    }

    #[test]
    fn what_a_killed_rsync_left_is_found_again() {
        let home = tempfile::tempdir().expect("a folder");
        let at = |name: &str| home.path().join(name);
        write(&at(".model.bin.a1B2c3"), "more of it");
        write(&at(".oef-partial/model.bin"), "some");
        write(&at("sub/.x.AAAAAA"), "less");
        write(&at("sub/.oef-partial/x"), "the longer one");
        write(&at(".hidden"), "stays");
        salvage(home.path()).expect("ready");
        expect(
            home.path(),
            &[
                (".oef-partial/model.bin", "more of it"),
                ("sub/.oef-partial/x", "the longer one"),
                (".hidden", "stays"),
            ],
        );
        clear_partial(home.path()).expect("cleared");
        expect(home.path(), &[(".hidden", "stays")]);
        assert!(at("sub").is_dir() && !at("sub/.oef-partial").exists());
    }

    #[test]
    fn few_and_many_files_are_written_to_disk() {
        let home = tempfile::tempdir().expect("a folder");
        for i in 0..SYNC_EACH_MAX + 2 {
            write(&home.path().join(format!("{}/{i}", i % 3)), "12345");
            if [0, SYNC_EACH_MAX + 1].contains(&i) {
                sync_all(home.path()).expect("written");
            }
        }
        assert_eq!(bytes(home.path()), 5 * (SYNC_EACH_MAX as u64 + 2));
        assert_eq!(bytes(&home.path().join("gone")), 0);
    }
}
