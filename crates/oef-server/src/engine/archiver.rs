//! Writes what may take long: the documents of rounds, snapshots, and what old records they make superfluous.

use super::message::Message;
use super::shared::{LastCertificate, Shared};
use crate::daemon::{Measure, Metrics};
use crate::store::{Archive, Keep};
use crate::view::RoundDraft;
use crate::world::{SnapshotError, World};
use oef_executor::sentence;
use oef_sched::Time;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Instant;

/// One thing to write.
pub(crate) enum Document {
    /// The world after a record.
    Snapshot { world: Box<World>, seq: u64 },
    /// A round, which wants its certificate. The ticket is counted while it waits.
    Round { draft: Box<RoundDraft>, ticket: Arc<()> },
}

/// Old rounds are looked for whenever so many new ones are written: snapshots, after which the rest is compacted, may be
/// days apart.
const TRIM_EVERY: u64 = 32;

/// Who writes.
pub(crate) struct Archiver {
    pub archive: Archive,
    pub keep: Keep,
    pub shared: Arc<Shared>,
    pub metrics: Arc<dyn Metrics>,
}

impl Archiver {
    /// Writes until nobody sends any more.
    pub fn write(&self, pages: &Receiver<Document>, engine: &Sender<Message>) {
        while let Ok(page) = pages.recv() {
            match page {
                Document::Snapshot { world, seq } => {
                    let saved = self.snapshot(&world, seq).then_some(seq);
                    if engine.send(Message::SnapshotTried { saved }).is_err() {
                        return;
                    }
                }
                Document::Round { draft, ticket } => {
                    self.round(*draft);
                    drop(ticket);
                }
            }
        }
    }

    /// Writes a round down, with its certificate.
    fn round(&self, draft: RoundDraft) {
        let document = draft.finish();
        let audit = document.round.audit.as_ref();
        self.shared.set_last_certificate(LastCertificate {
            sharing_incentive: audit.map(|audit| audit.sharing_incentive.worst),
            worst_envy: audit.map(|audit| audit.envy_free.worst),
        });
        let (round, at) = (document.round.round, document.round.began.as_millisecond());
        let body = match serde_json::to_string(&document) {
            Ok(body) => body,
            Err(error) => {
                tracing::error!(round, %error, "a round cannot be written as text");
                return;
            }
        };
        if let Err(error) = self.archive.save_round(round, u64::try_from(at).unwrap_or(0), &body) {
            tracing::warn!(round, error = sentence(&error), "a round could not be written");
        }
        if round % TRIM_EVERY == 0
            && let Err(error) = self.archive.trim_rounds(&self.keep)
        {
            tracing::warn!(error = sentence(&error), "old rounds could not be removed");
        }
    }

    /// Writes a snapshot, and removes what it makes superfluous. What goes wrong is logged: the journal
    /// has everything.
    pub fn snapshot(&self, world: &World, seq: u64) -> bool {
        let began = Instant::now();
        let Time(at_ms) = world.sched.now();
        let text = |to: &mut dyn io::Write| match world.write_snapshot(to) {
            Err(SnapshotError::Json(error)) => Err(error.into()),
            written => written.map_err(io::Error::other),
        };
        let bytes = match self.archive.save_snapshot(seq, at_ms, &text) {
            Ok(bytes) => usize::try_from(bytes).unwrap_or(usize::MAX),
            Err(error) => {
                tracing::warn!(error = sentence(&error), "a snapshot could not be written");
                return false;
            }
        };
        let took = began.elapsed();
        self.metrics.measure(Measure::Snapshot { took, bytes });
        if let Err(error) = self.archive.compact(&self.keep) {
            tracing::warn!(error = sentence(&error), "the journal could not be compacted");
        }
        true
    }
}
