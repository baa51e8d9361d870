//! The whole of it on a real Slurm: four tenants, forty jobs, gangs of one to eight, rounds that preempt, a daemon that
//! is killed, a node that is drained. Every checkpoint is resumed, no job runs twice at the same time, none is lost.

#[path = "../../oef-executor/tests/slurm_lab/mod.rs"]
mod slurm_lab;

use serde_json::Value;
use slurm_lab::Lab;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const OEF: &str = env!("CARGO_BIN_EXE_oef");

/// Generous: reached only when something hangs.
const DEADLINE: Duration = Duration::from_secs(240);

/// Counts to thirty, a tenth of a second each, and begins where its checkpoint says. The first worker notes where it
/// began and where it stopped, and that it is alone.
const JOB: &str = r#"
dir=$1
f=$OEF_CHECKPOINT_DIR/step-$RANK
n=$(cat "$f" 2>/dev/null || echo 0)
if [ "$RANK" = 0 ]; then
    mkdir "$dir/alone-$OEF_JOB_ID" || echo "$OEF_JOB_ID" >>"$dir/twice"
    echo "begin $n" >>"$dir/story-$OEF_JOB_ID"
fi
leave() {
    echo "$n" >"$f.new" && mv "$f.new" "$f"
    if [ "$RANK" = 0 ]; then
        echo "end $n" >>"$dir/story-$OEF_JOB_ID"
        rmdir "$dir/alone-$OEF_JOB_ID"
    fi
    exit "$1"
}
trap 'leave 75' TERM
while [ "$n" -lt 30 ]; do sleep 0.1; n=$((n + 1)); done
leave 0
"#;

struct Daemon {
    child: Child,
}

struct World {
    lab: Lab,
    folder: PathBuf,
}

impl World {
    fn new() -> World {
        let lab = Lab::up(&[("LAB_ACCOUNTING", "0")]);
        let folder = lab.folder("oef");
        fs::write(folder.join("job.sh"), JOB).expect("written");
        fs::create_dir_all(folder.join("notes")).expect("made");
        let settings = format!(
            "listen = \"127.0.0.1:0\"\nstate_dir = \"{0}/state\"\n[executor]\nkind = \"slurm\"\n\
             [slurm]\nconf = \"{1}\"\npartition = \"gpu\"\npoll = \"300ms\"\n\
             [socket]\npath = \"{0}/oef.sock\"\n[scheduling]\nround = \"3s\"\nmin_run = \"2s\"\n",
            folder.display(),
            lab.conf().display()
        );
        fs::write(folder.join("oef.toml"), settings).expect("written");
        World { lab, folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn serve(&self) -> Daemon {
        let log = fs::File::options().create(true).append(true).open(self.path("serve.log"));
        let mut command = Command::new(OEF);
        command.args(["serve", "--config"]).arg(self.path("oef.toml"));
        command.env("XDG_STATE_HOME", self.path("xdg")).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(log.expect("a log"));
        let daemon = Daemon { child: command.spawn().expect("oef") };
        let began = Instant::now();
        while !self.try_oef(&["jobs", "--json"]).0 {
            assert!(began.elapsed() < DEADLINE, "the daemon does not answer: {}", self.log());
            std::thread::sleep(Duration::from_millis(100));
        }
        daemon
    }

    /// Through the local socket, without a token.
    fn try_oef(&self, args: &[&str]) -> (bool, String) {
        let mut command = Command::new(OEF);
        let server = format!("unix://{}/oef.sock", self.folder.display());
        command.args(args).env("OEF_SERVER", server).env("HOME", &self.folder).stdin(Stdio::null());
        let output = command.output().expect("oef");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.success(), text)
    }

    fn oef(&self, args: &[&str]) -> Value {
        let (ok, text) = self.try_oef(args);
        assert!(ok, "{args:?}: {text}; {}", self.log());
        serde_json::from_str(&text).expect("JSON")
    }

    fn log(&self) -> String {
        let text = fs::read_to_string(self.path("serve.log")).unwrap_or_default();
        text.lines().rev().take(30).collect::<Vec<_>>().join("\n")
    }

    fn jobs(&self) -> Vec<Value> {
        let jobs = self.oef(&["jobs", "--all", "--json"]);
        jobs["jobs"].as_array().expect("jobs").clone()
    }

    fn count(&self, state: &str) -> usize {
        self.jobs().iter().filter(|job| job["state"] == state).count()
    }

    fn until(&self, what: &str, is_so: impl Fn() -> bool) {
        let began = Instant::now();
        while !is_so() {
            assert!(began.elapsed() < DEADLINE, "no {what}; {:#?}; {}", self.jobs(), self.log());
            std::thread::sleep(Duration::from_millis(250));
        }
    }
}

impl Daemon {
    /// With `SIGKILL`.
    fn kill(self) {}
}

impl Drop for Daemon {
    /// Also where the test fails.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Every run begins where the one before it stopped; how many there were.
fn check_story(path: &Path) -> usize {
    let text = fs::read_to_string(path).expect("a story");
    let mut saved = "0".to_string();
    for line in text.lines() {
        match line.split_once(' ').expect("two words") {
            ("begin", n) => assert_eq!(n, saved, "{}: {text}", path.display()),
            (_, n) => saved = n.to_string(),
        }
    }
    assert_eq!(saved, "30", "{}: {text}", path.display());
    text.lines().filter(|line| line.starts_with("begin")).count()
}

#[test]
fn forty_jobs_of_four_tenants() {
    let world = World::new();
    let daemon = world.serve();
    let (script, notes) = (world.path("job.sh"), world.path("notes"));
    let (script, notes) = (script.display().to_string(), notes.display().to_string());
    for (number, workers) in ["1", "2", "4", "8"].iter().cycle().take(40).enumerate() {
        let tenant = ["vision", "speech", "language", "robots"][(number / 4) % 4];
        let words =
            ["submit", "--create-tenant", "--tenant", tenant, "--workers", workers, "--json", "--"];
        world.oef(&[&words[..], &["sh", &script, &notes]].concat());
    }
    world.until("jobs that run", || world.count("finished") >= 3);
    daemon.kill();
    let daemon = world.serve();
    world.lab.call("scontrol", &["update", "NodeName=n4", "State=DRAIN", "Reason=a fan"]);
    world.until("more that finish", || world.count("finished") >= 12);
    world.lab.call("scontrol", &["update", "NodeName=n4", "State=RESUME"]);
    world.until("an end", || world.count("finished") == 40);
    let stories = (1..=40).map(|id| world.path(&format!("notes/story-{id}")));
    let runs: usize = stories.map(|story| check_story(&story)).sum();
    assert!(runs > 40, "nobody was preempted");
    assert!(!world.path("notes/twice").exists(), "a job ran twice at the same time");
    let last = world.oef(&["round", "--json"])["round"].as_u64().expect("a number");
    let rounds = (1..=last).map(|number| world.oef(&["round", &number.to_string(), "--json"]));
    // One without jobs has nothing to audit.
    let audited: Vec<Value> = rounds.filter(|round| !round["audit"].is_null()).collect();
    assert!(!audited.is_empty());
    for round in audited {
        for property in ["envy_free", "sharing_incentive", "pareto_efficient"] {
            assert_eq!(round["audit"][property]["holds"], true, "{property}: {round}");
        }
    }
    let log = fs::read_to_string(world.path("serve.log")).expect("a log");
    assert!(log.contains("a fan"), "the drained node is not named with its reason");
    daemon.kill();
    let mut check = Command::new(OEF);
    check.args(["journal", "check", "--state"]).arg(world.path("state")).stdout(Stdio::null());
    assert!(check.status().expect("oef").success(), "the journal is not whole");
}
