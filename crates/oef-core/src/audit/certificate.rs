//! The certificate: one finding per property.

use super::{adjacency, checks, envy, pareto};
use crate::OPTIMALITY_TOLERANCE;
use crate::guarantee::beyond;
use crate::ids::{TenantId, TypeId, WorkloadId};
use crate::mechanism::Outcome;
use crate::problem::Problem;
use crate::shares::Shares;

/// Audits one result. `outcome` must be an answer to `problem` (the same tenants, workloads and types).
pub fn audit(problem: &Problem, outcome: &Outcome) -> Certificate {
    let shares = &outcome.shares;
    let capacity = checks::capacity(problem, shares);
    let demand = checks::demand(problem, shares);
    let guarantee = checks::guarantee(problem, shares);
    let limit = checks::limit(problem, shares);
    let feasible = capacity.holds && demand.holds;
    // The mechanism's own problem, where guarantees and limits come first.
    let beyond = beyond(problem, outcome);
    let (problem, shares) = beyond.as_ref().map_or((problem, shares), |(p, s)| (p, s));
    let figures = checks::Figures::new(problem, shares);
    let gap = checks::finite(outcome.solver.gap, f64::MAX);
    let pareto_efficient = pareto::decide(problem, shares, &outcome.prices, feasible);
    Certificate {
        envy_free: envy::worst(problem, shares, &figures),
        sharing_incentive: checks::sharing_incentive(&figures),
        pareto_efficient,
        adjacent: adjacency::adjacent(problem, shares),
        optimality: OptimalityFinding { holds: gap <= OPTIMALITY_TOLERANCE, gap },
        capacity,
        demand,
        guarantee,
        limit,
        beyond: beyond.is_some(),
    }
}

/// How far a property may be off and still count as holding, relative to the figure it is about. The
/// interface promises figures right to 1e-6; a tenth of that leaves room for the sums, and is a
/// hundred times what the solvers leave.
pub const AUDIT_TOLERANCE: f64 = 1e-7;

/// What the audit of one result found, property by property.
#[derive(Clone, Debug, PartialEq)]
pub struct Certificate {
    /// No type is handed out beyond its capacity, nobody holds less than nothing.
    /// `worst`: the largest overuse relative to the capacity.
    pub capacity: Finding<Overuse>,
    /// No tenant holds more GPUs than it can use. `worst`: the largest excess relative to the demand.
    pub demand: Finding<OverDemand>,
    /// Every tenant has what it can use of its guarantees. `worst`: the largest lack relative to it.
    pub guarantee: Finding<Promise>,
    /// No tenant is above its limit of a gpu type. `worst`: the largest excess relative to the limit.
    pub limit: Finding<Promise>,
    /// Whether the findings from here on are about what lies beyond guarantees and limits: the problem and the shares of
    /// [`beyond`](crate::beyond). False: there are none, and they are about the whole.
    pub beyond: bool,
    /// No tenant would rather have another's bundle, scaled by their weights.
    /// `worst`: the largest (other - own) / own over all pairs, 0 when nobody envies.
    pub envy_free: Finding<EnvyWitness>,
    /// No tenant falls below its equal split. `worst`: the smallest throughput / equal split.
    pub sharing_incentive: Finding<Shortfall>,
    /// No workload can gain without another's loss: the sense in which the mechanisms, which treat
    /// each workload as a virtual tenant, are Pareto efficient.
    pub pareto_efficient: ParetoFinding,
    /// No workload skips a type between two that it holds.
    /// `worst`: the part of the tenants for which one does.
    pub adjacent: Finding<SkippedType>,
    /// How far the mechanism's own program is solved, as the mechanism proved it.
    pub optimality: OptimalityFinding,
}

/// One property: whether it holds, by how much at worst, and who shows it where it fails.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding<W> {
    /// Whether it holds within the tolerance.
    pub holds: bool,
    /// The worst figure found, always finite.
    pub worst: f64,
    /// The worst case; present exactly where the property fails.
    pub witness: Option<W>,
}

/// A type that is handed out beyond its capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overuse {
    /// The type.
    pub gpu: TypeId,
    /// GPUs handed out of it.
    pub used: f64,
    /// GPUs there are of it.
    pub capacity: f64,
}

/// A tenant that holds more GPUs than it can use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OverDemand {
    /// The tenant.
    pub tenant: TenantId,
    /// GPUs it holds.
    pub used: f64,
    /// GPUs it can use.
    pub demand: f64,
}

/// A tenant without what it is guaranteed of a type, or above its limit there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Promise {
    /// The tenant.
    pub tenant: TenantId,
    /// The type.
    pub gpu: TypeId,
    /// GPUs that it has.
    pub has: f64,
    /// GPUs that it should have at least (what it can use of its guarantee) or at most (its limit).
    pub bound: f64,
}

/// A tenant that would rather have another's bundle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EnvyWitness {
    /// Who envies.
    pub envious: TenantId,
    /// Whose bundle it would rather have, scaled by the ratio of their weights.
    pub envied: TenantId,
    /// Its throughput with its own bundle.
    pub own: f64,
    /// Its throughput with the scaled other bundle, counting only what it can use.
    pub other: f64,
}

/// A tenant below its equal split.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shortfall {
    /// The tenant.
    pub tenant: TenantId,
    /// Its throughput.
    pub throughput: f64,
    /// Its throughput if every type were divided by weight.
    pub equal_split: f64,
}

/// Whether anybody can gain without another's loss.
#[derive(Clone, Debug, PartialEq)]
pub struct ParetoFinding {
    /// Whether it is proven that nobody can gain (beyond the tolerance) without another's loss.
    pub holds: bool,
    /// The gain that the witness reaches, relative to the total; 0 without one.
    pub worst: f64,
    /// No allocation whatever gains more than this, relative to the total.
    pub bound: f64,
    /// How the figures were proven.
    pub proof: ParetoProof,
    /// Better shares, feasible and at nobody's cost; present exactly where the property surely fails.
    pub witness: Option<Improvement>,
}

/// How Pareto efficiency was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParetoProof {
    /// Prices support the shares: every tenant holds the best value for money. No program was needed.
    Prices,
    /// A program found the largest gain; its answer and its bound were checked and agree.
    Program,
    /// Only bounds are proven: the largest gain lies between `worst` and `bound`. The property
    /// certainly fails where there is a witness, and is open where there is none.
    BoundOnly,
}

/// Shares that are better for some and worse for nobody.
#[derive(Clone, Debug, PartialEq)]
pub struct Improvement {
    /// Who gains how much throughput, in the problem's order; those without a gain are left out.
    pub gains: Vec<(TenantId, f64)>,
    /// The better shares: within capacity and demand.
    pub shares: Shares,
}

/// A workload that holds two types but none of one between them.
#[derive(Clone, Debug, PartialEq)]
pub struct SkippedType {
    /// Whose workload it is.
    pub tenant: TenantId,
    /// The workload.
    pub workload: WorkloadId,
    /// The types it holds, slow to fast.
    pub held: Vec<TypeId>,
    /// The type between them that it could use and holds none of.
    pub skipped: TypeId,
}

/// How far the mechanism's program is solved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OptimalityFinding {
    /// Whether the gap is within [`OPTIMALITY_TOLERANCE`](crate::OPTIMALITY_TOLERANCE).
    pub holds: bool,
    /// The relative distance to the optimum that the mechanism proved.
    pub gap: f64,
}
