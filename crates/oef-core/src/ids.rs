//! Typed ordinals: a tenant's position cannot be used where a gpu type's is meant.

macro_rules! ordinal {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub struct $name(pub usize);

        impl $name {
            /// The position in the problem's own order.
            pub const fn index(self) -> usize {
                self.0
            }
        }
    };
}

ordinal!(
    /// A gpu type, by its position in the problem.
    TypeId
);
ordinal!(
    /// A tenant, by its position in the problem.
    TenantId
);
ordinal!(
    /// A workload (a virtual tenant), by its position in the problem, tenant after tenant.
    WorkloadId
);
