//! Nodes that go and come, and executors without room: with a cluster that is simulated.

use crate::common::{Cluster, Guarded, quick, shell};
use oef_api::parsed::Workers;
use oef_api::types::{JobState, JobSubmit};
use oef_executor::DeviceId;
use oef_executor::sim::{SimCluster, SimExecutor};
use oef_sched::JobId;
use oef_server::daemon::{Options, StopJobs};
use std::sync::Arc;

pub const TESTS: &[(&str, fn())] = &[
    (
        "a_job_of_a_node_that_leaves_goes_on_elsewhere",
        a_job_of_a_node_that_leaves_goes_on_elsewhere,
    ),
    ("others_use_a_gpu_of_a_node", others_use_a_gpu_of_a_node),
    ("an_executor_without_room_fails_no_job", an_executor_without_room_fails_no_job),
    ("an_order_that_is_lost_is_made_up_for", an_order_that_is_lost_is_made_up_for),
    ("of_a_gang_that_is_stopped_those_are_told_that_had_finished", of_a_gang_that_is_stopped),
];

/// A daemon on a simulated cluster.
fn simulated(outside: &SimCluster) -> Cluster {
    let folder = tempfile::tempdir().expect("a folder");
    let daemon = start(outside, &folder);
    Cluster { folder, gpus: String::new(), daemon }
}

fn start(outside: &SimCluster, folder: &tempfile::TempDir) -> Guarded {
    let executor = Arc::new(SimExecutor::open(outside));
    let options =
        Options { settings: quick(), ..Options::new(folder.path().join("state"), executor) };
    Guarded::start(options)
}

fn job(words: &[&str]) -> JobSubmit {
    let command = words.iter().map(|word| word.to_string()).collect();
    JobSubmit { command, ..shell("alice", "") }
}

fn node_of(cluster: &Cluster, id: u64) -> String {
    cluster.look(id, |job| job.run().map(|run| run.gpus[0].node.clone()).unwrap_or_default())
}

fn a_job_of_a_node_that_leaves_goes_on_elsewhere() {
    let outside = SimCluster::new(&[("a", "g", 1), ("b", "g", 1)]);
    let cluster = simulated(&outside);
    let id = cluster.submit(job(&["run"]));
    cluster.wait(id, JobState::Running);
    let first = node_of(&cluster, id);
    outside.leave(&first);
    cluster.wait_until("another node", |world| {
        let job = &world.jobs[&JobId(id)];
        let elsewhere = job.run().is_some_and(|run| run.gpus[0].node != first);
        elsewhere && job.state == JobState::Running
    });
    assert!(!cluster.daemon.with_world(|world| world.sched.is_up(&first)));
    outside.join(&first);
    cluster.wait_until("its return", |world| world.sched.is_up(&first));
    assert_eq!(cluster.look(id, |job| job.failures), 0);
}

fn others_use_a_gpu_of_a_node() {
    let outside = SimCluster::new(&[("a", "g", 2)]);
    outside.use_by_others("a", &[]);
    let cluster = simulated(&outside);
    cluster.wait_until("the node", |world| world.sched.is_up("a"));
    outside.use_by_others("a", &[DeviceId("a/0".into())]);
    cluster.wait_until("the rest of it", |world| world.sched.is_up("a:1xg"));
    cluster.wait_until("an end of the whole", |world| !world.sched.is_up("a"));
    let id = cluster.submit(job(&["run"]));
    cluster.wait(id, JobState::Running);
    assert_eq!(node_of(&cluster, id), "a:1xg");
    outside.use_by_others("a", &[]);
    cluster.wait_until("the whole again", |world| world.sched.is_up("a"));
}

fn an_executor_without_room_fails_no_job() {
    let outside = SimCluster::new(&[("a", "g", 1)]);
    outside.set_full(true);
    let cluster = simulated(&outside);
    let id = cluster.submit(job(&["finish"]));
    cluster.wait_until("why it waits", |world| {
        world.jobs[&JobId(id)].reason.to_string().contains("waits for the system")
    });
    assert_eq!(cluster.state(id), JobState::Starting);
    outside.set_full(false);
    cluster.wait(id, JobState::Finished);
    assert_eq!(cluster.look(id, |job| (job.failures, job.runs.len())), (0, 1));
}

fn an_order_that_is_lost_is_made_up_for() {
    let outside = SimCluster::new(&[("a", "g", 1)]);
    let cluster = simulated(&outside);
    outside.set_losing_orders(true);
    let id = cluster.submit(job(&["finish"]));
    cluster.wait(id, JobState::Starting);
    outside.set_losing_orders(false);
    let Cluster { folder, daemon, gpus } = cluster;
    daemon.stop(StopJobs::LeaveRunning);
    let daemon = start(&outside, &folder);
    let cluster = Cluster { folder, gpus, daemon };
    cluster.wait(id, JobState::Finished);
    assert_eq!(outside.runs(JobId(id)), 1);
}

/// With real processes: worker 1 is done while worker 0 still trains, and then both are stopped.
fn of_a_gang_that_is_stopped() {
    let cluster = Cluster::new("g=2");
    let (told, go) = (cluster.path("told"), cluster.path("go"));
    let script = format!(
        "trap 'exit 75' TERM; echo $RANK $OEF_RESTART $OEF_FINISHED_BEFORE >> {}; [ $RANK = 1 ] && exit 0; \
         while [ ! -e {} ]; do sleep 0.02; done",
        told.display(),
        go.display()
    );
    let id = cluster.submit(JobSubmit { workers: Workers::up_to(2), ..shell("alice", &script) });
    let lines = || {
        let text = std::fs::read_to_string(&told).unwrap_or_default();
        let mut lines: Vec<String> = text.lines().map(String::from).collect();
        lines.sort();
        lines
    };
    cluster.wait_until("both workers", |_| lines().len() == 2);
    cluster.wait(id, JobState::Running);
    // Longer than the runner takes to see that worker 1 has ended.
    std::thread::sleep(std::time::Duration::from_millis(500));
    let cluster = cluster.restart(StopJobs::Checkpoint);
    cluster.wait_until("both again", |_| lines().len() == 4);
    assert_eq!(lines(), ["0 0 0", "0 1 0", "1 0 0", "1 1 1"]);
    std::fs::write(&go, "").expect("written");
    cluster.wait(id, JobState::Finished);
}
