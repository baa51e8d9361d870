//! The audit: what each fairness property measures on one result, with a witness where it fails.
//!
//! Nothing here calls a mechanism or its solver: the figures come from the problem and the shares
//! alone, by other formulas and another program, so that a mistake in a solver shows.

mod adjacency;
mod certificate;
mod checks;
mod envy;
mod over_time;
mod pareto;
#[cfg(test)]
mod tests;

pub(crate) use adjacency::is_held;
pub use certificate::{
    AUDIT_TOLERANCE, Certificate, EnvyWitness, Finding, Improvement, OptimalityFinding, OverDemand,
    Overuse, ParetoFinding, ParetoProof, Promise, Shortfall, SkippedType, audit,
};
pub use checks::equal_splits;
pub(crate) use envy::tied_pairs;
pub use envy::{EnvyMatrix, envy_matrix};
pub use over_time::{EnvyOverTime, OverTime, Presence};
pub use pareto::pareto_efficiency;
