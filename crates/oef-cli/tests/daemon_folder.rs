//! The commands that look after a daemon's settings and state folder, and what keeps a daemon from starting.

mod common;

use common::{Dir, oef};
use std::net::TcpListener;

#[test]
fn the_settings_that_are_written_are_right() {
    let dir = Dir::new();
    let file = dir.join("oef.toml").display().to_string();
    let printed = oef(&["config", "init"]);
    assert_eq!(printed.code, 0, "{}", printed.err);
    let ran = oef(&["config", "init", &file]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), printed.out);
    assert_eq!(oef(&["config", "init", "-"]).out, printed.out, "`-` is standard output");
    // A machine without GPUs needs emulated ones: the check says what a start would say.
    let emulated = printed.out.replace("#emulated = ", "emulated = ");
    let other = dir.file("emulated.toml", emulated);
    assert_eq!(oef(&["config", "check", &other, "--json"]).json()["ok"], true);
    oef(&["config", "init", &file]).fails(2, &["is there already"]);
    oef(&["config", "init", &dir.join("no/oef.toml").display().to_string()])
        .fails(2, &["no directory"]);
}

#[test]
fn wrong_settings_have_their_line() {
    let dir = Dir::new();
    let file = dir.file("oef.toml", "insecure = false\n\nlisen = \"127.0.0.1:1\"\n");
    for args in [&["config", "check", &file][..], &["serve", "--config", &file]] {
        oef(args).fails(2, &["oef.toml:3", "lisen", "listen"]);
    }
    oef(&["serve", "--config", "/nowhere/oef.toml"]).fails(2, &["no such file"]);
}

#[test]
fn what_a_start_would_refuse_is_refused_by_the_check_all_at_once() {
    let dir = Dir::new();
    let text = "listen = \"0.0.0.0:0\"\n[gpus]\nemulated = \"a=many\"\n";
    let file = dir.file("oef.toml", text);
    for args in [&["config", "check", &file][..], &["serve", "--config", &file]] {
        oef(args)
            .fails(2, &["oef.toml:1: listen", "insecure", "oef.toml:3: gpus.emulated", "many"]);
    }
    // The file is right, and a start would fail all the same: with every reason.
    let tls = "[tls]\ncertificate = \"/no/cert.pem\"\nkey = \"/no/key.pem\"\n";
    let text = format!("{tls}[gpus]\nemulated = \"a=1\"\n");
    let file = dir.file("tls.toml", text);
    oef(&["config", "check", &file]).fails(2, &["tls.toml: tls", "/no/cert.pem"]);
}

#[test]
fn a_daemon_that_cannot_start_says_why() {
    let dir = Dir::new();
    let state = dir.join("state").display().to_string();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    oef(&["up", "--gpus", "a=1", "--state", &state, "--listen", &address])
        .fails(2, &[&address, "in use"]);
    oef(&["up", "--gpus", "a=many", "--state", &state]).fails(2, &["many"]);
    oef(&["up", "--gpus", "a=1", "--state", &state, "--listen", "0.0.0.0:0"])
        .fails(2, &["TLS".to_lowercase().as_str()]);
    oef(&["up", "--gpus", "a=1", "--mps", "b=1x50%"]).fails(2, &["cannot be used with"]);
    oef(&["up", "--round", "soon"]).fails(2, &["write a time"]);
    oef(&["up", "--mechanism", "luck"]).fails(2, &["cooperative"]);
    assert!(!dir.join("state").exists(), "a daemon that did not start left a state folder");
}

#[test]
fn a_folder_without_a_daemons_state_is_told() {
    let dir = Dir::new();
    let nowhere = dir.join("nowhere").display().to_string();
    for command in ["check", "export", "compact"] {
        oef(&["journal", command, "--state", &nowhere]).fails(2, &["nowhere"]);
    }
    let copy = dir.join("copy.db").display().to_string();
    oef(&["backup", &copy, "--state", &nowhere]).fails(2, &["nowhere"]);
    assert!(!dir.join("nowhere").exists() && !dir.join("copy.db").exists());
}

#[test]
fn completions_know_every_command() {
    let script = oef(&["completions", "bash"]).out;
    for command in ["up", "submit", "jobs", "why", "fairness", "whatif", "journal", "token", "top"]
    {
        assert!(
            script.contains(&format!("oef__subcmd__{command}"))
                || script.contains(&format!("oef__{command}")),
            "{command}"
        );
    }
    for hidden in ["demo-job", "demo_job"] {
        assert!(!script.contains(hidden), "{hidden}");
    }
}

#[test]
fn every_command_has_help_with_an_example() {
    for command in [
        "up",
        "serve",
        "submit",
        "jobs",
        "job",
        "tenants",
        "groups",
        "workloads",
        "cluster",
        "why",
        "cancel",
        "hold",
        "release",
        "edit",
        "resubmit",
        "logs",
        "tenant",
        "group",
        "workload",
        "profile",
        "token",
        "node",
        "round",
        "fairness",
        "settings",
        "events",
        "top",
        "whatif",
        "config",
        "journal",
        "backup",
    ] {
        let help = oef(&[command, "--help"]);
        assert_eq!(help.code, 0, "{command}");
        assert!(help.out.contains("Example"), "{command}: {}", help.out);
    }
}
