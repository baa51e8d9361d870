//! What moving checkpoints needs on this machine: better said at the start than when the first job moves.

use super::config::{CheckpointConfig, Keeping, Transport};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use thiserror::Error;

/// The oldest rsync that knows `--info`.
const RSYNC_LEAST: (u32, u32) = (3, 1);

/// What is missing, with the way out.
#[derive(Debug, PartialEq, Eq, Error)]
pub enum ToolsMissing {
    /// There is no rsync.
    #[error(
        "checkpoints stay on their hosts (`place = \"node\"`) and are moved with rsync, which is not here; install \
         it, or keep them in a shared folder (`place = \"shared\"`)"
    )]
    NoRsync,
    /// It is too old.
    #[error("the rsync of this machine is {found}; moving checkpoints needs 3.1 or newer")]
    OldRsync {
        /// Its version.
        found: String,
    },
    /// There is no ssh.
    #[error(
        "checkpoints are to be moved over ssh (`transport = \"ssh\"`), which is not here; install it"
    )]
    NoSsh,
    /// The password cannot be read.
    #[error("`password_file` in [checkpoints]: `{path}`: {why}")]
    Password {
        /// The file.
        path: String,
        /// What is wrong with it.
        why: String,
    },
}

/// What is missing on this machine for these settings.
pub fn check_tools(settings: &CheckpointConfig) -> Result<(), ToolsMissing> {
    if settings.place == Keeping::Shared {
        return Ok(());
    }
    let said = said_by("rsync", "--version").ok_or(ToolsMissing::NoRsync)?;
    if let Some(found) = version(&said).filter(|found| numbers(found) < RSYNC_LEAST) {
        return Err(ToolsMissing::OldRsync { found: found.to_string() });
    }
    match settings.transport {
        Transport::Ssh if said_by("ssh", "-V").is_none() => Err(ToolsMissing::NoSsh),
        Transport::Rsync => settings.password_file.as_deref().map_or(Ok(()), password),
        _ => Ok(()),
    }
}

fn said_by(program: &str, question: &str) -> Option<String> {
    let mut command = Command::new(program);
    command.arg(question).env("LC_ALL", "C").stdin(Stdio::null());
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The version that rsync tells; one that tells none is not judged.
fn version(said: &str) -> Option<&str> {
    let (_, rest) = said.lines().next()?.split_once("version ")?;
    rest.trim_start_matches('v').split_whitespace().next()
}

fn numbers(version: &str) -> (u32, u32) {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

/// rsync takes no password that others can read.
fn password(path: &Path) -> Result<(), ToolsMissing> {
    let wrong = |why: String| ToolsMissing::Password { path: path.display().to_string(), why };
    let file = std::fs::File::open(path).map_err(|error| wrong(error.to_string()))?;
    let mode = file.metadata().map_err(|error| wrong(error.to_string()))?.permissions().mode();
    match mode & 0o007 {
        0 => Ok(()),
        _ => Err(wrong("others can read it, and rsync takes no such file; `chmod 600` it".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_as_rsync_tells_them() {
        let cases = [
            ("rsync  version 3.5.0  protocol version 32\nCopyright", Some("3.5.0"), false),
            ("rsync  version 3.1.0  protocol version 31", Some("3.1.0"), false),
            ("rsync  version v3.2.3  protocol version 31", Some("3.2.3"), false),
            ("rsync  version 3.0.9  protocol version 30", Some("3.0.9"), true),
            ("rsync  version 2.6.9  protocol version 29", Some("2.6.9"), true),
            ("openrsync: protocol", None, false),
            ("", None, false),
        ];
        for (said, expected, is_old) in cases {
            let found = version(said);
            assert_eq!(found, expected, "{said}");
            assert_eq!(found.is_some_and(|found| numbers(found) < RSYNC_LEAST), is_old, "{said}");
        }
    }

    #[test]
    fn a_password_that_others_can_read_is_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("password");
        assert!(password(&file).is_err_and(|error| error.to_string().contains("No such file")));
        std::fs::write(&file, "x").expect("written");
        for (mode, is_right) in [(0o600, true), (0o640, true), (0o644, false)] {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("set");
            assert_eq!(password(&file).is_ok(), is_right, "{mode:o}");
        }
    }
}
