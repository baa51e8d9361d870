//! The world as the journal has it. Nothing is decided here, nothing started and nothing written: whoever only wants to
//! look, or to follow, loads.

use crate::store::{StoredRecord, StoredSnapshot};
use crate::world::{Change, Due, Record, Rejection, RunEnd, SettingsEntry, World};
use oef_api::parsed::recorded;
use oef_sched::Time;
use std::io::Read;

/// A world on its way through the journal.
pub struct Replay {
    world: World,
}

impl Default for Replay {
    fn default() -> Self {
        Replay { world: World::new(Default::default(), SettingsEntry::default()) }
    }
}

impl Replay {
    /// Goes on from a snapshot in a store, whose text is read piece by piece.
    pub fn snapshot(&mut self, snapshot: &StoredSnapshot<'_>) -> Result<(), String> {
        self.text(&mut snapshot.text())
    }

    /// Goes on from the text of a snapshot.
    pub fn text(&mut self, text: &mut dyn Read) -> Result<(), String> {
        self.world = World::read_snapshot(text).map_err(|error| error.to_string())?;
        Ok(())
    }

    /// Goes on by one record. What cannot be replayed as it was is an error with the way out.
    pub fn record(&mut self, stored: &StoredRecord) -> Result<(), String> {
        let change: Change = recorded(|| serde_json::from_str(&stored.body)).map_err(|error| {
            format!("it cannot be read ({error}); a newer version of oef may have written it")
        })?;
        let record = Record { at: Time(stored.at_ms), change };
        let Err(rejection) = self.world.apply(&record) else { return Ok(()) };
        match self.explains(&record.change, &rejection) {
            true => Ok(()),
            false => Err(format!(
                "{rejection}; this version of oef does not replay it as it was: open the folder once with the version \
                 that wrote it and stop that cleanly, so that it leaves a snapshot, or restore a backup"
            )),
        }
    }

    /// The world so far.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The world after the last record.
    pub fn finish(mut self) -> World {
        // What was to be decided then was decided, and is among the records.
        self.world.due = Due::default();
        self.world
    }

    /// Whether a record may have been rejected when it was written. Before records meant 2, some were: what came too
    /// late, or twice, within one batch. What a run did that this replay has not begun was not among them.
    fn explains(&self, change: &Change, rejection: &Rejection) -> bool {
        if self.world.meaning > 1 || matches!(rejection, Rejection::UnknownMeaning(_)) {
            return false;
        }
        match change {
            Change::Preparing { job, generation, .. }
            | Change::Started { job, generation, .. }
            | Change::Progress { job, generation, .. }
            | Change::Ended(RunEnd { job, generation, .. }) => {
                let known = self.world.jobs.get(job).and_then(|entry| entry.runs.last());
                // An ended job may be forgotten by now.
                let is_gone = job.0 < self.world.next_job && !self.world.jobs.contains_key(job);
                is_gone || known.is_some_and(|run| run.generation >= *generation)
            }
            Change::Round { .. } | Change::Shares { .. } | Change::Began { .. } => false,
            _ => true,
        }
    }
}
