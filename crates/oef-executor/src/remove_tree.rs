//! Removing a folder that a job filled. However deep its folders are nested, it takes little of the stack, few descriptors
//! and no long path: what a job made must not end the daemon that cleans up after it.

use rustix::ffi::CString;
use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, chmodat, fchmod, openat, renameat, unlinkat};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// Names that are read at once, so that a folder with millions of files does not fill the memory.
const BATCH: usize = 4096;
/// Files and folders that one call removes; whoever goes on making new ones does not keep it busy for ever.
const ENTRIES_MAX: usize = 1_000_000;

/// Removes whatever has this name, with all that is in it. No link is followed. That nothing is there is no error.
///
/// Folders inside of folders are moved up first, so that nothing is ever deeper than two levels.
pub(crate) fn remove_tree(path: &Path) -> io::Result<()> {
    match remove(CWD, path) {
        Err(Errno::NOTEMPTY | Errno::EXIST) => {}
        Err(Errno::NOENT) => return Ok(()),
        done => return Ok(done?),
    }
    let mut work = Work { top: open_folder(CWD, path)?, left: ENTRIES_MAX, next: 0 };
    work.empty()?;
    Ok(unlinkat(CWD, path, AtFlags::REMOVEDIR)?)
}

struct Work {
    top: OwnedFd,
    /// Entries that may still be removed.
    left: usize,
    /// A number for the next folder that is moved up.
    next: u64,
}

impl Work {
    fn empty(&mut self) -> io::Result<()> {
        loop {
            let mut names = names(self.top.as_fd())?;
            if names.is_empty() {
                return Ok(());
            }
            while let Some(name) = names.pop() {
                match self.count().and_then(|()| remove(self.top.as_fd(), &name)) {
                    Err(Errno::NOTEMPTY | Errno::EXIST) => {
                        let folder = open_folder(self.top.as_fd(), &name)?;
                        self.flatten(folder.as_fd(), &mut names)?;
                        // Where somebody puts more into it meanwhile, the next look finds it again.
                        let _ = unlinkat(&self.top, &name, AtFlags::REMOVEDIR);
                    }
                    Err(Errno::NOENT) => {}
                    done => done?,
                }
            }
        }
    }

    /// Removes the files of a folder and moves its folders up; their new names are added.
    fn flatten(&mut self, folder: BorrowedFd<'_>, moved: &mut Vec<CString>) -> io::Result<()> {
        loop {
            let found = names(folder)?;
            if found.is_empty() {
                return Ok(());
            }
            for name in found {
                match self.count().and_then(|()| remove(folder, &name)) {
                    Err(Errno::NOTEMPTY | Errno::EXIST) => moved.push(self.move_up(folder, &name)?),
                    Err(Errno::NOENT) => {}
                    done => done?,
                }
            }
        }
    }

    fn move_up(&mut self, folder: BorrowedFd<'_>, name: &CString) -> io::Result<CString> {
        loop {
            let own = CString::new(format!(".oef-{}", self.next))?;
            self.next += 1;
            match renameat(folder, name, &self.top, &own) {
                // A folder of this name was there before.
                Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
                // Only its owner is refused this, never root.
                Err(Errno::ACCESS)
                    if chmodat(folder, name, Mode::RWXU, AtFlags::empty()).is_ok() =>
                {
                    renameat(folder, name, &self.top, &own)?;
                    return Ok(own);
                }
                done => return Ok(done.map(|()| own)?),
            }
        }
    }

    fn count(&mut self) -> Result<(), Errno> {
        self.left = self.left.checked_sub(1).ok_or(Errno::AGAIN)?;
        Ok(())
    }
}

/// Removes a file or an empty folder.
fn remove(folder: BorrowedFd<'_>, name: impl rustix::path::Arg + Copy) -> Result<(), Errno> {
    match unlinkat(folder, name, AtFlags::empty()) {
        // The former is Linux's word for a folder, the latter that of others.
        Err(Errno::ISDIR | Errno::PERM) => unlinkat(folder, name, AtFlags::REMOVEDIR),
        done => done,
    }
}

/// Opens a folder, whatever its owner may do in it now; a link is none.
fn open_folder(within: BorrowedFd<'_>, name: impl rustix::path::Arg + Copy) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = match openat(within, name, flags, Mode::empty()) {
        Err(Errno::ACCESS) => {
            chmodat(within, name, Mode::RWXU, AtFlags::empty())?;
            openat(within, name, flags, Mode::empty())?
        }
        opened => opened?,
    };
    // What cannot be changed shows when something in it is removed.
    let _ = fchmod(&opened, Mode::RWXU);
    Ok(opened)
}

/// Some of the names in a folder.
fn names(folder: BorrowedFd<'_>) -> io::Result<Vec<CString>> {
    let mut found = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_bytes() != b"." && name.to_bytes() != b".." {
            found.push(name.to_owned());
        }
        if found.len() >= BATCH {
            break;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::mkdirat;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    /// A folder in a folder, so many times, with a file in each.
    fn nest(path: &Path, depth: usize) {
        fs::create_dir_all(path).expect("made");
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let mut at = openat(CWD, path, flags, Mode::empty()).expect("opened");
        for _ in 0..depth {
            let file = OFlags::CREATE | OFlags::WRONLY;
            openat(&at, "file", file, Mode::RUSR).expect("a file");
            mkdirat(&at, "d", Mode::RWXU).expect("made");
            at = openat(&at, "d", flags, Mode::empty()).expect("opened");
        }
    }

    /// Removed by recursion this overflows the stack: 2,000 levels are as much to this thread as 30,000 to another.
    #[test]
    fn the_depth_of_a_tree_does_not_matter() {
        let home = tempfile::tempdir().expect("a folder");
        let deep = home.path().join("deep");
        nest(&deep, 2000);
        nest(&deep.join("second/third"), 3);
        fs::create_dir(deep.join(".oef-0")).expect("made");
        fs::write(deep.join(".oef-0/x"), "").expect("written");
        fs::write(deep.join(".oef-1"), "").expect("written");
        let (path, small) = (deep.clone(), std::thread::Builder::new().stack_size(128 << 10));
        let removed = small.spawn(move || remove_tree(&path)).expect("a thread").join();
        removed.expect("no panic").expect("removed");
        assert!(!deep.exists());
        remove_tree(&deep).expect("nothing is there");
    }

    #[test]
    fn no_link_is_followed_and_what_its_owner_may_not_change_goes_too() {
        let home = tempfile::tempdir().expect("a folder");
        let at = |name: &str| home.path().join(name);
        fs::create_dir_all(at("t/a/b/c")).expect("made");
        fs::create_dir_all(at("other/inner")).expect("made");
        for name in ["t/link", "t/a/link", "t/a/b/link"] {
            symlink(at("other"), at(name)).expect("a link");
        }
        let set = |name: &str, mode| {
            fs::set_permissions(at(name), fs::Permissions::from_mode(mode)).expect("set");
        };
        for (name, mode) in [("t/a/b/c", 0o000), ("t/a/b", 0o555), ("t/a", 0o000)] {
            set(name, mode);
        }
        remove_tree(&at("t")).expect("removed");
        assert!(!at("t").exists() && at("other/inner").exists());
        symlink(at("other"), at("link")).expect("a link");
        remove_tree(&at("link")).expect("removed");
        assert!(!at("link").exists() && at("other/inner").exists());
    }

    #[test]
    fn many_files_are_removed_in_parts() {
        let home = tempfile::tempdir().expect("a folder");
        let many = home.path().join("many");
        for folder in [many.clone(), many.join("inner")] {
            fs::create_dir_all(&folder).expect("made");
            for i in 0..BATCH + 10 {
                fs::write(folder.join(i.to_string()), "").expect("written");
            }
        }
        remove_tree(&many).expect("removed");
        assert!(!many.exists());
    }
}
