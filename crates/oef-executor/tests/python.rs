//! The Python package `oef` keeps the job's side of the protocol, with the real runner. Where there is no Python these tests
//! say so and show nothing; the package's own tests are in `python/tests`.

mod common;

use common::{Seen, World, checkpoint_dir, devices, next};
use oef_executor::{Ending, Launch, Stream};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Adds up random numbers, so that a step that is lost or done twice shows in the sum.
const SCRIPT: &str = r#"
import random, time
import oef

random.seed(1)
total = [0.0]
job = oef.job()
job.restore(total=total)
for step, batch in job.steps(range(100), epochs=3):
    total[0] += random.random() * batch
    time.sleep(0.005)
    job.log(loss=1 / (step + 1))
print("sum", total[0].hex(), "after", job.step)
"#;

#[test]
fn a_python_job_is_preempted_and_ends_with_the_same_sum() {
    let Some(mut world) = world() else { return };
    let whole = python(&world, 1, 1);
    let expected = output_at_the_end(&mut world, whole);
    assert!(expected.contains("after 300"), "{expected}");
    let stopped = stop_once_and_go_on(&mut world, 2, 1);
    assert_eq!(output_at_the_end(&mut world, stopped), expected);
}

#[test]
fn a_gang_in_python_stops_together_and_goes_on() {
    let Some(mut world) = world() else { return };
    let stopped = stop_once_and_go_on(&mut world, 3, 2);
    assert!(checkpoint_dir(&stopped).read_dir().expect("a folder").count() >= 2);
    assert!(output_at_the_end(&mut world, stopped).contains("after 300"));
}

/// A world with the script in it; nothing where there is no Python.
#[expect(clippy::print_stderr, reason = "a test that shows nothing has to say so")]
fn world() -> Option<World> {
    let version = "import sys; sys.exit(sys.version_info < (3, 9))";
    let found = Command::new("python3").args(["-c", version]).status().is_ok_and(|s| s.success());
    if !found {
        eprintln!("not run: there is no Python 3.9");
        return None;
    }
    let world = World::new();
    fs::write(world.path("train.py"), SCRIPT).expect("written");
    Some(world)
}

fn python(world: &World, id: u64, workers: u32) -> Launch {
    let script = world.path("train.py");
    let mut launch = world.job(id, &["python3", script.to_str().expect("text")]);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/src");
    launch.env.insert("PYTHONPATH".into(), source.display().to_string());
    launch.devices = devices(workers);
    launch
}

/// The launch that goes on after a stop in the middle.
fn stop_once_and_go_on(world: &mut World, id: u64, workers: u32) -> Launch {
    let first = python(world, id, workers);
    world.start(&first);
    world.steps(&first, 20.0);
    world.stop(&first, "others are owed more");
    assert_eq!(world.ending(&first), Ending::Checkpointed);
    let about = (first.job, first.generation);
    let own = world.seen.iter().rev().filter(|seen| seen.about == about);
    let saved = own.filter_map(Seen::progress).find_map(|progress| progress.checkpoint);
    assert!(saved.is_some_and(|step| (20.0..300.0).contains(&step)), "{saved:?}");
    next(&first)
}

/// What the first worker printed when the job had finished.
fn output_at_the_end(world: &mut World, launch: Launch) -> String {
    world.start(&launch);
    assert_eq!(world.ending(&launch), Ending::Finished);
    world.output(&launch, 0, Stream::Out)
}
