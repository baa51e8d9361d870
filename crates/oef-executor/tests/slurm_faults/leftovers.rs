//! Copies of checkpoints that stay on the disks of nodes.

use crate::world::{World, next};
use oef_executor::checkpoints::{HOST, Keeping, Transport};
use oef_executor::{
    CheckpointLocation, Checkpoints, DeviceId, Ending, Executor as _, Order, Program,
};
use std::path::PathBuf;

#[test]
fn copies_on_nodes_go_when_a_job_has_ended_and_the_last_one_when_it_is_forgotten() {
    let mut world = World::with(|config, folder| {
        // Each node has a disk of its own, and the daemon is not asked to look at it.
        config.checkpoints.place = Keeping::Node;
        config.checkpoints.transport = Transport::Ssh;
        config.checkpoints.node_dir = Some(folder.join("disks").join(HOST));
        std::fs::create_dir_all(folder.join("disks")).expect("made");
    });
    let copy = |node: &str| -> PathBuf { world.folder.join(format!("disks/{node}/1")) };
    let (old, new) = (copy("n4"), copy("n5"));
    let mut job = world.job(1, &["n4:0"]);
    job.program = Program::Script(b"echo x > $OEF_CHECKPOINT_DIR/saved; exit 0".to_vec());
    world.start(&job);
    assert_eq!(world.ending(&job), Ending::Finished);
    assert!(old.join("saved").exists());
    // Its next start is elsewhere; what it would bring along is not the matter here.
    let mut moved = next(&job);
    moved.devices = vec![DeviceId("n5:0".into())];
    moved.checkpoints =
        Checkpoints { last: Some(CheckpointLocation::Host("n5".into())), ..Checkpoints::default() };
    world.start(&moved);
    assert_eq!(world.ending(&moved), Ending::Finished);
    assert!(old.exists() && new.exists());
    world.executor.order(Order::Retire(job.job));
    world.until("removal of the old copy", |_| (!old.exists()).then_some(()));
    assert!(new.join("saved").exists(), "the last good one stays");
    world.executor.order(Order::Forget(job.job));
    world.until("removal of the last copy", |_| (!new.exists()).then_some(()));
}
