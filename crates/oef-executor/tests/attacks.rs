//! What a job may do to those who look after it: nothing that blocks, crashes or fools them.

mod common;

use common::{World, devices, is_alive, is_root, kill, left_out, next, wait_for};
use oef_executor::local::{Isolation, LocalConfig};
use oef_executor::{Ending, Executor as _, FailReason, Held, Launch, RunAs, Stream};
use oef_sched::Span;
use rustix::process::Signal;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// An executor whose patience is over soon.
fn impatient(groups: bool) -> World {
    World::with(|config| LocalConfig {
        isolation: Isolation {
            groups,
            stop_margin: Duration::from_millis(500),
            ..Isolation::default()
        },
        ..config
    })
}

fn short(launch: Launch) -> Launch {
    Launch { grace: Span(300), ..launch }
}

/// Makes a job's record into something else, from within the job, and says when that is done.
fn sabotage(what: &str, how: &str) -> String {
    let made = match how {
        "fifo" => "mkfifo $f",
        "link" => "ln -s /etc/passwd $f",
        "folder" => "mkdir -p $f/deep",
        "endless" => "ln -s /dev/zero $f",
        "gone" => "true",
        _ => "head -c 9000000 /dev/zero > $f",
    };
    format!(
        "trap '' TERM; f=$OEF_RUN_DIR/{what}; rm -rf $f; {made}; touch $PWD/done; while :; do sleep 0.1; done"
    )
}

#[test]
fn nothing_in_place_of_a_record_keeps_a_job_from_being_stopped_or_the_others_from_running() {
    let mut world = impatient(true);
    let hows = ["fifo", "link", "folder", "endless", "huge", "gone"];
    let records =
        ["../status.json", "../order.json", "../launch.json", "../lock", "progress-0.jsonl"];
    let mut id = 0;
    for record in records {
        for how in hows {
            id += 1;
            let done = world.path("done");
            let _ = fs::remove_file(&done);
            let job = short(world.script(id, &sabotage(record, how)));
            world.start(&job);
            wait_for("sabotage", || done.exists());
            world.stop(&job, "enough");
            let ending = world.ending(&job);
            assert!(!ending.to_string().is_empty(), "{record} {how}: {ending}");
        }
    }
    let fine = world.script(1000, "echo fine");
    assert_eq!(world.run(&fine), Ending::Finished);
}

#[test]
fn a_fifo_in_place_of_a_record_stops_nobody_after_a_restart_either() {
    let world = impatient(true);
    let mut held = Vec::new();
    for (id, record) in
        (1..).zip(["../status.json", "../order.json", "../generation", "../../lock"])
    {
        let done = world.path("done");
        let _ = fs::remove_file(&done);
        let job = short(world.script(id, &sabotage(record, "fifo")));
        world.start(&job);
        wait_for("sabotage", || done.exists());
        held.push(Held { launch: job, stop: Some("enough".into()) });
    }
    let mut world = world.restart();
    world.resume(&held);
    let fine = world.script(1000, "echo fine");
    assert_eq!(world.run(&fine), Ending::Finished);
    for job in &held {
        world.ending(&job.launch);
    }
}

#[test]
fn a_runner_that_is_suspended_or_killed_by_its_job_changes_nothing() {
    for groups in [true, false] {
        let mut world = impatient(groups);
        let pid = world.path("pid");
        let loops = "while :; do sleep 0.1; done";
        let stopped =
            format!("trap '' TERM; echo $$ > {}; kill -STOP $PPID; {loops}", pid.display());
        let job = short(world.script(1, &stopped));
        world.start(&job);
        wait_for("job", || pid.exists());
        world.stop(&job, "enough");
        let ending = world.ending(&job);
        assert!(ending.to_string().contains("the daemon killed"), "{groups}: {ending}");
        let worker = fs::read_to_string(&pid).expect("written").trim().parse().expect("a number");
        assert!(!is_alive(worker), "{groups}");

        let escape = format!("kill -9 $PPID; {loops}");
        assert!(matches!(world.run(&world.script(2, &escape)), Ending::Vanished { .. }));
    }
}

#[test]
fn max_run_holds_for_a_job_that_suspends_its_runner() {
    let mut world = impatient(true);
    let job = short(world.script(1, "kill -STOP $PPID; while :; do sleep 0.1; done"));
    let job = Launch { max_run: Some(Span(300)), ..job };
    assert!(matches!(world.run(&job), Ending::TimedOut { checkpointed: false, .. }));
}

#[test]
fn what_leaves_its_parents_and_its_variables_behind_ends_with_the_job() {
    if !has_groups("what_leaves_its_parents_and_its_variables_behind_ends_with_the_job") {
        return;
    }
    let mut world = impatient(true);
    let pid = world.path("pid");
    let script = format!(
        "(env -i setsid sh -c 'echo $$ > {0}.new; mv {0}.new {0}; exec sleep 1000' &) ; \
         while [ ! -e {0} ]; do sleep 0.05; done; kill -9 $PPID; sleep 1000",
        pid.display()
    );
    assert!(matches!(world.run(&world.script(1, &script)), Ending::Vanished { .. }));
    let left: i32 = fs::read_to_string(&pid).expect("written").trim().parse().expect("a number");
    assert!(!is_alive(left));
    // The same for one that ends well.
    fs::remove_file(&pid).expect("removed");
    let script = script.replace("kill -9 $PPID; sleep 1000", "exit 0");
    assert_eq!(world.run(&world.script(2, &script)), Ending::Finished);
    let left: i32 = fs::read_to_string(&pid).expect("written").trim().parse().expect("a number");
    wait_for("end", || !is_alive(left));
}

/// Whether this machine lets a test have control groups.
fn has_groups(test: &str) -> bool {
    let cgroup = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    (rustix::process::geteuid().is_root() && cgroup.contains(" - cgroup2 "))
        || left_out(test, "root and control groups")
}

#[test]
fn an_ending_that_a_job_writes_itself_frees_no_gpu_before_its_processes_are_gone() {
    let mut world = impatient(true);
    let pid = world.path("pid");
    let forged = "sed 's/\"phase\":\"running\"/\"phase\":{\"ended\":{\"ending\":\"finished\",\"at_ms\":1}}/' $OEF_RUN_DIR/../status.json > $OEF_RUN_DIR/x; \
                  kill -STOP $PPID; mv $OEF_RUN_DIR/x $OEF_RUN_DIR/../status.json";
    let script = format!("echo $$ > {}; sleep 1; {forged}; sleep 1000", pid.display());
    let job = world.script(1, &script);
    world.start(&job);
    world.ending(&job);
    let worker: i32 = fs::read_to_string(&pid).expect("written").trim().parse().expect("a number");
    assert!(!is_alive(worker));
}

#[test]
fn nothing_of_the_daemons_environment_reaches_a_job_or_its_runner() {
    let mut world = World::new();
    // Cargo's own variables stand for the secrets of a daemon.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some(), "a variable to look for");
    let mut job = world.script(1, "env; echo; tr '\\0' '\\n' < /proc/$PPID/environ");
    job.env.insert("MINE".into(), "yes".into());
    job.env.insert("OEF_RUN_DIR".into(), "/elsewhere".into());
    job.env.insert("OEF_TOKEN".into(), "forged".into());
    job.env.insert("PATH".into(), std::env::var("PATH").expect("a path"));
    assert_eq!(world.run(&job), Ending::Finished);
    let seen = world.output(&job, 0, Stream::Out);
    assert!(seen.contains("MINE=yes"), "{seen}");
    for forbidden in ["CARGO", "elsewhere", "OEF_TOKEN"] {
        assert!(!seen.contains(forbidden), "{forbidden}: {seen}");
    }
}

#[test]
fn a_flood_of_progress_is_cut() {
    let mut world = World::new();
    let job = world.script(1, "head -c 60000000 /dev/zero | tr '\\0' 'x' > $OEF_PROGRESS_FILE");
    assert_eq!(world.run(&job), Ending::Finished);
    let file = world.run_dir(&job).join("job/progress-0.jsonl");
    assert!(fs::metadata(file).expect("there").len() <= 1 << 20);
}

#[test]
fn output_is_never_read_through_a_link() {
    let mut world = World::new();
    let secret = world.path("secret");
    fs::write(&secret, "nobody reads this").expect("written");
    let script = format!(
        "echo hello; rm $OEF_RUN_DIR/../rank-0.err; ln -s {} $OEF_RUN_DIR/../rank-0.err",
        secret.display()
    );
    let job = world.script(1, &script);
    assert_eq!(world.run(&job), Ending::Finished);
    assert!(!world.output(&job, 0, Stream::Err).contains("nobody"));
}

#[test]
fn jobs_run_as_their_tenants_user_and_reach_nothing_of_the_daemons() {
    if !is_root("jobs_run_as_their_tenants_user_and_reach_nothing_of_the_daemons") {
        return;
    }
    let mut world = World::new();
    let open = |path: &str| {
        fs::set_permissions(world.path(path), fs::Permissions::from_mode(0o755)).expect("set");
    };
    open(".");
    let tried = "id -un; echo $HOME; pwd; cat $OEF_RUN_DIR/../order.json $OEF_RUN_DIR/../launch.json; \
                 ls $OEF_RUN_DIR/.. $OEF_RUN_DIR/../../..; touch $OEF_RUN_DIR/../status.json; \
                 kill -STOP $PPID; kill -9 $PPID; echo '{\"step\": 3}' > $OEF_PROGRESS_FILE; \
                 touch $OEF_CHECKPOINT_DIR/mine && echo saved; sleep 0.6";
    let mut job = world.script(1, tried);
    job.run_as = RunAs::User("nobody".into());
    (job.workdir, job.checkpoints.own_dir) = (None, None);
    assert_eq!(world.run(&job), Ending::Finished);
    let out = world.output(&job, 0, Stream::Out);
    let work = world.path("state/jobs/1/work");
    assert_eq!(out, format!("nobody\n/nonexistent\n{}\nsaved\n", work.display()));
    let refused = world.output(&job, 0, Stream::Err);
    let count =
        refused.matches("ermission denied").count() + refused.matches("not permitted").count();
    assert!(count >= 6, "{refused}");
    let told = world.seen.iter().filter_map(common::Seen::progress).next_back();
    assert_eq!(told.map(|told| told.steps), Some(3.0));
    // What it cannot reach is its failure, and told as such.
    let mut job = world.script(2, "true");
    job.run_as = RunAs::User("nobody".into());
    job.checkpoints.own_dir = Some("/root/mine".into());
    job.devices = devices(2);
    let ending = world.run(&job);
    let is_told =
        matches!(&ending, Ending::Failed { reason: FailReason::CheckpointDir { .. }, .. });
    assert!(is_told, "{ending}");
}

/// Who wrote the folder of a start into their environment had all that is done to its processes done to theirs, and the job
/// of another neither started nor ended.
#[test]
fn only_the_user_of_a_job_has_processes_in_it() {
    if !is_root("only_the_user_of_a_job_has_processes_in_it") {
        return;
    }
    for groups in [true, false] {
        let mut world = impatient(groups);
        fs::set_permissions(world.path("."), fs::Permissions::from_mode(0o755)).expect("set");
        let mut job = world.script(1, "sleep 0.3");
        job.run_as = RunAs::User("nobody".into());
        (job.workdir, job.checkpoints.own_dir) = (None, None);
        let mut strangers: Vec<Child> = ["", "/1", "/1/job", "/1/job/deep", "/1/../1"]
            .into_iter()
            .flat_map(|place| ["OEF_RUN_DIR", "OEF_RUNNER_DIR"].map(|name| (name, place)))
            .map(|(name, place)| {
                let mut command = Command::new("sleep");
                command.arg("1000").env(name, world.path(&format!("state/runs/1{place}")));
                command.stdout(Stdio::null()).stderr(Stdio::null());
                command.uid(1).spawn().expect("started")
            })
            .collect();
        assert_eq!(world.run(&job), Ending::Finished);
        let again = next(&job);
        assert_eq!(world.run(&again), Ending::Finished);
        for stranger in &mut strangers {
            assert!(stranger.try_wait().expect("known").is_none(), "it was killed");
            stranger.kill().expect("it was there");
            stranger.wait().expect("gone");
        }
    }
}

/// Until it is the job's user, a worker is a process of the daemon's: no loader may do for it there what the job says.
#[test]
fn variables_of_a_job_reach_no_process_of_the_daemons_user() {
    if !is_root("variables_of_a_job_reach_no_process_of_the_daemons_user") {
        return;
    }
    let mut world = World::new();
    fs::set_permissions(world.path("."), fs::Permissions::from_mode(0o755)).expect("set");
    let traces = world.path("traces");
    fs::create_dir(&traces).expect("made");
    fs::set_permissions(&traces, fs::Permissions::from_mode(0o777)).expect("set");
    let mut job = world.script(1, "echo $LD_DEBUG $OWN; sh -c true");
    job.run_as = RunAs::User("nobody".into());
    (job.workdir, job.checkpoints.own_dir) = (None, None);
    let file = traces.join("loader").display().to_string();
    for (name, value) in [("LD_DEBUG", "libs"), ("LD_DEBUG_OUTPUT", &file), ("OWN", "its")] {
        job.env.insert(name.into(), value.into());
    }
    assert_eq!(world.run(&job), Ending::Finished);
    assert_eq!(world.output(&job, 0, Stream::Out), "libs its\n");
    let written: Vec<_> = fs::read_dir(&traces).expect("there").flatten().collect();
    assert!(!written.is_empty(), "the job's own programs write theirs");
    for entry in written {
        assert_ne!(entry.metadata().expect("there").uid(), 0, "{}", entry.path().display());
    }
}

/// The executor may have the right to give away any folder: it gives those that it keeps for a job itself, and none that
/// a job names.
#[test]
fn no_folder_that_a_job_names_is_made_for_it_or_given_to_it() {
    if !is_root("no_folder_that_a_job_names_is_made_for_it_or_given_to_it") {
        return;
    }
    let mut world = World::new();
    let set = |path: &str, mode| {
        fs::set_permissions(world.path(path), fs::Permissions::from_mode(mode)).expect("set");
    };
    fs::create_dir(world.path("victim")).expect("room");
    set(".", 0o755);
    set("victim", 0o755);
    let state = world.path("state");
    let named = [
        state.join("../victim"),
        state.join("jobs/1/../../../victim"),
        state.join("jobs"),
        state.clone(),
        state.join("runs/1"),
        state.join("jobs/1/../../../new"),
    ];
    let owners = || {
        let owner = |path: &std::path::Path| {
            fs::metadata(path).map(|found| (found.uid(), found.mode() & 0o700)).ok()
        };
        named.iter().map(|path| owner(path)).collect::<Vec<_>>()
    };
    let mut id = 0;
    for folder in &named {
        for is_work in [true, false] {
            id += 1;
            let mut job = world.script(id, "true");
            job.run_as = RunAs::User("nobody".into());
            (job.workdir, job.checkpoints.own_dir) = (None, None);
            let field = if is_work { &mut job.workdir } else { &mut job.checkpoints.own_dir };
            *field = Some(folder.clone());
            let _ = world.run(&job);
            let others = owners().into_iter().flatten().filter(|(user, _)| *user != 0).count();
            assert_eq!(others, 0, "{}: {:?}", folder.display(), owners());
        }
    }
    assert!(!world.path("new").exists(), "no folder is made outside");
}

#[test]
fn a_killed_runner_leaves_no_job_behind_after_a_restart() {
    let mut world = impatient(true);
    let job = world.script(1, "while :; do sleep 0.1; done");
    world.start(&job);
    world.started(&job);
    kill(world.runner_pid(&job), Signal::KILL);
    assert!(matches!(world.ending(&job), Ending::Vanished { .. }));
    let again = next(&job);
    world.start(&again);
    world.started(&again);
    world.stop(&again, "enough");
    assert!(matches!(world.ending(&again), Ending::Stopped { .. } | Ending::Checkpointed));
    world.executor.close();
}
