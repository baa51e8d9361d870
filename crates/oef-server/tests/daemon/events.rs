//! Who reads events slowly.

use crate::common::{Cluster, block_on, shell};
use oef_api::types::{JobBatch, JobSubmit};
use oef_server::caller::Caller;
use oef_server::daemon::{Delivery, Subscription};

pub const TESTS: &[(&str, fn())] =
    &[("a_slow_reader_gets_all_that_is_remembered", a_slow_reader_gets_all_that_is_remembered)];

/// More than what waits for one reader, and less than what is remembered.
const BEHIND: usize = 6_000;

fn a_slow_reader_gets_all_that_is_remembered() {
    let cluster = Cluster::new("slow=1");
    let mut slow = cluster.daemon.subscribe(&Caller::admin(), None).expect("a stream");
    let mut slower = cluster.daemon.subscribe(&Caller::admin(), None).expect("a stream");
    let first = newest(&cluster);
    hold(&cluster, BEHIND);
    assert!(newest(&cluster) - first >= BEHIND as u64);
    let last = newest(&cluster);
    assert_eq!(read_up_to(&mut slow, first, last), (0, last - first));
    // One that is behind everything that is remembered is told so, once, and continues with the rest.
    hold(&cluster, BEHIND);
    let (lost, read) = read_up_to(&mut slower, first, newest(&cluster));
    let kept = cluster.daemon.with_world(|world| world.events.len() as u64);
    assert_eq!((lost, read), (1, kept));
}

fn newest(cluster: &Cluster) -> u64 {
    cluster.daemon.with_world(|world| world.next_event - 1)
}

/// Submits jobs that wait for ever: an event each.
fn hold(cluster: &Cluster, jobs: usize) {
    for _ in 0..jobs / 1000 {
        let job = || JobSubmit { held: true, ..shell("t", "true") };
        let batch = JobBatch::of((0..1000).map(|_| job()).collect());
        block_on(cluster.daemon.submit(&Caller::admin(), batch, None)).expect("taken");
    }
}

/// How often it was told that events are lost, and how many came, without a gap, up to a number.
fn read_up_to(events: &mut Subscription, mut last: u64, end: u64) -> (u64, u64) {
    let (mut resets, mut read) = (0, 0);
    while last < end {
        match block_on(events.next()).expect("the daemon runs") {
            Delivery::Event(event) => {
                assert_eq!(event.id, last + 1);
                (last, read) = (event.id, read + 1);
            }
            Delivery::Reset { upto } => (last, resets) = (upto, resets + 1),
        }
    }
    (resets, read)
}
