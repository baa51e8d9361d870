//! Where checkpoints arrive, and how they take their place.

use super::command::PARTIAL;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

const INCOMING: &str = ".oef-incoming";
const PREVIOUS: &str = ".oef-previous";

/// How rsync calls a file that is on its way: `.NAME.` and so many letters and digits.
const RANDOM_LETTERS: usize = 6;

/// The three folders of a job's checkpoints on one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// What the job uses.
    pub(super) live: PathBuf,
    /// What is on its way.
    pub(super) incoming: PathBuf,
    previous: PathBuf,
}

/// Clears up after a runner that was killed. What the job uses is the old folder or the new one afterwards.
/// Half a transfer is worth keeping if another begins now.
pub fn recover(live: &Path, will_fetch: bool) -> io::Result<()> {
    let Some(place) = Place::of(live) else { return Ok(()) };
    place.put_back()?;
    if !will_fetch {
        remove_folder(&place.incoming)?;
    }
    Ok(())
}

/// Removes a job's checkpoints on a host, with what was left beside them.
pub fn remove(live: &Path) -> io::Result<()> {
    if let Some(place) = Place::of(live) {
        remove_folder(&place.incoming)?;
        remove_folder(&place.previous)?;
    }
    remove_folder(live)
}

/// The name of the folder to which something that was left behind belongs; `None`: it is no such thing.
pub fn is_leftover(name: &str) -> Option<&str> {
    let bare = name.strip_prefix('.')?;
    bare.strip_suffix(INCOMING).or_else(|| bare.strip_suffix(PREVIOUS))
}

impl Place {
    /// Around a folder that has a name.
    pub(super) fn of(live: &Path) -> Option<Place> {
        let (folder, name) = (live.parent()?, live.file_name()?);
        let beside = |ending: &str| {
            let mut hidden = OsString::from(".");
            hidden.push(name);
            hidden.push(ending);
            folder.join(hidden)
        };
        Some(Place {
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
            return remove_folder(&self.previous);
        }
        fs::rename(&self.previous, &self.live)?;
        self.sync_parent()
    }

    /// Makes ready for a try. What an rsync that was killed left of a file is put where the next finds it.
    pub(super) fn make_ready(&self) -> io::Result<()> {
        fs::create_dir_all(&self.incoming)?;
        salvage(&self.incoming)
    }

    /// What has arrived becomes what the job uses, in one step, and on disk.
    pub(super) fn settle(&self) -> io::Result<()> {
        sync_all(&self.incoming)?;
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
        let _ = remove_folder(&self.incoming);
        let _ = remove_folder(&self.previous);
        Ok(())
    }

    fn settle_in_two_steps(&self) -> io::Result<()> {
        remove_folder(&self.previous)?;
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

/// A folder and all that is in it; that it is not there is well.
fn remove_folder(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Every file and folder is on disk when this returns.
fn sync_all(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            sync_all(&entry.path())?;
        } else if kind.is_file() {
            File::open(entry.path())?.sync_all()?;
        }
    }
    File::open(folder)?.sync_all()
}

/// rsync names a file on its way at random, and finds it again only where it would have put it itself. A
/// file of the job's own that has such a name is sent again, and nothing is lost.
fn salvage(folder: &Path) -> io::Result<()> {
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
            let place = Place::of(&home.path().join("7")).expect("a place");
            write(&place.live.join("old"), "1");
            write(&place.incoming.join("new"), "2");
            match two_steps {
                true => place.settle_in_two_steps().expect("settled"),
                false => place.settle().expect("settled"),
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
                let place = Place::of(&home.path().join("7")).expect("a place");
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

    #[test]
    fn what_a_killed_rsync_left_is_found_again() {
        let home = tempfile::tempdir().expect("a folder");
        let place = Place::of(&home.path().join("7")).expect("a place");
        let at = |name: &str| place.incoming.join(name);
        write(&at(".model.bin.a1B2c3"), "more of it");
        write(&at(".oef-partial/model.bin"), "some");
        write(&at("sub/.x.AAAAAA"), "less");
        write(&at("sub/.oef-partial/x"), "the longer one");
        write(&at(".hidden"), "stays");
        place.make_ready().expect("ready");
        assert_eq!(files(&at(".oef-partial")), only("model.bin", "more of it"));
        assert_eq!(files(&at("sub/.oef-partial")), only("x", "the longer one"));
        assert_eq!(files(&at("sub")).len(), 1);
        assert_eq!(files(&place.incoming).get(".hidden").map(String::as_str), Some("stays"));
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
