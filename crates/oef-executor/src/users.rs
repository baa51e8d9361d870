//! Users of this machine, which jobs run as.

use rustix::process::{Gid, Uid};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// A user as a worker becomes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// Every group, the first one among them.
    pub(crate) groups: Vec<u32>,
    pub(crate) home: PathBuf,
    pub(crate) shell: PathBuf,
}

/// Whether this process may become another user.
pub fn is_privileged() -> bool {
    rustix::process::geteuid().is_root()
}

/// The user of this name, if jobs may run as it. `None`: that is the daemon's own user, and nothing changes.
pub(crate) fn job_user(name: &str) -> Result<Option<User>, String> {
    let user = find(name)?;
    may_become(&user)?;
    Ok((user.uid != rustix::process::geteuid().as_raw()).then_some(user))
}

fn may_become(user: &User) -> Result<(), String> {
    let (own, name) = (rustix::process::geteuid().as_raw(), &user.name);
    if user.uid == own {
        return Ok(());
    }
    if user.uid == 0 {
        return Err("jobs do not run as `root`".to_string());
    }
    match is_privileged() {
        true => Ok(()),
        false => Err(format!(
            "it is to run as `{name}`, and a daemon that is not root runs jobs as its own user only"
        )),
    }
}

/// Becomes the user. For a process with one thread that is about to execute another program.
pub(crate) fn become_user(user: &User) -> std::io::Result<()> {
    let groups: Vec<Gid> = user.groups.iter().map(|gid| Gid::from_raw(*gid)).collect();
    rustix::thread::set_thread_groups(&groups)?;
    let (gid, uid) = (Gid::from_raw(user.gid), Uid::from_raw(user.uid));
    rustix::thread::set_thread_res_gid(gid, gid, gid)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid)?;
    Ok(())
}

fn find(name: &str) -> Result<User, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.@\\".contains(c);
    if name.is_empty() || name.starts_with('-') || !name.chars().all(is_plain) {
        return Err(format!("{name:?} cannot be the name of a user"));
    }
    let is_wanted = |line: &str| line.split(':').next() == Some(name);
    let table = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let line = table.lines().find(|line| is_wanted(line)).map(str::to_string);
    // Users of a directory service are in no file.
    let line = line.or_else(|| output("getent", &["passwd", "--", name]));
    let line = line.ok_or_else(|| format!("this machine has no user `{name}`"))?;
    let mut user = parse(line.trim()).ok_or_else(|| format!("the entry of `{name}` is odd"))?;
    let groups = output("id", &["-G", "--", name]).unwrap_or_default();
    user.groups = groups.split_ascii_whitespace().filter_map(|gid| gid.parse().ok()).collect();
    if !user.groups.contains(&user.gid) {
        user.groups.insert(0, user.gid);
    }
    Ok(user)
}

fn output(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then_some(text)
}

fn parse(line: &str) -> Option<User> {
    let fields: Vec<&str> = line.split(':').collect();
    let [name, _, uid, gid, _, home, shell] = fields[..] else { return None };
    Some(User {
        name: name.into(),
        uid: uid.parse().ok()?,
        gid: gid.parse().ok()?,
        groups: Vec::new(),
        home: home.into(),
        shell: if shell.is_empty() { "/bin/sh".into() } else { shell.into() },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_name_and_odd_names_are_none() {
        let root = find("root").expect("every machine has it");
        assert_eq!((root.uid, root.groups.contains(&0)), (0, true));
        for odd in ["", "-x", "a b", "no-user-of-that-name", "a:b"] {
            assert!(find(odd).is_err(), "{odd:?}");
        }
        assert_eq!(parse("x:x:7:8::/home/x:").map(|user| user.shell), Some("/bin/sh".into()));
        assert_eq!(parse("x:x:seven:8::/home/x:/bin/sh"), None);
    }

    #[test]
    fn nobody_becomes_root() {
        let user = User { uid: 0, ..find("root").expect("there") };
        let is_root = rustix::process::geteuid().is_root();
        assert_eq!(may_become(&user).is_ok(), is_root, "only the daemon's own user may be root");
    }
}
