//! Names of things as types: a job cannot be used where a node is meant.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// A job, numbered by the driver in the order of submission.
    JobId(u64)
);
id!(
    /// A round, counted from 1.
    RoundId(u64)
);
id!(
    /// Fences a lease: whoever acts for a job must hold the latest one.
    Generation(u64)
);
id!(
    /// A node, by its position in the cluster.
    NodeId(usize)
);
id!(
    /// A tenant, by its position in the state.
    TenantKey(usize)
);
id!(
    /// A group of tenants, by its position in the state.
    GroupKey(usize)
);
id!(
    /// A workload of a tenant, by its position in the state.
    WorkloadKey(usize)
);

/// One device on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct GpuId {
    /// The machine.
    pub node: NodeId,
    /// The device's index on it.
    pub index: u32,
}

/// A live job's place in the state's table; never leaves the crate, and may be used again by another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Slot(pub usize);
