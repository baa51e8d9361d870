//! What is journalled together, applied together and answered together.

use super::command::Done;
use super::message::Reply;
use super::observations::is_current;
use super::prepare::problem_of;
use super::run::Engine;
use crate::daemon::{Measure, NoticeEnd};
use crate::problem::{Kind, More};
use crate::store::{NewRecord, StoreError};
use crate::world::{Action, Change, Due, Record, Rejection, RunEnd, World};
use oef_api::types::{ApiError, JobState, Submitted};
use oef_executor::{Order, sentence};
use oef_sched::{Generation, JobId, Time};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Records that are made durable in one transaction, and who waits for them.
#[derive(Default)]
pub(super) struct Batch {
    records: Vec<Record>,
    /// Who waits for which record, and what they are told when it is applied.
    waiting: Vec<(usize, Reply, Done)>,
}

impl Batch {
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    pub fn len(&self) -> usize {
        self.records.len()
    }

    pub fn push(&mut self, at: Time, change: Change) {
        self.records.push(Record { at, change });
    }

    pub fn extend(&mut self, at: Time, changes: impl IntoIterator<Item = Change>) {
        self.records.extend(changes.into_iter().map(|change| Record { at, change }));
    }

    /// What is in it, in order.
    #[cfg(test)]
    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        self.records.iter().map(|record| &record.change)
    }

    /// Somebody waits for the record that was pushed last.
    pub fn await_last(&mut self, reply: Reply, done: Done) {
        self.waiting.push((self.records.len().saturating_sub(1), reply, done));
    }
}

/// Records that the engine's own world has taken, on their way to the journal and to everybody.
#[derive(Default)]
struct Staged {
    records: Vec<Record>,
    /// What the executor has to do once they are durable.
    orders: Vec<Order>,
}

impl Engine {
    /// Decides what follows from a batch, makes both durable in one transaction, shows them to everybody, has them
    /// performed, and answers. A record that cannot be applied is not written: whoever waits for it is told why.
    /// False: the journal could not be written, nothing has happened, and everybody was told.
    pub(super) fn commit(&mut self, batch: Batch) -> bool {
        if batch.is_empty() {
            return true;
        }
        let mut staged = Staged::default();
        let results: Vec<Result<(), Rejection>> =
            batch.records.into_iter().map(|record| self.stage(record, &mut staged)).collect();
        let last = staged.records.last().map(|record| record.at);
        let at = last.unwrap_or_default().max(self.world.sched.now());
        let began = Instant::now();
        while let Some(change) = self.world.decide() {
            if let Err(rejection) = self.stage(Record { at, change }, &mut staged) {
                tracing::error!(%rejection, "internal error: a decision cannot be applied");
            }
        }
        self.planned = began.elapsed();
        if let Err(problem) = self.make_durable(&staged.records) {
            // Nothing is left to decide in it: all that was taken was durable.
            self.world = self.shared.world().clone();
            for (_, reply, _) in batch.waiting {
                let _ = reply.send(Err(problem.clone()));
            }
            return false;
        }
        self.publish(&staged.records);
        staged.orders.into_iter().for_each(|order| self.executor.order(order));
        for (index, reply, done) in batch.waiting {
            let _ = reply.send(match &results[index] {
                Ok(()) => Ok(done),
                Err(Rejection::Repeated(jobs)) => Ok(Done::Submitted(Submitted {
                    ids: jobs.iter().map(|job| job.0).collect(),
                    notes: vec!["this was submitted before with the same key".into()],
                })),
                Err(rejection) => Err(problem_of(rejection)),
            });
        }
        true
    }

    /// Lets a record happen in the engine's own world, which is ahead of everybody's by what is not yet durable.
    fn stage(&mut self, record: Record, staged: &mut Staged) -> Result<(), Rejection> {
        let Record { at, change } = record;
        let record = Record { at, change: self.world.complete(at, change) };
        let applied = self.world.apply(&record);
        let actions = applied.inspect_err(|rejection| self.refused(&record.change, rejection))?;
        let orders = actions.iter().filter_map(|action| self.order(&self.world, action));
        staged.orders.extend(orders.chain(over(&self.world, &record.change)));
        staged.records.push(record);
        Ok(())
    }

    /// A record is refused. Mostly something before it in its batch is the reason, and whoever waits for it is told. Nobody
    /// waits for what an executor tells, and it is acknowledged all the same.
    fn refused(&self, change: &Change, rejection: &Rejection) {
        let kind = change.kind();
        let Some((job, generation)) = run_that_goes_on(&self.world, change) else {
            tracing::debug!(kind, %rejection, "record refused");
            return;
        };
        self.metrics.measure(Measure::ObservationRefused);
        tracing::error!(
            kind,
            %job,
            generation = generation.0,
            %rejection,
            "internal error: what happened to a running job cannot be taken; restart the daemon, which asks for its jobs anew"
        );
    }

    fn make_durable(&mut self, records: &[Record]) -> Result<(), ApiError> {
        if records.is_empty() {
            return Ok(());
        }
        let began = Instant::now();
        let written = self.journal(records);
        self.metrics.measure(match written {
            Ok(()) => Measure::Committed { took: began.elapsed(), records: records.len() },
            Err(_) => Measure::CommitFailed,
        });
        written
    }

    /// Lets durable records happen for everybody, at once.
    fn publish(&mut self, records: &[Record]) {
        let shared = Arc::clone(&self.shared);
        let mut world = shared.world_mut();
        for record in records {
            let before = world.totals.clone();
            if let Err(rejection) = world.apply(record) {
                // The engine's own world has taken it, and the two are the same.
                tracing::error!(kind = record.change.kind(), %rejection, "internal error: record rejected");
            }
            self.measure(record, &before, &world.totals);
        }
        // What was to be decided after these records was decided, and is among them.
        world.due = Due::default();
        self.share_ended(&mut world, records);
        let newest = world.next_event - 1;
        drop(world);
        shared.newest_event.send_if_modified(|known| std::mem::replace(known, newest) != newest);
    }

    /// An ended job never changes again: one copy of it is enough.
    fn share_ended(&self, world: &mut World, records: &[Record]) {
        let ended = records.iter().filter_map(|record| match &record.change {
            Change::Ended(RunEnd { job, .. }) | Change::Cancelled { job, .. } => Some(job),
            _ => None,
        });
        for job in ended {
            if let (Some(own), Some(shown)) = (self.world.jobs.get(job), world.jobs.get_mut(job))
                && own.state.is_final()
            {
                *shown = Arc::clone(own);
            }
        }
    }

    fn journal(&mut self, records: &[Record]) -> Result<(), ApiError> {
        let bodies: Result<Vec<String>, _> =
            records.iter().map(|record| serde_json::to_string(&record.change)).collect();
        let bodies = bodies.map_err(|error| {
            tracing::error!(%error, "a record cannot be written as text");
            Kind::Internal.problem(format!("the record cannot be written: {error}"))
        })?;
        let lines: Vec<NewRecord<'_>> = records
            .iter()
            .zip(&bodies)
            .map(|(record, body)| NewRecord {
                at_ms: record.at.0,
                kind: record.change.kind(),
                body,
            })
            .collect();
        match self.store.append(&lines) {
            Ok(numbers) => {
                self.tried = Instant::now();
                self.shared.health.journal(None);
                self.coverage.wrote(bodies.iter().map(|body| body.len() as u64).sum());
                self.shared.seq.store(numbers.end.saturating_sub(1), Ordering::Relaxed);
                Ok(())
            }
            Err(error) => {
                self.shared.health.journal(Some(sentence(&error)));
                Err(unavailable(&error))
            }
        }
    }

    /// What the executor has to do for an action; none: its job is gone.
    fn order(&self, world: &World, action: &Action) -> Option<Order> {
        Some(match action {
            Action::Start { job, .. } => {
                let entry = world.jobs.get(job)?;
                if entry.restarts == 0 {
                    let waited = world.sched.now().since(entry.submitted);
                    self.metrics.measure(Measure::Waited(Duration::from_millis(waited.0)));
                }
                Order::Start(Box::new(self.site.launch(world, *job)?))
            }
            Action::Keep { job, generation, until } => {
                Order::Keep { job: *job, generation: *generation, until: *until }
            }
            Action::Stop { job, generation, why } => {
                Order::Stop { job: *job, generation: *generation, why: why.clone() }
            }
            Action::Forget { job } => Order::Forget(*job),
        })
    }

    fn measure(
        &self,
        record: &Record,
        before: &crate::world::Totals,
        after: &crate::world::Totals,
    ) {
        let measure = |measure| self.metrics.measure(measure);
        let grown = |pick: fn(&crate::world::Totals) -> u64| pick(after) - pick(before);
        match &record.change {
            Change::Round { kept } => {
                measure(Measure::Round { took: self.planned, kept: *kept });
            }
            Change::Notified { delivered, .. } => measure(Measure::Notified(match delivered {
                true => NoticeEnd::Delivered,
                false => NoticeEnd::Failed,
            })),
            Change::Submitted { jobs, .. } => measure(Measure::Submitted(jobs.len())),
            _ => {}
        }
        let ends = [
            (JobState::Finished, grown(|t| t.finished)),
            (JobState::Failed, grown(|t| t.failed)),
            (JobState::TimedOut, grown(|t| t.timed_out)),
            (JobState::Cancelled, grown(|t| t.cancelled)),
        ];
        for (state, count) in ends {
            (0..count).for_each(|_| measure(Measure::Ended(state)));
        }
        (0..grown(|t| t.false_profiles)).for_each(|_| measure(Measure::FalseProfile));
        (0..grown(|t| t.notices_dropped))
            .for_each(|_| measure(Measure::Notified(NoticeEnd::Dropped)));
        (0..grown(|t| t.restarts)).for_each(|_| measure(Measure::Restarted));
        match grown(|t| t.wasted_ms) {
            0 => {}
            wasted => measure(Measure::Wasted(Duration::from_millis(wasted))),
        }
    }
}

/// The run that was told of, if it goes on: what it told is lost when its record is refused.
fn run_that_goes_on(world: &World, change: &Change) -> Option<(JobId, Generation)> {
    let (job, generation) = match change {
        Change::Progress { job, generation, .. }
        | Change::WorkersFinished { job, generation, .. }
        | Change::Ended(RunEnd { job, generation, .. }) => (*job, *generation),
        // A start may be told twice.
        Change::Started { job, generation, .. } => {
            world.jobs.get(job)?.run().filter(|run| run.started.is_none())?;
            (*job, *generation)
        }
        _ => return None,
    };
    is_current(world, job, generation).then_some((job, generation))
}

/// What has ended for good by this: a job, or a tenant.
fn over(world: &World, change: &Change) -> Option<Order> {
    let job = match change {
        Change::Ended(RunEnd { job, .. }) | Change::Cancelled { job, .. } => job,
        Change::TenantRemoved { name } => return Some(Order::EndTenant(name.clone())),
        _ => return None,
    };
    world.jobs.get(job)?.state.is_final().then_some(Order::Retire(*job))
}

/// What callers are told when the journal cannot be written.
fn unavailable(error: &StoreError) -> ApiError {
    tracing::error!(error = sentence(error), "the journal cannot be written");
    Kind::Unavailable.problem(sentence(error)).hint("`oef journal check` says how the journal is")
}
