//! Gangs on emulated hosts of four GPUs each: room among single jobs, figures, and what restarts cost.

use crate::common::{Cluster, block_on, training};
use oef_api::parsed::Workers;
use oef_api::types::{ApiError, FigureSource, GangPut, JobState, JobSubmit, Workload, WorkloadPut};
use oef_sched::JobId;
use oef_server::caller::Caller;
use oef_server::daemon::StopJobs;
use std::collections::{BTreeMap, BTreeSet};

pub const TESTS: &[(&str, fn())] = &[
    ("a_gang_gets_a_host_among_single_jobs_of_others", a_gang_gets_a_host),
    ("figures_of_gangs_are_checked_kept_and_shown", figures_of_gangs_are_checked_kept_and_shown),
];

/// Rounds within which a gang has its room: it waits for three at most, and the jobs in its way have to stop.
const FEW_ROUNDS: u64 = 12;

fn nodes(cluster: &Cluster, id: u64) -> BTreeSet<String> {
    let of = |job: &oef_server::world::JobEntry| {
        let gpus = job.run().map(|run| run.gpus.clone()).unwrap_or_default();
        gpus.into_iter().map(|gpu| gpu.node).collect()
    };
    cluster.look(id, of)
}

fn a_gang_gets_a_host() {
    let cluster = Cluster::new("g=8");
    let singles: Vec<u64> = (0..8).map(|_| cluster.submit(training("bob", 100_000, 20))).collect();
    singles.iter().for_each(|&id| cluster.wait(id, JobState::Running));
    // Two of bob's jobs are left on each host: nowhere are four GPUs free together.
    let mut left: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for &id in &singles {
        let node = nodes(&cluster, id).into_iter().next().expect("a node");
        left.entry(node).or_default().push(id);
    }
    for id in left.values_mut().flat_map(|ids| ids.split_off(2)) {
        block_on(cluster.daemon.cancel(&Caller::admin(), id)).expect("cancelled");
        cluster.wait(id, JobState::Cancelled);
    }
    let before = cluster.daemon.with_world(|world| world.sched.round().0);
    let gang =
        cluster.submit(JobSubmit { workers: Workers::up_to(4), ..training("alice", 100_000, 20) });
    cluster.wait_until("the gang on one host", |world| {
        let run = world.jobs[&JobId(gang)].run();
        let hosts = run.map(|run| run.gpus.iter().map(|gpu| &gpu.node).collect::<BTreeSet<_>>());
        hosts.is_some_and(|hosts| hosts.len() == 1)
            && world.jobs[&JobId(gang)].state == JobState::Running
    });
    let after = cluster.daemon.with_world(|world| world.sched.round().0);
    assert!(after - before <= FEW_ROUNDS, "it took {} rounds", after - before);
    // Nobody lost its GPUs for it: those who made room go on beside it.
    let bobs: Vec<u64> = left.into_values().flatten().collect();
    for &id in &bobs {
        cluster.wait(id, JobState::Running);
        assert!(nodes(&cluster, id).is_disjoint(&nodes(&cluster, gang)));
    }
    let moved: u32 = bobs.iter().map(|&id| cluster.look(id, |job| job.restarts)).sum();
    assert_eq!(moved, 2, "two made room, and nobody else was touched");
    restarts_are_measured_and_shown(&cluster, bobs[0]);
}

/// What starting and stopping took was seen, and a job says what it has lost.
fn restarts_are_measured_and_shown(cluster: &Cluster, id: u64) {
    let workload = cluster.look(id, |job| job.workload);
    cluster.wait_until("measured restarts", |world| {
        world.sched.workloads()[workload.0].measured_restart().is_some()
    });
    let admin = Caller::admin();
    let budget = cluster.daemon.job(&admin, id).expect("a job").restart_budget.expect("it lives");
    assert!(budget.measured && budget.cost_s > 0.0 && budget.bound > 0.0, "{budget:?}");
    let why = cluster.daemon.why(&admin, id).expect("a reason");
    assert!(
        why.details.iter().any(|detail| detail.contains("measured for its workload")),
        "{why:?}"
    );
}

fn put(cluster: &Cluster, gangs: Vec<GangPut>) -> Result<Workload, ApiError> {
    let throughput = Some(BTreeMap::from([("g".to_string(), 10.0), ("h".to_string(), 20.0)]));
    let put = WorkloadPut { throughput, gangs, ..WorkloadPut::default() };
    block_on(cluster.daemon.put_workload(&Caller::admin(), "alice", "bert", put))
}

fn gang(gpu_type: &str, workers: u32, spread: bool, throughput: f64) -> GangPut {
    GangPut { gpu_type: gpu_type.into(), workers, spread, throughput }
}

fn figures_of_gangs_are_checked_kept_and_shown() {
    let cluster = Cluster::new("g=8,h=8,i=4");
    let job = JobSubmit {
        workload: "bert".parse().ok(),
        workers: Workers::up_to(8),
        ..training("alice", 1, 1)
    };
    let id = cluster.submit(JobSubmit { types: vec!["g".into()], ..job });
    for (gangs, expected) in [
        (vec![gang("x", 8, false, 1.0)], "no gpu type"),
        (vec![gang("g", 1, false, 9.0)], "2 to"),
        (vec![gang("g", 8, true, 0.0)], "above 0"),
        (vec![gang("g", 8, true, 72.0)], "more than a single worker"),
        (vec![gang("g", 8, true, 1e-9)], "cannot be used"),
        (vec![gang("g", 8, true, 3.0), gang("g", 8, true, 4.0)], "twice"),
    ] {
        let problem = put(&cluster, gangs).expect_err(expected);
        assert!(problem.detail.contains(expected), "{problem:?}");
    }
    let told = vec![gang("g", 8, true, 3.0), gang("h", 4, false, 18.0)];
    put(&cluster, told).expect("taken");
    cluster.wait(id, JobState::Finished);
    // They are there after a restart, count as gangs can stand, and say where they come from.
    let cluster = cluster.restart(StopJobs::LeaveRunning);
    let known = cluster.daemon.workload(&Caller::admin(), "alice", "bert").expect("known");
    assert_eq!(known.profile.gangs.len(), 2);
    let counted = |gpu: &str| {
        let on = known.gangs.iter().find(|on| on.gpu_type == gpu).expect("it can stand there");
        (on.workers, on.hosts, on.throughput, on.source, on.from)
    };
    assert_eq!(counted("g"), (8, 2, 3.0, FigureSource::Declared, None));
    // Nobody told how a gang of eight does over two hosts of the other type: the estimate counts.
    let (workers, hosts, throughput, source, from) = counted("h");
    assert_eq!((workers, hosts, source, from), (8, 2, FigureSource::Estimated, None));
    assert!(throughput < 18.0 * oef_sched::SCALING_PER_DOUBLING, "{throughput}");
    assert!(known.gangs.iter().all(|on| on.gpu_type != "i"), "eight do not fit there");
}
