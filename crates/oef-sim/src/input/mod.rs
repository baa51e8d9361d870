//! Readers: from text to [`ClusterSpec`], [`ProfileTable`] and [`TraceJob`]s, with the line and the field of
//! everything that is wrong.

mod cells;
mod cluster;
mod cluster_file;
mod entries;
mod format;
mod gavel_names;
mod gavel_throughputs;
mod gavel_trace;
pub mod limits;
mod lines;
mod load;
mod matching;
mod models;
pub mod nearest;
mod node_list;
mod prepare;
mod profile;
mod profile_csv;
mod profile_rows;
mod read;
mod slurm;
mod slurm_fields;
mod trace;
mod trace_csv;
pub mod tree;

pub use cluster::{ClusterSpec, NodeSpec};
pub use format::{
    ClusterFormat, ProfileFormat, TraceFormat, read_cluster, read_profiles, read_trace,
};
pub use lines::Lines;
pub use load::{offered_load, resolve_types, scale_to_load, seconds_on_fastest, span_s};
pub use matching::{Matched, match_types};
pub use models::{assign_models, check_models};
pub use prepare::{PrepareOptions, Prepared, prepare};
pub use profile::{Placement, ProfileRow, ProfileTable};
pub use read::{BadRow, InputError, Read, Source};
pub use trace::{Trace, TraceJob, TraceOptions, Work};
