//! Fair shares of unlike GPUs: problems, mechanisms, and what can be proven about their results.
#![forbid(unsafe_code)]

mod allocation;
pub mod audit;
pub mod change;
mod cooperative;
pub mod explain;
mod guarantee;
mod ids;
mod instance;
pub mod lie;
mod limited;
mod linalg;
mod lp;
mod market;
pub mod mechanism;
mod nash;
pub mod problem;
mod scaled;
pub mod shares;
mod solver;

pub use audit::{Certificate, audit, envy_matrix};
pub use change::{Change, ChangeError, WhatIf, WhatIfError, whatif};
pub use explain::{Explanation, explain};
pub use guarantee::beyond;
pub use ids::{TenantId, TypeId, WorkloadId};
pub use lie::Lie;
pub use mechanism::{Mechanism, Options, Outcome, SolveError, SolverReport, Status, Trade, solve};
pub use problem::{
    Field, GpuSpec, InvalidProblem, Problem, ProblemError, ProblemSpec, TenantSpec, WorkloadSpec,
};
pub use shares::{Shares, equal_split, usable_value, workload_equal_split};
pub use solver::{ApplyError, Solver};

/// Relative optimality gap and constraint violation within which an answer counts as optimal.
pub const OPTIMALITY_TOLERANCE: f64 = 1e-9;
