//! Jobs that run as users of their own, under a daemon that runs as root: a user can do what it likes with all that is
//! its own, and nothing is written or read elsewhere because of that.

use crate::common::PROGRAM;
use crate::world::{World, next};
use oef_executor::checkpoints::{CheckpointConfig, Keeping};
use oef_executor::slurm::SlurmConfig;
use oef_executor::{
    CheckpointLocation, Ending, Executor as _, Launch, LeaseEvent, LogQuery, Program, RunAs, Stream,
};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

/// Every Debian has it, and nobody else uses it.
const USER: &str = "games";

/// Replaces what it can: records by links, folders by links to somebody else's, the next start's folder before it is
/// there. Then it runs until it is told to stop.
const ATTACK: &str = r#"
trap 'exit 75' TERM
victim=$1 state=$2
run=$state/runs/$OEF_JOB_ID/$OEF_GENERATION
for name in order.json launch.json slurm.json batch.sh lock; do
    rm -rf "$run/$name" && ln -s "$victim/$name" "$run/$name"
done
for name in lock generation copies-removed.json; do
    rm -rf "$run/../$name" && ln -s "$victim/$name" "$run/../$name"
done
ln -s "$victim" "$run/../$((OEF_GENERATION + 1))"
ln -s "$victim/script" "$state/jobs/$OEF_JOB_ID/script.new"
for name in work checkpoint; do
    rm -rf "$state/jobs/$OEF_JOB_ID/$name" && ln -s "$victim" "$state/jobs/$OEF_JOB_ID/$name"
done
for folder in "$run/runner" "$run"; do
    for stream in rank-0.out all; do
        rm -f "$folder/$stream" && ln -s "$victim/secret" "$folder/$stream"
    done
    mkfifo "$folder/rank-0.out.18446744073709551615"
done
touch "$OEF_RUN_DIR/attacked"
while :; do sleep 0.05; done
"#;

/// One that every user may enter, with a runner that every user can start.
fn open_world() -> World {
    World::with(open)
}

fn open(config: &mut SlurmConfig, folder: &Path) {
    fs::set_permissions(folder, Permissions::from_mode(0o755)).expect("opened");
    let program = folder.join("oef-runner");
    fs::copy(PROGRAM, &program).expect("copied");
    config.runner = vec![program.into(), "runner".into()];
}

fn owner(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).uid()
}

#[test]
fn a_user_that_replaces_its_folders_reaches_nothing_of_the_daemons() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let mut world = open_world();
    let (victim, state) = (world.folder.join("victim"), world.folder.join("state"));
    fs::create_dir(&victim).expect("made");
    fs::set_permissions(&victim, Permissions::from_mode(0o700)).expect("closed");
    fs::write(victim.join("secret"), "of the daemon").expect("written");
    fs::write(victim.join("script"), "of the daemon").expect("written");

    let attack = ATTACK.replace("$1", &victim.display().to_string());
    let attack = attack.replace("$2", &state.display().to_string());
    let script = |text: &str| Program::Script(text.as_bytes().to_vec());
    let plain = world.job(1, &["n1:0"]);
    let first = Launch { run_as: RunAs::User(USER.into()), program: script(&attack), ..plain };
    world.start(&first);
    let attacked = state.join("runs/1/1/job/attacked");
    world.until("attack", |_| attacked.exists().then_some(()));
    assert_eq!(owner(&attacked), oef_executor::slurm::uid_of(USER).expect("there").uid);
    for path in ["runs/1", "runs/1/1", "jobs/1", "runs/1/generation", "runs/1/1/launch.json"] {
        assert_eq!(owner(&state.join(path)), 0, "{path}");
    }
    world.until("start", |world| {
        let is_start = |event: &LeaseEvent| matches!(event, LeaseEvent::Started { .. });
        world.told(&first).iter().any(is_start).then_some(())
    });
    let shown = world.executor.logs(first.job, LogQuery::start(Stream::Out));
    assert!(shown.is_ok_and(|chunk| !chunk.text.contains("daemon")), "no link is followed");

    world.stop(&first);
    assert_eq!(world.ending(&first), Ending::Checkpointed);
    let second = Launch { program: script("echo \"$OEF_GENERATION $(id -un)\""), ..next(&first) };
    world.start(&second);
    assert_eq!(world.ending(&second), Ending::Finished);
    let shown = world.executor.logs(second.job, LogQuery::start(Stream::Out)).expect("output");
    assert_eq!(shown.text, format!("2 {USER}\n"));

    let mut left: Vec<_> = fs::read_dir(&victim).expect("there").flatten().collect();
    left.sort_by_key(fs::DirEntry::file_name);
    let names: Vec<_> = left.iter().map(fs::DirEntry::file_name).collect();
    assert_eq!(names, ["script", "secret"]);
    for file in left {
        assert_eq!(fs::read_to_string(file.path()).expect("text"), "of the daemon");
        assert_eq!(owner(&file.path()), 0);
    }
    assert_eq!(fs::metadata(&victim).expect("there").mode() & 0o777, 0o700);
}

/// The runner is the user's own process there: it can be suspended, so that it hears nothing.
#[test]
fn a_stop_is_carried_out_although_the_user_suspends_its_runner() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let mut world = open_world();
    let text = "touch \"$OEF_RUN_DIR/begun\"; kill -STOP $PPID; while :; do sleep 0.05; done";
    let plain = world.job(1, &["n2:0"]);
    let job = Launch {
        run_as: RunAs::User(USER.into()),
        program: Program::Script(text.as_bytes().to_vec()),
        grace: oef_sched::Span(500),
        ..plain
    };
    world.start(&job);
    let begun = world.folder.join("state/runs/1/1/job/begun");
    world.until("begin", |_| begun.exists().then_some(()));
    world.stop(&job);
    let ending = world.ending(&job);
    assert!(matches!(&ending, Ending::Stopped { .. }), "{ending:?}");
    assert!(!world.is_running(&job));
}

/// The folder above its checkpoints is the daemon's, so a user's runner can put nothing beside them.
#[test]
fn a_user_gets_its_checkpoint_from_another_node_and_into_the_shared_folder() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let world = |place: Keeping, state: Option<&Path>| {
        World::with(|config, folder| {
            open(config, folder);
            config.checkpoints = CheckpointConfig { place, ..CheckpointConfig::default() };
            config.dir = state.map_or(folder.join("state"), Path::to_path_buf);
        })
    };
    let text = "cd \"$OEF_CHECKPOINT_DIR\"; ls -A; echo $OEF_GENERATION >> saved; exit 75";
    let saved = |world: &mut World, job: &Launch| {
        world.start(job);
        assert_eq!(world.ending(job), Ending::Checkpointed, "{:#?}", world.heard);
        world.executor.logs(job.job, LogQuery::start(Stream::Out)).expect("output").text
    };
    let from = |node: &str, job: &Launch, devices: Launch| {
        let mut next = Launch { devices: devices.devices, ..next(job) };
        next.checkpoints.last = Some(CheckpointLocation::Host(node.into()));
        next.checkpoints.is_known = true;
        next
    };

    let mut nodes = world(Keeping::Node, None);
    let state = nodes.folder.join("state");
    let program = Program::Script(text.as_bytes().to_vec());
    let plain = nodes.job(1, &["n1:0"]);
    let first = Launch { run_as: RunAs::User(USER.into()), program, ..plain };
    assert_eq!(saved(&mut nodes, &first), "");
    let second = from("n1", &first, nodes.job(1, &["n2:0"]));
    assert_eq!(saved(&mut nodes, &second), "saved\n");
    drop(nodes);

    let mut shared = world(Keeping::Shared, Some(&state));
    let third = from("n2", &second, shared.job(1, &["n3:0"]));
    assert_eq!(saved(&mut shared, &third), "saved\n", "nothing else lies there");
    let folder = state.join("jobs/1/checkpoint");
    assert_eq!(fs::read_to_string(folder.join("saved")).expect("there"), "1\n2\n3\n");
    assert_eq!(owner(&folder), oef_executor::slurm::uid_of(USER).expect("there").uid);
    assert_eq!(owner(&state.join("jobs/1")), 0);
}
