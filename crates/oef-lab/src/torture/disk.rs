//! The simulated disk: what was written, what survives a crash, when nothing fits on it any more, and what becomes of it
//! when nobody looks. Checksums and the end that was acknowledged are those of the real journal.

use super::plants::Plant;
use oef_server::store::{
    Ledger, Link, NewRecord, Snapshot, StoreError, StoredRecord, Sum, compare_ends,
};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A disk that outlives daemons.
#[derive(Clone, Debug, Default)]
pub(super) struct Disk(Arc<Mutex<State>>);

#[derive(Debug, Default)]
pub(super) struct State {
    /// What survives a crash.
    pub durable: Vec<StoredRecord>,
    /// The checksums of these.
    sums: Vec<Sum>,
    /// What was acknowledged and would not (only where a mistake is planted).
    cache: Vec<StoredRecord>,
    pub snapshot: Option<Snapshot>,
    pub is_full: bool,
    /// The folder is not where it was.
    pub is_moved: bool,
    /// What was there before it was damaged.
    sound: Option<Box<Sound>>,
    /// The machine dies in the next transaction: before it is durable, or after.
    pub dies: Option<Dies>,
    /// It has died: nothing is written until the next start.
    pub is_dead: bool,
    pub plant: Option<Plant>,
    /// Transactions so far; a planted mistake happens now and then.
    count: u64,
    /// The end as it was last acknowledged, in its second place.
    acknowledged: Link,
}

/// What an operator has of a folder that was damaged.
#[derive(Debug)]
struct Sound {
    durable: Vec<StoredRecord>,
    sums: Vec<Sum>,
    snapshot: Option<Snapshot>,
    acknowledged: Link,
}

/// How a journal is damaged while no daemon looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Damage {
    /// A bit of the so-manieth record flips.
    Rot(usize),
    /// An older copy is put in its place, without so many records.
    Older(usize),
    /// The same with the end in its second place: only what was started shows that something is missing.
    OlderWithEnd(usize),
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

    /// What a restart finds, checked as the real journal is. A planted mistake may read it wrongly.
    pub fn load(&self) -> Result<(Option<Snapshot>, Vec<StoredRecord>), StoreError> {
        let state = self.state();
        if state.is_moved {
            return Err(StoreError::Missing { dir: "simulated".into() });
        }
        let snapshot = state.snapshot.clone();
        let covered = snapshot.as_ref().map_or(0, |snapshot| snapshot.seq);
        state.check(covered)?;
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
        Ok((snapshot, records))
    }

    /// Damages what a restart would read; false: there is nothing to damage.
    pub fn damage(&self, damage: Damage) -> bool {
        let mut state = self.state();
        let covered = state.snapshot.as_ref().map_or(0, |snapshot| snapshot.seq as usize);
        let sound = Box::new(Sound {
            durable: state.durable.clone(),
            sums: state.sums.clone(),
            snapshot: state.snapshot.clone(),
            acknowledged: state.acknowledged,
        });
        let read = state.durable.len().saturating_sub(covered);
        match damage {
            Damage::Rot(_) if read == 0 => return false,
            Damage::Rot(nth) => {
                let record = &mut state.durable[covered + nth % read];
                // Where it does the most harm: in a digit, so that the text is still well formed.
                let mut bytes = std::mem::take(&mut record.body).into_bytes();
                let digits: Vec<usize> =
                    (0..bytes.len()).filter(|at| bytes[*at].is_ascii_digit()).collect();
                if let Some(byte) =
                    bytes.get_mut(digits.get(nth % digits.len().max(1)).copied().unwrap_or(0))
                {
                    *byte ^= 1;
                }
                record.body = String::from_utf8_lossy(&bytes).into_owned();
            }
            Damage::Older(records) | Damage::OlderWithEnd(records) => {
                let left = state.durable.len().saturating_sub(records);
                if left as u64 >= state.acknowledged.seq {
                    // Nobody was told of what is missing.
                    return false;
                }
                state.durable.truncate(left);
                state.sums.truncate(left);
                if covered > left {
                    state.snapshot = None;
                }
                if matches!(damage, Damage::OlderWithEnd(_)) {
                    state.acknowledged = state.end();
                }
            }
        }
        state.sound = Some(sound);
        true
    }

    pub fn is_damaged(&self) -> bool {
        self.state().sound.is_some()
    }

    /// The operator puts the right folder in place.
    pub fn repair(&self) {
        let mut state = self.state();
        if let Some(sound) = state.sound.take() {
            (state.durable, state.sums, state.snapshot) =
                (sound.durable, sound.sums, sound.snapshot);
            state.acknowledged = sound.acknowledged;
        }
    }
}

impl State {
    fn all(&self) -> u64 {
        let last = self.cache.last().or(self.durable.last());
        last.map_or(0, |record| record.seq)
    }

    /// The end of what is durable.
    fn end(&self) -> Link {
        let seq = self.durable.last().map_or(0, |record| record.seq);
        Link { seq, sum: self.sums.last().copied().unwrap_or_default() }
    }

    /// The end of these records after what is durable.
    fn end_of(&self, records: &[StoredRecord]) -> Link {
        let next = |link: Link, record: &StoredRecord| {
            let before = Link { seq: record.seq.saturating_sub(1), ..link };
            before.next(record.at_ms, &record.kind, &record.body)
        };
        records.iter().fold(self.end(), next)
    }

    fn keep(&mut self, records: Vec<StoredRecord>) {
        for record in records {
            let link = self.end_of(std::slice::from_ref(&record));
            self.sums.push(link.sum);
            self.durable.push(record);
        }
    }

    /// Looks at the chain after a record and at its end, as the real journal does at a start.
    fn check(&self, covered: u64) -> Result<(), StoreError> {
        let file = || "simulated".into();
        let sum = self.sums.get((covered as usize).wrapping_sub(1)).copied().unwrap_or_default();
        let mut link = Link { seq: covered, sum };
        let read = self.durable.iter().zip(&self.sums).filter(|(record, _)| record.seq > covered);
        for (record, sum) in read.filter(|_| self.plant != Some(Plant::ChainNotChecked)) {
            let damaged = |(seq, what)| StoreError::Damaged { file: file(), seq: Some(seq), what };
            link = link.check(record, Some(*sum)).map_err(damaged)?;
        }
        let sum_of = |seq: u64| self.sums.get((seq as usize).wrapping_sub(1)).copied();
        match compare_ends(self.acknowledged, self.end(), sum_of) {
            Some((seq, what)) if self.plant != Some(Plant::EndNotCompared) => {
                Err(StoreError::Shortened { file: file(), seq, what })
            }
            _ => Ok(()),
        }
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
        if state.is_moved {
            return Err(StoreError::Gone { dir: "simulated".into() });
        }
        if state.is_full {
            if state.plant == Some(Plant::FullDiskAcknowledged) {
                return Ok(first..first + records.len() as u64);
            }
            return Err(full());
        }
        state.count += 1;
        let written = state.written(records);
        match state.dies.take() {
            Some(dies) => {
                state.is_dead = true;
                if dies == Dies::After {
                    state.keep(written);
                } else if state.plant == Some(Plant::TornBatch) {
                    let half = written.len() / 2;
                    state.keep(written.into_iter().skip(half).collect());
                }
                return Err(full());
            }
            None if state.plant == Some(Plant::FsyncForgotten) => {
                let before = std::mem::replace(&mut state.cache, written);
                state.keep(before);
            }
            None => {
                let is_wrong = state.plant == Some(Plant::ErrorAfterWrite) && state.is_now(11);
                state.keep(written);
                if is_wrong {
                    return Err(full());
                }
            }
        }
        state.acknowledged = state.end_of(&state.cache);
        Ok(first..first + records.len() as u64)
    }

    fn probe(&self) -> Result<(), StoreError> {
        match self.state().is_moved {
            true => Err(StoreError::Gone { dir: "simulated".into() }),
            false => Ok(()),
        }
    }
}
