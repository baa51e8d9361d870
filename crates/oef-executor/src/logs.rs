//! Asking for what a job wrote.

use oef_sched::Generation;
use serde::{Deserialize, Serialize};

/// Which part of a job's output is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogQuery {
    /// Of which start; `None`: the last one.
    pub generation: Option<Generation>,
    /// Of which worker.
    pub rank: u32,
    /// Of which stream.
    pub stream: Stream,
    /// From where on.
    pub from: LogFrom,
    /// How many bytes at most; never more than [`LogQuery::MAX_BYTES`] are given.
    pub limit_bytes: u32,
}

impl LogQuery {
    /// An answer fits in memory and in one response, however long the log is.
    pub const MAX_BYTES: u32 = 1 << 20;

    /// The beginning of the first worker's output of the last start.
    pub fn start(stream: Stream) -> LogQuery {
        LogQuery {
            generation: None,
            rank: 0,
            stream,
            from: LogFrom::Offset(0),
            limit_bytes: LogQuery::MAX_BYTES,
        }
    }
}

/// Where reading begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFrom {
    /// At this byte of everything that the worker ever wrote; to follow a log, the last answer's
    /// [`next`](LogChunk::next).
    Offset(u64),
    /// At the last so many lines.
    LastLines(u32),
}

/// One of the two streams of a process, or all of a job's together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// Its output.
    #[default]
    Out,
    /// Its error stream.
    Err,
    /// Both streams of all workers, line by line in the order of writing; before each line stands whose it is: `[0] `
    /// or `[0 err] `.
    All,
}

impl Stream {
    /// The ending of its file names.
    pub fn name(self) -> &'static str {
        match self {
            Stream::Out => "out",
            Stream::Err => "err",
            Stream::All => "all",
        }
    }
}

/// A part of what a worker wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogChunk {
    /// Of which start it is.
    pub generation: Generation,
    /// How many workers that start had.
    pub workers: u32,
    /// The text; bytes that are none are replaced.
    pub text: String,
    /// Bytes just before the text that were not kept, because the log has a limit. The text does
    /// not mention them.
    pub left_out_bytes: u64,
    /// Where the next part begins.
    pub next: u64,
    /// Nothing follows: all was given, and nobody writes any more.
    pub is_end: bool,
}
