//! Which form a text has, and the reader for it.

use super::cluster::ClusterSpec;
use super::profile::ProfileTable;
use super::read::{InputError, Read, Source};
use super::trace::{Trace, TraceOptions};
use super::{
    cluster_file, gavel_throughputs, gavel_trace, node_list, profile_csv, slurm, trace_csv, tree,
};

/// The forms of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterFormat {
    /// `[[node]]` or `[[gpu]]` tables.
    Toml,
    /// The same lists in JSON.
    Json,
    /// CSV with one node per row, as Alibaba publishes its clusters.
    Nodes,
}

impl ClusterFormat {
    /// All of them.
    pub const ALL: [ClusterFormat; 3] =
        [ClusterFormat::Toml, ClusterFormat::Json, ClusterFormat::Nodes];
}

/// The forms of profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProfileFormat {
    /// CSV with a `thr_<type>` column per gpu type.
    Csv,
    /// CSV with one figure per row.
    Long,
    /// Gavel's throughput file in JSON.
    Gavel,
}

impl ProfileFormat {
    /// All of them.
    pub const ALL: [ProfileFormat; 3] =
        [ProfileFormat::Csv, ProfileFormat::Long, ProfileFormat::Gavel];
}

/// The forms of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// CSV with one job per row.
    Csv,
    /// Gavel's lines with tabs.
    Gavel,
    /// What `sacct -P` prints.
    Slurm,
}

/// Reads a cluster. Without a format the text decides.
pub fn read_cluster(
    source: Source<'_>,
    format: Option<ClusterFormat>,
    skip_bad_rows: bool,
) -> Result<Read<ClusterSpec>, InputError> {
    match format.unwrap_or_else(|| cluster_format(&source)) {
        ClusterFormat::Toml => cluster_file::read(source, tree::toml, skip_bad_rows),
        ClusterFormat::Json => cluster_file::read(source, tree::json, skip_bad_rows),
        ClusterFormat::Nodes => node_list::read(source, skip_bad_rows),
    }
}

/// Reads profiles. Without a format the text decides.
pub fn read_profiles(
    source: Source<'_>,
    format: Option<ProfileFormat>,
    skip_bad_rows: bool,
) -> Result<Read<ProfileTable>, InputError> {
    match format.unwrap_or_else(|| profile_format(&source)) {
        ProfileFormat::Csv => profile_csv::read_wide(source, skip_bad_rows),
        ProfileFormat::Long => profile_csv::read_long(source, skip_bad_rows),
        ProfileFormat::Gavel => gavel_throughputs::read(source, skip_bad_rows),
    }
}

/// Reads a trace. Without a format the text decides.
pub fn read_trace(
    source: Source<'_>,
    format: Option<TraceFormat>,
    options: &TraceOptions,
) -> Result<Read<Trace>, InputError> {
    match format.unwrap_or_else(|| trace_format(&source)) {
        TraceFormat::Csv => trace_csv::read(source, options),
        TraceFormat::Gavel => gavel_trace::read(source, options),
        TraceFormat::Slurm => slurm::read(source, options),
    }
}

fn cluster_format(source: &Source<'_>) -> ClusterFormat {
    if is_json(source) {
        ClusterFormat::Json
    } else if node_list::is_header(&header(source)) {
        ClusterFormat::Nodes
    } else {
        ClusterFormat::Toml
    }
}

fn profile_format(source: &Source<'_>) -> ProfileFormat {
    let header = header(source);
    if is_json(source) {
        ProfileFormat::Gavel
    } else if !profile_csv::is_wide(&header) && profile_csv::is_long(&header) {
        ProfileFormat::Long
    } else {
        ProfileFormat::Csv
    }
}

fn trace_format(source: &Source<'_>) -> TraceFormat {
    let first = first_line(source);
    if slurm::is_header(first) {
        TraceFormat::Slurm
    } else if gavel_trace::is_line(first) {
        TraceFormat::Gavel
    } else {
        TraceFormat::Csv
    }
}

fn is_json(source: &Source<'_>) -> bool {
    source.text.trim_start().starts_with('{')
}

/// The first line that says anything.
fn first_line<'a>(source: &Source<'a>) -> &'a str {
    source.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default()
}

fn header<'a>(source: &Source<'a>) -> Vec<&'a str> {
    first_line(source).split(',').map(|cell| cell.trim().trim_matches('"')).collect()
}
