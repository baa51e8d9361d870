//! The audit: what each fairness property measures on one result, with a witness where it fails.
//!
//! Nothing here calls a mechanism or its solver: the figures come from the problem and the shares
//! alone, by other formulas and another program, so that a mistake in a solver shows.

mod certificate;

pub use certificate::{
    Certificate, EnvyMatrix, EnvyWitness, Finding, Improvement, OptimalityFinding, OverDemand,
    Overuse, ParetoFinding, ParetoProof, Shortfall, SkippedType, audit, envy_matrix,
};
