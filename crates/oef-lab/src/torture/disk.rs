//! The simulated disk: what was written, what survives a crash, and when nothing fits on it any more.

use super::plants::Plant;
use oef_server::store::{Ledger, NewRecord, Snapshot, StoreError, StoredRecord};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A disk that outlives daemons.
#[derive(Clone, Debug, Default)]
pub(super) struct Disk(Arc<Mutex<State>>);

#[derive(Debug, Default)]
pub(super) struct State {
    /// What survives a crash.
    pub durable: Vec<StoredRecord>,
    /// What was acknowledged and would not (only where a mistake is planted).
    cache: Vec<StoredRecord>,
    pub snapshot: Option<Snapshot>,
    pub is_full: bool,
    /// The machine dies in the next transaction: before it is durable, or after.
    pub dies: Option<Dies>,
    /// It has died: nothing is written until the next start.
    pub is_dead: bool,
    pub plant: Option<Plant>,
    /// Transactions so far; a planted mistake happens now and then.
    count: u64,
    /// The end as it was last acknowledged, in its second place.
    pub acknowledged: u64,
}

/// When a machine dies in a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dies {
    Before,
    After,
}

impl Disk {
    pub fn new(plant: Option<Plant>) -> Disk {
        Disk(Arc::new(Mutex::new(State { plant, ..State::default() })))
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The power goes: what is not durable is gone.
    pub fn crash(&self) {
        let mut state = self.state();
        state.cache.clear();
        (state.is_dead, state.dies) = (false, None);
    }

    /// What a restart finds. A planted mistake may read it wrongly.
    pub fn load(&self) -> (Option<Snapshot>, Vec<StoredRecord>) {
        let state = self.state();
        let snapshot = state.snapshot.clone();
        let covered = snapshot.as_ref().map_or(0, |snapshot| snapshot.seq);
        let mut records: Vec<StoredRecord> =
            state.durable.iter().filter(|record| record.seq > covered).cloned().collect();
        match state.plant {
            Some(Plant::CancelNotReplayed) => records.retain(|record| record.kind != "cancelled"),
            Some(Plant::OldSnapshot) if snapshot.is_some() => records.clear(),
            Some(Plant::SubmissionNotReplayed)
                if records.last().is_some_and(|last| last.kind == "submitted") =>
            {
                records.pop();
            }
            Some(Plant::KeysForgotten) => {
                for record in records.iter_mut().filter(|record| record.kind == "submitted") {
                    if let Some(at) = record.body.find(",\"key\":{") {
                        record.body.truncate(at);
                        record.body.push_str(",\"key\":null}}");
                    }
                }
            }
            _ => {}
        }
        (snapshot, records)
    }
}

impl State {
    fn all(&self) -> u64 {
        let last = self.cache.last().or(self.durable.last());
        last.map_or(0, |record| record.seq)
    }

    fn is_now(&self, every: u64) -> bool {
        self.count % every == every - 1
    }

    /// The records of a transaction as they are written: a planted mistake may change them.
    fn written(&self, records: &[NewRecord<'_>]) -> Vec<StoredRecord> {
        let stored = |record: &NewRecord<'_>| StoredRecord {
            seq: 0,
            at_ms: record.at_ms,
            kind: record.kind.into(),
            body: record.body.into(),
        };
        let mut written: Vec<StoredRecord> = records.iter().map(stored).collect();
        match self.plant {
            Some(Plant::LastRecordDropped) if written.len() > 1 && self.is_now(7) => {
                drop(written.pop())
            }
            Some(Plant::RecordDoubled) if self.is_now(9) => {
                written.extend(written.last().cloned());
            }
            Some(Plant::EndingNotJournalled) if self.is_now(2) => {
                written.retain(|record| record.kind != "ended");
            }
            Some(Plant::RecordsSwapped) if written.len() > 1 => {
                let last = written.len() - 1;
                written.swap(last - 1, last);
            }
            Some(Plant::RecordTimesWrong) if self.is_now(8) => {
                written.iter_mut().for_each(|record| record.at_ms -= 3_600_000);
            }
            Some(Plant::PlanCutShort) => {
                for record in written.iter_mut().filter(|record| record.kind == "planned") {
                    record.body = without_last_start(&record.body);
                }
            }
            _ => {}
        }
        let first = self.all() + 1;
        for (seq, record) in (first..).zip(&mut written) {
            record.seq = seq;
        }
        written
    }
}

/// A plan without the last of its starts.
fn without_last_start(body: &str) -> String {
    let Ok(mut value) = serde_json::from_str::<serde_json::Value>(body) else { return body.into() };
    if let Some(starts) = value.pointer_mut("/planned/plan/starts").and_then(|s| s.as_array_mut()) {
        starts.pop();
    }
    value.to_string()
}

impl Ledger for Disk {
    fn head(&self) -> u64 {
        self.state().all()
    }

    fn append(&mut self, records: &[NewRecord<'_>]) -> Result<Range<u64>, StoreError> {
        let mut state = self.state();
        let full = || StoreError::Full { file: "simulated".into() };
        let first = state.all() + 1;
        if state.is_dead {
            return Err(full());
        }
        if state.is_full {
            if state.plant == Some(Plant::FullDiskAcknowledged) {
                return Ok(first..first + records.len() as u64);
            }
            return Err(full());
        }
        state.count += 1;
        let written = state.written(records);
        let count = written.len() as u64;
        match state.dies.take() {
            Some(dies) => {
                state.is_dead = true;
                if dies == Dies::After {
                    state.durable.extend(written);
                } else if state.plant == Some(Plant::TornBatch) {
                    let half = written.len() / 2;
                    state.durable.extend(written.into_iter().skip(half));
                }
                return Err(full());
            }
            None if state.plant == Some(Plant::FsyncForgotten) => {
                let before = std::mem::replace(&mut state.cache, written);
                state.durable.extend(before);
            }
            None => {
                let is_wrong = state.plant == Some(Plant::ErrorAfterWrite) && state.is_now(11);
                state.durable.extend(written);
                if is_wrong {
                    return Err(full());
                }
            }
        }
        state.acknowledged = first + count - 1;
        Ok(first..first + records.len() as u64)
    }

    fn probe(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
