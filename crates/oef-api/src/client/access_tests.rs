use super::*;
use std::collections::BTreeMap;

const FILE: &str = r#"{"server":"http://127.0.0.1:7733/","token":"of the file"}"#;

/// A state folder with an access file of this content and mode.
fn folder(content: &str, mode: u32) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("oef/access.json");
    fs::create_dir(dir.path().join("oef")).expect("a folder");
    fs::write(&file, content).expect("a file");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("a mode");
    }
    dir
}

fn ask(dir: Option<&tempfile::TempDir>, vars: &[(&str, &str)]) -> Result<Access, AccessError> {
    let mut env: BTreeMap<String, String> =
        vars.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    if let Some(dir) = dir {
        env.insert("XDG_STATE_HOME".into(), dir.path().display().to_string());
    }
    find(&|name| env.get(name).cloned())
}

#[test]
fn the_environment_goes_before_the_file() {
    let dir = folder(FILE, 0o600);
    let access = ask(Some(&dir), &[]).expect("found");
    assert_eq!((&*access.server, &*access.token), ("http://127.0.0.1:7733", "of the file"));
    let both = [("OEF_SERVER", "host:1/"), ("OEF_TOKEN", "mine")];
    let access = ask(Some(&dir), &both).expect("found");
    assert_eq!((&*access.server, &*access.token), ("http://host:1", "mine"));
    let access = ask(Some(&dir), &[("OEF_TOKEN", "mine")]).expect("found");
    assert_eq!((&*access.server, &*access.token), ("http://127.0.0.1:7733", "mine"));
    let same = ask(Some(&dir), &[("OEF_SERVER", "127.0.0.1:7733")]).expect("found");
    assert_eq!(same.token, "of the file");
}

#[test]
fn a_socket_needs_no_token_however_its_address_is_written() {
    for server in ["unix:///run/oef/oef.sock", "unix:/run/oef/oef.sock"] {
        let access = ask(None, &[("OEF_SERVER", server)]).expect("it needs none");
        assert_eq!(access.token, "");
        assert_eq!(unix::path_of(&access.server), Some("/run/oef/oef.sock".into()));
    }
}

#[test]
fn the_token_of_one_server_is_not_shown_to_another() {
    let dir = folder(FILE, 0o600);
    let other = ask(Some(&dir), &[("OEF_SERVER", "https://elsewhere")]);
    assert!(matches!(other, Err(AccessError::NoToken { .. })), "{other:?}");
    assert!(matches!(
        ask(None, &[("OEF_SERVER", "https://elsewhere")]),
        Err(AccessError::NoToken { .. })
    ));
}

#[test]
fn what_is_missing_or_wrong_is_told_with_the_way_out() {
    let error = ask(None, &[("HOME", "/nowhere")]).expect_err("nothing");
    assert!(error.to_string().contains("/nowhere/.local/state/oef/access.json"), "{error}");
    assert!(error.hint().contains("oef up"));
    assert!(matches!(ask(None, &[]), Err(AccessError::NoFolder)));
    let damaged = ask(Some(&folder("{\"server\":", 0o600)), &[]).expect_err("damaged");
    assert!(matches!(damaged, AccessError::Damaged { .. }), "{damaged}");
}

#[cfg(unix)]
#[test]
fn a_file_that_others_may_read_is_refused() {
    for mode in [0o644, 0o640, 0o604] {
        let error = ask(Some(&folder(FILE, mode)), &[]).expect_err("open");
        assert!(matches!(error, AccessError::Open { .. }), "{error}");
        assert!(error.hint().contains("chmod 600"), "{}", error.hint());
    }
}

#[test]
fn the_token_is_in_no_debug_text() {
    let access =
        Access { server: "http://s".into(), token: "secret".into(), ca: None, state: None };
    assert!(!format!("{access:?}").contains("secret"));
}
