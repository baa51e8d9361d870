//! What a search for lies answers.

use crate::ids::{TenantId, WorkloadId};

/// What the search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Lie {
    /// The tenant that lies.
    pub tenant: TenantId,
    /// Its throughput when it tells the truth.
    pub honest: f64,
    /// Its true throughput with the best report found; `honest` where no lie pays.
    pub best: f64,
    /// The best report found, workload after workload; the truth where no lie pays.
    pub report: Vec<Report>,
    /// What the best report does.
    pub direction: Direction,
    /// The best report that only lowers speedups, whether or not it pays.
    pub under: Option<Attempt>,
    /// The best report that only raises speedups, whether or not it pays.
    pub over: Option<Attempt>,
    /// The best report that lowers some and raises others, whether or not it pays.
    pub mixed: Option<Attempt>,
    /// Reports that were tried.
    pub evaluations: usize,
    /// Whether the search ran to its end rather than being stopped or running out of evaluations.
    pub complete: bool,
}

/// One report and what it brings.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// The tenant's true throughput with this report.
    pub throughput: f64,
    /// The report.
    pub report: Vec<Report>,
}

/// What a tenant says about one workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The workload.
    pub workload: WorkloadId,
    /// The speedup per type that it reports, normalised as in the problem; 0: says it cannot run there.
    pub speedup: Vec<f64>,
}

/// What a report does to the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// It is the truth: no lie pays.
    None,
    /// It lowers speedups.
    Under,
    /// It raises speedups.
    Over,
    /// It lowers some and raises others.
    Mixed,
}

impl Direction {
    /// The word in results.
    pub const fn name(self) -> &'static str {
        match self {
            Direction::None => "none",
            Direction::Under => "under",
            Direction::Over => "over",
            Direction::Mixed => "mixed",
        }
    }
}

/// How hard to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Reports to try at most (each is one solve).
    pub evaluations: usize,
}

impl Effort {
    /// A first look.
    pub const QUICK: Effort = Effort { evaluations: 200 };
    /// Enough for a tenant with a few workloads and types.
    pub const NORMAL: Effort = Effort { evaluations: 2_000 };
    /// When the answer matters more than the time.
    pub const THOROUGH: Effort = Effort { evaluations: 20_000 };
}

impl Default for Effort {
    fn default() -> Self {
        Effort::NORMAL
    }
}
