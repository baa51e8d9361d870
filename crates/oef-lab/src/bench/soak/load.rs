//! Submissions at a steady rate, and readers of events.

use oef_api::types::{JobBatch, JobSubmit};
use oef_server::caller::Caller;
use oef_server::daemon::{Daemon, Delivery};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// The kind of job that every tenant has.
pub(super) const WORKLOAD: &str = "soak";

/// A submission that takes longer is as good as refused: people and scripts give up.
const LATE_S: f64 = 10.0;

/// What came of the submissions of one thread.
#[derive(Debug, Default)]
pub(super) struct Submitted {
    /// Seconds from the instant at which a submission was due to its acknowledgement.
    pub took: Vec<f64>,
    /// Submissions that were not taken.
    pub refused: u64,
    /// What was wrong first, and after how many seconds.
    pub first: Option<(f64, String)>,
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for an answer on this thread.
pub(super) fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

/// What a load is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub rate: u32,
    pub tenants: u32,
    /// Seconds that a job runs: so that all GPUs are in use.
    pub job_s: f64,
    pub began: Instant,
    pub until: Instant,
}

/// Submits whatever is due next, until it is over. The load is open: a submission is due at its instant even if the ones
/// before are still waiting.
pub(super) fn submit(daemon: &Daemon, plan: Plan, next: &AtomicU64) -> Submitted {
    let mut done = Submitted::default();
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let due = plan.began + Duration::from_secs_f64(number as f64 / f64::from(plan.rate));
        if due >= plan.until {
            return done;
        }
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let owner = number % u64::from(plan.tenants);
        let job = JobSubmit {
            tenant: tenant(owner).parse().ok(),
            workload: WORKLOAD.parse().ok(),
            command: vec![
                "emulated".into(),
                plan.job_s.to_string(),
                fast_throughput(owner).to_string(),
            ],
            ..JobSubmit::default()
        };
        let batch = JobBatch::of(vec![job]);
        let answer = wait(daemon.submit(&Caller::admin(), batch, None));
        let (took, at) = (due.elapsed().as_secs_f64(), plan.began.elapsed().as_secs_f64());
        let wrong = match answer {
            Ok(_) => {
                done.took.push(took);
                (took > LATE_S).then(|| format!("a submission was acknowledged after {took:.0} s"))
            }
            Err(problem) => {
                done.refused += 1;
                Some(format!("a submission was refused: {}", problem.detail))
            }
        };
        if let Some(wrong) = wrong {
            done.first.get_or_insert((at, wrong));
        }
    }
}

pub(super) fn tenant(number: u64) -> String {
    format!("tenant-{number}")
}

/// How fast a tenant's jobs are on a fast GPU; on a slow one they do a step a second. No two tenants are alike.
pub(super) fn fast_throughput(tenant: u64) -> f64 {
    1.2 + 0.003 * tenant as f64
}

/// What a reader of events saw.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    pub events: u64,
    /// Events that are missing between two that it got.
    pub lost: u64,
    /// After how many seconds the first were missing, and how many.
    pub first: Option<(f64, u64)>,
}

/// Reads events up to the one with the number `end`, which is known when the load is over.
pub(super) fn read_events(daemon: &Daemon, began: Instant, end: &AtomicU64) -> Seen {
    let mut seen = Seen::default();
    let Ok(mut events) = daemon.subscribe(&Caller::admin(), None) else { return seen };
    let mut last = daemon.with_world(|world| world.next_event).saturating_sub(1);
    while last < end.load(Ordering::Relaxed) {
        // What is lost by a reset shows in the number of the next event.
        let Some(delivery) = wait(events.next()) else { return seen };
        let Delivery::Event(event) = delivery else { continue };
        // Events between the subscription and the look at the world come as well.
        let lost = event.id.saturating_sub(last.saturating_add(1));
        seen.events += 1;
        seen.lost += lost;
        if lost > 0 {
            seen.first.get_or_insert((began.elapsed().as_secs_f64(), lost));
        }
        last = last.max(event.id);
    }
    seen
}
