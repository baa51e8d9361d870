//! From a problem that fails to a small one that still does.

use oef_core::ProblemSpec;

/// Attempts after which what is left has to do.
const MAX_ATTEMPTS: usize = 2_000;

/// Takes away tenants, workloads and types and makes numbers plainer for as long as `fails` says that
/// the problem still fails. Problems that are not valid are never asked about.
pub fn shrink(spec: &ProblemSpec, fails: impl Fn(&ProblemSpec) -> bool) -> ProblemSpec {
    let mut smallest = spec.clone();
    let mut attempts = 0;
    loop {
        let better = simpler(&smallest).into_iter().find(|candidate| {
            attempts += 1;
            *candidate != smallest && candidate.validate().is_ok() && fails(candidate)
        });
        match better {
            Some(better) if attempts < MAX_ATTEMPTS => smallest = better,
            _ => return smallest,
        }
    }
}

/// Problems that are one step simpler, the greatest steps first.
fn simpler(spec: &ProblemSpec) -> Vec<ProblemSpec> {
    let mut all = Vec::new();
    let mut with = |change: &dyn Fn(&mut ProblemSpec)| {
        let mut candidate = spec.clone();
        change(&mut candidate);
        all.push(candidate);
    };
    for t in 0..spec.tenants.len() {
        with(&|s| drop(s.tenants.remove(t)));
    }
    for j in 0..spec.gpus.len() {
        with(&|s| remove_type(s, j));
    }
    for (t, tenant) in spec.tenants.iter().enumerate() {
        for w in 0..tenant.workloads.len() {
            with(&|s| drop(s.tenants[t].workloads.remove(w)));
        }
        with(&|s| s.tenants[t].demand = None);
        with(&|s| s.tenants[t].weight = 1.0);
        with(&|s| s.tenants[t].demand = s.tenants[t].demand.map(f64::round));
    }
    for j in 0..spec.gpus.len() {
        for count in [1.0, 2.0, spec.gpus[j].count.round()] {
            if count < spec.gpus[j].count || spec.gpus[j].count.fract() != 0.0 {
                with(&|s| s.gpus[j].count = count);
            }
        }
    }
    for (t, tenant) in spec.tenants.iter().enumerate() {
        for (w, workload) in tenant.workloads.iter().enumerate() {
            with(&|s| s.tenants[t].workloads[w].weight = 1.0);
            with(&|s| s.tenants[t].workloads[w].demand = None);
            for (e, (_, now)) in workload.throughput.iter().enumerate() {
                for plain in [1.0, 2.0, now.round(), (now * 2.0).round() / 2.0] {
                    if plain < *now || now.fract() != 0.0 {
                        with(&|s| s.tenants[t].workloads[w].throughput[e].1 = plain);
                    }
                }
            }
        }
    }
    all
}

fn remove_type(spec: &mut ProblemSpec, position: usize) {
    let gone = spec.gpus.remove(position).name;
    if spec.reference.as_ref() == Some(&gone) {
        spec.reference = None;
    }
    for workload in spec.tenants.iter_mut().flat_map(|t| &mut t.workloads) {
        workload.throughput.retain(|(name, _)| *name != gone);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::{Family, Size, problem};

    #[test]
    fn what_is_left_is_what_matters() {
        let spec = problem(Family::Weighted, Size::SMALL, 3);
        let fails = |s: &ProblemSpec| s.tenants.iter().any(|t| t.name == "u2");
        let smallest = shrink(&spec, fails);
        assert_eq!((smallest.tenants.len(), smallest.gpus.len()), (1, 1));
        assert_eq!(smallest.tenants[0].name, "u2");
    }
}
