//! Where checkpoints arrive, and how they take their place.

use super::files::{clear_partial, salvage, sync_all};
use crate::remove_tree::remove_tree;
use crate::users::User;
use rustix::fs::{Access, AtFlags, CWD, RenameFlags, accessat, renameat_with};
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, lchown};
use std::path::{Path, PathBuf};

const INCOMING: &str = ".oef-incoming";
const PREVIOUS: &str = ".oef-previous";
/// Inside the folder that the job uses: a copy that is complete, and one that takes the place of what was there.
const ARRIVED: &str = ".oef-arrived";
const MOVING: &str = ".oef-moving";

/// The folders of a job's checkpoints on one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CheckpointFolders {
    /// What the job uses.
    pub(super) live: PathBuf,
    /// What is on its way: beside what the job uses, or inside it.
    pub(super) incoming: PathBuf,
    previous: PathBuf,
}

/// Clears up after a runner that was killed. What the job uses is the old folder or the new one afterwards.
/// Half a transfer is worth keeping if another begins now.
pub fn recover(live: &Path, will_fetch: bool) -> io::Result<()> {
    let Some(place) = CheckpointFolders::of(live) else { return Ok(()) };
    unpack(live)?;
    place.put_back()?;
    if !will_fetch {
        remove_tree(&place.incoming)?;
    }
    Ok(())
}

/// Removes a job's checkpoints on a host, with what was left beside them.
pub fn remove(live: &Path) -> io::Result<()> {
    if let Some(place) = CheckpointFolders::of(live) {
        remove_tree(&place.incoming)?;
        remove_tree(&place.previous)?;
    }
    remove_tree(live)
}

/// The name of the folder to which something that was left behind belongs; `None`: it is no such thing.
pub fn is_leftover(name: &str) -> Option<&str> {
    let bare = name.strip_prefix('.')?;
    bare.strip_suffix(INCOMING).or_else(|| bare.strip_suffix(PREVIOUS))
}

/// A job's checkpoints on a host and what may lie beside them.
pub fn with_leftovers(live: &Path) -> Vec<PathBuf> {
    let place = CheckpointFolders::of(live);
    place.map_or_else(Vec::new, |place| vec![place.live, place.incoming, place.previous])
}

impl CheckpointFolders {
    /// Around a folder that has a name, or inside it where its owner may write nowhere else: on a cluster, the folder
    /// above belongs to the daemon.
    pub(super) fn of(live: &Path) -> Option<CheckpointFolders> {
        let place = CheckpointFolders::beside(live)?;
        let may_write = |path| accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_ok();
        let is_closed = live.is_dir() && !may_write(live.parent()?);
        Some(if is_closed { place.inside() } else { place })
    }

    fn inside(self) -> CheckpointFolders {
        CheckpointFolders { incoming: self.live.join(INCOMING), ..self }
    }

    fn beside(live: &Path) -> Option<CheckpointFolders> {
        let (folder, name) = (live.parent()?, live.file_name()?);
        let beside = |ending: &str| {
            let mut hidden = OsString::from(".");
            hidden.push(name);
            hidden.push(ending);
            folder.join(hidden)
        };
        Some(CheckpointFolders {
            live: live.to_path_buf(),
            incoming: beside(INCOMING),
            previous: beside(PREVIOUS),
        })
    }

    /// Between two renames the folder has no name for a moment: whoever was killed then is helped here.
    fn put_back(&self) -> io::Result<()> {
        if !self.previous.try_exists()? {
            return Ok(());
        }
        if self.live.try_exists()? {
            return remove_tree(&self.previous);
        }
        fs::rename(&self.previous, &self.live)?;
        self.sync_parent()
    }

    /// Makes ready for a try. What an rsync that was killed left of a file is put where the next finds it. Where the try
    /// runs as another user, nothing is read that this user can change: it begins anew.
    pub(super) fn make_ready(&self, user: Option<&User>) -> io::Result<()> {
        if user.is_some() {
            self.clear()?;
        }
        // Others may pass through the folder above, and would find it by its name.
        DirBuilder::new().recursive(true).mode(0o700).create(&self.incoming)?;
        match user {
            Some(user) => lchown(&self.incoming, Some(user.uid), Some(user.gid)),
            None => salvage(&self.incoming),
        }
    }

    /// Nothing of what has arrived stays.
    pub(super) fn clear(&self) -> io::Result<()> {
        remove_tree(&self.incoming)
    }

    /// What has arrived becomes what the job uses, in one step, and on disk. Of what another user has, only the folder
    /// itself is touched.
    pub(super) fn settle(&self, user: Option<&User>) -> io::Result<()> {
        match user {
            Some(_) => rustix::fs::syncfs(File::open(&self.incoming)?)?,
            None => {
                clear_partial(&self.incoming)?;
                sync_all(&self.incoming)?;
            }
        }
        if self.incoming.starts_with(&self.live) {
            fs::rename(&self.incoming, self.live.join(ARRIVED))?;
            return unpack(&self.live);
        }
        if !self.live.try_exists()? {
            fs::rename(&self.incoming, &self.live)?;
            return self.sync_parent();
        }
        match renameat_with(CWD, &self.incoming, CWD, &self.live, RenameFlags::EXCHANGE) {
            Ok(()) => self.sync_parent()?,
            // Not every file system can.
            Err(_) => self.settle_in_two_steps()?,
        }
        // The new one is in its place: what is left of the old one is only room on the disk.
        let _ = remove_tree(&self.incoming);
        let _ = remove_tree(&self.previous);
        Ok(())
    }

    fn settle_in_two_steps(&self) -> io::Result<()> {
        remove_tree(&self.previous)?;
        fs::rename(&self.live, &self.previous)?;
        if let Err(error) = fs::rename(&self.incoming, &self.live) {
            fs::rename(&self.previous, &self.live)?;
            return Err(error);
        }
        self.sync_parent()
    }

    fn sync_parent(&self) -> io::Result<()> {
        File::open(self.live.parent().unwrap_or(Path::new("/")))?.sync_all()
    }
}

/// A complete copy inside a folder becomes all that is in it. Whoever is killed on the way goes on from there: what was
/// there before is removed only while the copy has its first name, and files leave it only under its second.
fn unpack(live: &Path) -> io::Result<()> {
    let (arrived, moving) = (live.join(ARRIVED), live.join(MOVING));
    let sync = || File::open(live)?.sync_all();
    if arrived.try_exists()? {
        sync()?;
        for entry in fs::read_dir(live)? {
            let entry = entry?;
            match entry.file_type()?.is_dir() {
                true if entry.file_name() == ARRIVED => {}
                true => remove_tree(&entry.path())?,
                false => fs::remove_file(entry.path())?,
            }
        }
        fs::rename(&arrived, &moving)?;
        sync()?;
    }
    if moving.try_exists()? {
        for entry in fs::read_dir(&moving)? {
            let entry = entry?;
            fs::rename(entry.path(), live.join(entry.file_name()))?;
        }
        sync()?;
        fs::remove_dir(&moving)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn files(folder: &Path) -> BTreeMap<String, String> {
        let Ok(entries) = fs::read_dir(folder) else { return BTreeMap::new() };
        entries
            .flatten()
            .map(|entry| {
                let name = entry.file_name().to_string_lossy().into_owned();
                (name, fs::read_to_string(entry.path()).unwrap_or_else(|_| "a folder".into()))
            })
            .collect()
    }

    fn only(name: &str, text: &str) -> BTreeMap<String, String> {
        BTreeMap::from([(name.to_string(), text.to_string())])
    }

    #[test]
    fn a_folder_takes_the_place_of_another_whole() {
        for two_steps in [false, true] {
            let home = tempfile::tempdir().expect("a folder");
            let place = CheckpointFolders::of(&home.path().join("7")).expect("a place");
            write(&place.live.join("old"), "1");
            write(&place.incoming.join("new"), "2");
            match two_steps {
                true => place.settle_in_two_steps().expect("settled"),
                false => place.settle(None).expect("settled"),
            }
            assert_eq!(files(&place.live), only("new", "2"));
            recover(&place.live, false).expect("cleared");
            assert_eq!(files(home.path()).len(), 1, "{two_steps}");
        }
    }

    #[test]
    fn wherever_it_was_killed_the_old_or_the_new_is_there() {
        // (what is live, what is previous, what is incoming) and what the job finds.
        let cases = [
            (Some("old"), None, Some("half"), "old"),
            (None, Some("old"), Some("new"), "old"),
            (Some("new"), Some("old"), None, "new"),
            (Some("new"), None, Some("old"), "new"),
        ];
        for will_fetch in [false, true] {
            for (live, previous, incoming, found) in cases {
                let home = tempfile::tempdir().expect("a folder");
                let place = CheckpointFolders::of(&home.path().join("7")).expect("a place");
                let folders =
                    [(&place.live, live), (&place.previous, previous), (&place.incoming, incoming)];
                for (folder, text) in folders {
                    if let Some(text) = text {
                        write(&folder.join("model"), text);
                    }
                }
                recover(&place.live, will_fetch).expect("recovered");
                assert_eq!(files(&place.live), only("model", found));
                assert!(!place.previous.exists());
                assert_eq!(place.incoming.exists(), will_fetch && incoming.is_some());
            }
        }
    }

    /// Where only the folder itself can be written to.
    #[test]
    fn a_copy_inside_a_folder_becomes_all_that_is_in_it() {
        let home = tempfile::tempdir().expect("a folder");
        let place = CheckpointFolders::beside(&home.path().join("7")).expect("a place").inside();
        for (name, text) in [("model", "old"), ("sub/gone", "old")] {
            write(&place.live.join(name), text);
        }
        for (name, text) in [("model", "new"), ("sub.new/file", "new")] {
            write(&place.incoming.join(name), text);
        }
        place.settle(None).expect("settled");
        let expected = [("model", "new"), ("sub.new", "a folder")];
        let expected = expected.map(|(name, text)| (name.to_string(), text.to_string()));
        assert_eq!(files(&place.live), BTreeMap::from(expected));
        assert_eq!(files(home.path()).len(), 1, "nothing is written beside it");
    }

    #[test]
    fn wherever_it_was_killed_inside_the_old_or_the_new_is_there() {
        // What is in the folder, and what the job finds.
        let cases: [(&[&str], [&str; 2]); 5] = [
            (&["a=old", "b=old", ".oef-incoming/a=half"], ["old", "old"]),
            (&["a=old", "b=old", ".oef-arrived/a=new", ".oef-arrived/b=new"], ["new", "new"]),
            (&["b=old", "c=old", ".oef-arrived/a=new", ".oef-arrived/b=new"], ["new", "new"]),
            (&["a=new", ".oef-moving/b=new"], ["new", "new"]),
            (&["a=new", "b=new", ".oef-moving/"], ["new", "new"]),
        ];
        for (before, [a, b]) in cases {
            let home = tempfile::tempdir().expect("a folder");
            let live = home.path().join("7");
            for file in before {
                match file.split_once('=') {
                    Some((name, text)) => write(&live.join(name), text),
                    None => fs::create_dir_all(live.join(file)).expect("made"),
                }
            }
            recover(&live, true).expect("recovered");
            let mut found = files(&live);
            found.remove(INCOMING);
            let expected = [("a", a), ("b", b)].map(|(n, text)| (n.to_string(), text.to_string()));
            assert_eq!(found, BTreeMap::from(expected), "{before:?}");
        }
    }

    #[test]
    fn leftovers_are_known_by_their_names() {
        let cases = [
            (".7.oef-incoming", Some("7")),
            (".7.oef-previous", Some("7")),
            ("7", None),
            (".7", None),
            ("7.oef-incoming", None),
        ];
        for (name, job) in cases {
            assert_eq!(is_leftover(name), job, "{name}");
        }
    }
}
