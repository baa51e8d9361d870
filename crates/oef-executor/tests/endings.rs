//! How jobs end, with real processes.

mod common;

use common::{Seen, World, devices, is_alive};
use oef_executor::{
    DeviceKind, Ending, Executor as _, FailReason, LeaseEvent, LogFrom, LogQuery, Order, RunAs,
    StopSignal, Stream, WorkerExit,
};
use oef_sched::{Span, Time};
use std::fs;

#[test]
fn a_job_finishes() {
    let mut world = World::new();
    let job = world.script(1, "echo hello; echo oops >&2");
    assert_eq!(world.run(&job), Ending::Finished);
    assert_eq!(world.output(&job, 0, Stream::Out), "hello\n");
    assert_eq!(world.output(&job, 0, Stream::Err), "oops\n");
    let words: Vec<&str> = world
        .seen
        .iter()
        .map(|seen| match seen.event {
            LeaseEvent::Preparing(_) => "preparing",
            LeaseEvent::Transferred(_) => "transferred",
            LeaseEvent::Started { .. } => "started",
            LeaseEvent::Progress(_) => "progress",
            LeaseEvent::Ended { .. } => "ended",
        })
        .collect();
    assert_eq!(words, ["started", "ended"]);
}

#[test]
fn a_failure_comes_with_its_last_lines() {
    let mut world = World::new();
    let job = world.script(1, "seq 1 50 >&2; exit 3");
    let Ending::Failed { reason, rank, code, signal, last_lines } = world.run(&job) else {
        panic!("it failed");
    };
    assert_eq!((reason, rank, code, signal), (FailReason::Exit, Some(0), Some(3), None));
    let expected: String = (31..=50).map(|line| format!("{line}\n")).collect();
    assert_eq!(last_lines, expected);
    // Without a word on the error stream the output is what there is.
    let job = world.script(2, "echo only this; kill -SEGV $$");
    let Ending::Failed { reason, signal, last_lines, .. } = world.run(&job) else {
        panic!("it failed");
    };
    assert_eq!((reason, signal), (FailReason::Signal, Some(11)));
    assert_eq!(last_lines, "only this\n");
}

#[test]
fn what_cannot_start_says_why() {
    let mut world = World::new();
    let reason = |ending| match ending {
        Ending::Failed { reason, .. } => reason,
        other => panic!("{other:?}"),
    };
    let job = world.job(1, &["no-such-program", "--fast"]);
    let command = "no-such-program".to_string();
    assert_eq!(reason(world.run(&job)), FailReason::CommandNotFound { command });

    let plain = world.path("plain");
    fs::write(&plain, "not a program").expect("written");
    let job = world.job(2, &[plain.to_str().expect("text")]);
    assert!(matches!(reason(world.run(&job)), FailReason::NotExecutable { .. }));

    let mut job = world.script(3, "true");
    job.workdir = Some(world.path("nowhere"));
    assert!(matches!(reason(world.run(&job)), FailReason::WorkdirMissing { .. }));
    job = world.script(4, "true");
    job.workdir = Some(plain.clone());
    assert!(matches!(reason(world.run(&job)), FailReason::WorkdirMissing { .. }));

    // Below a file, and where even root makes nothing.
    for (id, folder) in [(5, plain.join("below")), (6, "/proc/nothing/here".into())] {
        let mut job = world.script(id, "true");
        job.checkpoints.own_dir = Some(folder.clone());
        match reason(world.run(&job)) {
            FailReason::CheckpointDir { path, .. } => assert_eq!(path, folder),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_job_that_saves_its_work_is_checkpointed() {
    let mut world = World::new();
    let script = "trap 'exit 75' USR1; touch ready; while :; do sleep 0.05; done";
    let mut job = world.script(1, script);
    job.stop_signal = StopSignal::Usr1;
    world.start(&job);
    let ready = world.path("ready");
    world.until("trap", |_| ready.exists().then_some(()));
    world.stop(&job, "others are owed more");
    assert_eq!(world.ending(&job), Ending::Checkpointed);
    // Of its own accord, too.
    let job = world.script(2, "exit 75");
    assert_eq!(world.run(&job), Ending::Checkpointed);
}

#[test]
fn a_job_that_knows_nothing_of_stopping_is_stopped() {
    let mut world = World::new();
    let job = world.script(1, "sleep 1000");
    world.start(&job);
    world.started(&job);
    world.stop(&job, "others are owed more");
    let Ending::Stopped { detail } = world.ending(&job) else { panic!("it was stopped") };
    assert_eq!(detail, "others are owed more; worker 0 ended by SIGTERM");
}

#[test]
fn who_does_not_listen_is_killed_after_the_grace_time() {
    let mut world = World::new();
    // The grandchild left the group and ignores signals; it is found by its environment.
    let script = "trap '' TERM; setsid bash -c 'trap \"\" TERM; echo $$ > grandchild; \
                  while :; do sleep 0.1; done' & while :; do sleep 0.1; done";
    let mut job = world.script(1, script);
    job.grace = Span(300);
    world.start(&job);
    let path = world.path("grandchild");
    let grandchild: i32 = world.file(&path).trim().parse().expect("a pid");
    assert!(is_alive(grandchild));
    world.stop(&job, "cancelled");
    let Ending::Stopped { detail } = world.ending(&job) else { panic!("it was stopped") };
    assert!(detail.contains("did not end within its 0.3s of grace and was killed"), "{detail}");
    assert!(!is_alive(grandchild));
}

#[test]
fn what_a_job_leaves_behind_ends_with_it() {
    let mut world = World::new();
    // Without anything in its environment, in another session, and an orphan.
    let script = "env -i setsid bash -c 'echo $$ > orphan; exec sleep 1000' & \
                  until [ -s orphan ]; do sleep 0.01; done";
    let job = world.script(1, script);
    assert_eq!(world.run(&job), Ending::Finished);
    let path = world.path("orphan");
    let orphan: i32 = world.file(&path).trim().parse().expect("a pid");
    assert!(!is_alive(orphan));
}

#[test]
fn a_job_runs_no_longer_than_it_may() {
    let mut world = World::new();
    let mut job = world.script(1, "trap 'exit 75' TERM; while :; do sleep 0.05; done");
    job.max_run = Some(Span(500));
    assert_eq!(world.run(&job), Ending::TimedOut { limit: Span(500), checkpointed: true });
    let mut job = world.script(2, "sleep 1000");
    job.max_run = Some(Span(200));
    assert_eq!(world.run(&job), Ending::TimedOut { limit: Span(200), checkpointed: false });
}

#[test]
fn a_gang_has_its_ranks() {
    let mut world = World::new();
    let names =
        "RANK LOCAL_RANK WORLD_SIZE CUDA_VISIBLE_DEVICES OEF_GPU_TYPE OEF_JOB_ID OEF_TENANT";
    let script = format!("for n in {names}; do echo -n \"${{!n}} \"; done; echo $MASTER_PORT");
    let mut job = world.script(7, &script);
    job.devices = devices(4);
    job.env.insert("RANK".into(), "of no effect".into());
    assert_eq!(world.run(&job), Ending::Finished);
    let lines: Vec<String> = (0..4).map(|rank| world.output(&job, rank, Stream::Out)).collect();
    let ports: Vec<&str> = lines.iter().filter_map(|line| line.split(' ').nth(7)).collect();
    assert!(ports.iter().all(|port| port.trim().parse::<u16>().is_ok() && *port == ports[0]));
    for (rank, line) in lines.iter().enumerate() {
        assert!(line.starts_with(&format!("{rank} {rank} 4 {rank} rtx3090 7 vision ")), "{line}");
    }
}

#[test]
fn a_part_of_a_gpu_knows_its_service() {
    let mut world = World::with(|mut config| {
        config.mps_pipe_dir = Some("/run/mps".into());
        config.devices[0].kind = DeviceKind::Mps { ordinal: 3, percent: 8 };
        config
    });
    let names = "CUDA_VISIBLE_DEVICES CUDA_MPS_ACTIVE_THREAD_PERCENTAGE CUDA_MPS_PIPE_DIRECTORY";
    let script = format!("for n in {names}; do echo \"${{!n}}\"; done");
    let job = world.script(1, &script);
    assert_eq!(world.run(&job), Ending::Finished);
    assert_eq!(world.output(&job, 0, Stream::Out), "3\n8\n/run/mps\n");
    // Who has a whole one is not sent there.
    let mut job = world.script(2, "echo \"service: $CUDA_MPS_PIPE_DIRECTORY\"");
    job.devices = devices(2).split_off(1);
    assert_eq!(world.run(&job), Ending::Finished);
    assert_eq!(world.output(&job, 0, Stream::Out), "service: \n");
}

#[test]
fn a_renewed_lease_changes_nothing_for_the_job() {
    let mut world = World::new();
    let job = world.script(1, "until [ -e go ]; do sleep 0.02; done");
    world.start(&job);
    world.started(&job);
    for until in [Time(1), Time(2), Time(2)] {
        let (job, generation) = (job.job, job.generation);
        world.executor.order(Order::Keep { job, generation, until });
    }
    fs::write(world.path("go"), "").expect("written");
    assert_eq!(world.ending(&job), Ending::Finished);
}

#[test]
fn one_bad_worker_ends_its_gang() {
    let mut world = World::new();
    let script = "if [ $RANK = 2 ]; then echo cannot >&2; exit 9; fi; sleep 1000";
    let mut job = world.script(1, script);
    job.devices = devices(4);
    let Ending::Failed { rank, code, last_lines, .. } = world.run(&job) else {
        panic!("it failed");
    };
    assert_eq!((rank, code, last_lines.as_str()), (Some(2), Some(9), "cannot\n"));
}

#[test]
fn of_a_stopped_gang_those_are_known_that_had_finished() {
    let mut world = World::new();
    let script = "if [ $RANK = 1 ]; then exit 0; fi; trap 'exit 75' TERM; [ $RANK = 2 ] && trap 'exit 0' TERM; \
                  echo x > ready-$RANK; while :; do sleep 0.02; done";
    let mut job = world.script(1, script);
    job.devices = devices(3);
    world.start(&job);
    world.started(&job);
    let ready = ["ready-0", "ready-2"].map(|name| world.path(name));
    ready.iter().for_each(|path| drop(world.file(path)));
    // Its end is seen before the gang is told to stop.
    let variable = format!("OEF_RUN_DIR={}", world.run_dir(&job).display());
    let ranks = |rank: u32| common::with_variable(&format!("RANK={rank}"));
    common::wait_for("end of worker 1", || {
        let own = common::with_variable(&variable);
        ranks(1).iter().all(|pid| !own.contains(pid))
    });
    std::thread::sleep(std::time::Duration::from_millis(300));
    world.stop(&job, "others are owed more");
    assert_eq!(world.ending(&job), Ending::Checkpointed);
    let exits = world.seen.iter().find_map(|seen| match &seen.event {
        LeaseEvent::Ended { exits, .. } => Some(exits.clone()),
        _ => None,
    });
    let mut exits = exits.expect("an ending");
    exits.sort_by_key(|exit| exit.rank);
    let exit =
        |rank, code, after_stop| WorkerExit { rank, code: Some(code), signal: None, after_stop };
    assert_eq!(exits, [exit(0, 75, true), exit(1, 0, false), exit(2, 0, true)]);
    let finished: Vec<u32> = exits.iter().filter(|e| e.is_finished()).map(|e| e.rank).collect();
    assert_eq!(finished, [1]);
    // The next start tells them.
    let mut again = common::next(&job);
    again.program = common::command_of(&["bash", "-c", "echo $OEF_FINISHED_BEFORE"]);
    again.finished = finished.into_iter().collect();
    assert_eq!(world.run(&again), Ending::Finished);
    let told = [0, 1, 2].map(|rank| world.output(&again, rank, Stream::Out));
    assert_eq!(told, ["0\n", "1\n", "0\n"]);
}

#[test]
fn nobody_runs_as_another_user() {
    let mut world = World::new();
    let mut job = world.script(1, "true");
    job.run_as = RunAs::User("nobody-of-that-name".into());
    let Ending::Impossible { why } = world.run(&job) else { panic!("it cannot be") };
    assert!(why.contains("`nobody-of-that-name`"), "{why}");
}

#[test]
fn garbage_in_the_progress_file_is_counted() {
    let mut world = World::new();
    let script = "echo garbage >> $OEF_PROGRESS_FILE; \
                  echo '{\"step\": 5, \"throughput\": 2.5, \"loss\": 0.5}' >> $OEF_PROGRESS_FILE; \
                  echo -n '{\"step\": 6' >> $OEF_PROGRESS_FILE";
    let job = world.script(1, script);
    assert_eq!(world.run(&job), Ending::Finished);
    let told = world.seen.iter().find_map(Seen::progress).expect("progress");
    let figures = (told.steps, told.throughput, told.loss, told.skipped_lines);
    assert_eq!(figures, (5.0, Some(2.5), Some(0.5), 1));
}

#[test]
fn output_is_kept_within_its_limit() {
    let mut world = World::new();
    let mut job = world.script(1, "seq 1 200000; echo the end");
    job.log_limit_bytes = 64 << 10;
    assert_eq!(world.run(&job), Ending::Finished);
    let folder = world.run_dir(&job);
    let sizes = fs::read_dir(&folder).expect("a folder").flatten().filter_map(|entry| {
        let is_log = entry.file_name().to_string_lossy().starts_with("rank-0.out");
        is_log.then(|| entry.metadata().expect("there").len())
    });
    let kept: u64 = sizes.sum();
    // With the line that says so.
    assert!(kept <= job.log_limit_bytes + 200, "{kept}");

    let (mut text, mut left_out, mut from) = (String::new(), 0, 0);
    loop {
        let query = LogQuery { from: LogFrom::Offset(from), ..LogQuery::start(Stream::Out) };
        let chunk = world.executor.logs(job.job, query).expect("output");
        text.push_str(&chunk.text);
        left_out += chunk.left_out_bytes;
        from = chunk.next;
        if chunk.is_end {
            break;
        }
    }
    let all: String = (1..=200_000).map(|n| format!("{n}\n")).chain(["the end\n".into()]).collect();
    assert_eq!(text.len() as u64 + left_out, all.len() as u64);
    assert!(text.starts_with("1\n2\n3\n") && text.ends_with("200000\nthe end\n"));
    let query = LogQuery { from: LogFrom::LastLines(1), ..LogQuery::start(Stream::Out) };
    assert_eq!(world.executor.logs(job.job, query).expect("output").text, "the end\n");
}

#[test]
fn output_of_nobody_is_an_error() {
    let mut world = World::new();
    let job = world.script(1, "true");
    let query = LogQuery::start(Stream::Out);
    let message = |world: &World, query| {
        world.executor.logs(job.job, query).expect_err("nothing").to_string()
    };
    assert!(message(&world, query).contains("job 1 has no output here"));
    world.run(&job);
    let told = message(&world, LogQuery { rank: 3, ..query });
    assert_eq!(told, "job 1 has no worker 3; its workers are numbered 0 to 0");
}
