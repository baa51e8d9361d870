//! Python jobs that are forked from a launcher: stopped, killed, and their runners, clients and launchers killed. Where there is no
//! Python these tests say so and show nothing; the launcher's own tests are in `python/tests`.

mod common;

use common::{World, checkpoint_dir, devices, is_alive, kill, next, wait_for, with_variable};
use oef_executor::{Ending, Executor as _, FailReason, Launch, Order, Stream};
use oef_sched::Span;
use rustix::process::Signal;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Says in which process it was imported.
const HEAVY: &str = "import os\nWHO = os.getpid()\n";

/// Says who it is, and waits for the end of the world.
const SLEEPER: &str = "
import os, signal, sys, time, heavy
if 'unresponsive' in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if 'child' in sys.argv and os.fork() == 0:
    os.setsid()
    time.sleep(300)
print(heavy.WHO, os.getpid(), os.getppid(), flush=True)
with open(os.environ['OEF_CHECKPOINT_DIR'] + '/up', 'w') as file:
    print(heavy.WHO, os.getpid(), os.getppid(), file=file)
while not os.path.exists(os.environ['OEF_CHECKPOINT_DIR'] + '/enough'):
    time.sleep(0.01)
print('enough')
";

/// Adds up random numbers, so that a step that is lost or done twice shows in the sum.
const TRAIN: &str = r#"
import random, time, heavy
import oef

random.seed(1)
total = [0.0]
job = oef.job()
job.restore(total=total)
for step, batch in job.steps(range(100), epochs=3):
    total[0] += random.random() * batch
    time.sleep(0.005)
print("sum", total[0].hex(), "after", job.step)
"#;

/// A world with the scripts in it; nothing where there is no Python.
#[expect(clippy::print_stderr, reason = "a test that shows nothing has to say so")]
fn world() -> Option<World> {
    let version = "import sys; sys.exit(sys.version_info < (3, 9))";
    let found = Command::new("python3").args(["-c", version]).status().is_ok_and(|s| s.success());
    if !found {
        eprintln!("not run: there is no Python 3.9");
        return None;
    }
    let world = World::new();
    for (name, text) in [("heavy.py", HEAVY), ("sleeper.py", SLEEPER), ("train.py", TRAIN)] {
        fs::create_dir_all(world.path("modules")).expect("made");
        let folder = if name == "heavy.py" { "modules/" } else { "" };
        fs::write(world.path(&format!("{folder}{name}")), text).expect("written");
    }
    Some(world)
}

fn job(world: &World, id: u64, words: &[&str]) -> Launch {
    let mut launch = world.job(id, &[&["python3"], words].concat());
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/src");
    let source = source.canonicalize().expect("the package");
    let path = format!("{}:{}", source.display(), world.path("modules").display());
    launch.env.insert("PYTHONPATH".into(), path);
    launch.warm = vec!["heavy".into()];
    launch
}

/// The launcher, the worker, and the worker's parent.
fn up(world: &mut World, launch: &Launch) -> (i32, i32, i32) {
    let text = world.file(&checkpoint_dir(launch).join("up"));
    let pids: Vec<i32> = text.split_whitespace().map(|word| word.parse().expect("a pid")).collect();
    fs::remove_file(checkpoint_dir(launch).join("up")).expect("removed");
    (pids[0], pids[1], pids[2])
}

fn enough(launch: &Launch) {
    fs::write(checkpoint_dir(launch).join("enough"), "").expect("written");
}

fn left(world: &World, launch: &Launch) -> Vec<i32> {
    with_variable(&format!("OEF_RUN_DIR={}", world.run_dir(launch).display()))
}

fn nothing_left(world: &World, launch: &Launch) {
    let left = left(world, launch);
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn jobs_of_a_tenant_are_forked_from_one_launcher() {
    let Some(mut world) = world() else { return };
    let first = job(&world, 1, &["sleeper.py"]);
    world.start(&first);
    let (launcher, worker, keeper) = up(&mut world, &first);
    assert_ne!(launcher, worker);
    let found = left(&world, &first);
    assert!(found.contains(&worker) && found.contains(&keeper), "{found:?}: {worker} {keeper}");
    assert!(!found.contains(&launcher), "a launcher belongs to no job");
    // The daemon is restarted, and finds the launcher again.
    let mut world = world.restart();
    world.resume(&[World::held(&first)]);
    let second = job(&world, 2, &["-u", "sleeper.py"]);
    world.start(&second);
    let other_options = up(&mut world, &second).0;
    assert_ne!(other_options, launcher, "its interpreter has other options");
    let third = job(&world, 3, &["sleeper.py", "x"]);
    world.start(&third);
    assert_eq!(up(&mut world, &third).0, launcher);
    let other = Launch { tenant: "speech".into(), ..job(&world, 4, &["sleeper.py"]) };
    world.start(&other);
    let theirs = up(&mut world, &other).0;
    assert!(![launcher, other_options].contains(&theirs), "two tenants share nothing");
    for launch in [&first, &second, &third, &other] {
        enough(launch);
        assert_eq!(world.ending(launch), Ending::Finished);
        assert_eq!(world.output(launch, 0, Stream::Err), "");
        assert!(world.output(launch, 0, Stream::Out).ends_with("enough\n"));
    }
    // A daemon that is told to stop ends them.
    world.executor.close();
    for pid in [launcher, other_options, theirs] {
        wait_for("end of the launcher", || !is_alive(pid));
    }
}

#[test]
fn a_gang_is_preempted_and_goes_on() {
    let Some(mut world) = world() else { return };
    let mut whole = job(&world, 1, &["train.py"]);
    whole.warm.clear();
    world.start(&whole);
    assert_eq!(world.ending(&whole), Ending::Finished);
    let expected = world.output(&whole, 0, Stream::Out);
    for (id, workers) in [(2, 1), (3, 2)] {
        let launch = Launch { devices: devices(workers), ..job(&world, id, &["train.py"]) };
        world.start(&launch);
        world.steps(&launch, 20.0);
        world.stop(&launch, "others are owed more");
        assert_eq!(world.ending(&launch), Ending::Checkpointed);
        nothing_left(&world, &launch);
        let again = next(&launch);
        world.start(&again);
        assert_eq!(world.ending(&again), Ending::Finished);
        assert_eq!(world.output(&again, 0, Stream::Err), "");
        if workers == 1 {
            assert_eq!(world.output(&again, 0, Stream::Out), expected);
        }
    }
}

#[test]
fn what_does_not_stop_is_killed_with_all_it_started() {
    let Some(mut world) = world() else { return };
    let launch =
        Launch { grace: Span(300), ..job(&world, 1, &["sleeper.py", "unresponsive", "child"]) };
    world.start(&launch);
    let (launcher, worker, _) = up(&mut world, &launch);
    world.stop(&launch, "others are owed more");
    let Ending::Stopped { detail } = world.ending(&launch) else { panic!("stopped") };
    assert!(detail.contains("did not end within its 0.3s of grace and was killed"), "{detail}");
    assert!(!is_alive(worker));
    nothing_left(&world, &launch);
    assert!(is_alive(launcher), "a launcher is no part of a job");
}

#[test]
fn a_runner_that_is_killed_takes_everything_with_it() {
    let Some(mut world) = world() else { return };
    let launch = job(&world, 1, &["sleeper.py", "child"]);
    world.start(&launch);
    let (launcher, worker, keeper) = up(&mut world, &launch);
    world.started(&launch);
    kill(world.runner_pid(&launch), Signal::KILL);
    assert!(matches!(world.ending(&launch), Ending::Vanished { .. }));
    assert!(!is_alive(worker) && !is_alive(keeper));
    nothing_left(&world, &launch);
    assert!(is_alive(launcher));
}

#[test]
fn a_client_that_is_killed_is_the_worker_s_end() {
    let Some(mut world) = world() else { return };
    let launch = job(&world, 1, &["sleeper.py", "child"]);
    world.start(&launch);
    let (_, worker, keeper) = up(&mut world, &launch);
    let client = |pid: &i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let parent =
            stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)?.parse().ok());
        parent == Some(world.runner_pid(&launch))
    };
    let client = left(&world, &launch).into_iter().find(client).expect("the client");
    assert!(![worker, keeper].contains(&client));
    kill(client, Signal::KILL);
    let ending = world.ending(&launch);
    let Ending::Failed { reason: FailReason::Signal, signal: Some(9), .. } = ending else {
        panic!("{ending:?}")
    };
    assert!(!is_alive(worker) && !is_alive(keeper));
    nothing_left(&world, &launch);
}

#[test]
fn a_launcher_that_is_killed_harms_no_job_and_is_replaced() {
    let Some(mut world) = world() else { return };
    let launch = job(&world, 1, &["sleeper.py"]);
    world.start(&launch);
    let (launcher, _, _) = up(&mut world, &launch);
    kill(launcher, Signal::KILL);
    wait_for("end of the launcher", || !is_alive(launcher));
    enough(&launch);
    assert_eq!(world.ending(&launch), Ending::Finished);
    fs::remove_file(checkpoint_dir(&launch).join("enough")).expect("removed");
    let again = next(&launch);
    world.start(&again);
    let (second, worker, _) = up(&mut world, &again);
    assert!(second != launcher && second != worker);
    enough(&again);
    assert_eq!(world.ending(&again), Ending::Finished);
    assert_eq!(world.output(&again, 0, Stream::Err), "");
}

#[test]
fn where_no_launcher_can_be_a_job_runs_the_plain_way_and_says_why() {
    let Some(mut world) = world() else { return };
    let missing = Launch { warm: vec!["no_such_module".into()], ..job(&world, 1, &["sleeper.py"]) };
    let mut without = job(&world, 2, &["sleeper.py"]);
    without.env.insert("PYTHONPATH".into(), world.path("modules").display().to_string());
    let shell = Launch { warm: vec!["heavy".into()], ..world.script(3, "true") };
    let cases = [
        (&missing, "`import no_such_module` failed in the launcher: ModuleNotFoundError"),
        (&without, "No module named"),
        (&shell, "its command is not a script in Python"),
    ];
    for (launch, said) in cases {
        fs::create_dir_all(checkpoint_dir(launch)).expect("made");
        enough(launch);
        world.start(launch);
        assert_eq!(world.ending(launch), Ending::Finished);
        let err = world.output(launch, 0, Stream::Err);
        assert!(
            err.starts_with("oef: started without a launcher: ") && err.contains(said),
            "{err}"
        );
        assert_eq!(err.lines().count(), 1, "{err}");
    }
    // That it cannot be done is known the next time.
    let again = next(&missing);
    world.start(&again);
    assert_eq!(world.ending(&again), Ending::Finished);
    assert!(world.output(&again, 0, Stream::Err).contains("no_such_module"));
}

#[test]
fn imports_that_crash_are_not_tried_at_every_start() {
    let Some(mut world) = world() else { return };
    let crashes = "import os\nwith open(__file__ + '.count', 'a') as file:\n    file.write('x')\nos.abort()\n";
    fs::write(world.path("modules/crashes.py"), crashes).expect("written");
    let mut launch = Launch { warm: vec!["crashes".into()], ..job(&world, 1, &["sleeper.py"]) };
    fs::create_dir_all(checkpoint_dir(&launch)).expect("made");
    enough(&launch);
    for _ in 0..3 {
        world.start(&launch);
        assert_eq!(world.ending(&launch), Ending::Finished);
        let err = world.output(&launch, 0, Stream::Err);
        assert!(err.contains("the launcher did not survive its imports (crashes)"), "{err}");
        launch = next(&launch);
    }
    let count = fs::read_to_string(world.path("modules/crashes.py.count")).expect("it was tried");
    assert_eq!(count, "x");
}

#[test]
fn a_launcher_that_nobody_needs_makes_room_for_another_tenant() {
    let Some(mut world) = world() else { return };
    let start = |world: &mut World, id: u64, tenant: &str| {
        let launch = Launch { tenant: tenant.into(), ..job(world, id, &["sleeper.py"]) };
        fs::create_dir_all(checkpoint_dir(&launch)).expect("made");
        enough(&launch);
        world.start(&launch);
        let launcher = up(world, &launch).0;
        assert_eq!(world.ending(&launch), Ending::Finished);
        (launcher, world.output(&launch, 0, Stream::Err))
    };
    let tenants: Vec<String> = (0..8).map(|i| format!("tenant-{i}")).collect();
    let launchers: Vec<i32> =
        (1..).zip(&tenants).map(|(id, tenant)| start(&mut world, id, tenant).0).collect();
    let (_, err) = start(&mut world, 20, "late");
    assert!(err.contains("8 launchers run already"), "{err}");
    // One was needed last an hour ago, another a little later.
    let used = |pid: i32| {
        let folders = fs::read_dir(world.path("state/warm")).expect("launchers").flatten();
        let ready = |path: &Path| fs::read_to_string(path.join("ready")).unwrap_or_default();
        let own =
            folders.map(|entry| entry.path()).find(|path| ready(path).trim() == pid.to_string());
        own.expect("its folder").join("used")
    };
    for (launcher, seconds) in [(launchers[2], 3600), (launchers[5], 1000)] {
        let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(seconds);
        let file = fs::File::options().write(true).open(used(launcher)).expect("there");
        file.set_modified(long_ago).expect("set");
    }
    let (_, err) = start(&mut world, 21, "late");
    assert_eq!(err, "");
    wait_for("end of the launcher", || !is_alive(launchers[2]));
    assert!(launchers.iter().filter(|pid| is_alive(**pid)).count() == 7);
}

/// A launcher that stands in place of the package's: it says that it listens, hears nothing, and starts something in
/// another session.
const FAKE: &str = "
import os, signal, socket, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
folder = os.environ['OEF_WARM_DIR']
if os.fork():
    while not os.path.exists(folder + '/ready'):
        time.sleep(0.01)
    os._exit(0)
os.setsid()
child = os.fork()
if child == 0:
    os.setsid()
    time.sleep(300)
import fcntl
lock = open(folder + '/lock', 'w')
fcntl.flock(lock, fcntl.LOCK_EX)
listening = socket.socket(socket.AF_UNIX)
listening.bind(folder + '/socket')
listening.listen()
with open(folder + '/client', 'w') as file:
    file.write('/nowhere')
with open(folder + '/pids', 'w') as file:
    print(os.getpid(), child, file=file)
os.rename(folder + '/pids', folder + '/ready')
time.sleep(300)
";

#[test]
fn no_launcher_outlives_its_tenant_whatever_stands_in_its_place() {
    let Some(mut world) = world() else { return };
    let own = job(&world, 1, &["sleeper.py"]);
    let theirs = Launch { tenant: "speech".into(), ..job(&world, 2, &["sleeper.py"]) };
    let mut ups = Vec::new();
    for launch in [&own, &theirs] {
        world.start(launch);
        ups.push(up(&mut world, launch).0);
        enough(launch);
        assert_eq!(world.ending(launch), Ending::Finished);
    }
    world.executor.order(Order::EndTenant(own.tenant.clone()));
    wait_for("end of the launcher", || !is_alive(ups[0]));
    assert!(is_alive(ups[1]), "another tenant's stays");

    let mut fake = Launch { tenant: "forger".into(), ..job(&world, 3, &["sleeper.py"]) };
    let folder = world.path("fake/oef");
    fs::create_dir_all(&folder).expect("made");
    fs::write(folder.join("__init__.py"), "").expect("written");
    fs::write(folder.join("launcher.py"), FAKE).expect("written");
    let path = format!("{}:{}", world.path("fake").display(), fake.env["PYTHONPATH"]);
    fake.env.insert("PYTHONPATH".into(), path);
    world.start(&fake);
    // Two of them: of itself and of what it started.
    let pids = world.until("fake launcher", |world| {
        let warm = fs::read_dir(world.path("state/warm")).expect("launchers").flatten();
        let mut texts =
            warm.filter_map(|entry| fs::read_to_string(entry.path().join("ready")).ok());
        let two = texts.find(|text| text.split_whitespace().count() == 2)?;
        Some(two.split_whitespace().map(|pid| pid.parse().expect("a pid")).collect::<Vec<i32>>())
    });
    assert!(pids.iter().all(|pid| is_alive(*pid)));
    world.executor.order(Order::EndTenant("forger".into()));
    wait_for("end of the fake", || pids.iter().all(|pid| !is_alive(*pid)));
    world.stop(&fake, "its tenant is gone");
    world.ending(&fake);
}
