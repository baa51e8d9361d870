//! How a tenant's demand is divided over its workloads.
//!
//! Workloads are the buyers of every mechanism, so that a limit of the tenant as a whole has to be theirs before the
//! mechanism runs: it is divided by weight, none gets more than it can use itself, and what one leaves goes to the
//! others.

use super::{Problem, Workload};
use crate::ids::TenantId;

/// Divides `limit` GPUs among parties given as (weight, GPUs that it can use): by weight, none more than it can use.
/// What nobody can use is left.
pub fn water_fill(limit: f64, parties: &[(f64, f64)]) -> Vec<f64> {
    let mut parts = vec![0.0; parties.len()];
    let (mut left, mut open) = (limit, vec![true; parties.len()]);
    loop {
        let total: f64 = parties.iter().zip(&open).filter(|(_, o)| **o).map(|(p, _)| p.0).sum();
        if total <= 0.0 || left <= 0.0 {
            return parts;
        }
        let level = left / total;
        let mut closed = false;
        for (i, &(weight, usable)) in parties.iter().enumerate() {
            if open[i] && usable <= level * weight {
                (parts[i], open[i], closed) = (usable, false, true);
                left -= usable;
            }
        }
        if !closed {
            for (i, &(weight, _)) in parties.iter().enumerate().filter(|&(i, _)| open[i]) {
                parts[i] = level * weight;
            }
            return parts;
        }
    }
}

/// Sets what each of a tenant's workloads can use, from what they say themselves and the tenant's own limit.
pub(crate) fn divide(limit: Option<f64>, workloads: &mut [Workload]) {
    let parts = within(limit, workloads);
    for (workload, part) in workloads.iter_mut().zip(parts) {
        workload.demand = part;
    }
}

fn within(limit: Option<f64>, workloads: &[Workload]) -> Vec<Option<f64>> {
    let own = |w: &Workload| w.declared_demand;
    let can_use: f64 = workloads.iter().map(|w| own(w).unwrap_or(f64::INFINITY)).sum();
    match limit {
        Some(limit) if limit < can_use => {
            let party = |w: &Workload| (w.weight, own(w).unwrap_or(f64::INFINITY));
            let parties: Vec<(f64, f64)> = workloads.iter().map(party).collect();
            water_fill(limit, &parties).into_iter().map(Some).collect()
        }
        _ => workloads.iter().map(own).collect(),
    }
}

impl Problem {
    /// What each workload can use if no tenant may have more than `limit` GPUs besides.
    pub(crate) fn demands_within(&self, limit: Option<f64>) -> Vec<Option<f64>> {
        let Some(limit) = limit else {
            return self.workloads.iter().map(|w| w.demand).collect();
        };
        let of_tenant = |t: TenantId| {
            let own = self.tenants[t.0].demand.unwrap_or(f64::INFINITY);
            within(Some(own.min(limit)), self.workloads_of(t))
        };
        self.tenant_ids().flat_map(of_tenant).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::water_fill;

    #[test]
    fn by_weight_and_none_more_than_it_can_use() {
        type Case = (f64, &'static [(f64, f64)], &'static [f64]);
        let cases: [Case; 5] = [
            (6.0, &[(1.0, f64::INFINITY), (2.0, f64::INFINITY)], &[2.0, 4.0]),
            (
                6.0,
                &[(1.0, 1.0), (2.0, f64::INFINITY), (1.0, f64::INFINITY)],
                &[1.0, 10.0 / 3.0, 5.0 / 3.0],
            ),
            (6.0, &[(1.0, 1.0), (1.0, 2.0)], &[1.0, 2.0]),
            (0.0, &[(1.0, 1.0), (1.0, f64::INFINITY)], &[0.0, 0.0]),
            (3.0, &[(1.0, 0.0), (1.0, f64::INFINITY)], &[0.0, 3.0]),
        ];
        for (limit, parties, want) in cases {
            let got = water_fill(limit, parties);
            let close = got.iter().zip(want).all(|(g, w)| (g - w).abs() < 1e-12);
            assert!(close && got.len() == want.len(), "{limit} {parties:?}: {got:?}");
        }
    }
}
