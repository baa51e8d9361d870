//! Mistakes that are built in on demand, each at a seam between the core and what it stands on.

/// A mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plant {
    /// The last transaction is lost in a power cut although it was acknowledged.
    FsyncForgotten,
    /// Of a transaction of several records the last is not written.
    LastRecordDropped,
    /// A crash leaves the second half of a transaction behind.
    TornBatch,
    /// A record is written twice.
    RecordDoubled,
    /// The end of a run is not written.
    EndingNotJournalled,
    /// Two records of a transaction change places.
    RecordsSwapped,
    /// A full disk takes nothing and says that it did.
    FullDiskAcknowledged,
    /// A transaction is written and reported as failed.
    ErrorAfterWrite,
    /// A record is written with an earlier time.
    RecordTimesWrong,
    /// The last start of a plan is not written.
    PlanCutShort,
    /// A lease that was seen before is compared with > instead of >=: a late order starts it again.
    GenerationNotCompared,
    /// An order to start that comes twice starts twice.
    RepeatedStartRuns,
    /// After a restart what was to be started is not.
    UnbegunNotStarted,
    /// An order to stop is lost.
    StopLost,
    /// A job that ignores the signal is never killed.
    StopOnlyOnce,
    /// An end is told while the processes are still there.
    EndedBeforeGone,
    /// An end is told once, and not again when it was not heard.
    EndingLost,
    /// The end of an old run is told as that of the new one.
    EndingOfOldLease,
    /// That a node is gone is not told.
    NodeLeftUntold,
    /// A node is told with a GPU more than it has.
    NodeTooLarge,
    /// Time stands still while the wall clock is behind.
    ClockStandsStill,
    /// A restart forgets that jobs were cancelled.
    CancelNotReplayed,
    /// A restart forgets the last submission.
    SubmissionNotReplayed,
    /// A restart forgets the keys of submissions.
    KeysForgotten,
    /// A restart begins with a snapshot and forgets the records after it.
    OldSnapshot,
    /// A restart does not look at the checksums of records.
    ChainNotChecked,
    /// A restart does not compare the journal's end with the one that was acknowledged last.
    EndNotCompared,
}

/// Each with its name and what it is.
const ALL: [(Plant, &str, &str); 27] = [
    (
        Plant::FsyncForgotten,
        "fsync-forgotten",
        "the last transaction is lost in a power cut although it was acknowledged",
    ),
    (
        Plant::LastRecordDropped,
        "last-record-dropped",
        "of a transaction of several records the last is not written",
    ),
    (Plant::TornBatch, "torn-batch", "a crash leaves the second half of a transaction behind"),
    (Plant::RecordDoubled, "record-doubled", "a record is written twice"),
    (Plant::EndingNotJournalled, "ending-not-journalled", "the end of a run is not written"),
    (Plant::RecordsSwapped, "records-swapped", "two records of a transaction change places"),
    (
        Plant::FullDiskAcknowledged,
        "full-disk-acknowledged",
        "a full disk takes nothing and says that it did",
    ),
    (
        Plant::ErrorAfterWrite,
        "error-after-write",
        "a transaction is written and reported as failed",
    ),
    (Plant::RecordTimesWrong, "record-times-wrong", "a record is written with an earlier time"),
    (Plant::PlanCutShort, "plan-cut-short", "the last start of a plan is not written"),
    (
        Plant::GenerationNotCompared,
        "generation-not-compared",
        "a lease that was seen before is compared with > instead of >=: a late order starts it again",
    ),
    (
        Plant::RepeatedStartRuns,
        "repeated-start-runs",
        "an order to start that comes twice starts twice",
    ),
    (
        Plant::UnbegunNotStarted,
        "unbegun-not-started",
        "after a restart what was to be started is not",
    ),
    (Plant::StopLost, "stop-lost", "an order to stop is lost"),
    (Plant::StopOnlyOnce, "stop-only-once", "a job that ignores the signal is never killed"),
    (
        Plant::EndedBeforeGone,
        "ended-before-gone",
        "an end is told while the processes are still there",
    ),
    (Plant::EndingLost, "ending-lost", "an end is told once, and not again when it was not heard"),
    (
        Plant::EndingOfOldLease,
        "ending-of-old-lease",
        "the end of an old run is told as that of the new one",
    ),
    (Plant::NodeLeftUntold, "node-left-untold", "that a node is gone is not told"),
    (Plant::NodeTooLarge, "node-too-large", "a node is told with a GPU more than it has"),
    (
        Plant::ClockStandsStill,
        "clock-stands-still",
        "time stands still while the wall clock is behind",
    ),
    (Plant::CancelNotReplayed, "cancel-not-replayed", "a restart forgets that jobs were cancelled"),
    (
        Plant::SubmissionNotReplayed,
        "submission-not-replayed",
        "a restart forgets the last submission",
    ),
    (Plant::KeysForgotten, "keys-forgotten", "a restart forgets the keys of submissions"),
    (
        Plant::OldSnapshot,
        "old-snapshot",
        "a restart begins with a snapshot and forgets the records after it",
    ),
    (
        Plant::ChainNotChecked,
        "chain-not-checked",
        "a restart does not look at the checksums of records",
    ),
    (
        Plant::EndNotCompared,
        "end-not-compared",
        "a restart does not compare the journal's end with the one that was acknowledged last",
    ),
];

impl Plant {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Plant> {
        ALL.into_iter().map(|(plant, _, _)| plant)
    }

    fn entry(self) -> (Plant, &'static str, &'static str) {
        ALL.into_iter().find(|(plant, _, _)| *plant == self).unwrap_or(ALL[0])
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        self.entry().1
    }

    /// What it is.
    pub fn what(self) -> &'static str {
        self.entry().2
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<Plant> {
        Plant::all().find(|plant| plant.name() == name)
    }
}
