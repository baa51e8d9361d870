//! Submissions at a steady rate, whatever the answers do.

use super::host::trouble;
use oef_api::client::Client;
use oef_api::parsed::Workers;
use oef_api::types::{JobBatch, JobSubmit, JobsQuery, SubmitQuery};
use oef_terminal::Failure;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// So many requests may be under way at once: at 200 a second each may take 80 ms before the load falls behind.
const THREADS: u32 = 16;

/// What came of it.
#[derive(Debug, Default)]
pub struct Load {
    /// Seconds from the instant at which a submission was due to its acknowledgement.
    pub submissions: Vec<f64>,
    /// Seconds that questions took meanwhile.
    pub questions: Vec<f64>,
    /// Numbers that were acknowledged.
    pub acknowledged: Vec<u64>,
    /// Submissions that were not taken, with the first reason.
    pub refused: u32,
    /// The first reason.
    pub reason: Option<String>,
    /// Seconds that the whole took.
    pub seconds: f64,
}

/// Submits `rate` jobs a second for so many seconds, and asks questions meanwhile.
///
/// The load is open: a submission is due at its instant even if the ones before are still waiting, and its time
/// counts from then. So a daemon that stalls cannot hide it.
pub fn run(client: &Client, rate: u32, seconds: u32) -> Result<Load, Failure> {
    let next = AtomicU32::new(0);
    let over = AtomicBool::new(false);
    let began = Instant::now();
    let mut load = thread::scope(|scope| {
        let askers = scope.spawn(|| ask(client, &over));
        let submitters: Vec<_> = (0..THREADS)
            .map(|_| scope.spawn(|| submit(client, &next, rate, rate * seconds, began)))
            .collect();
        let mut load = Load::default();
        for submitter in submitters {
            let part = submitter.join().unwrap_or_default();
            load.submissions.extend(part.submissions);
            load.acknowledged.extend(part.acknowledged);
            load.refused += part.refused;
            load.reason = load.reason.or(part.reason);
        }
        over.store(true, Ordering::Relaxed);
        load.questions = askers.join().unwrap_or_default();
        load
    });
    load.seconds = began.elapsed().as_secs_f64();
    if load.acknowledged.is_empty() {
        let reason = load.reason.unwrap_or_default();
        return Err(trouble(format!("no submission was taken: {reason}")));
    }
    Ok(load)
}

fn submit(client: &Client, next: &AtomicU32, rate: u32, total: u32, began: Instant) -> Load {
    let mut load = Load::default();
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= total {
            return load;
        }
        let due = began + Duration::from_secs_f64(f64::from(number) / f64::from(rate));
        thread::sleep(due.saturating_duration_since(Instant::now()));
        match client.submit(&batch(number, 1), None, NEW) {
            Ok(submitted) => {
                load.submissions.push(due.elapsed().as_secs_f64());
                load.acknowledged.extend(submitted.ids);
            }
            Err(error) => {
                load.refused += 1;
                load.reason.get_or_insert_with(|| error.to_string());
            }
        }
    }
}

/// Its tenants come with their first jobs.
pub const NEW: SubmitQuery = SubmitQuery { create_tenant: true };

/// So many jobs of one of ten tenants.
pub fn batch(number: u32, jobs: u32) -> JobBatch {
    let job = JobSubmit {
        tenant: format!("tenant-{}", number % 10).parse().ok(),
        workload: "bench".parse().ok(),
        command: vec!["sleep".into(), "1000000".into()],
        workers: Workers::up_to(1 + number % 3 / 2),
        ..JobSubmit::default()
    };
    JobBatch::of(vec![job; jobs as usize])
}

/// Looks at pages and jobs, twenty a second.
fn ask(client: &Client, over: &AtomicBool) -> Vec<f64> {
    let mut took = Vec::new();
    while !over.load(Ordering::Relaxed) {
        let began = Instant::now();
        let page = JobsQuery { limit: Some(100), ..JobsQuery::default() };
        let first = client.jobs(&page).ok().and_then(|page| page.jobs.first().map(|job| job.id));
        took.push(began.elapsed().as_secs_f64());
        if let Some(id) = first {
            let began = Instant::now();
            if client.why(id).is_ok() {
                took.push(began.elapsed().as_secs_f64());
            }
        }
        thread::sleep(Duration::from_millis(50));
    }
    took
}
