//! What carries a plan out.
//!
//! An [`Executor`] is told what to do ([`Order`]) and tells what happened ([`Observation`]). It decides
//! nothing: on which GPUs a job runs, and until when, comes with the order. Every start carries the
//! generation of its lease, and an older one than was ever seen for a job is refused.
#![forbid(unsafe_code)]

pub mod checkpoints;
mod clock;
pub mod demo_job;
mod device;
mod ending;
mod error;
mod executor;
pub mod gpus;
mod launch;
pub mod local;
mod log_file;
mod logs;
mod measured;
mod observation;
mod order;
mod processes;
mod records;
pub mod runner;
mod warm;
mod wire;

pub use device::{Device, DeviceKind};
pub use ending::{Ending, FailReason, signal_name};
pub use error::ExecutorError;
pub use executor::Executor;
pub use launch::{Launch, Probe, StopSignal};
pub use logs::{LogChunk, LogFrom, LogQuery, Stream};
pub use measured::Measured;
pub use observation::Observation;
pub use order::{Found, Held, Order, Recovered};
pub use warm::warm_problem;
