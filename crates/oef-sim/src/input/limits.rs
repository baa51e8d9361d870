//! How much is read at most. Whatever is larger is a mistake, or wants another tool.

/// Bytes of one text. A year of accounting of a large cluster has about a quarter of this.
pub const TEXT_BYTES_MAX: usize = 512 * 1024 * 1024;
/// Rows of one table: twenty times the largest public trace of single jobs (Philly, about 100,000).
pub const ROWS_MAX: usize = 2_000_000;
/// Bad rows that are kept. A file with more of them is not in the form it was taken for.
pub const BAD_ROWS_MAX: usize = 100_000;
/// Nodes of a cluster.
pub const NODES_MAX: usize = 100_000;
/// GPUs of a node, or of a shelf that counts as one. Real ones have 16 at most, racks 72.
pub const GPUS_PER_NODE_MAX: u32 = 1_024;
/// GPUs of a cluster.
pub const GPUS_MAX: u64 = 1_000_000;
/// Gpu types of a profile table; the mechanisms take as many.
pub const TYPES_MAX: usize = 256;
/// GPUs of one job. The largest published jobs have a quarter of it.
pub const GPUS_PER_JOB_MAX: u32 = 65_536;
/// Latest submission and longest duration in seconds: a hundred years. Beyond it a time is a mistaken unit.
pub const SECONDS_MAX: f64 = 100.0 * 365.25 * 86_400.0;
/// Steps of one job; beyond it doubles no longer count single steps.
pub const STEPS_MAX: f64 = 9.0e15;
/// Characters of a name (tenant, job, model, type, node).
pub const NAME_CHARS_MAX: usize = 256;
