//! Mistakes that are built in on demand, each at a seam between the core and what it stands on.

/// The mistakes, each with its name on the command line and what it is.
macro_rules! plants {
    ($($plant:ident = $name:literal, $what:literal;)*) => {
        /// A mistake.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Plant {
            $(#[doc = $what] $plant,)*
        }

        const ALL: &[(Plant, &str, &str)] = &[$((Plant::$plant, $name, $what),)*];
    };
}

plants! {
    FsyncForgotten = "fsync-forgotten", "the last transaction is lost in a power cut although it was acknowledged";
    LastRecordDropped = "last-record-dropped", "of a transaction of several records the last is not written";
    TornBatch = "torn-batch", "a crash leaves the second half of a transaction behind";
    RecordDoubled = "record-doubled", "a record is written twice";
    EndingNotJournalled = "ending-not-journalled", "the end of a run is not written";
    RecordsSwapped = "records-swapped", "two records of a transaction change places";
    FullDiskAcknowledged = "full-disk-acknowledged", "a full disk takes nothing and says that it did";
    ErrorAfterWrite = "error-after-write", "a transaction is written and reported as failed";
    RecordTimesWrong = "record-times-wrong", "a record is written with an earlier time";
    PlanCutShort = "plan-cut-short", "the last start of a plan is not written";
    GenerationNotCompared = "generation-not-compared", "a lease that was seen before is compared with > instead of >=: a late order starts it again";
    RepeatedStartRuns = "repeated-start-runs", "an order to start that comes twice starts twice";
    UnbegunNotStarted = "unbegun-not-started", "after a restart what was to be started is not";
    StopLost = "stop-lost", "an order to stop is lost";
    StopOnlyOnce = "stop-only-once", "a job that ignores the signal is never killed";
    EndedBeforeGone = "ended-before-gone", "an end is told while the processes are still there";
    EndingLost = "ending-lost", "an end is told once, and not again when it was not heard";
    EndingOfOldLease = "ending-of-old-lease", "the end of an old run is told as that of the new one";
    NodeLeftUntold = "node-left-untold", "that a node is gone is not told";
    NodeTooLarge = "node-too-large", "a node is told with a GPU more than it has";
    ClockStandsStill = "clock-stands-still", "time stands still while the wall clock is behind";
    CancelNotReplayed = "cancel-not-replayed", "a restart forgets that jobs were cancelled";
    SubmissionNotReplayed = "submission-not-replayed", "a restart forgets the last submission";
    KeysForgotten = "keys-forgotten", "a restart forgets the keys of submissions";
    OldSnapshot = "old-snapshot", "a restart begins with a snapshot and forgets the records after it";
    ChainNotChecked = "chain-not-checked", "a restart does not look at the checksums of records";
    EndNotCompared = "end-not-compared", "a restart does not compare the journal's end with the one that was acknowledged last";
    RunnersNotAsked = "runners-not-asked", "a restart does not compare the journal with what was started";
}

impl Plant {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Plant> {
        ALL.iter().map(|&(plant, _, _)| plant)
    }

    fn entry(self) -> (Plant, &'static str, &'static str) {
        ALL.iter().find(|(plant, _, _)| *plant == self).copied().unwrap_or(ALL[0])
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
