//! Runs the two parts: a steady stream of submissions, then a long queue.

use super::args::BenchDaemonArgs;
use super::host::{Host, trouble};
use super::load;
use super::report::{self, Figures};
use oef_api::client::Client;
use oef_api::types::{JobState, JobsQuery};
use oef_terminal::progress::Progress;
use oef_terminal::{Exit, Failure, Printer};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// So many pages are looked at.
const PAGES: usize = 100;

/// Jobs in one submission while the queue is filled.
const BATCH: u32 = 1000;

/// Runs the command.
pub fn run(args: &BenchDaemonArgs, printer: &Printer) -> Result<Exit, Failure> {
    if cfg!(debug_assertions) {
        printer.warn("this is a debug build; only a release build tells how fast the daemon is");
    }
    let (seconds, queued) =
        if args.quick { (10, 5_000.min(args.queued)) } else { (args.seconds, args.queued) };
    let dir = args.dir.clone().unwrap_or_else(std::env::temp_dir);
    let mut figures = Figures { rate: args.rate, ..Figures::default() };
    let mut host = Host::new(&dir)?;
    host.start()?;
    {
        let what = format!("{} submissions a second for {seconds} s", args.rate);
        let _progress = Progress::start(printer, what);
        figures.load = load::run(&host.client()?, args.rate, seconds)?;
    }
    {
        let _progress = Progress::start(printer, "power cut, and what is left");
        host.kill();
        host.start()?;
        figures.missing = missing(&host.client()?, &figures.load.acknowledged)?;
    }
    {
        let _progress = Progress::start(printer, format!("a queue of {queued} jobs"));
        fill(&host.client()?, queued)?;
        // The next round sees them all.
        std::thread::sleep(Duration::from_secs(6));
        figures.queued = queued;
        figures.pages = pages(&host.client()?)?;
        figures.memory = host.memory();
        host.kill();
        figures.restart = host.start()?.as_secs_f64();
        // Ready means that all of them are there with the first answer.
        let found = waiting(&host.client()?)?;
        figures.missing += usize::try_from(queued.saturating_sub(found)).unwrap_or(usize::MAX);
    }
    printer.show(args.json, || report::document(&figures), || report::render(&figures))
}

/// How many acknowledged jobs the daemon does not know.
fn missing(client: &Client, acknowledged: &[u64]) -> Result<usize, Failure> {
    let mut known = BTreeSet::new();
    let mut query = JobsQuery { all: true, limit: Some(1000), ..JobsQuery::default() };
    loop {
        let page = client.jobs(&query).map_err(|error| trouble(error.to_string()))?;
        known.extend(page.jobs.iter().map(|job| job.id));
        if page.next.is_none() {
            return Ok(acknowledged.iter().filter(|id| !known.contains(id)).count());
        }
        query.after = page.next;
    }
}

/// Jobs that wait, of all tenants: ten, so that they fit on one page.
fn waiting(client: &Client) -> Result<u32, Failure> {
    let tenants = client.tenants(None).map_err(|error| trouble(error.to_string()))?;
    Ok(tenants.tenants.iter().map(|tenant| tenant.queued).sum())
}

/// Submits until so many jobs wait.
fn fill(client: &Client, queued: u32) -> Result<(), Failure> {
    let (mut there, mut number) = (waiting(client)?, 0);
    while there < queued {
        let jobs = BATCH.min(queued - there);
        match client.submit(&load::batch(number, jobs), None, load::NEW) {
            Ok(_) => (there, number) = (there + jobs, number + 1),
            // The daemon limits how many come in a short time; this part is not about that.
            Err(error) if error.problem().is_some_and(|p| p.status == 429) => {
                std::thread::sleep(Duration::from_secs(1));
            }
            Err(error) => return Err(trouble(error.to_string())),
        }
    }
    Ok(())
}

/// Seconds that each of many pages took, here and there in the queue and with filters.
fn pages(client: &Client) -> Result<Vec<f64>, Failure> {
    let (mut took, mut after) = (Vec::new(), None);
    for number in 0..PAGES {
        let query = JobsQuery {
            tenant: (number % 4 == 1).then(|| "tenant-3".to_owned()),
            state: (number % 4 == 2).then(|| JobState::Queued.name().to_owned()),
            limit: Some(100),
            after: after.take(),
            ..JobsQuery::default()
        };
        let began = Instant::now();
        let page = client.jobs(&query).map_err(|error| trouble(error.to_string()))?;
        took.push(began.elapsed().as_secs_f64());
        after = page.next;
    }
    Ok(took)
}
