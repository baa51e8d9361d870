//! What goes into the store and comes out of it.

/// A record to be appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewRecord<'a> {
    /// When, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// Which kind of change; for people who look into the file.
    pub kind: &'a str,
    /// The change as JSON, on one line.
    pub body: &'a str,
}

/// A record of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRecord {
    /// Its number, from 1 on without gaps.
    pub seq: u64,
    /// When, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// Which kind of change.
    pub kind: String,
    /// The change as JSON.
    pub body: String,
}

/// The world after some record, in memory: what a simulated disk keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The last record that is in it.
    pub seq: u64,
    /// When it was taken, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// The world as JSON.
    pub body: String,
}

/// The document of a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRound {
    /// The round.
    pub round: u64,
    /// When it began, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// The document as JSON.
    pub body: String,
}
