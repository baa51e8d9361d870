//! What is too much, in one place: the daemon refuses it, the client does not send it, and the documents say so.

use std::ops::RangeInclusive;

/// More workers than any gang has.
pub const WORKERS_MAX: u32 = 100_000;
/// A job that failed so often will not succeed.
pub const RETRIES_MAX: u32 = 1000;
/// Jobs in one batch: it is one record of the journal.
pub const BATCH_MAX: usize = 1000;
/// Entries of one page.
pub const PAGE_MAX: u32 = 1000;
/// Changes in one what-if: each costs a walk through the state.
pub const WHATIF_CHANGES_MAX: usize = 100;
/// Bytes of a log in one answer.
pub const LOG_BYTES_MAX: u32 = 1 << 20;
/// Lines at a log's end.
pub const LOG_TAIL_MAX: u32 = 100_000;
/// Bytes that wait for one end of a terminal. Its other end keeps them too, until they are read.
pub const TERMINAL_WINDOW: usize = 256 << 10;
/// Bytes of a terminal in one request.
pub const TERMINAL_CHUNK: usize = 64 << 10;
/// Characters of an idempotency key.
pub const KEY_MAX: usize = 200;
/// A round in seconds: planning itself takes milliseconds, starting a process more; deficits are paid back in rounds,
/// and nobody waits for days.
pub const ROUND_S: RangeInclusive<f64> = 0.1..=86_400.0;
/// How long a job needs to write a checkpoint, or should run undisturbed, in seconds: a month is more than any.
pub const SPAN_S: RangeInclusive<f64> = 0.0..=30.0 * 86_400.0;
/// Beyond this nobody is ever preempted.
pub const STICKINESS: RangeInclusive<f64> = 0.0..=100.0;
/// The half-life of the memory of usage: within less, a job that has just begun would decide; and ten years.
pub const HALF_LIFE_S: RangeInclusive<f64> = 1.0..=10.0 * 365.0 * 86_400.0;
/// The bound of what past usage does to a weight: beyond, one tenant is next to nothing beside another.
pub const USAGE_BOUND: RangeInclusive<f64> = 1.0..=16.0;
/// Longer names do not fit into any table.
pub const NAME_MAX: usize = 100;
/// The same for the name of a job.
pub const JOB_NAME_MAX: usize = 200;
/// Characters of the reason for which a node is taken out.
pub const REASON_MAX: usize = 200;
/// Variables of one job.
pub const VARIABLES_MAX: usize = 1000;
/// Jobs that one job waits for.
pub const AFTER_MAX: usize = 100;
/// Labels of one job.
pub const LABELS_MAX: usize = 64;
/// Characters of a label's value.
pub const LABEL_MAX: usize = 1000;
/// Bytes of all labels of one job, with their values.
pub const LABELS_BYTES_MAX: usize = 16 << 10;
/// Bytes of a path: no system takes longer ones.
pub const PATH_MAX: usize = 4096;
/// A century in seconds: longer than any job.
pub const SECONDS_MAX: f64 = 3.2e9;
