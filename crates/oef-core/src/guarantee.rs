//! Guarantees and limits by gpu type: what is handed out before the mechanism runs, and the problem that is left for it.
//!
//! 1. *Handed out first.* Tenant t gets of type j what it can use of its guarantee `G_tj`: type after type, the fastest for it
//!    first, divided over its workloads that can run there by weight, none more than its demand leaves. What it cannot use
//!    stays with the others. `a_l` is what workload l has got so far.
//! 2. *What is left* is a problem of its own ([`Problem::beyond`]): counts `m - sum_l a_l`, demands `D_l - 1·a_l`, and weights
//!    that count what was handed out first. With `e_l` the equal split and `v_l(z)` the worth of what l can use of z, the tenant
//!    counts `pi_t · max(0.01, 1 - sum_l v_l(a_l) / sum_l v_l(e_l))`, divided over its workloads in proportion to
//!    `pi_l · max(0.01, 1 - v_l(a_l) / v_l(e_l))`. Who is guaranteed half of its equal split counts half of its weight in the
//!    rest; who is guaranteed all of it gets what others cannot use, and little more. Speedups and the reference type stay.
//! 3. *The mechanism runs on what is left*; the shares are both parts together.
//! 4. *Limits* `L_tj`. Where a tenant's share of a type comes out above its limit, exactly the limit is handed out first, in the
//!    proportions that the mechanism found, the tenant counts as one that cannot run there, and steps 2 and 3 are
//!    repeated. Each turn settles at least one pair of tenant and type for good, so that it ends. What is handed out is part
//!    of a feasible answer, so that counts and demands are never exceeded.
//!
//! Envy-freeness, the sharing incentive and Pareto efficiency are properties of the mechanism on its own problem: they
//! hold for what lies beyond the guarantees and limits, and the certificate is about that.

use crate::ids::{TenantId, TypeId, WorkloadId};
use crate::mechanism::{Mechanism, Options, Outcome, SolveError, Status};
use crate::problem::{Problem, demand, total_weight, water_fill};
use crate::shares::{Shares, usable_value, workload_equal_split};

/// What a tenant counts at least beyond its guarantees, as a part of its weight: a weight is above 0.
const LEAST_PART: f64 = 0.01;
/// A share is above a limit where it is by this part of it: more than two solves of one problem differ by.
const ABOVE: f64 = 1e-7;
/// GPUs below which nothing is left.
const NOTHING: f64 = 1e-9;

/// Solves a problem with guarantees or limits by solving what lies beyond them.
pub(crate) fn solve_beyond(
    problem: &Problem,
    mechanism: Mechanism,
    options: &Options<'_>,
    solve: &mut dyn FnMut(&Problem, &Options<'_>) -> Result<Outcome, SolveError>,
) -> Result<Outcome, SolveError> {
    let cap = options.gavel_cap.filter(|_| mechanism == Mechanism::Gavel);
    let capped = cap.map(|cap| problem.capped(cap));
    let problem = capped.as_ref().unwrap_or(problem);
    let options = Options { gavel_cap: None, ..*options };
    let mut first = problem.usable_guarantees();
    loop {
        let left = problem.beyond(&first);
        let mut outcome = solve(&left, &options)?;
        let above = above_limits(problem, &first, &outcome.shares);
        let stopped = options.stop.is_some_and(|stop| stop());
        if above.is_empty() || stopped {
            if stopped && !above.is_empty() {
                outcome.solver.status = Status::Feasible;
                outcome.solver.gap = 1.0;
                outcome.solver.canonical = false;
            }
            outcome.shares = together(problem, &first, &outcome.shares);
            outcome.first = Some(first);
            return Ok(outcome);
        }
        for (tenant, gpu, part) in above {
            for l in problem.workload_ids_of(tenant) {
                let more = outcome.shares.get(l, gpu) * part;
                first.set(l, gpu, first.get(l, gpu) + more);
            }
        }
    }
}

/// The tenants whose share of a type is above their limit, with the part of what they got beyond `first` that the limit allows.
fn above_limits(problem: &Problem, first: &Shares, more: &Shares) -> Vec<(TenantId, TypeId, f64)> {
    let mut above = Vec::new();
    for (t, tenant) in problem.tenants().iter().enumerate() {
        for (j, limit) in tenant.limit.iter().enumerate() {
            let Some(limit) = *limit else { continue };
            let (tenant, gpu) = (TenantId(t), TypeId(j));
            let sum = |of: &Shares| -> f64 {
                problem.workload_ids_of(tenant).map(|l| of.get(l, gpu)).sum()
            };
            let (before, more) = (sum(first), sum(more));
            if before + more > limit * (1.0 + ABOVE) + NOTHING && more > 0.0 {
                above.push((tenant, gpu, ((limit - before) / more).clamp(0.0, 1.0)));
            }
        }
    }
    above
}

/// Both parts together, nobody above a limit by rounding.
fn together(problem: &Problem, first: &Shares, more: &Shares) -> Shares {
    let mut all = first.clone();
    for (t, tenant) in problem.tenants().iter().enumerate() {
        for j in 0..problem.types().len() {
            let gpu = TypeId(j);
            let sum = |of: &Shares| -> f64 {
                problem.workload_ids_of(TenantId(t)).map(|l| of.get(l, gpu)).sum()
            };
            let (before, beyond) = (sum(first), sum(more));
            let room =
                tenant.limit_on(gpu).map_or(f64::INFINITY, |limit| (limit - before).max(0.0));
            let part = if beyond > room { room / beyond } else { 1.0 };
            for l in problem.workload_ids_of(TenantId(t)) {
                all.set(l, gpu, first.get(l, gpu) + part * more.get(l, gpu));
            }
        }
    }
    all
}

/// The problem and the shares that lie beyond guarantees and limits: what the mechanism answered. `None`: the problem has
/// neither.
pub fn beyond(problem: &Problem, outcome: &Outcome) -> Option<(Problem, Shares)> {
    if !problem.has_guarantees_or_limits() {
        return None;
    }
    let usable = problem.usable_guarantees();
    let first = match &outcome.first {
        Some(first) if is_first(problem, first, &usable) => first.clone(),
        _ => usable,
    };
    let mut rest = Shares::zero(problem);
    for l in (0..problem.workloads().len()).map(WorkloadId) {
        for j in (0..problem.types().len()).map(TypeId) {
            rest.set(l, j, (outcome.shares.get(l, j) - first.get(l, j)).max(0.0));
        }
    }
    Some((problem.beyond(&first), rest))
}

/// Whether shares are what may be handed out first: for each tenant and type what it can use of its guarantee, or its limit.
fn is_first(problem: &Problem, first: &Shares, usable: &Shares) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() <= ABOVE * (1.0 + b.abs());
    let of_tenant = |t: TenantId| {
        let (first, usable) = (first.of_tenant(problem, t), usable.of_tenant(problem, t));
        first.iter().zip(usable).enumerate().all(|(j, (&first, usable))| {
            let limit = problem.tenants()[t.0].limit_on(TypeId(j));
            near(first, usable) || limit.is_some_and(|limit| near(first, limit))
        })
    };
    first.is_for(problem) && problem.tenant_ids().all(of_tenant)
}

impl Problem {
    /// Whether some tenant has a guarantee or a limit by gpu type.
    pub fn has_guarantees_or_limits(&self) -> bool {
        self.tenants.iter().any(|t| !t.guarantee.is_empty() || !t.limit.is_empty())
    }

    /// What every workload gets before the mechanism runs: what its tenant can use of its guarantees. Guarantees beyond
    /// the GPUs that there are, which only a problem that was not validated has, are cut in proportion.
    pub fn usable_guarantees(&self) -> Shares {
        let mut first = Shares::zero(self);
        let promised =
            |j: usize| -> f64 { self.tenants.iter().map(|t| t.guarantee_on(TypeId(j))).sum() };
        let kept: Vec<f64> = (self.types.iter().enumerate())
            .map(|(j, gpu)| (gpu.capacity / promised(j)).clamp(0.0, 1.0))
            .collect();
        for (t, tenant) in self.tenants.iter().enumerate() {
            if tenant.guarantee.is_empty() {
                continue;
            }
            let own = || self.workload_ids_of(TenantId(t));
            let speed =
                |j: usize| own().map(|l| self.workloads[l.0].speedup[j]).fold(0.0, f64::max);
            let mut order: Vec<usize> = (0..self.types.len()).collect();
            order.sort_by(|&a, &b| {
                speed(b)
                    .total_cmp(&speed(a))
                    .then_with(|| self.types[a].name.cmp(&self.types[b].name))
            });
            for j in order {
                let gpu = TypeId(j);
                let promised =
                    tenant.guarantee_on(gpu) * if kept[j].is_nan() { 1.0 } else { kept[j] };
                let promised = promised.min(tenant.limit_on(gpu).unwrap_or(f64::INFINITY));
                let party = |l: WorkloadId| {
                    let workload = &self.workloads[l.0];
                    let used: f64 = first.of_workload(l).iter().sum();
                    let room = workload.demand.map_or(f64::INFINITY, |d| (d - used).max(0.0));
                    (workload.weight, if workload.speedup[j] > 0.0 { room } else { 0.0 })
                };
                let parts = water_fill(promised, &own().map(party).collect::<Vec<_>>());
                for (l, part) in own().zip(parts) {
                    first.set(l, gpu, part);
                }
            }
        }
        first
    }

    /// The problem that is left once `first` is handed out: the head of the module `guarantee` in the source says which.
    pub fn beyond(&self, first: &Shares) -> Problem {
        let mut left = self.clone();
        for (j, gpu) in left.types.iter_mut().enumerate() {
            gpu.capacity = (gpu.capacity - first.used(TypeId(j))).max(0.0);
            if gpu.capacity <= NOTHING {
                gpu.capacity = 0.0;
            }
        }
        for t in self.tenant_ids() {
            let held = first.of_tenant(self, t);
            self.count_first(t, first, &mut left);
            let tenant = &mut left.tenants[t.0];
            (tenant.guarantee, tenant.limit) = (Vec::new(), Vec::new());
            tenant.demand = tenant.demand.map(|d| (d - held.iter().sum::<f64>()).max(0.0));
            for l in self.workload_ids_of(t) {
                let workload = &mut left.workloads[l.0];
                let used: f64 = first.of_workload(l).iter().sum();
                let less = |d: f64| if d - used <= NOTHING { 0.0 } else { d - used };
                workload.demand = workload.demand.map(less);
                for (j, &held) in held.iter().enumerate() {
                    let limit = self.tenants[t.0].limit_on(TypeId(j));
                    if limit.is_some_and(|limit| held >= limit * (1.0 - ABOVE) - NOTHING) {
                        workload.speedup[j] = 0.0;
                        workload.throughput[j] = 0.0;
                    }
                }
                // The demand of the tenant is divided already.
                workload.declared_demand = workload.demand;
            }
        }
        left.total_weight = total_weight(&left.tenants);
        left
    }

    /// The weights of a tenant and its workloads, with what they got first counted.
    fn count_first(&self, tenant: TenantId, first: &Shares, left: &mut Problem) {
        let part = |got: f64, split: f64| match split > 0.0 {
            true => (1.0 - got / split).clamp(LEAST_PART, 1.0),
            false => 1.0,
        };
        let figures: Vec<(WorkloadId, f64, f64)> = self
            .workload_ids_of(tenant)
            .map(|l| {
                let of = &self.workloads[l.0];
                let got = usable_value(&of.speedup, first.of_workload(l), of.demand);
                (l, got, workload_equal_split(self, l))
            })
            .collect();
        if figures.iter().all(|(_, got, _)| *got == 0.0) {
            return;
        }
        let (got, split) = figures.iter().fold((0.0, 0.0), |(g, s), f| (g + f.1, s + f.2));
        let weight = self.tenants[tenant.0].weight * part(got, split);
        let own = |(l, got, split): &(WorkloadId, f64, f64)| {
            self.workloads[l.0].weight * part(*got, *split)
        };
        let total: f64 = figures.iter().map(own).sum();
        for figure in &figures {
            left.workloads[figure.0.0].weight = weight * (own(figure) / total);
        }
        left.tenants[tenant.0].weight = weight;
    }

    /// The same with no tenant able to use more than so many GPUs.
    fn capped(&self, cap: f64) -> Problem {
        let mut capped = self.clone();
        for tenant in &mut capped.tenants {
            let own = tenant.demand.unwrap_or(f64::INFINITY).min(cap);
            tenant.demand = Some(own);
            demand::divide(tenant.demand, &mut capped.workloads[tenant.workloads.clone()]);
        }
        capped
    }
}
