//! Parts of the cluster that go, come back, or forget.

use crate::world::{World, next};
use oef_executor::{
    DeviceId, Ending, Executor as _, Launch, LeaseEvent, NodeEvent, Program, RunAs,
};
use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long the controller is away.
const A_MINUTE: Duration = Duration::from_secs(60);

#[test]
fn a_node_daemon_that_comes_back_in_time_changes_nothing() {
    let mut world = World::new();
    let job = world.job(1, &["n1:0"]);
    world.start(&job);
    world.runs(&job, 1);
    world.lab.part(&["stop", "slurmd-n1", "KILL"]);
    world.lab.part(&["start", "slurmd-n1"]);
    world.stop(&job);
    assert_eq!(world.ending(&job), Ending::Checkpointed);
    assert_eq!(world.starts(job.job), 1);
}

#[test]
fn a_job_on_a_node_that_slurm_has_lost_is_fenced_before_it_goes_on_elsewhere() {
    let mut world = World::new();
    let job = world.job(1, &["n2:0"]);
    world.start(&job);
    world.runs(&job, 1);
    world.lab.part(&["stop", "slurmd-n2", "KILL"]);
    let ending = world.ending(&job);
    // Its process was still there, and has heard that it is to stop.
    assert!(matches!(ending, Ending::Checkpointed | Ending::Vanished { .. }), "{ending:?}");
    assert!(!world.is_running(&job), "it would run twice");
    let left = world
        .node_word("n2", |event| matches!(event, NodeEvent::Left { node, .. } if node == "n2"));
    assert!(matches!(left, NodeEvent::Left { reason, .. } if reason.contains("Slurm")));
    let mut again = next(&job);
    again.devices = vec![DeviceId("n3:0".into())];
    world.start(&again);
    world.runs(&again, 2);
    assert_eq!(world.finish(&again), Ending::Finished);
    world.lab.part(&["start", "slurmd-n2"]);
    world.node_word("n2", |event| matches!(event, NodeEvent::Joined { node, .. } if node == "n2"));
    assert_eq!(world.starts(job.job), 2);
}

#[test]
fn a_controller_that_is_away_for_a_minute_delays_starts_and_ends_nothing() {
    let mut world = World::new();
    let (before, meanwhile) = (world.job(1, &["n1:0"]), world.job(2, &["n1:1"]));
    let ends = world.job(3, &["n1:2"]);
    for job in [&before, &ends] {
        world.start(job);
        world.runs(job, 1);
    }
    world.lab.part(&["stop", "slurmctld"]);
    let away = Instant::now();
    world.start(&meanwhile);
    // What ends is told at once: its runner says so, and not Slurm.
    assert_eq!(world.finish(&ends), Ending::Finished);
    let waits =
        |event: &LeaseEvent| matches!(event, LeaseEvent::Preparing(why) if why.contains("waits"));
    world.until("word of the wait", |world| world.told(&meanwhile).iter().any(waits).then_some(()));
    sleep(A_MINUTE.saturating_sub(away.elapsed()));
    assert!(world.is_running(&before), "nobody said that it is to end");
    world.lab.part(&["start", "slurmctld"]);
    world.runs(&meanwhile, 1);
    assert_eq!(world.finish(&meanwhile), Ending::Finished);
    assert_eq!(world.finish(&before), Ending::Finished);
    for job in [&before, &meanwhile, &ends] {
        assert_eq!(world.starts(job.job), 1);
    }
}

#[test]
fn submissions_that_a_killed_controller_forgets_are_made_again() {
    let mut world = World::new();
    let devices = ["n1:0", "n1:1", "n2:0", "n2:1", "n3:0", "n3:1", "n4:0", "n5:0"];
    let jobs: Vec<Launch> =
        (1..).zip(devices).map(|(id, device)| world.job(id, &[device])).collect();
    for job in &jobs {
        world.start(job);
    }
    let first = jobs[0].clone();
    world.until("a submission", |world| {
        let file = format!("state/runs/{}/1/slurm.json", first.job);
        world.folder.join(file).exists().then_some(())
    });
    world.lab.part(&["stop", "slurmctld", "KILL"]);
    world.lab.part(&["start", "slurmctld"]);
    for job in &jobs {
        world.runs(job, 1);
    }
    for job in &jobs {
        assert_eq!(world.finish(job), Ending::Finished, "{}", job.job);
        assert_eq!(world.starts(job.job), 1, "{}", job.job);
    }
}

#[test]
fn a_job_that_its_user_cancels_in_slurm_saves_its_work_and_can_go_on() {
    let mut world = World::new();
    let job = world.job(1, &["n4:0"]);
    world.start(&job);
    world.runs(&job, 1);
    let id = world.slurm_id(&job);
    world.lab.call("scancel", &[&id]);
    let ending = world.ending(&job);
    assert!(matches!(ending, Ending::Checkpointed), "{ending:?}");
    // One that waits has nothing to save, and says what happened.
    let waiting = next(&job);
    world.lab.call("scontrol", &["update", "PartitionName=gpu", "State=DOWN"]);
    world.start(&waiting);
    let waits = |event: &LeaseEvent| matches!(event, LeaseEvent::Preparing(why) if why.contains("waits in Slurm"));
    world.until("word of the wait", |world| world.told(&waiting).iter().any(waits).then_some(()));
    let id = world.slurm_id(&waiting);
    world.lab.call("scancel", &[&id]);
    let ending = world.ending(&waiting);
    world.lab.call("scontrol", &["update", "PartitionName=gpu", "State=UP"]);
    assert!(matches!(&ending, Ending::Refused { why } if why.contains("scancel")), "{ending:?}");
    let last = next(&waiting);
    world.start(&last);
    world.runs(&last, 2);
    assert_eq!(world.finish(&last), Ending::Finished);
}

#[test]
fn a_shared_folder_that_goes_and_comes_back_ends_nothing() {
    let mut world = World::new();
    let mut job = world.job(1, &["n5:0", "n6:0"]);
    job.program = Program::Script(
        format!(
            "trap 'exit 75' TERM; echo x >> {}/runs-1; while :; do sleep 0.05; done",
            world.folder.display()
        )
        .into_bytes(),
    );
    world.start(&job);
    world.runs(&job, 2);
    let (state, away) = (world.folder.join("state"), world.folder.join("away"));
    fs::rename(&state, &away).expect("moved");
    sleep(Duration::from_secs(3));
    fs::rename(&away, &state).expect("moved back");
    world.stop(&job);
    assert_eq!(world.ending(&job), Ending::Checkpointed);
    assert_eq!(world.starts(job.job), 2, "once on each node");
}

#[test]
fn a_gang_over_uneven_nodes_and_several_types_starts_as_one_and_stops_as_one() {
    let mut world = World::new();
    let job = world.job(1, &["n5:0", "n5:1", "n6:0", "n3:0"]);
    world.start(&job);
    world.runs(&job, 1);
    world.stop(&job);
    assert_eq!(world.ending(&job), Ending::Checkpointed);
    let again = next(&job);
    world.start(&again);
    world.runs(&again, 2);
    assert_eq!(world.finish(&again), Ending::Finished);
}

#[test]
fn jobs_run_as_their_own_users_where_the_daemon_is_root() {
    if !rustix::process::getuid().is_root() {
        // Nobody else may submit for others; that this is refused is a case of the conformance suite.
        return;
    }
    let mut world = World::new();
    let mut job = world.job(1, &["n6:0"]);
    job.run_as = RunAs::User("games".into());
    job.program = Program::Script(b"id -un; echo $HOME; touch $OEF_CHECKPOINT_DIR/saved".to_vec());
    for folder in [
        world.folder.clone(),
        world.folder.join("state"),
        world.folder.join("state/runs"),
        world.folder.join("state/jobs"),
    ] {
        fs::create_dir_all(&folder).expect("made");
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o711)).expect("opened");
    }
    world.start(&job);
    let ending = world.ending(&job);
    let query = oef_executor::LogQuery::start(oef_executor::Stream::Out);
    let text = world.executor.logs(job.job, query).map(|chunk| chunk.text);
    assert_eq!(ending, Ending::Finished, "{text:?}");
    assert_eq!(text.expect("output"), "games\n/usr/games\n");
}
