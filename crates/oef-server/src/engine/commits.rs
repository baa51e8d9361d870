//! What is durable and what is not: an engine on a journal in memory, which is full when a test wants it.

use super::batch::Batch;
use super::budgets::Budgets;
use super::clock::ClockSource;
use super::command::{Command, Done};
use super::message::Message;
use super::recovery::{Beginning, Parts, assemble};
use super::run::Engine;
use super::solver::Asked;
use crate::caller::Caller;
use crate::daemon::{Measure, Metrics};
use crate::store::{Ledger, NewRecord, StoreError};
use crate::world::{Change, Due, RunEnding, SettingsEntry, World};
use oef_api::types::{ApiError, JobBatch, JobSubmit};
use oef_executor::Executor;
use oef_executor::sim::{SimCluster, SimExecutor};
use oef_sched::{JobId, Scope, Settings, Time};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;

/// When it begins.
const START_MS: u64 = 1_700_000_000_000;

/// A journal in memory.
#[derive(Clone, Default)]
struct Disk {
    records: Arc<Mutex<Vec<String>>>,
    is_full: Arc<AtomicBool>,
}

impl Disk {
    fn records(&self) -> Vec<String> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Ledger for Disk {
    fn head(&self) -> u64 {
        self.records().len() as u64
    }

    fn append(&mut self, new: &[NewRecord<'_>]) -> Result<Range<u64>, StoreError> {
        self.probe()?;
        let first = self.head() + 1;
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        records.extend(new.iter().map(|record| record.body.to_string()));
        Ok(first..first + new.len() as u64)
    }

    fn probe(&self) -> Result<(), StoreError> {
        match self.is_full.load(Ordering::Relaxed) {
            true => Err(StoreError::Full { file: "in memory".into() }),
            false => Ok(()),
        }
    }
}

/// A clock that a test moves.
struct Standing(Arc<AtomicU64>);

impl ClockSource for Standing {
    fn wall(&self) -> Time {
        Time(START_MS + self.0.load(Ordering::Relaxed))
    }

    fn since_boot(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// What was measured.
#[derive(Default)]
struct Figures(Mutex<Vec<Measure>>);

impl Figures {
    fn refused(&self) -> usize {
        let measured = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        measured.iter().filter(|measure| **measure == Measure::ObservationRefused).count()
    }
}

impl Metrics for Figures {
    fn measure(&self, measure: Measure) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(measure);
    }
}

/// An engine with two GPUs, in the middle of its first round.
struct Bed {
    engine: Engine,
    disk: Disk,
    passed: Arc<AtomicU64>,
    figures: Arc<Figures>,
    /// Nobody computes shares: the first round begins without.
    _questions: Receiver<Asked>,
}

impl Bed {
    fn new() -> Bed {
        let (disk, passed, figures) = <(Disk, Arc<AtomicU64>, Arc<Figures>)>::default();
        let (solver, questions) = channel();
        let cluster = SimCluster::new(&[("n", "g", 2)]);
        let parts = Parts {
            ledger: Box::new(disk.clone()),
            world: World::new(Settings::default(), SettingsEntry::default()),
            covered: 0,
            clock: Box::new(Standing(Arc::clone(&passed))),
            executor: Arc::new(SimExecutor::open(&cluster)) as Arc<dyn Executor>,
            metrics: Arc::clone(&figures) as Arc<dyn Metrics>,
            environment: Default::default(),
            log_limit_bytes: 1,
            terminal: None,
            budgets: Budgets::default(),
            beginning: Beginning {
                first: Settings::default(),
                settings: Default::default(),
                memory: Default::default(),
            },
            messages: channel().1,
            solver,
            pages: channel().0,
        };
        let (mut engine, heard) = assemble(parts).expect("it starts");
        engine.begin().expect("the journal can be written");
        engine.turn(Some(Message::Happened(heard)));
        let mut bed = Bed { engine, disk, passed, figures, _questions: questions };
        bed.later(2_000);
        assert_eq!(bed.engine.world.sched.round().0, 1, "the first round has begun");
        bed
    }

    fn later(&mut self, ms: u64) {
        self.passed.fetch_add(ms, Ordering::Relaxed);
        self.engine.turn(None);
    }

    fn submit(&mut self) -> Result<JobId, ApiError> {
        let job = JobSubmit {
            tenant: "ada".parse().ok(),
            command: vec!["run".into()],
            ..JobSubmit::default()
        };
        let batch = JobBatch::of(vec![job]);
        let command = Box::new(Command::Submit { batch, key: None, create_tenants: true });
        let (reply, mut answer) = oneshot::channel();
        self.engine.turn(Some(Message::Command { caller: Caller::admin(), command, reply }));
        match answer.try_recv().expect("it is answered")? {
            Done::Submitted(submitted) => Ok(JobId(submitted.ids[0])),
            _ => panic!("jobs were submitted"),
        }
    }
}

#[test]
fn after_a_journal_that_was_full_only_what_is_due_is_decided() {
    let mut bed = Bed::new();
    let first = bed.submit().expect("there is room");
    bed.disk.is_full.store(true, Ordering::Relaxed);
    for _ in 0..2 {
        assert_eq!(bed.submit().err().map(|problem| problem.status), Some(503));
    }
    bed.disk.is_full.store(false, Ordering::Relaxed);
    let known = bed.disk.records().len();
    let second = bed.submit().expect("there is room again");
    let written = bed.disk.records().split_off(known);
    let plans: Vec<Scope> = written
        .iter()
        .filter_map(|body| match serde_json::from_str(body).expect("a record") {
            Change::Planned { plan } => Some(plan.scope),
            _ => None,
        })
        .collect();
    assert_eq!(plans, [Scope::Fill], "a round is planned when one begins: {written:?}");
    assert_eq!(bed.engine.shared.world().due, Due::default(), "nothing is left to decide");
    for job in [first, second] {
        assert!(bed.engine.world.jobs[&job].run().is_some(), "job {job} has a GPU");
    }
}

#[test]
fn an_ending_that_cannot_be_taken_is_counted_and_one_that_came_twice_is_not() {
    let mut bed = Bed::new();
    let job = bed.submit().expect("there is room");
    let generation = bed.engine.world.jobs[&job].run().expect("it has a GPU").generation;
    let ended = || Change::ended(job, generation, RunEnding::Finished, "it ended");
    let now = bed.engine.world.sched.now();
    // Told of a time that is over: nothing of the kind happens, and whatever is refused must be seen.
    for (at, refused) in [(Time(1), 1), (now, 1), (now, 1)] {
        let mut batch = Batch::default();
        batch.push(at, ended());
        assert!(bed.engine.commit(batch));
        assert_eq!(bed.figures.refused(), refused, "at {at:?}");
    }
    assert!(bed.engine.world.jobs[&job].state.is_final());
    let is_ending = |body: &&String| body.starts_with("{\"ended\"");
    let endings = bed.disk.records().iter().filter(is_ending).count();
    assert_eq!(endings, 1, "what is refused is not written");
}
