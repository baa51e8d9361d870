//! Who is not let in: keys, passwords, hosts that are others than before.

use crate::files::Pair;
use crate::hosts::{Service, rsync_daemon, sshd};
use oef_executor::checkpoints::{BringError, Source};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// A file with a mode.
fn secret(folder: &Path, name: &str, text: &str, mode: u32) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("set");
    path
}

/// A daemon that wants a password.
fn guarded(pair: &Pair) -> Service {
    let secrets = secret(pair.home.path(), "secrets", "oef:right\n", 0o600);
    let lines = format!("auth users = oef\nsecrets file = {}", secrets.display());
    rsync_daemon(&pair.home.path().join("a"), &lines)
}

#[test]
fn passwords() {
    let pair = Pair::new().with_last_good();
    let daemon = guarded(&pair);
    let url = format!("rsync://oef@127.0.0.1:{}/oef/7", daemon.port);
    let with = |password_file| {
        let source = Source::Daemon { url: url.clone(), password_file };
        let mut fetch = pair.fetch(source);
        // What cannot become right is not tried again.
        fetch.limits.tries = 1;
        fetch
    };
    let home = pair.home.path();
    // Nobody is there to be asked.
    for wrong in [None, Some(secret(home, "wrong", "left\n", 0o600))] {
        let error = pair.fails(&with(wrong));
        assert!(
            matches!(&error, BringError::Refused(why) if why.contains("auth failed")),
            "{error}"
        );
    }
    for useless in [secret(home, "open", "right\n", 0o644), home.join("none")] {
        let mut fetch = with(Some(useless));
        fetch.limits.tries = 100;
        let error = pair.fails(&fetch);
        assert!(matches!(&error, BringError::Password(_)), "{error}");
    }
    pair.brings(&with(Some(secret(home, "right", "right\n", 0o600))));
    assert!(pair.live().join("latest").is_symlink());
}

#[test]
fn a_host_that_is_another_than_before() {
    let pair = Pair::new().with_last_good();
    let ssh = sshd();
    let source = |options: Vec<String>| Source::Ssh {
        destination: format!("{}@127.0.0.1", ssh.user),
        port: Some(ssh.service.port),
        options,
        path: pair.source(),
    };
    // Somebody else's key is known for this address; then none is.
    let key = fs::read_to_string(format!("{}.pub", ssh.options[1])).expect("a key");
    let known = format!("[127.0.0.1]:{} {key}", ssh.service.port);
    for known in [known.as_str(), ""] {
        let file = secret(pair.home.path(), "known", known, 0o600);
        let mut options = ssh.options[..2].to_vec();
        options.extend(["-o".into(), "StrictHostKeyChecking=yes".into()]);
        options.extend(["-o".into(), format!("UserKnownHostsFile={}", file.display())]);
        let error = pair.fails(&pair.fetch(source(options)));
        assert!(matches!(error, BringError::Refused(_)), "{error}");
    }
    let gone = vec!["-i".into(), "/no/such/key".into()];
    let error = pair.fails(&pair.fetch(source([gone, ssh.options[2..].to_vec()].concat())));
    assert!(matches!(error, BringError::Refused(_)), "{error}");
    pair.brings(&pair.fetch(source(ssh.options.clone())));
}
