//! Before, after and the difference.

use super::{Change, ChangeError, apply};
use crate::audit::equal_splits;
use crate::ids::TenantId;
use crate::mechanism::{Mechanism, Options, Outcome, SolveError, solve};
use crate::problem::{InvalidProblem, Problem, ProblemSpec};
use std::collections::BTreeMap;
use thiserror::Error;

/// What some changes do to everybody.
#[derive(Clone, Debug, PartialEq)]
pub struct WhatIf {
    /// The result without the changes.
    pub before: Outcome,
    /// The result with them.
    pub after: Outcome,
    /// The changed problem, with the reference type of the original one, so that figures compare.
    pub problem: Problem,
    /// Total throughput without and with the changes.
    pub total: (f64, f64),
    /// Every tenant that is there before or after: those before in their order, then the new ones.
    pub tenants: Vec<TenantDifference>,
}

/// One tenant before and after.
#[derive(Clone, Debug, PartialEq)]
pub struct TenantDifference {
    /// The tenant's name.
    pub name: String,
    /// Its figures without the changes; `None`: it is added.
    pub before: Option<TenantFigures>,
    /// Its figures with the changes; `None`: it is removed.
    pub after: Option<TenantFigures>,
}

/// A tenant's figures in one result.
#[derive(Clone, Debug, PartialEq)]
pub struct TenantFigures {
    /// Its throughput.
    pub throughput: f64,
    /// Its throughput if every type were divided by weight.
    pub equal_split: f64,
    /// Its GPUs, type after type in the order of its problem (a new type comes last).
    pub share: Vec<f64>,
}

/// Why there is no answer to a what-if.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum WhatIfError {
    /// A change cannot be made.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// The changed problem is not valid.
    #[error("the changed problem is not valid: {0}")]
    Invalid(#[from] InvalidProblem),
    /// One of the two problems could not be solved.
    #[error(transparent)]
    Solve(#[from] SolveError),
}

/// Solves the problem without and with the changes.
pub fn whatif(
    problem: &Problem,
    changes: &[Change],
    mechanism: Mechanism,
    options: &Options<'_>,
) -> Result<WhatIf, WhatIfError> {
    whatif_with(problem, changes, &mut |p| solve(p, mechanism, options))
}

/// The same with any way to solve, for instance a warm one.
pub fn whatif_with(
    problem: &Problem,
    changes: &[Change],
    solve: &mut dyn FnMut(&Problem) -> Result<Outcome, SolveError>,
) -> Result<WhatIf, WhatIfError> {
    // The description of a problem spells its reference type out, so the changed one keeps it.
    let changed = apply(&ProblemSpec::from(problem), changes)?.validate()?;
    let before = solve(problem)?;
    let after = solve(&changed)?;
    let total = (before.shares.total(problem), after.shares.total(&changed));
    let tenants = differences((problem, &before), (&changed, &after));
    Ok(WhatIf { before, after, problem: changed, total, tenants })
}

fn differences(before: (&Problem, &Outcome), after: (&Problem, &Outcome)) -> Vec<TenantDifference> {
    let old = figures(before.0, before.1);
    let mut new: BTreeMap<String, TenantFigures> = figures(after.0, after.1).into_iter().collect();
    let stay = old.into_iter().map(|(name, figures)| TenantDifference {
        after: new.remove(&name),
        before: Some(figures),
        name,
    });
    let mut all: Vec<TenantDifference> = stay.collect();
    for tenant in after.0.tenants() {
        if let Some(figures) = new.remove(&tenant.name) {
            let name = tenant.name.clone();
            all.push(TenantDifference { name, before: None, after: Some(figures) });
        }
    }
    all
}

fn figures(problem: &Problem, outcome: &Outcome) -> Vec<(String, TenantFigures)> {
    let of_tenant = |(tenant, equal_split): (TenantId, f64)| {
        let figures = TenantFigures {
            throughput: outcome.shares.throughput(problem, tenant),
            equal_split,
            share: outcome.shares.of_tenant(problem, tenant),
        };
        (problem.tenants()[tenant.0].name.clone(), figures)
    };
    problem.tenant_ids().zip(equal_splits(problem)).map(of_tenant).collect()
}

impl TenantDifference {
    /// How much throughput it gains (or, below 0, loses); absent counts as nothing.
    pub fn gain(&self) -> f64 {
        let throughput = |f: &Option<TenantFigures>| f.as_ref().map_or(0.0, |f| f.throughput);
        throughput(&self.after) - throughput(&self.before)
    }
}
