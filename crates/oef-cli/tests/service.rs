//! `oef service` below a folder of its own: what is written, what stays, what is refused.

mod common;

use common::{Dir, oef};
use std::fs;

#[test]
fn the_files_of_a_service_are_written_and_settings_are_never_lost() {
    let dir = Dir::new();
    let root = dir.path().display().to_string();
    let ran = oef(&["service", "install", "--system", "--root", &root, "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let said: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(said["config"], "/etc/oef/oef.toml");
    let unit = fs::read_to_string(dir.join("etc/systemd/system/oef.service")).expect("a unit");
    assert!(unit.contains("serve --config /etc/oef/oef.toml\n"), "{unit}");
    let config = dir.join("etc/oef/oef.toml");
    let text = fs::read_to_string(&config).expect("settings");
    assert!(text.contains("\nstate_dir = \"/var/lib/oef\"\n"));
    assert!(text.contains("\npath = \"/run/oef/oef.sock\"\n"), "people there need no token");
    // So that it starts on a machine without GPUs, too.
    let text = text.replace("#emulated = ", "emulated = ");
    fs::write(&config, &text).expect("written");
    let checked = oef(&["config", "check", &config.display().to_string()]);
    assert_eq!(checked.code, 0, "what it writes is right: {}", checked.err);

    let own = text.replace("#mechanism = \"nash\"", "mechanism = \"cooperative\"");
    fs::write(&config, &own).expect("written");
    assert_eq!(oef(&["service", "install", "--system", "--root", &root]).code, 0);
    assert_eq!(fs::read_to_string(&config).expect("settings"), own, "they stay");

    fs::write(&config, "mechanism = 3\n").expect("written");
    let ran = oef(&["service", "install", "--system", "--root", &root]);
    assert_eq!(ran.code, 2, "settings that `serve` would refuse are refused here");
    assert!(ran.err.contains("oef.toml:1"), "{}", ran.err);

    assert_eq!(oef(&["service", "status", "--system", "--root", &root]).code, 1);
    assert_eq!(oef(&["service", "uninstall", "--system", "--root", &root]).code, 0);
    assert!(!dir.join("etc/systemd/system/oef.service").exists() && config.exists());
    let ran = oef(&["service", "uninstall", "--system", "--root", &root]);
    assert_eq!(ran.code, 2, "{}", ran.err);
}

#[test]
fn the_unit_can_be_looked_at_first() {
    let ran = oef(&["service", "install", "--user", "--print", "--config", "/srv/oef.toml"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("serve --config /srv/oef.toml\n"), "{}", ran.out);
    assert!(ran.out.contains("WantedBy=default.target"), "{}", ran.out);
}
