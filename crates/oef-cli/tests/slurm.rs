//! The whole of it on a real Slurm: four tenants, forty jobs, gangs of one to eight, rounds that preempt, a daemon that
//! is killed, a node that is drained. Every checkpoint is resumed, no job runs twice at the same time, none is lost.

#[path = "../../oef-executor/tests/slurm_lab/mod.rs"]
mod slurm_lab;

mod slurm_daemon;

use oef_server::world::{Change, Record};
use serde_json::Value;
use slurm_daemon::{OEF, World};
use slurm_lab::Lab;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Counts to thirty, a tenth of a second each, and begins where its checkpoint says. The first worker notes where it
/// began and where it stopped, and that it is alone.
const JOB: &str = r#"
dir=$1
f=$OEF_CHECKPOINT_DIR/step-$RANK
n=$(cat "$f" 2>/dev/null || echo 0)
began=
leave() {
    echo "$n" >"$f.new" && mv "$f.new" "$f"
    if [ -n "$began" ]; then
        echo "end $n" >>"$dir/story-$OEF_JOB_ID"
        rmdir "$dir/alone-$OEF_JOB_ID"
    fi
    exit "$1"
}
# Before anything else: a job can be stopped as soon as it runs.
trap 'leave 75' TERM
if [ "$RANK" = 0 ]; then
    began=1
    mkdir "$dir/alone-$OEF_JOB_ID" || echo "$OEF_JOB_ID" >>"$dir/twice"
    echo "begin $n" >>"$dir/story-$OEF_JOB_ID"
fi
while [ "$n" -lt 30 ]; do sleep 0.1; n=$((n + 1)); done
leave 0
"#;

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

/// What happened on the cluster, told to the scheduler in a simulated world: it decides the same again.
fn same_plans(state: &Path) {
    let mut text = Vec::new();
    oef_server::store::journal::export(state, &mut text).expect("exported");
    let mut simulated = oef_server::world::World::new(Default::default(), Default::default());
    let mut plans = 0;
    for line in String::from_utf8(text).expect("text").lines() {
        let mut line: Value = serde_json::from_str(line).expect("JSON");
        let at = oef_sched::Time(line["at_ms"].as_u64().expect("a time"));
        let change: Change = serde_json::from_value(line["body"].take()).expect("a change");
        if let Change::Planned { plan } = &change {
            let decided = simulated.decide();
            let Some(Change::Planned { plan: again }) = decided else {
                panic!("no plan: {plan:?}")
            };
            assert_eq!(&again, plan, "another plan");
            plans += 1;
        }
        simulated.apply(&Record { at, change }).expect("it happened");
    }
    assert!(plans >= 40, "only {plans} plans");
}

#[test]
fn forty_jobs_of_four_tenants() {
    let world = World::new(Lab::up(&[("LAB_ACCOUNTING", "0")]));
    world.settings("", "3s");
    fs::write(world.path("job.sh"), JOB).expect("written");
    fs::create_dir_all(world.path("notes")).expect("made");
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
    let twice = fs::read_to_string(world.path("notes/twice")).unwrap_or_default();
    let story = |id: &str| fs::read_to_string(world.path(&format!("notes/story-{id}")));
    let stories: Vec<_> = twice.lines().map(|id| (id, story(id))).collect();
    assert!(stories.is_empty(), "jobs ran twice at the same time: {stories:?}");
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
    same_plans(&world.path("state"));
    let mut check = Command::new(OEF);
    check.args(["journal", "check", "--state"]).arg(world.path("state")).stdout(Stdio::null());
    assert!(check.status().expect("oef").success(), "the journal is not whole");
}
