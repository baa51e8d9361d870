//! Jobs that stop and go on, leases that are void, and daemons and runners that are killed.

mod common;

use common::{
    World, checkpoint_dir, command_of, devices, is_alive, kill, next, open, wait_for, with_variable,
};
use oef_executor::{Ending, Executor as _, Held, Known, Launch, Order, Program, Stream, Unknown};
use oef_sched::{Generation, JobId, Time};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

/// The events of a demonstration job's own trace.
fn trace(launch: &Launch) -> Vec<Value> {
    let text = fs::read_to_string(checkpoint_dir(launch).join("trace.jsonl")).expect("a trace");
    text.lines().map(|line| serde_json::from_str(line).expect("a whole line")).collect()
}

fn numbers(events: &[Value], event: &str, generation: &str) -> Vec<u64> {
    let matching = events.iter().filter(|e| e["event"] == event && e["generation"] == generation);
    matching.map(|e| e["step"].as_u64().expect("a step")).collect()
}

#[test]
fn a_preempted_job_goes_on_from_its_checkpoint() {
    let mut world = World::new();
    let first = world.demo(1, "--steps 60 --model vgg16 --step-ms 60 --checkpoint-every 1000");
    world.start(&first);
    world.steps(&first, 5.0);
    world.stop(&first, "others are owed more");
    assert_eq!(world.ending(&first), Ending::Checkpointed);
    let second = next(&first);
    assert_eq!(world.run(&second), Ending::Finished);

    let events = trace(&first);
    let steps = events.iter().filter(|event| event["event"] == "step");
    let steps: Vec<u64> = steps.map(|event| event["step"].as_u64().expect("a step")).collect();
    assert_eq!(steps, (1..=60).collect::<Vec<u64>>());
    assert_eq!(numbers(&events, "start", "2"), numbers(&events, "checkpoint", "1"));
    assert!(world.output(&second, 0, Stream::Out).contains("done after 60 steps"));
    // Each start keeps its own output.
    assert!(world.output(&first, 0, Stream::Out).contains("told to stop; saved step"));
}

#[test]
fn a_gang_is_preempted_as_one() {
    let mut world = World::new();
    let mut job = world.demo(1, "--steps 100000 --step-ms 20 --checkpoint-every 10");
    job.devices = devices(4);
    world.start(&job);
    world.steps(&job, 3.0);
    world.stop(&job, "others are owed more");
    assert_eq!(world.ending(&job), Ending::Checkpointed);
    for rank in 0..4 {
        assert!(world.output(&job, rank, Stream::Out).contains("told to stop"), "{rank}");
    }
}

#[test]
fn a_killed_runner_takes_its_workers_along() {
    let mut world = World::new();
    let script = "setsid bash -c 'echo $$ > grandchild; exec sleep 1000' & echo $$ > worker; \
                  while :; do sleep 0.1; done";
    let job = world.script(1, script);
    world.start(&job);
    let (worker, grandchild) = (world.path("worker"), world.path("grandchild"));
    let worker: i32 = world.file(&worker).trim().parse().expect("a pid");
    let grandchild: i32 = world.file(&grandchild).trim().parse().expect("a pid");
    assert!(is_alive(worker) && is_alive(grandchild));
    kill(world.runner_pid(&job), Signal::KILL);
    // By itself: no daemon looks here.
    wait_for("the worker's end", || !is_alive(worker));
    assert!(is_alive(grandchild));
    assert!(matches!(world.ending(&job), Ending::Vanished { .. }));
    assert!(!is_alive(worker) && !is_alive(grandchild));
}

#[test]
fn what_a_killed_runner_left_is_gone_before_the_next_start() {
    let mut world = World::new();
    let script = "setsid bash -c 'echo $$ > grandchild; exec sleep 1000' & \
                  while :; do sleep 0.1; done";
    let job = world.script(1, script);
    world.start(&job);
    let path = world.path("grandchild");
    let grandchild: i32 = world.file(&path).trim().parse().expect("a pid");
    kill(world.runner_pid(&job), Signal::KILL);
    // Nobody looks in between: it is the next runner that must clear up.
    let mut second = next(&job);
    // Fails for processes that are gone, and for those that are dead and not yet reaped.
    second.program = command_of(&["readlink".to_string(), format!("/proc/{grandchild}/exe")]);
    world.start(&second);
    assert!(matches!(world.ending(&second), Ending::Failed { code: Some(1), .. }));
    assert!(!is_alive(grandchild));
}

#[test]
fn a_runner_that_is_told_to_end_stops_its_job() {
    let mut world = World::new();
    let job = world.demo(1, "--steps 100000 --step-ms 20");
    world.start(&job);
    world.steps(&job, 2.0);
    let runner = world.runner_pid(&job);
    // Those of a terminal mean nothing to it.
    kill(runner, Signal::INT);
    kill(runner, Signal::HUP);
    let before = world.seen.len();
    world.until("more progress", |world| (world.seen.len() > before).then_some(()));
    kill(runner, Signal::TERM);
    assert_eq!(world.ending(&job), Ending::Checkpointed);
}

#[test]
fn an_older_lease_is_void() {
    let mut world = World::new();
    let first = world.script(1, "exit 0");
    let mut third = first.clone();
    third.generation = Generation(3);
    assert_eq!(world.run(&third), Ending::Finished);
    let Ending::Refused { why } = world.run(&first) else { panic!("it is void") };
    assert_eq!(why, "job 1 was given lease 3 already, so lease 1 is void");
    // A runner that comes late finds out by itself.
    let folder = world.path("state/runs/1/2");
    fs::create_dir_all(&folder).expect("made");
    let written = fs::read_to_string(world.run_dir(&third).join("launch.json")).expect("written");
    let mut second: Value = serde_json::from_str(&written).expect("JSON");
    second["generation"] = 2.into();
    fs::write(folder.join("launch.json"), second.to_string()).expect("written");
    let called = std::process::Command::new(common::PROGRAM).arg("runner").arg(&folder).status();
    assert!(called.expect("called").success());
    let status = world.file(&folder.join("status.json"));
    let status = world.until("ending", |_| {
        let text = fs::read_to_string(folder.join("status.json")).unwrap_or(status.clone());
        let value: Value = serde_json::from_str(&text).expect("JSON");
        value["phase"].get("ended").cloned()
    });
    let why = status["ending"]["refused"]["why"].as_str().expect("refused");
    assert_eq!(why, "lease 3 of the same job took its place");
}

#[test]
fn a_newer_lease_takes_the_place_of_a_running_one() {
    let mut world = World::new();
    let first = world.demo(1, "--steps 40 --step-ms 60 --checkpoint-every 1000");
    world.start(&first);
    world.steps(&first, 3.0);
    let second = next(&first);
    world.start(&second);
    assert_eq!(world.ending(&first), Ending::Checkpointed);
    assert_eq!(world.ending(&second), Ending::Finished);
    let events = trace(&first);
    let (end, start) = (
        events.iter().position(|e| e["event"] == "end" && e["generation"] == "1"),
        events.iter().position(|e| e["event"] == "start" && e["generation"] == "2"),
    );
    assert!(end.expect("an end") < start.expect("a start"));
}

#[test]
fn starting_twice_runs_once() {
    let mut world = World::new();
    let job = world.script(1, "echo x >> count; sleep 0.2");
    world.start(&job);
    world.start(&job);
    assert_eq!(world.ending(&job), Ending::Finished);
    world.start(&job);
    // The ending is told again, and nothing has run.
    world.seen.clear();
    assert_eq!(world.ending(&job), Ending::Finished);
    assert_eq!(fs::read_to_string(world.path("count")).expect("a count"), "x\n");
}

#[test]
fn many_runners_of_one_start_run_it_once() {
    let mut world = World::new();
    let job = world.script(1, "echo x >> count; sleep 0.5");
    world.start(&job);
    let folder = world.run_dir(&job);
    // A start is written down on a thread of the executor's.
    wait_for("launch", || folder.join("launch.json").exists());
    let calls: Vec<_> = (0..8)
        .map(|_| {
            let mut command = std::process::Command::new(common::PROGRAM);
            command.arg("runner").arg(&folder).env("OEF_RUNNER_DIR", &folder);
            command.spawn().expect("called")
        })
        .collect();
    for mut call in calls {
        call.wait().expect("ended");
    }
    assert_eq!(world.ending(&job), Ending::Finished);
    // Those that waited for the lock have it one after the other, and find it done.
    let variable = format!("OEF_RUNNER_DIR={}", folder.display());
    wait_for("end of the runners", || with_variable(&variable).is_empty());
    assert_eq!(fs::read_to_string(world.path("count")).expect("a count"), "x\n");
}

#[test]
fn a_daemon_finds_its_jobs_again() {
    let world = World::new();
    let running = world.script(1, "until [ -e go ]; do sleep 0.02; done; echo went on");
    let ended = world.script(2, "echo ended while away; exit 4");
    let unstarted = world.script(3, "echo late");
    let stopped_unstarted = world.script(4, "echo never");
    let unheld = world.script(5, "echo $$ > unheld; exec sleep 1000");
    for job in [&running, &ended, &unheld] {
        world.start(job);
    }
    let mut world = world;
    let path = world.path("unheld");
    let unheld_pid: i32 = world.file(&path).trim().parse().expect("a pid");
    world.until("ending of 2", |world| world.seen.iter().find_map(|seen| seen.ending()));
    // Nothing was acknowledged.
    let mut world = world.restart();
    world.seen.clear();
    let stop = Some("cancelled".to_string());
    let held = [
        World::held(&running),
        World::held(&ended),
        World::held(&unstarted),
        Held { launch: stopped_unstarted.clone(), stop },
    ];
    world.resume(&held);
    assert!(!is_alive(unheld_pid));
    assert!(matches!(world.ending(&ended), Ending::Failed { code: Some(4), .. }));
    assert_eq!(world.ending(&unstarted), Ending::Finished);
    let Ending::Stopped { detail } = world.ending(&stopped_unstarted) else { panic!("stopped") };
    assert_eq!(detail, "cancelled; it had not begun");
    fs::write(world.path("go"), "").expect("written");
    assert_eq!(world.ending(&running), Ending::Finished);
    assert_eq!(world.output(&running, 0, Stream::Out), "went on\n");
}

#[test]
fn a_start_that_was_only_written_down_is_begun_once() {
    let world = World::new();
    let job = world.script(1, "echo x >> count");
    // As a daemon leaves it that is killed between writing and spawning: what another start left, less its words.
    let model = world.script(2, "echo x >> count");
    let mut world = world;
    assert_eq!(world.run(&model), Ending::Finished);
    let written = fs::read_to_string(world.run_dir(&model).join("launch.json")).expect("written");
    fs::remove_file(world.path("count")).expect("removed");
    let folder = world.run_dir(&job);
    fs::create_dir_all(&folder).expect("made");
    fs::write(world.path("state/runs/1/generation"), "1\n").expect("written");
    let written = written.replace("\"job\":2", "\"job\":1");
    fs::write(folder.join("launch.json"), written).expect("written");
    let mut world = world.restart();
    world.resume(&[World::held(&job)]);
    assert_eq!(world.ending(&job), Ending::Finished);
    assert_eq!(fs::read_to_string(world.path("count")).expect("a count"), "x\n");
}

#[test]
fn a_stop_reaches_a_job_after_a_restart() {
    let mut world = World::new();
    let job = world.demo(1, "--steps 100000 --step-ms 20");
    world.start(&job);
    world.steps(&job, 2.0);
    let mut world = world.restart();
    // Journalled, and the daemon was killed before it could say so.
    let held = Held { launch: job.clone(), stop: Some("cancelled".into()) };
    world.resume(&[held]);
    assert_eq!(world.ending(&job), Ending::Checkpointed);
}

#[test]
fn one_executor_at_a_time() {
    let world = World::new();
    let second = std::panic::catch_unwind(|| open(world.folder.path()));
    assert!(second.is_err());
    world.restart();
}

#[test]
fn orders_for_nobody_are_answered_or_harmless() {
    let mut world = World::new();
    let nobody = world.script(9, "true");
    let (job, generation) = (nobody.job, nobody.generation);
    world.executor.order(Order::Keep { job, generation, until: Time(5) });
    world.executor.order(Order::Forget(JobId(77)));
    // Whoever waits for its end hears of it, and a start that comes late does not begin.
    world.stop(&nobody, "cancelled");
    let never = Ending::Stopped { detail: "cancelled; it had not begun".into() };
    assert_eq!(world.ending(&nobody), never);
    world.seen.clear();
    assert_eq!(world.run(&nobody), never);
    let mut bad = world.script(1, "true");
    bad.program = Program::Command(Vec::new());
    let why = "it has no command".to_string();
    assert_eq!(world.run(&bad), Ending::Impossible { why });
}

#[test]
fn a_forgotten_job_leaves_nothing_but_what_its_owner_named() {
    let mut world = World::new();
    let job = world.demo(1, "--steps 100000 --step-ms 20");
    world.start(&job);
    world.steps(&job, 2.0);
    // Not before it has ended.
    world.executor.order(Order::Forget(job.job));
    world.stop(&job, "cancelled");
    assert_eq!(world.ending(&job), Ending::Checkpointed);
    wait_for("end of its folder", || !world.path("state/runs/1").exists());
    assert!(checkpoint_dir(&job).join("checkpoint.json").exists());
}

#[test]
fn jobs_that_the_journal_does_not_know_are_forgotten_or_their_numbers_not_given_again() {
    let world = World::new();
    for job in [3, 5, 8] {
        fs::create_dir_all(world.path(&format!("state/jobs/{job}/work"))).expect("made");
    }
    let known = Known { jobs: [JobId(5)].into(), next: JobId(6), ..Known::default() };
    assert_eq!(world.executor.resume(known).expect("resumed"), JobId(9));
    wait_for("end of job 3", || !world.path("state/jobs/3").exists());
    assert!(world.path("state/jobs/5").exists(), "it has ended, and is remembered");
    assert!(world.path("state/jobs/8").exists(), "another backup may know it");
}

#[test]
fn what_was_started_beyond_a_journal_is_known() {
    let mut world = World::new();
    let [first, later] = [3, 5].map(|id| world.script(id, "true"));
    world.run(&first);
    world.run(&next(&first));
    world.run(&later);
    // A folder that somebody made is no start.
    fs::create_dir_all(world.path("state/jobs/8/work")).expect("made");
    let unknown = |latest: u64, upto: u64| {
        let leases = [(first.job, Generation(latest)), (JobId(4), Generation(0))].into();
        world.executor.unknown(&Known { leases, next: JobId(upto), ..Known::default() })
    };
    assert_eq!(unknown(2, 6), Unknown::default());
    assert_eq!(unknown(1, 6).started, BTreeSet::from([JobId(3)]));
    assert_eq!(unknown(2, 4), Unknown { jobs: [JobId(5)].into(), ..Unknown::default() });
    // One that has ended is never started again, whatever its last lease was.
    let ended = Known { next: JobId(6), ..Known::default() };
    assert_eq!(world.executor.unknown(&ended), Unknown::default());
}

#[test]
fn a_job_whose_folder_is_removed_ends() {
    let mut world = World::new();
    let job = world.script(1, "echo $$ > worker; exec sleep 1000");
    world.start(&job);
    let path = world.path("worker");
    let worker: i32 = world.file(&path).trim().parse().expect("a pid");
    let runner = world.runner_pid(&job);
    fs::remove_dir_all(world.path("state")).expect("removed");
    world.until("end", |_| (!is_alive(worker) && !is_alive(runner)).then_some(()));
    assert!(matches!(world.ending(&job), Ending::Vanished { .. }));
}

#[test]
fn a_damaged_job_keeps_no_other_from_being_found() {
    let mut world = World::new();
    let damaged = world.script(1, "echo $$ > worker; exec sleep 1000");
    let sound = world.script(2, "until [ -e go ]; do sleep 0.02; done");
    world.start(&damaged);
    world.start(&sound);
    let path = world.path("worker");
    let worker: i32 = world.file(&path).trim().parse().expect("a pid");
    kill(world.runner_pid(&damaged), Signal::STOP);
    fs::write(world.run_dir(&damaged).join("status.json"), "{").expect("written");
    let mut world = world.restart();
    world.resume(&[World::held(&damaged), World::held(&sound)]);
    assert!(matches!(world.ending(&damaged), Ending::Vanished { .. }));
    assert!(!is_alive(worker));
    fs::write(world.path("go"), "").expect("written");
    assert_eq!(world.ending(&sound), Ending::Finished);
}

#[test]
fn no_process_outlives_its_world() {
    let mut world = World::new();
    let job = world.script(1, "echo ready; sleep 1000");
    world.start(&job);
    world.started(&job);
    let variable = format!("OEF_RUN_DIR={}", world.run_dir(&job).display());
    wait_for("worker", || !with_variable(&variable).is_empty());
    // A daemon that holds nothing any more.
    let world = world.restart();
    world.resume(&[]);
    assert!(with_variable(&variable).is_empty());
}
