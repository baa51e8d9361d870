//! Whom a tenant would envy, and by how much.

use super::{compared, short};
use crate::caller::Caller;
use crate::world::World;
use oef_api::types::{ApiError, EnvyMatrix, EnvyQuery};
use oef_core::{Outcome, Problem, TenantId, envy_matrix};

/// A matrix that people can read.
const TENANTS_MAX: usize = 32;

/// What the answer needs of the world.
#[derive(Clone, Debug)]
pub struct EnvyDraft {
    answer: Option<(Problem, Outcome)>,
    tenant: Option<String>,
}

impl EnvyDraft {
    /// Takes it. Everybody may ask: shares are shown to all.
    pub fn take(world: &World, caller: &Caller, asked: &EnvyQuery) -> Result<Self, ApiError> {
        if let Some(name) = &asked.tenant {
            compared(world, caller, name)?;
        }
        let answer = world.sched.entitlement().answer();
        let answer = answer.map(|(problem, outcome)| (problem.clone(), outcome.clone()));
        Ok(EnvyDraft { answer, tenant: asked.tenant.clone() })
    }

    /// Compares everybody with everybody.
    pub fn finish(self) -> EnvyMatrix {
        let Some((problem, outcome)) = self.answer else { return EnvyMatrix::default() };
        let matrix = envy_matrix(&problem, &outcome.shares);
        let name = |t: TenantId| problem.tenants()[t.0].name.clone();
        let centre = self.tenant.as_ref().map(|n| problem.tenant_ids().find(|&t| name(t) == *n));
        // For each of them the most interesting comparison is the largest.
        let interest = |t: TenantId| match centre {
            // A tenant without a share compares with nobody.
            Some(None) => 0.0,
            Some(Some(own)) if own == t => f64::INFINITY,
            Some(Some(own)) => matrix.ratio(own, t).max(matrix.ratio(t, own)),
            None => {
                let row = matrix.row(t).iter().enumerate();
                row.filter(|(s, _)| *s != t.0).map(|(_, x)| *x).fold(0.0, f64::max)
            }
        };
        let mut order: Vec<TenantId> = match centre {
            Some(None) => Vec::new(),
            _ => problem.tenant_ids().collect(),
        };
        order.sort_by(|&a, &b| interest(b).total_cmp(&interest(a)));
        let more = order.len().saturating_sub(TENANTS_MAX);
        order.truncate(TENANTS_MAX);
        if centre.is_none() {
            order.sort_by_key(|&t| name(t));
        }
        let row = |&t: &TenantId| order.iter().map(|&s| short(matrix.ratio(t, s))).collect();
        EnvyMatrix {
            tenants: order.iter().map(|&t| name(t)).collect(),
            ratios: order.iter().map(row).collect(),
            more: u32::try_from(more).unwrap_or(u32::MAX),
        }
    }
}
