//! What the daemon measures while it works, for whoever keeps the figures.

use oef_api::types::JobState;
use oef_executor::checkpoints::Transfer;
use std::time::Duration;
use strum::IntoStaticStr;

/// Something that was measured.
#[derive(Clone, Debug, PartialEq)]
pub enum Measure {
    /// So many jobs were submitted.
    Submitted(usize),
    /// A job was started for the first time after it had waited so long.
    Waited(Duration),
    /// A job ended for good.
    Ended(JobState),
    /// A job was started again after a stop, a loss or a failure.
    Restarted,
    /// A profile was found not to be what jobs show.
    FalseProfile,
    /// Work was lost since the last checkpoint, as running time of all workers.
    Wasted(Duration),
    /// A job's checkpoint was brought from another host, or was not.
    Transferred(Transfer),
    /// It was tried to deliver a notice, or one was given up.
    Notified(NoticeEnd),
    /// Shares were computed.
    Solved(Duration),
    /// A round was planned (without its shares); `kept`: with the shares of before.
    Round {
        /// How long it took.
        took: Duration,
        /// Whether the shares were not ready.
        kept: bool,
    },
    /// So many records were made durable.
    Committed {
        /// How long it took.
        took: Duration,
        /// How many.
        records: usize,
    },
    /// Records could not be made durable.
    CommitFailed,
    /// What was told of a job that runs could not be taken.
    ObservationRefused,
    /// A snapshot was written.
    Snapshot {
        /// How long it took.
        took: Duration,
        /// Its size.
        bytes: usize,
    },
}

/// What became of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum NoticeEnd {
    /// Its receiver took it.
    Delivered,
    /// A try failed.
    Failed,
    /// It was given up.
    Dropped,
}

impl NoticeEnd {
    /// All of them.
    pub const ALL: [NoticeEnd; 3] = [NoticeEnd::Delivered, NoticeEnd::Failed, NoticeEnd::Dropped];

    /// The word for it.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Who keeps the figures. Called from the daemon's threads: it must be quick.
pub trait Metrics: Send + Sync {
    /// Takes one figure.
    fn measure(&self, measure: Measure);
}

/// Nobody keeps the figures.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoMetrics;

impl Metrics for NoMetrics {
    fn measure(&self, _: Measure) {}
}
