//! Shares where the mechanism gives none: the last ones, or a division by weight.
//!
//! Who had a part in the last shares keeps it. Newcomers, and those who lost most of their share because GPUs went, get
//! their part of everything by weight, and the others that much less. What is above the GPUs that there are is cut type by type, what is above a demand workload by workload
//! (the fastest GPUs are kept), and what is left goes to whoever can use it, by weight.

use oef_core::problem::water_fill;
use oef_core::{
    Mechanism, Options, Outcome, Problem, Shares, SolverReport, Status, TypeId, WorkloadId, solve,
    workload_equal_split,
};

/// A last share that is worth less than this part of an equal split now is not kept.
const KEPT_MIN: f64 = 0.5;

/// The shares of a problem from the last share of each workload (`None`: a newcomer).
pub(crate) fn without_mechanism(
    problem: &Problem,
    mechanism: Mechanism,
    last: &[Option<Vec<f64>>],
) -> Outcome {
    let (shares, method) = match last.iter().any(Option::is_some) {
        true if problem.has_guarantees_or_limits() => {
            (beyond_guarantees(problem, last), "last round's shares")
        }
        true => (continued(problem, last), "last round's shares"),
        false => (by_weight(problem), "division by weight"),
    };
    let (status, method) = (Status::Feasible, method.into());
    let solver = SolverReport { status, method, gap: 1.0, canonical: false, iterations: 0 };
    Outcome { mechanism, shares, first: None, prices: Vec::new(), trades: Vec::new(), solver }
}

/// What is guaranteed comes first, and nobody is above a limit; what lies between is continued.
fn beyond_guarantees(problem: &Problem, last: &[Option<Vec<f64>>]) -> Shares {
    let first = problem.usable_guarantees();
    let less = |(l, share): (usize, &Option<Vec<f64>>)| {
        let first = first.of_workload(WorkloadId(l));
        share.as_ref().map(|x| x.iter().zip(first).map(|(x, f)| (x - f).max(0.0)).collect())
    };
    let last: Vec<Option<Vec<f64>>> = last.iter().enumerate().map(less).collect();
    let mut shares = continued(&problem.beyond(&first), &last);
    for tenant in problem.tenant_ids() {
        for gpu in (0..problem.types().len()).map(TypeId) {
            let sum = |of: &Shares| -> f64 {
                problem.workload_ids_of(tenant).map(|l| of.get(l, gpu)).sum()
            };
            let limit = problem.tenants()[tenant.0].limit_on(gpu).unwrap_or(f64::INFINITY);
            let (room, more) = ((limit - sum(&first)).max(0.0), sum(&shares));
            let part = if more > room { room / more } else { 1.0 };
            for l in problem.workload_ids_of(tenant) {
                shares.set(l, gpu, first.get(l, gpu) + part * shares.get(l, gpu));
            }
        }
    }
    shares
}

/// Max-min with demands, which needs no solver.
fn by_weight(problem: &Problem) -> Shares {
    let found = solve(problem, Mechanism::MaxMin, &Options::default());
    found.map_or_else(|_| continued(problem, &[]), |outcome| outcome.shares)
}

fn continued(problem: &Problem, last: &[Option<Vec<f64>>]) -> Shares {
    let scale: Vec<f64> = problem
        .types()
        .iter()
        .enumerate()
        .map(|(j, gpu)| {
            let used: f64 = last.iter().flatten().filter_map(|share| share.get(j)).sum();
            if used > gpu.capacity { gpu.capacity / used } else { 1.0 }
        })
        .collect();
    let is_worth_keeping = |l: usize, share: &Vec<f64>| {
        let speedup = &problem.workloads()[l].speedup;
        let left = share.iter().zip(&scale).map(|(x, s)| x * s);
        let worth: f64 = left.zip(speedup).map(|(x, w)| x * w).sum();
        worth >= KEPT_MIN * workload_equal_split(problem, WorkloadId(l))
    };
    let of = |l: usize| last.get(l)?.as_ref().filter(|share| is_worth_keeping(l, share));
    let weights = problem.workloads().iter().enumerate();
    let known: f64 = weights.filter(|(l, _)| of(*l).is_some()).map(|(_, w)| w.weight).sum();
    let total = problem.total_weight();
    let mut x: Vec<Vec<f64>> = Vec::with_capacity(problem.workloads().len());
    for (l, workload) in problem.workloads().iter().enumerate() {
        let amount = |(j, gpu): (usize, &oef_core::problem::GpuType)| match of(l) {
            _ if workload.speedup[j] <= 0.0 => 0.0,
            Some(share) => share.get(j).copied().unwrap_or(0.0).max(0.0) * known / total,
            None => gpu.capacity * workload.weight / total,
        };
        x.push(problem.types().iter().enumerate().map(amount).collect());
    }
    cut(problem, &mut x);
    hand_out(problem, &mut x);
    let mut shares = Shares::zero(problem);
    for (l, bundle) in x.iter().enumerate() {
        for (j, &amount) in bundle.iter().enumerate() {
            shares.set(WorkloadId(l), TypeId(j), amount);
        }
    }
    shares
}

/// Nobody above its demand, no type above what there is of it.
fn cut(problem: &Problem, x: &mut [Vec<f64>]) {
    for (bundle, workload) in x.iter_mut().zip(problem.workloads()) {
        let mut order: Vec<usize> = (0..bundle.len()).collect();
        order.sort_by(|&a, &b| workload.speedup[b].total_cmp(&workload.speedup[a]).then(a.cmp(&b)));
        let mut room = workload.demand.unwrap_or(f64::INFINITY);
        for j in order {
            bundle[j] = bundle[j].min(room);
            room -= bundle[j];
        }
    }
    for (j, gpu) in problem.types().iter().enumerate() {
        let used: f64 = x.iter().map(|bundle| bundle[j]).sum();
        if used > gpu.capacity {
            x.iter_mut().for_each(|bundle| bundle[j] *= gpu.capacity / used);
        }
    }
}

/// What is left of each type, to whoever can use it.
fn hand_out(problem: &Problem, x: &mut [Vec<f64>]) {
    for (j, gpu) in problem.types().iter().enumerate() {
        let left = gpu.capacity - x.iter().map(|bundle| bundle[j]).sum::<f64>();
        let parties = x.iter().zip(problem.workloads()).map(|(bundle, workload)| {
            let room = workload.demand.unwrap_or(f64::INFINITY) - bundle.iter().sum::<f64>();
            let runs = workload.speedup[j] > 0.0;
            (workload.weight, if runs { room.max(0.0) } else { 0.0 })
        });
        let parts = water_fill(left.max(0.0), &parties.collect::<Vec<_>>());
        x.iter_mut().zip(parts).for_each(|(bundle, part)| bundle[j] += part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oef_core::ProblemSpec;

    fn problem(demands: &[f64]) -> Problem {
        let rows: [&[f64]; 3] = [&[1.0, 2.0], &[1.0, 3.0], &[1.0, 4.0]];
        let mut spec = ProblemSpec::from_matrix(&[4.0, 4.0], &rows[..demands.len()]);
        for (tenant, &demand) in spec.tenants.iter_mut().zip(demands) {
            tenant.workloads[0].demand = Some(demand);
        }
        spec.validate().unwrap()
    }

    fn check(demands: &[f64], last: &[Option<Vec<f64>>], want: &[[f64; 2]]) {
        let problem = problem(demands);
        let outcome = without_mechanism(&problem, Mechanism::Cooperative, last);
        for (l, want) in want.iter().enumerate() {
            let got = outcome.shares.of_workload(WorkloadId(l));
            let close = got.iter().zip(want).all(|(g, w)| (g - w).abs() < 1e-12);
            assert!(close, "{demands:?} {last:?}: {l} has {got:?}, not {want:?}");
        }
    }

    #[test]
    fn the_last_shares_are_kept_as_far_as_they_fit() {
        let (a, b) = (Some(vec![4.0, 1.0]), Some(vec![0.0, 3.0]));
        check(&[8.0, 8.0], &[a.clone(), b.clone()], &[[4.0, 1.0], [0.0, 3.0]]);
        // One can use less: it keeps the fastest, and the other takes the rest.
        check(&[2.0, 8.0], &[a.clone(), b.clone()], &[[1.0, 1.0], [3.0, 3.0]]);
        // GPUs went.
        check(
            &[8.0, 8.0],
            &[Some(vec![4.0, 2.0]), Some(vec![0.0, 6.0])],
            &[[4.0, 1.0], [0.0, 3.0]],
        );
        // A newcomer has its part by weight.
        let last = [a, b, None];
        let part = 2.0 / 3.0;
        let want = [[4.0 * part, part], [0.0, 3.0 * part], [4.0 / 3.0, 4.0 / 3.0]];
        check(&[8.0, 8.0, 8.0], &last, &want);
    }

    #[test]
    fn without_a_last_time_everything_is_divided_by_weight() {
        check(&[8.0, 8.0], &[None, None], &[[2.0, 2.0], [2.0, 2.0]]);
        let problem = problem(&[1.0, 8.0]);
        let outcome = without_mechanism(&problem, Mechanism::Nash, &[None, None]);
        let given = |l: usize| outcome.shares.of_workload(WorkloadId(l)).iter().sum::<f64>();
        assert!((given(0) - 1.0).abs() < 1e-9 && (given(1) - 7.0).abs() < 1e-9);
    }
}
