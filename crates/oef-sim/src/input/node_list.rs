//! Lists of nodes in CSV, such as Alibaba's: `sn,cpu_milli,memory_mib,gpu,model`.

use super::cells::{Dialect, Table};
use super::cluster::{ClusterSpec, NodeSpec};
use super::cluster_file::{Builder, not_empty};
use super::limits;
use super::read::{BadRows, InputError, Read, Source};

const NAME: &[&str] = &["sn", "name", "node"];
const GPUS: &[&str] = &["gpu", "gpus", "gpu_count"];
const TYPE: &[&str] = &["model", "gpu_type", "type"];

/// Reads a list of nodes; those without GPUs are left out and counted.
pub(crate) fn read(
    source: Source<'_>,
    skip_bad_rows: bool,
) -> Result<Read<ClusterSpec>, InputError> {
    let mut table = Table::open(source, Dialect::CSV)?;
    let (name, gpus, kind) = (table.require(NAME)?, table.require(GPUS)?, table.require(TYPE)?);
    let host = table.column(&["host"]);
    let mut bad = BadRows::new(skip_bad_rows);
    let mut builder = Builder::new(source);
    let mut without = 0;
    table.rows(&mut bad, |row| {
        let most = i64::from(limits::GPUS_PER_NODE_MAX);
        let count = row.whole(Some(gpus), 0, most)?.unwrap_or(0);
        if count == 0 {
            without += 1;
            return Ok(());
        }
        let name = row.name(name)?;
        let node = NodeSpec {
            host: row.optional_name(host)?.unwrap_or_else(|| name.clone()),
            name,
            gpu_type: row.name(kind)?,
            gpus: count as u32,
        };
        builder.add(node, row.line)
    })?;
    builder.check_limits()?;
    let mut notes = Vec::new();
    if without > 0 {
        notes.push(format!("nodes without GPUs, left out: {without}"));
    }
    bad.finish(builder.cluster, notes).and_then(|read| not_empty(source, read))
}

/// Whether a header is that of such a list.
pub(crate) fn is_header(header: &[&str]) -> bool {
    let has =
        |names: &[&str]| names.iter().any(|n| header.iter().any(|h| h.eq_ignore_ascii_case(n)));
    has(NAME) && has(GPUS) && has(TYPE)
}
