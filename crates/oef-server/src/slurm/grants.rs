//! Shares as whole GPUs, for limits that Slurm keeps.

use oef_core::{Problem, Shares, TenantId};
use std::collections::BTreeMap;

/// Whole GPUs of each type for each tenant.
pub type Grants = BTreeMap<String, BTreeMap<String, u32>>;

/// Shares as whole GPUs: never more than there are, the largest remainders first.
pub fn whole(problem: &Problem, shares: &Shares) -> Grants {
    let mut grants = Grants::new();
    for (j, gpu) in problem.types().iter().enumerate() {
        let share = |tenant: TenantId| {
            let name = problem.tenants()[tenant.0].name.clone();
            (name, shares.of_tenant(problem, tenant).get(j).copied().unwrap_or(0.0))
        };
        let column: Vec<(String, f64)> = problem.tenant_ids().map(share).collect();
        // Whole in this problem: it was counted.
        let count = gpu.capacity as u32;
        for (tenant, gpus) in largest_remainder(&column, count) {
            grants.entry(tenant).or_default().insert(gpu.name.clone(), gpus);
        }
    }
    grants
}

fn largest_remainder(column: &[(String, f64)], count: u32) -> Vec<(String, u32)> {
    // A share of a whole number may be off by the last bit.
    let floor = |share: f64| (share + 1e-6).floor().max(0.0);
    let mut whole: Vec<(usize, u32, f64)> = column
        .iter()
        .enumerate()
        .map(|(at, (_, share))| (at, floor(*share) as u32, share - floor(*share)))
        .collect();
    let given: u32 = whole.iter().map(|(_, gpus, _)| gpus).sum();
    let total: f64 = column.iter().map(|(_, share)| share).sum();
    let left = (total.round().max(0.0) as u32).min(count).saturating_sub(given);
    whole.sort_by(|a, b| b.2.total_cmp(&a.2).then(a.0.cmp(&b.0)));
    for (_, gpus, _) in whole.iter_mut().take(left as usize) {
        *gpus += 1;
    }
    whole.sort_by_key(|(at, ..)| *at);
    whole.into_iter().map(|(at, gpus, _)| (column[at].0.clone(), gpus)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_become_whole_gpus_and_never_more_than_there_are() {
        let column = |shares: &[f64]| -> Vec<(String, f64)> {
            shares.iter().enumerate().map(|(at, share)| (format!("t{at}"), *share)).collect()
        };
        let gpus = |shares: &[f64], count| -> Vec<u32> {
            largest_remainder(&column(shares), count).into_iter().map(|(_, gpus)| gpus).collect()
        };
        assert_eq!(gpus(&[2.5, 2.5, 3.0], 8), [3, 2, 3]);
        assert_eq!(gpus(&[2.9999999, 5.0], 8), [3, 5]);
        assert_eq!(gpus(&[0.4, 0.4], 8), [1, 0], "what is shared is given");
        assert_eq!(gpus(&[0.0, 0.0], 8), [0, 0]);
    }
}
