//! The files by which executor and runner know of each other. They share no memory and no connection:
//! either may be killed at any instant, and the other goes on from what is on disk.
//!
//! ```text
//! DIR/executor.lock             one executor at a time
//! DIR/runs/JOB/lock             held by the one runner that runs the job
//! DIR/runs/JOB/generation       the greatest lease ever seen
//! DIR/runs/JOB/GEN/lock         held by the runner of this start while it lives
//! DIR/runs/JOB/GEN/launch.json  what to start; by the executor, once
//! DIR/runs/JOB/GEN/order.json   what is wanted since; by the executor
//! DIR/runs/JOB/GEN/status.json  how it goes, and how it ended; by the runner
//! DIR/runs/JOB/GEN/rank-N.out   what worker N wrote, with its limit
//! DIR/runs/JOB/GEN/job/         the job's own: its progress files, and what it likes
//! DIR/runs/JOB/GEN/runner/      where the runner runs as another user than the executor: all that it writes, and a
//!                               launch.json of its own. It may only read the order, and hold the locks
//! ```

mod files;
mod folders;
mod lock;
mod spec;
mod status;

pub(crate) use files::{Durability, Reader, read_json, write_json, write_json_for};
pub(crate) use folders::{JobFolder, RunFolder, RunsFolder};
pub(crate) use lock::Lock;
pub(crate) use spec::RunSpec;
pub(crate) use status::{Phase, Status, StopOrder, Wanted};
