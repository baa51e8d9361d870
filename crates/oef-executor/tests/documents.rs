//! The example in the book does what the book says.

mod common;

use common::{Seen, World, checkpoint_dir, next};
use oef_executor::Ending;
use std::fs;
use std::path::Path;

#[test]
fn the_script_in_the_book_goes_on_from_where_it_was() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/jobs.md");
    let page = fs::read_to_string(page).expect("the page");
    let script = page.split("```bash\n").nth(1).and_then(|rest| rest.split("```").next());
    let mut world = World::new();
    let path = world.path("count.sh");
    fs::write(&path, script.expect("a script")).expect("written");
    let first = world.job(1, &["bash", path.to_str().expect("text")]);
    world.start(&first);
    world.steps(&first, 2.0);
    world.stop(&first, "others are owed more");
    assert_eq!(world.ending(&first), Ending::Checkpointed);
    let saved = fs::read_to_string(checkpoint_dir(&first).join("count")).expect("a checkpoint");
    let saved: f64 = saved.trim().parse().expect("a number");
    assert!(saved >= 2.0);

    let second = next(&first);
    world.seen.clear();
    world.start(&second);
    world.steps(&second, 0.0);
    let told = world.seen.iter().find_map(Seen::progress).map(|progress| progress.steps);
    assert!(told.expect("progress") > saved);
    world.stop(&second, "cancelled");
    assert_eq!(world.ending(&second), Ending::Checkpointed);
}
