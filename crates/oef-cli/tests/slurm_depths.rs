//! The depths at which OEF starts nothing, on a real Slurm with accounting: it shows what Slurm does, advises, and leaves
//! everything as it was.

#[path = "../../oef-executor/tests/slurm_lab/mod.rs"]
mod slurm_lab;

mod slurm_daemon;

use serde_json::Value;
use slurm_daemon::{OEF, World};
use slurm_lab::Lab;
use std::process::Command;

/// A job of plain `sbatch`.
fn sbatch(lab: &Lab, account: &str, gres: &str, script: &str) -> String {
    let gres = format!("--gres=gpu:{gres}");
    let options =
        ["--parsable", "-A", account, "-p", "gpu", &gres, "-o", "/dev/null", "-J", account];
    lab.call("sbatch", &[&options[..], &["--wrap", script]].concat()).trim().to_string()
}

/// A value of an account in Slurm's books.
fn account(lab: &Lab, name: &str, column: &str) -> String {
    let format = format!("format=account,user,{column}");
    let text = lab.call("sacctmgr", &["-nP", "show", "assoc", &format]);
    let begin = format!("{name}||");
    text.lines().find_map(|line| line.strip_prefix(&begin)).expect("the account").to_string()
}

/// The job that shows a job of Slurm's.
fn shown(world: &World, id: &str) -> Value {
    let jobs = world.jobs();
    let found = jobs.iter().find(|job| job["labels"]["slurm_job"] == id);
    found.cloned().unwrap_or(Value::Null)
}

fn state_of(world: &World, id: &str) -> Value {
    shown(world, id)["state"].clone()
}

#[test]
fn slurm_is_observed_advised_and_left_as_it_was() {
    let world = World::new(Lab::up(&[]));
    let lab = &world.lab;
    lab.call("scontrol", &["update", "NodeName=n4", "State=DRAIN", "Reason=a fan"]);
    let old = "gres/gpu:rtx3070=7";
    let modify = |value: &str| {
        lab.call("sacctmgr", &["-i", "modify", "account", "vision", "set", value]);
    };
    modify(&format!("grptres={old}"));
    modify("fairshare=3");
    let long = sbatch(lab, "vision", "rtx3090:2", "sleep 600");
    let waits = sbatch(lab, "speech", "rtx3090:4", "sleep 600");
    let more: Vec<String> =
        (0..3).map(|_| sbatch(lab, "speech", "rtx3090:4", "sleep 600")).collect();
    let jobs = || lab.call("squeue", &["-h", "-S", "i", "-o", "%i %j %a"]);
    let before = jobs();

    world.settings("depth = \"observe\"", "2s");
    let daemon = world.serve();
    world.until("job that runs", || state_of(&world, &long) == "running");
    let job = shown(&world, &long);
    assert_eq!((&job["tenant"], job["gpus"].as_array().map(Vec::len)), (&"vision".into(), Some(2)));
    world.until("jobs that wait", || state_of(&world, &more[2]) == "queued");
    observed(&world);
    assert_eq!(jobs(), before, "Slurm's jobs are untouched");
    assert_eq!(account(lab, "vision", "grptres"), old);
    // The history of a daemon that is killed goes on.
    daemon.kill();
    let short = sbatch(lab, "robots", "rtx3070:1", "sleep 1");
    lab.call("scancel", &[&waits]);
    let daemon = world.serve();
    world.until("end", || {
        [&state_of(&world, &short), &state_of(&world, &waits)] == ["finished", "cancelled"]
            || (shown(&world, &short).is_null() && state_of(&world, &waits) == "cancelled")
    });
    assert_eq!(state_of(&world, &long), "running");
    daemon.kill();

    advised(&world, old);

    // OEF begins to decide: the jobs of others are none of its own.
    world.settings("", "2s");
    let daemon = world.serve();
    world.until("end of what was observed", || state_of(&world, &long) == "finished");
    let running = lab.call("squeue", &["-h", "-t", "RUNNING", "-o", "%j"]);
    assert!(running.lines().all(|name| !name.starts_with("oef-")), "{running}");
    daemon.kill();
}

/// What a daemon shows that only looks.
fn observed(world: &World) {
    let cluster = world.oef(&["cluster", "--json"]);
    let nodes = cluster["nodes"].as_array().expect("nodes");
    let n4 = nodes.iter().find(|node| node["name"] == "n4").expect("the drained node");
    assert_eq!(
        (&n4["health"], &n4["reason"]),
        (&"down".into(), &"drained in Slurm by root: a fan".into())
    );
    let (ok, _, said) = world.ask(&["submit", "--tenant", "vision", "--", "true"]);
    assert!(!ok && said.contains("observes Slurm") && said.contains("sbatch"), "{said}");
    let weight = world.oef(&["tenant", "show", "vision", "--json"])["weight"].clone();
    assert_eq!(weight, 3.0, "its weight is Slurm's");
    world.until("shares", || {
        let fairness = world.oef(&["fairness", "--json"]);
        let tenants = fairness["tenants"].as_array().cloned().unwrap_or_default();
        let promised = |name: &str| {
            tenants
                .iter()
                .find(|tenant| tenant["tenant"] == name)
                .and_then(|t| t["promised"].as_f64())
        };
        promised("vision") > Some(0.0) && promised("speech") > Some(0.0)
    });
    world.until("a report", || {
        let text = std::fs::read_to_string(world.path("state/fairness.json")).unwrap_or_default();
        serde_json::from_str::<Value>(&text).is_ok_and(|report| {
            report["tenants"].as_array().is_some_and(|tenants| tenants.len() == 2)
        })
    });
    let what = world.oef(&["whatif", "--remove", "speech", "--json"]);
    assert!(what.is_object(), "{what}");
}

/// Limits and weights of accounts follow the grants, and come back: at a stop, and by hand after a kill.
fn advised(world: &World, old: &str) {
    let lab = &world.lab;
    world.settings("depth = \"advise\"", "2s");
    let daemon = world.serve();
    world.until("limits", || account(lab, "speech", "grptres").contains("gres/gpu:rtx3090="));
    assert_ne!(account(lab, "vision", "grptres"), old);
    daemon.kill();
    assert_ne!(account(lab, "vision", "grptres"), old, "nobody was there to bring them back");
    let state = world.path("state").display().to_string();
    let mut restore = Command::new(OEF);
    restore.args(["slurm", "advise", "--restore", "--state", &state]);
    assert!(restore.env("SLURM_CONF", lab.conf()).status().expect("oef").success());
    assert_eq!(account(lab, "vision", "grptres"), old);
    assert_eq!(account(lab, "speech", "grptres"), "");

    world.settings("depth = \"advise\"\nadvise = \"fairshare\"", "2s");
    let daemon = world.serve();
    world.until("weights", || account(lab, "vision", "fairshare") != "3");
    // Killed and started again, it still knows what was there first.
    daemon.kill();
    let daemon = world.serve();
    world.until("another look", || world.oef(&["round", "--json"])["round"].as_u64() > Some(1));
    daemon.stop();
    assert_eq!(account(lab, "vision", "fairshare"), "3");
    assert_eq!(account(lab, "speech", "fairshare"), "1");
    assert_eq!(account(lab, "vision", "grptres"), old);
}
