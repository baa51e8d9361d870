//! Loads, clusters and profiles from a seed: the same seed gives the same bytes on every platform.

mod arrivals;
mod cluster;
mod demo;
mod distribution;
mod error;
mod math;
mod profiles;
mod random;
mod trace;
mod write;

pub use cluster::{ClusterLike, cluster};
pub use demo::{Demo, demo, measured_profiles};
pub use distribution::HeavyTail;
pub use error::{GenerateError, JOBS_MAX};
pub use profiles::{ProfileSpec, profiles};
pub use random::Random;
pub use trace::{GAVEL_GPUS, Gang, ITP_GANGS, Load, PHILLY_GPUS, TraceLike, TraceSpec, trace};
pub use write::{write_cluster, write_profiles, write_trace};
