//! Unix users, as the machine knows them: from its own file or from a directory service.

use std::process::{Command, Stdio};

/// A user of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserId {
    /// The name.
    pub name: String,
    /// Its number.
    pub uid: u32,
    /// The number of its group.
    pub gid: u32,
    /// Its home folder.
    pub home: String,
}

/// The user of this name, if there is one.
pub fn uid_of(name: &str) -> Option<UserId> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"._-@\\".contains(&byte);
    if name.is_empty() || name.starts_with('-') || !name.bytes().all(is_name) {
        return None;
    }
    lookup(name).filter(|user| user.name == name)
}

/// The name of the user with this number, if there is one.
pub fn user_name(uid: u32) -> Option<String> {
    lookup(&uid.to_string()).filter(|user| user.uid == uid).map(|user| user.name)
}

fn lookup(key: &str) -> Option<UserId> {
    let mut command = Command::new("getent");
    command.args(["passwd", "--", key]).stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().ok()?;
    line(&String::from_utf8_lossy(&output.stdout))
}

fn line(text: &str) -> Option<UserId> {
    let mut fields = text.lines().next()?.split(':');
    let name = fields.next()?.to_string();
    let uid = fields.nth(1)?.parse().ok()?;
    let gid = fields.next()?.parse().ok()?;
    let home = fields.nth(1)?.to_string();
    Some(UserId { name, uid, gid, home })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_name_and_number() {
        let root = uid_of("root").expect("root");
        assert_eq!((root.uid, root.home.as_str()), (0, "/root"));
        assert_eq!(user_name(0).as_deref(), Some("root"));
        assert_eq!(uid_of("nobody-of-that-name"), None);
        assert_eq!(uid_of("0"), None, "a number is no name");
        assert_eq!(uid_of("-x"), None);
    }
}
