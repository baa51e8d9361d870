//! Jobs whose checkpoints are brought by their runners.

use crate::common::{World, gpus, is_alive, is_root, kill, next, wait_for, with_variable};
use crate::files::{MODEL_BYTES, Pair, noise, tree};
use crate::hosts::{free_port, rsync_daemon, rsync_daemon_in};
use crate::namespaces::{Cable, HOST_A, SmallDisk, inside};
use oef_executor::checkpoints::{
    Bandwidth, CheckpointConfig, FetchLimits, Keeping, Transfer, TransferResult, Transport,
};
use oef_executor::{
    CheckpointLocation, Checkpoints, Device, Ending, FailReason, Launch, LeaseEvent, Length, RunAs,
    Stream,
};
use rustix::process::Signal;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::thread::sleep;
use std::time::Duration;

/// An executor whose host is `b`, and whose checkpoints are in the folders of a pair.
fn world(pair: &Pair, address: Option<String>, kib_per_second: Option<u64>) -> World {
    world_on(pair, address, kib_per_second, Vec::new())
}

/// The same with a runner elsewhere.
fn world_on(
    pair: &Pair,
    address: Option<String>,
    kib_per_second: Option<u64>,
    inside: Vec<String>,
) -> World {
    let node_dir = Some(pair.home.path().join("{host}"));
    let seconds = |seconds| Length(Duration::from_secs(seconds));
    let silence = seconds(if inside.is_empty() { 20 } else { 3 });
    let tries = if inside.is_empty() { 1 } else { FetchLimits::default().tries };
    let bandwidth = kib_per_second.map(|kib_per_second| Bandwidth { kib_per_second });
    World::with(|mut config| {
        config.runner.splice(..0, inside.iter().map(|word| word.into()));
        config.devices = gpus("b", 1);
        config.checkpoints = CheckpointConfig {
            place: Keeping::Node,
            node_dir,
            transport: if address.is_some() { Transport::Rsync } else { Transport::Folder },
            address,
            bandwidth,
            time_limit: seconds(60),
            silence,
            tries,
            ..CheckpointConfig::default()
        };
        config
    })
}

fn at(port: u16) -> Option<String> {
    Some(format!("rsync://127.0.0.1:{port}/oef"))
}

/// A job that says what it finds of its checkpoint, which is on `a`.
fn job(world: &World) -> Launch {
    let mut launch = world.script(7, "wc -c < $OEF_CHECKPOINT_DIR/model.bin");
    launch.devices = gpus("b", 1).iter().map(Device::id).collect();
    launch.checkpoints = Checkpoints {
        last: Some(CheckpointLocation::Host("a".into())),
        is_known: true,
        ..Checkpoints::default()
    };
    launch
}

fn details(world: &World) -> Vec<&str> {
    let mut found = Vec::new();
    for seen in &world.seen {
        if let LeaseEvent::Preparing(detail) = &seen.event {
            found.push(detail.as_str());
        }
    }
    found
}

fn transfers(world: &World) -> Vec<Transfer> {
    let transfer = |event: &LeaseEvent| match event {
        LeaseEvent::Transferred(transfer) => Some(*transfer),
        _ => None,
    };
    world.seen.iter().filter_map(|seen| transfer(&seen.event)).collect()
}

/// Slow enough to be cut in the middle.
const SLOWLY: Option<u64> = Some(400);

#[test]
fn a_job_starts_when_its_checkpoint_is_there() {
    let pair = Pair::new().with_last_good();
    let daemon = rsync_daemon(&pair.home.path().join("a"), "");
    let mut world = world(&pair, at(daemon.port), None);
    let launch = job(&world);
    assert_eq!(world.run(&launch), Ending::Finished);
    assert_eq!(world.output(&launch, 0, Stream::Out).trim(), MODEL_BYTES.to_string());
    pair.is_whole();
    let said = details(&world).last().copied().unwrap_or_default().to_string();
    let begins = "has its checkpoint from a: 6.0 MiB, of which 6.0 MiB had to be sent, in ";
    assert!(said.starts_with(begins), "{said}");
    let transfers = transfers(&world);
    let [Transfer { result: TransferResult::Brought, bytes, .. }] = transfers[..] else {
        panic!("{transfers:?}")
    };
    assert!(bytes > MODEL_BYTES as u64, "{transfers:?}");
}

/// The disk of the host is full before anything comes: that is no failure of the job.
#[test]
fn a_job_is_given_back_by_a_host_that_cannot_take_its_checkpoint() {
    if !inside("jobs::a_job_is_given_back_by_a_host_that_cannot_take_its_checkpoint") {
        return;
    }
    let pair = Pair::new();
    let _disk = SmallDisk::new(&pair.home.path().join("b"), 64 << 10);
    let pair = pair.with_last_good();
    fs::write(pair.home.path().join("b/full"), vec![0; 1 << 20]).expect_err("full");
    let mut world = world(&pair, None, None);
    let launch = job(&world);
    let ending = world.run(&launch);
    let Ending::Refused { why } = &ending else { panic!("{ending:?}") };
    assert!(why.contains("No space left"), "{why}");
    pair.has_last_good();
}

/// A full disk is no failure of a job that has nothing to bring, either: it waits for room.
#[test]
fn a_job_waits_for_room_for_its_checkpoints() {
    if !inside("jobs::a_job_waits_for_room_for_its_checkpoints") {
        return;
    }
    let (mut world, pair) = (World::new(), Pair::new());
    let small = pair.home.path().join("b");
    let _disk = SmallDisk::new(&small, 64 << 10);
    fs::write(small.join("full"), vec![0; 1 << 20]).expect_err("full");
    let (mut job, mut stopped) = (world.script(1, "true"), world.script(2, "true"));
    for launch in [&mut job, &mut stopped] {
        launch.checkpoints.own_dir = Some(small.join(launch.job.to_string()));
        world.start(launch);
    }
    let waits = |said: &&str| said.starts_with("waits for the system") && said.contains("No space");
    world.until("both to wait", |world| {
        (details(world).iter().filter(|said| waits(said)).count() == 2).then_some(())
    });
    world.stop(&stopped, "cancelled");
    let never = Ending::Stopped { detail: "cancelled; it had not begun".into() };
    assert_eq!(world.ending(&stopped), never);
    fs::remove_file(small.join("full")).expect("removed");
    assert_eq!(world.ending(&job), Ending::Finished);
}

/// Nor is one that its own user finds full, or has no quota left on.
#[test]
fn a_full_disk_is_no_failure_of_a_job_that_runs_as_a_user() {
    let own = "jobs::a_full_disk_is_no_failure_of_a_job_that_runs_as_a_user";
    if !is_root(own) || !inside(own) {
        return;
    }
    let (mut world, pair) = (World::new(), Pair::new());
    let small = pair.home.path().join("b");
    let _disk = SmallDisk::new(&small, 64 << 10);
    for folder in [world.path("."), pair.home.path().into()] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).expect("set");
    }
    fs::write(small.join("full"), vec![0; 1 << 20]).expect_err("full");
    let mut job = world.script(1, "true");
    job.run_as = RunAs::User("nobody".into());
    (job.workdir, job.checkpoints.own_dir) = (None, Some(small.clone()));
    let ending = world.run(&job);
    let Ending::Failed { reason: FailReason::System { detail }, .. } = &ending else {
        panic!("{ending:?}")
    };
    assert!(detail.contains("No space left"), "{detail}");
    fs::remove_file(small.join("full")).expect("removed");
    assert_eq!(world.run(&next(&job)), Ending::Finished);
}

#[test]
fn two_jobs_fetch_at_once() {
    let pairs = [Pair::new().with_last_good(), Pair::new().with_last_good()];
    let module = |pair: &Pair| rsync_daemon(&pair.home.path().join("a"), "");
    let daemons = pairs.each_ref().map(module);
    let [mut first, mut second] = [0, 1].map(|i| world(&pairs[i], at(daemons[i].port), SLOWLY));
    let (one, other) = (job(&first), job(&second));
    first.start(&one);
    second.start(&other);
    wait_for("bytes of both", || pairs.iter().all(|pair| pair.half() > 0));
    first.stop(&one, "others are owed more");
    assert!(matches!(first.ending(&one), Ending::Stopped { .. }));
    pairs[0].has_last_good();
    assert_eq!(second.ending(&other), Ending::Finished);
    pairs[1].is_whole();
    let results = [&first, &second].map(|world| transfers(world)[0].result);
    assert_eq!(results, [TransferResult::Stopped, TransferResult::Brought]);
}

#[test]
fn a_job_is_not_started_from_nothing() {
    let pair = Pair::new().with_last_good();
    let mut world = world(&pair, at(free_port()), None);
    let launch = job(&world);
    let ending = world.run(&launch);
    let Ending::Refused { why } = &ending else { panic!("{ending:?}") };
    assert!(why.contains("could not be brought from a: the connection broke"), "{why}");
    assert!(!world.seen.iter().any(|seen| seen.is_start()));
    let results: Vec<_> = transfers(&world).iter().map(|transfer| transfer.result).collect();
    assert_eq!(results, [TransferResult::Failed]);
    pair.has_last_good();
}

#[test]
fn a_job_that_never_had_one_starts_without() {
    let pair = Pair::new().with_last_good();
    fs::remove_dir_all(pair.source()).expect("removed");
    let mut world = world(&pair, None, None);
    let mut launch = job(&world);
    launch.checkpoints.is_known = false;
    assert_eq!(world.run(&launch), Ending::Finished);
    let said = details(&world).last().copied().unwrap_or_default().to_string();
    assert_eq!(said, "found no checkpoint at a: starts with what is here");
}

#[test]
fn a_job_that_is_stopped_while_it_fetches_ends_at_once() {
    let pair = Pair::new().with_last_good();
    let daemon = rsync_daemon(&pair.home.path().join("a"), "");
    let mut world = world(&pair, at(daemon.port), SLOWLY);
    let launch = job(&world);
    world.start(&launch);
    world.until("how far it is", |world| {
        let said = |said: &&str| said.starts_with("brings its checkpoint from a: ");
        details(world).iter().any(said).then_some(())
    });
    world.stop(&launch, "others are owed more");
    let expected = Ending::Stopped { detail: "others are owed more; it had not begun".into() };
    assert_eq!(world.ending(&launch), expected);
    pair.has_last_good();
    let variable = format!("OEF_RUN_DIR={}", world.run_dir(&launch).display());
    assert!(with_variable(&variable).is_empty(), "rsync is still there");
}

#[test]
fn a_runner_that_is_killed_leaves_the_old_one_and_what_came() {
    let pair = Pair::new().with_last_good();
    let daemon = rsync_daemon(&pair.home.path().join("a"), "");
    let mut world = world(&pair, at(daemon.port), SLOWLY);
    let launch = job(&world);
    world.start(&launch);
    wait_for("bytes", || pair.half() > 500_000);
    let variable = format!("OEF_RUN_DIR={}", world.run_dir(&launch).display());
    let carriers = with_variable(&variable);
    assert!(!carriers.is_empty(), "rsync is found by its environment");
    // All at once, as when a machine runs out of memory: rsync cannot tidy up.
    let runner = world.runner_pid(&launch);
    for pid in [runner].into_iter().chain(carriers.iter().copied()) {
        let pid = rustix::process::Pid::from_raw(pid).expect("a pid");
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
    let ending = world.ending(&launch);
    assert!(matches!(ending, Ending::Vanished { .. }), "{ending:?}");
    assert!(carriers.iter().all(|pid| !is_alive(*pid)));
    pair.has_last_good();
    let here = pair.half();
    assert!(here > 0);

    let again = next(&launch);
    assert_eq!(world.run(&again), Ending::Finished);
    pair.is_whole();
    assert!(matched(&world, &again) > here / 10 * 9, "{here} were here");
}

#[test]
fn an_rsync_whose_runner_alone_is_killed_does_not_go_on() {
    let pair = Pair::new().with_last_good();
    let daemon = rsync_daemon(&pair.home.path().join("a"), "");
    let mut world = world(&pair, at(daemon.port), SLOWLY);
    let launch = job(&world);
    world.start(&launch);
    wait_for("bytes", || pair.half() > 0);
    let variable = format!("OEF_RUN_DIR={}", world.run_dir(&launch).display());
    let carriers = with_variable(&variable);
    kill(world.runner_pid(&launch), Signal::KILL);
    let ending = world.ending(&launch);
    assert!(matches!(ending, Ending::Vanished { .. }), "{ending:?}");
    assert!(carriers.iter().all(|pid| !is_alive(*pid)));
    pair.has_last_good();
}

/// A checkpoint of two files that belong together, at every instant the old ones or the new ones.
#[test]
fn wherever_a_runner_is_killed_the_old_or_the_new_one_is_there() {
    let pair = Pair::new();
    let daemon = rsync_daemon(&pair.home.path().join("a"), "");
    let version = |version: u64| {
        pair.write("model.bin", &noise(version, 200_000));
        pair.write("settings.json", format!("version {version}").as_bytes());
        tree(&pair.source())
    };
    let mut good = version(1);
    let mut world = world(&pair, at(daemon.port), None);
    let mut launch = job(&world);
    assert_eq!(world.run(&launch), Ending::Finished);
    let (mut old, mut new) = (0, 0);
    for round in 2..26 {
        let next_one = version(round);
        launch = next(&launch);
        world.start(&launch);
        // From before rsync is there to after the job has ended.
        sleep(Duration::from_millis(round * 12));
        let dir = world.run_dir(&launch).display().to_string();
        let runners = with_variable(&format!("OEF_RUNNER_DIR={dir}"));
        let workers = with_variable(&format!("OEF_RUN_DIR={dir}"));
        for pid in runners.into_iter().chain(workers) {
            let pid = rustix::process::Pid::from_raw(pid).expect("a pid");
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        world.ending(&launch);
        let mut found = tree(&pair.live());
        // By which it is seen whether there is room; the next start removes it.
        found.retain(|name, _| !name.starts_with(".oef-probe-"));
        if found == next_one {
            (new, good) = (new + 1, next_one);
        } else {
            assert!(found == good, "round {round}: neither the old nor the new one");
            old += 1;
        }
    }
    // On a machine with too much to do even the last is killed early.
    assert!(old > 0, "none was killed early: {new}");
    assert_eq!(world.run(&next(&launch)), Ending::Finished);
    pair.is_whole();
}

/// Two hosts with a cable between them: the runner is on one, the checkpoint on the other.
#[test]
fn between_two_hosts_whose_cable_is_pulled() {
    if !inside("jobs::between_two_hosts_whose_cable_is_pulled") {
        return;
    }
    let cable = Cable::new();
    let pair = Pair::new().with_last_good();
    let module = pair.home.path().join("a");
    let daemon = rsync_daemon_in(&cable.service(), HOST_A, &module, "");
    cable.until_answered(daemon.port);
    let inside: Vec<String> = cable.enter_b().iter().map(|word| word.to_string()).collect();
    let address = format!("rsync://{HOST_A}:{}/oef", daemon.port);
    let mut world = world_on(&pair, Some(address), Some(1000), inside);
    let launch = job(&world);
    world.start(&launch);
    wait_for("bytes", || pair.half() > MODEL_BYTES as u64 / 4);
    cable.cut();
    world.until("a second try", |world| {
        details(world).iter().any(|said| said.contains("before: ")).then_some(())
    });
    pair.has_last_good();
    let here = pair.half();
    assert!(here >= MODEL_BYTES as u64 / 8, "{here}");
    cable.mend();
    assert_eq!(world.ending(&launch), Ending::Finished);
    pair.is_whole();
    let log = fs::read_to_string(world.run_dir(&launch).join("runner.log")).expect("a log");
    assert!(read_matched(&log) > here / 10 * 9, "{here} were here: {log}");
}

/// Bytes that were here already, by the runner's own words.
fn matched(world: &World, launch: &Launch) -> u64 {
    let log = fs::read_to_string(world.run_dir(launch).join("runner.log")).expect("a log");
    read_matched(&log)
}

fn read_matched(log: &str) -> u64 {
    let number = log.rsplit_once("matched_bytes: ").and_then(|(_, rest)| rest.split(',').next());
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("no figures: {log}"))
}

/// What a job leaves behind is its user's, and stays so: root makes no files out of it, least of all programs that run as
/// their owner.
#[test]
fn a_checkpoint_of_another_user_is_brought_with_the_rights_of_that_user() {
    if !is_root("a_checkpoint_of_another_user_is_brought_with_the_rights_of_that_user") {
        return;
    }
    let mut world = World::with(|mut config| {
        config.devices = ["a", "b"].into_iter().flat_map(|host| gpus(host, 1)).collect();
        config.checkpoints =
            CheckpointConfig { place: Keeping::Node, ..CheckpointConfig::default() };
        config
    });
    fs::set_permissions(world.path("."), fs::Permissions::from_mode(0o755)).expect("set");
    let save = "cd $OEF_CHECKPOINT_DIR; ls; mkdir -p sub; cp -n /bin/true sub/; chmod 4755 sub/true; \
                ln -sf /etc/shadow link; echo $OEF_GENERATION >> saved; chmod 755 .; exit 75";
    let mut first = world.script(7, save);
    first.run_as = RunAs::User("nobody".into());
    first.devices = gpus("a", 1).iter().map(Device::id).collect();
    (first.workdir, first.checkpoints) = (None, Checkpoints::default());
    assert_eq!(world.run(&first), Ending::Checkpointed);

    let mut second = next(&first);
    second.devices = gpus("b", 1).iter().map(Device::id).collect();
    second.checkpoints.last = Some(CheckpointLocation::Host("a".into()));
    second.checkpoints.is_known = true;
    assert_eq!(world.run(&second), Ending::Checkpointed, "{:?}", details(&world));
    assert_eq!(world.output(&second, 0, Stream::Out), "link\nsaved\nsub\n");
    let folder = world.path("state/nodes/b/checkpoints/7");
    assert_eq!(fs::read_to_string(folder.join("saved")).expect("there"), "1\n2\n");
    let nobody = oef_executor::slurm::uid_of("nobody").expect("there").uid;
    for name in [".", "saved", "link", "sub", "sub/true"] {
        let owner = fs::symlink_metadata(folder.join(name)).expect("there").uid();
        assert_eq!(owner, nobody, "{name}");
    }
    let beside = fs::read_dir(folder.join("..")).expect("there").count();
    assert_eq!(beside, 1, "nothing is left of the transfer");
}

/// A disk of each host, outside the state folder: its jobs' folders are made there and given to their users, unless others
/// may put something else in their place.
#[test]
fn a_folder_of_a_host_elsewhere_is_given_to_the_jobs_user_unless_others_may_change_it() {
    if !is_root(
        "a_folder_of_a_host_elsewhere_is_given_to_the_jobs_user_unless_others_may_change_it",
    ) {
        return;
    }
    for (mode, is_given) in [(0o755, true), (0o1777, false)] {
        let disk = tempfile::tempdir().expect("a folder");
        let set = |path: &std::path::Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set");
        };
        let host = disk.path().join("rtx3090-0");
        fs::create_dir(&host).expect("made");
        set(disk.path(), 0o755);
        set(&host, mode);
        let node_dir = Some(disk.path().join("{host}"));
        let mut world = World::with(|mut config| {
            config.checkpoints =
                CheckpointConfig { place: Keeping::Node, node_dir, ..CheckpointConfig::default() };
            config
        });
        set(&world.path("."), 0o755);
        let mut job = world.script(7, "id -un > $OEF_CHECKPOINT_DIR/who");
        job.run_as = RunAs::User("nobody".into());
        (job.workdir, job.checkpoints) = (None, Checkpoints::default());
        world.start(&job);
        if is_given {
            assert_eq!(world.ending(&job), Ending::Finished, "{:?}", details(&world));
            assert_eq!(fs::read_to_string(host.join("7/who")).expect("there"), "nobody\n");
            continue;
        }
        let why = world.until("a reason", |world| {
            details(world).iter().find(|said| said.contains("other users")).map(|s| s.to_string())
        });
        assert!(why.contains("rtx3090-0"), "{why}");
        world.stop(&job, "enough");
        world.ending(&job);
        let left = fs::metadata(host.join("7")).map_or(0, |folder| folder.uid());
        assert_eq!(left, 0, "it was given away");
    }
}
