//! `oef slurm`, and what is said where a cluster is not as it should be. On a real Slurm with accounting.

#[path = "../../oef-executor/tests/slurm_lab/mod.rs"]
mod slurm_lab;

use serde_json::Value;
use slurm_lab::Lab;
use std::fs;
use std::process::{Command, Output, Stdio};

const OEF: &str = env!("CARGO_BIN_EXE_oef");

const PROBLEM: &str = r#"
[[gpu]]
type = "rtx3070"
count = 1
[[tenant]]
name = "vision"
[[tenant.workload]]
name = "vgg"
throughput = { rtx3070 = 1.0, rtx3080 = 1.2, rtx3090 = 1.4 }
[[tenant]]
name = "speech"
[[tenant.workload]]
name = "lstm"
throughput = { rtx3070 = 1.0, rtx3080 = 1.6, rtx3090 = 2.2 }
"#;

fn oef(lab: &Lab, args: &[&str]) -> Output {
    let mut command = Command::new(OEF);
    command.args(args).env("SLURM_CONF", lab.conf()).env("XDG_STATE_HOME", lab.folder("xdg"));
    command.current_dir(lab.folder("work")).stdin(Stdio::null()).output().expect("oef")
}

fn json(lab: &Lab, args: &[&str]) -> Value {
    let output = oef(lab, args);
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {words}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn complaint(lab: &Lab, args: &[&str]) -> String {
    let output = oef(lab, args);
    assert!(!output.status.success(), "{args:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// `GrpTRES` of an account.
fn limits(lab: &Lab, account: &str) -> String {
    let text = lab.call("sacctmgr", &["-nP", "show", "assoc", "format=account,user,grptres"]);
    let begin = format!("{account}||");
    text.lines().find_map(|line| line.strip_prefix(&begin)).expect("the account").to_string()
}

#[test]
fn a_cluster_is_looked_at_imported_and_advised() {
    let lab = Lab::up(&[]);
    let found = json(&lab, &["slurm", "doctor", "--json"]);
    assert_eq!(found["ready"], true, "{found:#}");
    let gpus =
        found["checks"].as_array().expect("checks").iter().find(|check| check["name"] == "gpus");
    assert_eq!(gpus.expect("GPUs")["what"], "8 rtx3070, 8 rtx3080, 8 rtx3090 on 6 nodes");

    for account in ["vision", "speech"] {
        let words = [
            "-A",
            account,
            "-p",
            "gpu",
            "--gres=gpu:rtx3090:2",
            "-o",
            "/dev/null",
            "--wrap",
            "sleep 2",
        ];
        lab.call("sbatch", &words);
    }
    lab.until("two jobs in the accounting", || {
        let text = lab.call("sacct", &["-anXP", "-S", "now-1hour", "-E", "now", "-o", "State"]);
        text.lines().filter(|line| *line == "COMPLETED").count() == 2
    });
    let imported = json(&lab, &["slurm", "import", "--since", "1h", "-o", "last", "--json"]);
    assert_eq!((&imported["jobs"], &imported["gpus"]), (&2.into(), &24.into()));
    let report = json(&lab, &["slurm", "report", "--since", "1h", "-o", "last", "--json"]);
    assert!(lab.dir.join("work/last/report.html").exists(), "{report}");

    // Limits of before come back, also where there were none.
    lab.call(
        "sacctmgr",
        &["-i", "modify", "account", "vision", "set", "grptres=gres/gpu:rtx3070=7"],
    );
    fs::write(lab.dir.join("work/lab.toml"), PROBLEM).expect("written");
    let advice = json(&lab, &["slurm", "advise", "lab.toml", "--json"]);
    assert_eq!(advice["applied"], true);
    let set = limits(&lab, "speech");
    assert!(set.contains("gres/gpu:rtx3090="), "{set}");
    json_free(&lab, &["slurm", "advise", "lab.toml", "--undo"]);
    assert_eq!(limits(&lab, "vision"), "gres/gpu:rtx3070=7");
    assert_eq!(limits(&lab, "speech"), "");

    bad_luck(&lab);
}

fn json_free(lab: &Lab, args: &[&str]) {
    assert!(oef(lab, args).status.success(), "{args:?}");
}

/// Each with the way out.
fn bad_luck(lab: &Lab) {
    let state = lab.folder("state").display().to_string();
    let up = ["up", "--slurm", "--listen", "127.0.0.1:0", "--state", &state];
    let said = complaint(lab, &[&up[..], &["--partition", "nowhere"]].concat());
    assert!(said.contains("partition `nowhere`"), "{said}");
    let settings = |text: &str| {
        let path = lab.dir.join("work/oef.toml");
        let head = format!(
            "listen = \"127.0.0.1:0\"\nstate_dir = \"{state}\"\n[executor]\nkind = \"slurm\"\n[slurm]\n"
        );
        fs::write(&path, head + text).expect("written");
        complaint(lab, &["serve", "--config", "oef.toml"])
    };
    let said = settings("bin_dir = \"/nowhere\"\n");
    assert!(said.contains("there is no `sinfo` here"), "{said}");
    let output = oef(lab, &["slurm", "doctor", "--partition", "nowhere"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("there is no partition `nowhere`"));
}
