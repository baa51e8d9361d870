//! Nothing that is done for one job waits for another's.

mod common;

use common::{World, command_of, devices, wait_for, with_variable, write_program};
use oef_executor::{Ending, Executor as _, Launch, LeaseEvent, Order, Program, Stream};
use oef_sched::JobId;
use std::fs;

/// An interpreter whose launchers neither come up nor end, and whose scripts do nothing.
const HANGS: &str =
    "#!/bin/sh\ncase \"$*\" in *oef.launcher*) exec sleep 1000;; *) exit 0;; esac\n";

fn warm_job(world: &World, id: u64) -> Launch {
    let python = world.path("python3");
    write_program(&python, HANGS);
    let mut launch = world.job(id, &[]);
    launch.program = command_of(&[python.display().to_string(), "train.py".into()]);
    launch.warm = vec!["torch".into()];
    launch.tenant = format!("tenant-{id}");
    launch
}

#[test]
fn jobs_whose_launchers_hang_hold_nobody_up() {
    let mut world = World::new();
    let hanging: Vec<Launch> = (1..=5).map(|id| warm_job(&world, id)).collect();
    for launch in &hanging {
        world.start(launch);
    }
    wait_for("launchers", || {
        let folders = fs::read_dir(world.path("state/warm")).into_iter().flatten();
        folders.count() == hanging.len()
    });
    // Another's job starts and ends, and yet another's is cancelled, while they hang.
    let quick = world.script(10, "echo done");
    assert_eq!(world.run(&quick), Ending::Finished);
    let cancelled = world.script(11, "echo ready; exec sleep 1000");
    world.start(&cancelled);
    world.started(&cancelled);
    world.stop(&cancelled, "cancelled");
    assert!(matches!(world.ending(&cancelled), Ending::Stopped { .. }));
    let others = |about: (JobId, _)| about.0.0 >= 10;
    let waits = LeaseEvent::Preparing("waits for its launcher".into());
    let told = world.seen.iter().filter(|seen| !others(seen.about));
    assert!(told.clone().all(|seen| seen.event == waits), "{:?}", world.seen);
    // And they themselves can be cancelled, without waiting for the launcher.
    let never = Ending::Stopped { detail: "cancelled; it had not begun".into() };
    for launch in &hanging {
        world.stop(launch, "cancelled");
        assert_eq!(world.ending(launch), never);
    }
    let told = world.seen.iter().filter(|seen| !others(seen.about));
    assert!(!told.clone().any(|seen| seen.is_start()));
}

#[test]
fn those_who_wait_for_the_same_launcher_wait_once() {
    let mut world = World::new();
    let jobs: Vec<Launch> =
        (1..=3).map(|id| Launch { tenant: "vision".into(), ..warm_job(&world, id) }).collect();
    for launch in &jobs {
        world.start(launch);
    }
    // One wait is twenty seconds; the test gives up after sixty.
    for launch in &jobs {
        assert_eq!(world.ending(launch), Ending::Finished);
        let err = world.output(launch, 0, Stream::Err);
        assert!(err.contains("its launcher did not start in time"), "{err}");
    }
}

#[test]
fn a_folder_with_many_files_is_forgotten_beside_everything_else() {
    let mut world = World::new();
    let folder = world.path("state/jobs/1/checkpoint");
    for shard in 0..100 {
        let shard = folder.join(shard.to_string());
        fs::create_dir_all(&shard).expect("made");
        fs::write(shard.join("0"), "").expect("written");
        // Names are made more quickly than files, and take as many steps to remove.
        let name = |number: u32| fs::hard_link(shard.join("0"), shard.join(number.to_string()));
        (1..1000).for_each(|number| name(number).expect("linked"));
    }
    world.executor.order(Order::Forget(JobId(1)));
    let job = world.script(2, "echo done");
    assert_eq!(world.run(&job), Ending::Finished);
    wait_for("end of the folder", || !world.path("state/jobs/1").exists());
}

#[test]
fn a_script_is_written_for_its_job_with_its_interpreter_or_the_shell() {
    let mut world = World::new();
    for (id, text) in [(1, "echo $((40 + 2))"), (2, "#!/bin/bash\necho ${BASH_VERSION:+42}")] {
        let mut job = world.job(id, &[]);
        job.program = Program::Script(text.as_bytes().to_vec());
        (job.workdir, job.checkpoints.own_dir) = (None, None);
        assert_eq!(world.run(&job), Ending::Finished);
        assert_eq!(world.output(&job, 0, Stream::Out), "42\n");
        assert!(world.path(&format!("state/jobs/{id}/work")).is_dir());
    }
}

/// While a script is written, other jobs' runners are started: those have it open for a moment.
#[test]
fn many_scripts_that_are_started_at_once_all_run() {
    let mut world = World::new();
    let jobs: Vec<Launch> = (1..=40)
        .map(|id| Launch {
            program: Program::Script(b"echo $OEF_JOB_ID".to_vec()),
            ..world.job(id, &[])
        })
        .collect();
    jobs.iter().for_each(|job| world.start(job));
    for job in &jobs {
        assert_eq!(world.ending(job), Ending::Finished);
        assert_eq!(world.output(job, 0, Stream::Out), format!("{}\n", job.job));
    }
}

/// A runner that may open few files has no room for the pipes of sixteen workers.
#[test]
fn a_gang_for_which_there_is_no_room_waits_and_does_not_fail() {
    let mut world = World::with(|mut config| {
        let limited = ["sh", "-c", "ulimit -n 18; exec \"$@\"", "sh"];
        config.runner.splice(..0, limited.map(Into::into));
        config.devices = common::gpus("rtx3090-0", 16);
        config
    });
    let mut job = world.script(1, "true");
    job.devices = devices(16);
    world.start(&job);
    world.until("why it waits", |world| {
        world.seen.iter().find(|seen| match &seen.event {
            LeaseEvent::Preparing(why) => {
                why.starts_with("waits for the system: worker ")
                    && why.contains("Too many open files")
            }
            other => panic!("{other:?}"),
        })?;
        Some(())
    });
    world.stop(&job, "cancelled");
    let never = Ending::Stopped { detail: "cancelled; it had not begun".into() };
    assert_eq!(world.ending(&job), never);
    // One worker has room.
    assert_eq!(world.run(&world.script(2, "true")), Ending::Finished);
}

/// A state folder on a disk without room, as far as the executor can tell: its folder of runs is a file.
#[test]
fn an_order_is_tried_until_it_is_carried_out() {
    let mut world = World::new();
    let runs = world.path("state/runs");
    fs::remove_dir_all(&runs).expect("removed");
    fs::write(&runs, "").expect("written");
    let (job, stopped) = (world.script(1, "echo x >> count"), world.script(2, "echo never"));
    for launch in [&job, &stopped] {
        world.start(launch);
        let waits = world.until("why it waits", |world| {
            world.seen.iter().find_map(|seen| match &seen.event {
                LeaseEvent::Preparing(why) if seen.about.0 == launch.job => Some(why.clone()),
                _ => None,
            })
        });
        assert!(waits.starts_with("waits for the system: "), "{waits}");
    }
    world.stop(&stopped, "cancelled");
    fs::remove_file(&runs).expect("removed");
    fs::create_dir(&runs).expect("made");
    assert_eq!(world.ending(&job), Ending::Finished);
    let never = Ending::Stopped { detail: "cancelled; it had not begun".into() };
    assert_eq!(world.ending(&stopped), never);
    assert_eq!(fs::read_to_string(world.path("count")).expect("a count"), "x\n");
    let variable = format!("OEF_RUNNER_DIR={}", world.run_dir(&stopped).display());
    assert!(with_variable(&variable).is_empty());
}
