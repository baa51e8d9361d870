//! The sizes that OEF accepts, each with its reason.

/// Workloads in one problem. A million rows of ten types are 80 MB of speedups; every pass over them
/// stays in the milliseconds, and no cluster we know of has a tenth of that.
pub const MAX_WORKLOADS: usize = 1_000_000;

/// Gpu types in one problem. The programs work with dense blocks of that size per profile.
pub const MAX_GPU_TYPES: usize = 256;

/// Different profiles in one cooperative problem. Its envy constraints need a dense matrix of that
/// order: 5,000 profiles are 200 MB and minutes of work. Equal profiles count once.
pub const MAX_COOPERATIVE_PROFILES: usize = 5_000;
