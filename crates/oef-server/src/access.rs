//! The access file: how a client on this machine finds the daemon. It holds an admin's token, so nobody
//! but its owner may read it, at no instant.

use oef_api::types::Access;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Access files that were written, and are removed again at the end.
#[derive(Debug, Default)]
pub(crate) struct AccessFiles {
    text: String,
    paths: Vec<PathBuf>,
}

impl AccessFiles {
    /// Writes the same access into several files.
    pub fn write(access: &Access, paths: Vec<PathBuf>) -> Result<Self, (PathBuf, io::Error)> {
        let text = format!("{}\n", serde_json::json!(access));
        let mut files = AccessFiles { text, paths: Vec::new() };
        for path in paths {
            if let Err(error) = write_private(&path, &files.text) {
                return Err((path, error));
            }
            files.paths.push(path);
        }
        Ok(files)
    }

    /// The first of them: what a client reads.
    pub fn first(&self) -> Option<&Path> {
        self.paths.first().map(PathBuf::as_path)
    }
}

impl Drop for AccessFiles {
    /// Removes those that still hold what was written: another daemon may have come since.
    fn drop(&mut self) {
        for path in &self.paths {
            if fs::read_to_string(path).is_ok_and(|text| text == self.text) {
                let _ = fs::remove_file(path);
            }
        }
    }
}

/// The token in the file of a daemon that did not get to remove it: killed, or the machine went down. The next
/// one goes on with it, so that clients which wait meanwhile go on as well.
pub(crate) fn left_behind(path: &Path) -> Option<String> {
    let is_private = fs::metadata(path).ok()?.permissions().mode() & 0o077 == 0;
    let access: Access = serde_json::from_str(&fs::read_to_string(path).ok()?).ok()?;
    (is_private && !access.token.is_empty()).then_some(access.token)
}

/// Whole or not at all, and never readable for others.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let part = path.with_extension(format!("{}.part", std::process::id()));
    let _ = fs::remove_file(&part);
    let fill = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    };
    let written = fill().and_then(|()| fs::rename(&part, path));
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(token: &str) -> Access {
        Access { server: "http://127.0.0.1:1".into(), token: token.into(), ca: None, state: None }
    }

    #[test]
    fn only_the_owner_reads_it_and_it_goes_with_the_daemon() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("oef/access.json");
        let files = AccessFiles::write(&access("s"), vec![path.clone()]).expect("written");
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().expect("a folder")), 0o700);
        let read: Access =
            serde_json::from_str(&fs::read_to_string(&path).expect("text")).expect("JSON");
        assert_eq!(read, access("s"));
        assert_eq!(
            fs::read_dir(dir.path().join("oef")).expect("a folder").count(),
            1,
            "no parts are left"
        );
        drop(files);
        assert!(!path.exists());
    }

    #[test]
    fn the_file_of_another_daemon_stays() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("access.json");
        let first = AccessFiles::write(&access("first"), vec![path.clone()]).expect("written");
        let second = AccessFiles::write(&access("second"), vec![path.clone()]).expect("written");
        drop(first);
        assert!(fs::read_to_string(&path).expect("it is there").contains("second"));
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn the_token_of_a_killed_daemon_goes_on_unless_others_could_have_read_it() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("access.json");
        assert_eq!(left_behind(&path), None);
        let files = AccessFiles::write(&access("s"), vec![path.clone()]).expect("written");
        assert_eq!(left_behind(&path).as_deref(), Some("s"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("set");
        assert_eq!(left_behind(&path), None);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("set");
        fs::write(&path, "{").expect("written");
        assert_eq!(left_behind(&path), None);
        drop(files);
    }

    #[test]
    fn what_cannot_be_written_is_named() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("file");
        fs::write(&file, "").expect("written");
        let path = file.join("access.json");
        let (named, _) =
            AccessFiles::write(&access("s"), vec![path.clone()]).expect_err("below a file");
        assert_eq!(named, path);
    }
}
