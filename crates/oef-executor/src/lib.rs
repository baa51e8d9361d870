//! What carries a plan out.
//!
//! An [`Executor`] takes orders ([`Order`]) and tells what its nodes and leases do ([`Event`]). It decides
//! nothing: on which GPUs a job runs, and until when, comes with the order. Every start carries the
//! generation of its lease, and an older one than was ever seen for a job is refused.
#![forbid(unsafe_code)]

mod cgroup;
pub mod checkpoints;
mod clock;
pub mod demo_job;
mod device;
mod ending;
mod error;
mod event;
mod event_log;
mod executor;
mod exhaustion;
mod family;
pub mod gpus;
mod launch;
mod length;
pub mod local;
mod log_file;
mod logs;
mod order;
mod process_setup;
mod processes;
#[doc(hidden)]
pub mod reading;
mod records;
mod remove_tree;
pub mod runner;
pub mod sim;
pub mod slurm;
#[cfg(test)]
mod testing;
mod timing;
mod untrusted;
mod users;
mod warm;

pub use cgroup::JobLimits;
pub use device::{Device, DeviceId, DeviceKind};
pub use ending::{Ending, FailReason, signal_name};
pub use error::{ExecutorError, sentence};
pub use event::{
    Cursor, Event, LeaseEvent, NodeEvent, OtherEnd, OtherJob, OtherState, Progress, WorkerExit,
};
pub use event_log::EventLog;
pub use executor::Executor;
pub use launch::{
    CheckpointLocation, Checkpoints, Launch, Probe, Program, RunAs, Shell, StopSignal, Terminal,
};
pub use length::Length;
pub use logs::{LogChunk, LogFrom, LogQuery, Stream};
pub use order::{Held, Known, Order, Unknown};
pub use process_setup::{close_to_others, raise_descriptor_limit};
pub use timing::Timing;
pub use users::is_privileged;
pub use warm::warm_problem;
