//! Many jobs, measured. What it finds is printed; run it with `OEF_LONG=1` on a quiet machine.

use crate::common::{Cluster, block_on, shell, training};
use oef_api::types::{JobBatch, JobsQuery};
use oef_server::caller::Caller;
use oef_server::daemon::StopJobs;
use std::time::{Duration, Instant};

pub const TESTS: &[(&str, fn())] = &[
    ("fifty_thousand_jobs_wait", fifty_thousand_jobs_wait),
    ("two_hundred_a_second", two_hundred_a_second),
];

const JOBS: usize = 50_000;
const BATCH: usize = 1000;
const TENANTS: usize = 40;

#[expect(clippy::print_stdout, reason = "the figures are what it is for")]
fn say(what: &str, took: Duration) {
    println!("     {what}: {:.1} ms", took.as_secs_f64() * 1e3);
}

fn timed<R>(what: &str, work: impl FnOnce() -> R) -> R {
    let began = Instant::now();
    let result = work();
    say(what, began.elapsed());
    result
}

/// Keeps every GPU busy, so that the rest waits.
fn fill(cluster: &Cluster, gpus: usize) {
    for _ in 0..gpus {
        cluster.submit(training("t0", 1_000_000, 500));
    }
}

fn queue(cluster: &Cluster) {
    for batch in 0..JOBS / BATCH {
        let jobs =
            (0..BATCH).map(|i| shell(&format!("t{}", (batch * BATCH + i) % TENANTS), "true"));
        let batch = JobBatch::of(jobs.collect());
        block_on(cluster.daemon.submit(&Caller::admin(), batch, None)).expect("taken");
    }
}

fn fifty_thousand_jobs_wait() {
    let cluster = Cluster::new("slow=4,fast=4");
    fill(&cluster, 8);
    timed("50,000 submissions in batches of 1,000", || queue(&cluster));
    let admin = Caller::admin();
    let page = || cluster.daemon.jobs(&admin, &JobsQuery::default()).expect("a page");
    assert_eq!(timed("a page of jobs", page).jobs.len(), 100);
    let last = cluster.daemon.with_world(|world| world.next_job - 1);
    timed("one more submission", || cluster.submit(shell("t1", "true")));
    timed("why", || cluster.daemon.why(&admin, last).expect("a reason"));
    timed("a copy of the world", || cluster.daemon.with_world(|world| world.clone()));
    let text = timed("the same as text", || {
        cluster.daemon.with_world(|world| world.to_snapshot().expect("text"))
    });
    say_memory(text.len());
    timed("a stop with a snapshot", || cluster.daemon.stop(StopJobs::LeaveRunning));
    let cluster = timed("a start", || cluster.restart(StopJobs::LeaveRunning));
    assert!(cluster.daemon.is_ready());
    assert!(cluster.daemon.with_world(|world| world.jobs.len()) > JOBS);
}

#[expect(clippy::print_stdout, reason = "the figures are what it is for")]
fn say_memory(snapshot: usize) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or_default();
    println!("     memory: {line}; a snapshot has {} MB", snapshot / 1_000_000);
}

#[expect(clippy::print_stdout, reason = "the figures are what it is for")]
fn two_hundred_a_second() {
    let cluster = Cluster::new("slow=4,fast=4");
    fill(&cluster, 8);
    let (count, pace) = (3000, Duration::from_millis(5));
    let daemon = &cluster.daemon;
    let mut waits: Vec<Duration> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..10)
            .map(|client| {
                scope.spawn(move || {
                    let mut waits = Vec::new();
                    let began = Instant::now();
                    for i in 0..count / 10 {
                        let due = pace * (i * 10 + client);
                        std::thread::sleep(due.saturating_sub(began.elapsed()));
                        let job = shell(&format!("t{}", i % 40), "true");
                        let batch = JobBatch::of(vec![job]);
                        let asked = Instant::now();
                        block_on(daemon.submit(&Caller::admin(), batch, None)).expect("taken");
                        waits.push(asked.elapsed());
                    }
                    waits
                })
            })
            .collect();
        clients.into_iter().flat_map(|client| client.join().expect("done")).collect()
    });
    waits.sort();
    let at = |part: f64| waits[((waits.len() - 1) as f64 * part) as usize].as_secs_f64() * 1e3;
    println!(
        "     submission: p50 {:.1} ms, p99 {:.1} ms, worst {:.1} ms",
        at(0.5),
        at(0.99),
        at(1.0)
    );
}
