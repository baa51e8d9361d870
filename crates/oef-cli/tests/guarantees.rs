//! Guarantees and limits by gpu type on a real daemon that is killed in between.

#[allow(dead_code, reason = "every test file uses its own part of this")]
#[path = "common/cluster.rs"]
mod cluster;
mod common;
#[path = "common/daemon.rs"]
mod daemon;
#[path = "common/up.rs"]
mod up;

use cluster::Up;
use serde_json::Value;

/// Waits for a checkpoint request, and saves.
const SAVES: &str = "trap 'exit 75' TERM; sleep 1000 & wait $!";
const GPUS: &str = "slow=1,fast=3";

impl Up {
    fn fresh() -> Up {
        let home = common::Dir::new();
        let child = up::spawn(&home, up::up(&home, GPUS, &["--trust-tenants"]));
        Up { home, child }
    }

    fn kill_and_restart(&mut self) {
        self.child.kill().expect("killed");
        let _ = self.child.wait();
        self.child = up::spawn(&self.home, up::up(&self.home, GPUS, &["--trust-tenants"]));
    }

    #[track_caller]
    fn json(&self, args: &[&str]) -> Value {
        let ran = self.oef(args);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
        ran.json()
    }

    /// The certificate of the last round, which is made a moment after it began.
    fn audit(&self) -> Value {
        let began = std::time::Instant::now();
        loop {
            let audit = self.json(&["round", "--json"])["audit"].clone();
            if !audit.is_null() {
                return audit;
            }
            assert!(began.elapsed() < up::PATIENCE, "no round has a certificate");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }

    #[track_caller]
    fn done(&self, args: &[&str]) {
        let ran = self.oef(args);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
    }

    #[track_caller]
    fn refused(&self, args: &[&str], says: &str) {
        let ran = self.oef(args);
        assert!(ran.code != 0 && ran.err.contains(says), "{args:?}: {} {}", ran.code, ran.err);
    }

    fn submit_as(&self, tenant: &str, count: usize) -> Vec<String> {
        let args = ["submit", "--tenant", tenant, "--types", "fast", "--", "sh", "-c", SAVES];
        let one = || {
            let ran = self.oef(&args);
            assert_eq!(ran.code, 0, "{}", ran.err);
            ran.out.trim().to_string()
        };
        (0..count).map(|_| one()).collect()
    }

    fn running(&self, ids: &[String]) -> usize {
        let runs = |id: &&String| self.json(&["job", id, "--json"])["state"] == "running";
        ids.iter().filter(runs).count()
    }

    #[track_caller]
    fn until_running(&self, ids: &[String], count: usize) {
        let began = std::time::Instant::now();
        while self.running(ids) != count {
            let why = || self.oef(&["why", &ids[0]]).out;
            assert!(began.elapsed() < up::PATIENCE, "{} run: {}", self.running(ids), why());
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }
}

#[test]
fn a_guarantee_is_lent_out_taken_back_and_survives_kills() {
    let mut up = Up::fresh();
    // The other tenant counts so much that shares alone would leave `small` next to nothing.
    up.done(&["tenant", "create", "small", "--guarantee", "fast=2"]);
    up.done(&["tenant", "create", "large", "--weight", "1000"]);
    up.kill_and_restart();
    let tenant = up.json(&["tenant", "show", "small", "--json"]);
    assert_eq!(tenant["guarantee"]["fast"], 2, "{tenant}");
    let theirs = up.submit_as("large", 3);
    up.until_running(&theirs, 3);
    let ours = up.submit_as("small", 3);
    up.until_running(&ours, 2);
    up.until_running(&theirs, 1);
    let why = up.oef(&["why", "--tenant", "small"]).out;
    assert!(why.contains("is guaranteed 2 of fast"), "{why}");
    let stopped = theirs.iter().find(|id| up.json(&["job", id, "--json"])["state"] != "running");
    let history = up.json(&["job", stopped.expect("one"), "--json"])["history"].to_string();
    assert!(history.contains("the GPUs go to a tenant that is guaranteed them"), "{history}");
    up.kill_and_restart();
    up.until_running(&ours, 2);
    let audit = up.audit();
    assert_eq!(audit["beyond_guarantees"], true, "{audit}");
    assert_eq!(audit["guarantee"]["holds"], true, "{audit}");
    // The problem of the round is a file with guarantees, and `oef share` gives the round's shares.
    let file = up.home.join("round.toml");
    let problem = up.oef(&["round", "--problem"]).out;
    assert!(problem.contains("guarantee"), "{problem}");
    std::fs::write(&file, problem).expect("written");
    let shown = up.json(&["settings", "--json"])["mechanism"].as_str().expect("a name").to_string();
    let share = up.json(&["share", &file.display().to_string(), "--mechanism", &shown, "--json"]);
    assert_eq!(share["audit"]["beyond_guarantees"], true, "{share}");
    for tenant in share["tenants"].as_array().expect("tenants") {
        let name = tenant["name"].as_str().expect("a name");
        let live = up.json(&["tenant", "show", name, "--json"]);
        let (a, b) = (tenant["share"]["fast"].as_f64(), live["share"]["fast"].as_f64());
        let (a, b) = (a.expect("a number"), b.expect("a number"));
        assert!((a - b).abs() < 1e-9, "{name}: {a}, {b}");
    }
    // Without the guarantee the weights decide.
    up.done(&["tenant", "set", "small", "--guarantee", "none"]);
    up.until_running(&theirs, 3);
}

#[test]
fn limits_hold_and_refusals_name_them() {
    let mut up = Up::fresh();
    up.done(&["tenant", "create", "small"]);
    let before = up.submit_as("small", 3);
    up.until_running(&before, 3);
    up.done(&["tenant", "set", "small", "--limit", "fast=1"]);
    up.until_running(&before, 1);
    up.kill_and_restart();
    up.until_running(&before, 1);
    let shown = up.oef(&["tenant", "show", "small"]).out;
    assert!(shown.contains("at most 1×fast"), "{shown}");
    let waits = before.iter().find(|id| up.json(&["job", id, "--json"])["state"] == "queued");
    let why = up.oef(&["why", waits.expect("one waits")]).out;
    assert!(why.contains("1 of fast"), "{why}");
    let gang = ["submit", "--tenant", "small", "--types", "fast", "--workers", "2", "--", "true"];
    up.refused(&gang, "it needs 2 GPUs at once, more than its tenant's limits allow: 1 fast");
    up.refused(
        &["tenant", "set", "small", "--guarantee", "fast=2"],
        "a guarantee of 2 fast is above the limit of 1 fast",
    );
    up.refused(
        &["tenant", "create", "other", "--guarantee", "fast=4"],
        "4 GPUs of fast would be guaranteed in all, and there are 3",
    );
    up.refused(&["tenant", "set", "small", "--limit", "fsat=1"], "there is no gpu type `fsat`");
    up.refused(&["tenant", "set", "small", "--limit", "fast"], "is not TYPE=N");
    up.done(&["group", "set", "lab", "--guarantee", "fast=2", "--limit", "fast=2"]);
    up.refused(
        &["group", "set", "lab", "--guarantee", "fast=4", "--limit", "none"],
        "4 GPUs of fast would be guaranteed in all, and there are 3",
    );
    let groups = up.json(&["groups", "--json"]);
    assert_eq!(groups["groups"][0]["guarantee"]["fast"], 2, "{groups}");
    up.done(&["tenant", "set", "small", "--limit", "none", "--group", "lab"]);
    up.until_running(&before, 2);
}

/// What belongs to all, as commands that change it.
const CHANGES: &[&[&str]] = &[
    &["tenant", "create", "new", "--guarantee", "fast=1"],
    &["tenant", "set", "small", "--guarantee", "fast=1"],
    &["tenant", "set", "small", "--limit", "fast=2"],
    &["group", "set", "lab", "--guarantee", "fast=1"],
    &["group", "set", "lab", "--limit", "fast=2"],
    &["reserve", "slow-0", "--from", "1h", "--for", "1h", "--reason", "new switch"],
    &["reserve", "--drop", "1"],
];
/// What only admins change.
const FOR_ADMINS: &[&[&str]] =
    &[&["settings", "--set", "usage_half_life=7d"], &["group", "remove", "lab"]];

impl Up {
    /// Runs a command with a token of its own.
    fn as_holder_of(&self, token: &str, args: &[&str]) -> common::Ran {
        let access = std::fs::read_to_string(self.home.join("state/access.json")).expect("access");
        let access: Value = serde_json::from_str(&access).expect("JSON");
        let server = access["server"].as_str().expect("an address");
        daemon::run(args, "", &[("OEF_SERVER", server), ("OEF_TOKEN", token)])
    }

    /// Everything that those commands could change.
    fn of_all(&self) -> [Value; 4] {
        let without_time = |mut list: Value| {
            let all = list["tenants"].as_array_mut().into_iter().flatten();
            all.for_each(|t| {
                let kept = ["name", "guarantee", "limit", "group", "weight"];
                t.as_object_mut().expect("a tenant").retain(|key, _| kept.contains(&key.as_str()));
            });
            list
        };
        let list = |args: &[&str]| self.json(args);
        [
            without_time(list(&["tenants", "--json"])),
            list(&["groups", "--json"]),
            list(&["settings", "--json"]),
            list(&["reserve", "--json"]),
        ]
    }
}

#[test]
fn only_operators_and_admins_change_what_belongs_to_all() {
    let up = Up::fresh();
    up.done(&["tenant", "create", "small"]);
    up.done(&["group", "set", "lab"]);
    let token = |role: &[&str]| {
        let ran = up.oef(&[&["token", "create", "--role"][..], role].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.out.trim().to_string()
    };
    let holders = [token(&["tenant", "--tenant", "small"]), token(&["viewer"])];
    let before = up.of_all();
    for holder in &holders {
        for change in CHANGES.iter().chain(FOR_ADMINS) {
            let ran = up.as_holder_of(holder, change);
            assert_eq!(ran.code, 3, "{change:?}: {} {}", ran.out, ran.err);
            assert!(ran.err.contains("may not") && ran.out.is_empty(), "{change:?}: {}", ran.err);
        }
        assert_eq!(up.of_all(), before);
    }
    let operator = token(&["operator"]);
    for change in CHANGES {
        let ran = up.as_holder_of(&operator, change);
        assert_eq!(ran.code, 0, "{change:?}: {}", ran.err);
    }
    for change in FOR_ADMINS {
        let ran = up.as_holder_of(&operator, change);
        assert_eq!(ran.code, 3, "{change:?}: {} {}", ran.out, ran.err);
        up.done(change);
    }
    assert_ne!(up.of_all(), before);
}
