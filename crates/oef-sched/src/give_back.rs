//! Giving back: nobody keeps more than its jobs can use.
//!
//! The mechanism is solved without demands. A workload whose jobs can use only some of its share keeps the
//! best part of it, the fastest GPUs first; what it gives back is shared by the others under the same
//! mechanism, and so on until nobody has more than it can use. So a workload with one job that is entitled
//! to some fast GPUs runs it on a fast one.
//!
//! Under the mechanisms that promise the sharing incentive, it may instead keep the best part of its equal
//! split, where that is worth more to it. The incentive then holds in what workloads can use: parts of equal
//! splits fit together, and leave the others at least their own, to which the mechanism adds.

use oef_core::{Mechanism, Outcome, Problem, Shares, SolverReport, Status, TypeId, WorkloadId};

/// Passes of giving back; each pins at least one workload, and after so many what is left is little and
/// goes to whoever can use it, GPU by GPU.
const PASSES_MAX: usize = 24;

/// Below this part of a GPU a share counts as within the demand.
pub(crate) const SLACK: f64 = 1e-9;

/// The shares of a problem whose workloads can use so many GPUs at most, by a way to solve without limits.
pub(crate) fn give_back(
    problem: &Problem,
    mechanism: Mechanism,
    usable: &[f64],
    solve: &mut dyn FnMut(Problem) -> Outcome,
) -> Outcome {
    let mut shares = Shares::zero(problem);
    let mut capacity: Vec<f64> = problem.types().iter().map(|t| t.capacity).collect();
    let mut open: Vec<usize> = (0..problem.workloads().len()).collect();
    let mut first: Option<Outcome> = None;
    for pass in 1..=PASSES_MAX {
        if open.is_empty() || capacity.iter().all(|&c| c <= SLACK) {
            break;
        }
        let still = |l: WorkloadId| open.binary_search(&l.0).is_ok();
        let Some(part) = problem.part(still, &capacity) else { break };
        let outcome = solve(part.clone());
        let kept = keep(&part, &outcome, &open, usable);
        // Parts of equal splits fit together, and so do parts of shares, but not one beside the other.
        let pinned = [Part::OfEqualSplit, Part::OfShare]
            .into_iter()
            .find(|&part| kept.iter().any(|k| k.part == part))
            .filter(|_| pass < PASSES_MAX);
        for (&workload, kept) in open.iter().zip(&kept) {
            if pinned.is_none_or(|part| kept.part == part) {
                for (j, &amount) in kept.gpus.iter().enumerate() {
                    shares.set(WorkloadId(workload), TypeId(j), amount);
                    capacity[j] = (capacity[j] - amount).max(0.0);
                }
            }
        }
        first.get_or_insert(outcome);
        let Some(pinned) = pinned else { break };
        let mut still = kept.iter().map(|k| k.part != pinned);
        open.retain(|_| still.next().unwrap_or(false));
    }
    let (prices, solver) = first.map_or_else(|| (Vec::new(), nothing()), |o| (o.prices, o.solver));
    Outcome { mechanism, shares, prices, trades: Vec::new(), solver }
}

fn nothing() -> SolverReport {
    SolverReport {
        canonical: true,
        status: Status::Optimal,
        method: "nothing to share".into(),
        gap: 0.0,
        iterations: 0,
    }
}

/// What a workload would keep of one pass.
struct Kept {
    part: Part,
    /// GPUs, by type.
    gpus: Vec<f64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// It can use all of its share.
    Whole,
    OfShare,
    OfEqualSplit,
}

fn keep(part: &Problem, outcome: &Outcome, open: &[usize], usable: &[f64]) -> Vec<Kept> {
    let promises_incentive =
        !matches!(outcome.mechanism, Mechanism::Noncooperative | Mechanism::Efficiency);
    let kept = open.iter().enumerate().map(|(l, &workload)| {
        let (share, usable) = (outcome.shares.of_workload(WorkloadId(l)), usable[workload]);
        let speedup = &part.workloads()[l].speedup;
        if share.iter().sum::<f64>() <= usable + SLACK {
            return Kept { part: Part::Whole, gpus: share.to_vec() };
        }
        let gpus = best(share, speedup, usable);
        if promises_incentive {
            let equal = best(&equal_split(part, l), speedup, usable);
            if worth(&equal, speedup) > worth(&gpus, speedup) * (1.0 + SLACK) {
                return Kept { part: Part::OfEqualSplit, gpus: equal };
            }
        }
        Kept { part: Part::OfShare, gpus }
    });
    kept.collect()
}

fn worth(gpus: &[f64], speedup: &[f64]) -> f64 {
    gpus.iter().zip(speedup).map(|(x, s)| x * s).sum()
}

/// The fastest GPUs of a bundle, so many at most.
fn best(bundle: &[f64], speedup: &[f64], usable: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..bundle.len()).collect();
    order.sort_by(|&a, &b| speedup[b].total_cmp(&speedup[a]).then(a.cmp(&b)));
    let (mut kept, mut room) = (vec![0.0; bundle.len()], usable);
    for j in order {
        kept[j] = bundle[j].min(room);
        room -= kept[j];
    }
    kept
}

fn equal_split(problem: &Problem, workload: usize) -> Vec<f64> {
    let of = &problem.workloads()[workload];
    let part = of.weight / problem.total_weight();
    let types = problem.types().iter().zip(&of.speedup);
    types.map(|(t, &s)| if s > 0.0 { t.capacity * part } else { 0.0 }).collect()
}

/// Everything divided by weight: what is done when a mechanism gives no answer.
pub(crate) fn equal_division(problem: &Problem, mechanism: Mechanism) -> Outcome {
    let mut shares = Shares::zero(problem);
    for l in 0..problem.workloads().len() {
        for (j, amount) in equal_split(problem, l).into_iter().enumerate() {
            shares.set(WorkloadId(l), TypeId(j), amount);
        }
    }
    let (status, method) = (Status::Feasible, "division by weight".into());
    let solver = SolverReport { status, method, gap: 1.0, canonical: true, iterations: 0 };
    Outcome { mechanism, shares, prices: Vec::new(), trades: Vec::new(), solver }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oef_core::{Options, ProblemSpec, TenantSpec, WorkloadSpec};

    fn shared(problem: &Problem, mechanism: Mechanism, usable: &[f64]) -> Shares {
        let mut solve =
            |part: Problem| oef_core::solve(&part, mechanism, &Options::default()).unwrap();
        give_back(problem, mechanism, usable, &mut solve).shares
    }

    #[test]
    fn one_job_of_a_tenant_that_is_entitled_to_fast_gpus_gets_a_fast_one() {
        let rows: [&[f64]; 2] = [&[1.0, 2.0], &[1.0, 3.0]];
        let problem = ProblemSpec::from_matrix(&[4.0, 4.0], &rows).validate().unwrap();
        for mechanism in Mechanism::ALL.into_iter().filter(|m| *m != Mechanism::Efficiency) {
            let shares = shared(&problem, mechanism, &[1.0, 100.0]);
            let (one, other) =
                (shares.of_workload(WorkloadId(0)), shares.of_workload(WorkloadId(1)));
            assert!((one.iter().sum::<f64>() - 1.0).abs() < 1e-6, "{mechanism} {one:?}");
            let fast = !matches!(mechanism, Mechanism::Noncooperative);
            assert!(!fast || one[1] > 0.999, "{mechanism} {one:?}");
            assert!((other.iter().sum::<f64>() - 7.0).abs() < 1e-6, "{mechanism} {other:?}");
        }
    }

    #[test]
    fn a_workload_gets_no_more_than_its_own_jobs_can_use() {
        let mut spec = ProblemSpec::from_matrix(&[8.0, 8.0], &[&[1.0, 2.0], &[1.0, 2.0]]);
        let quick = WorkloadSpec {
            demand: None,
            name: "quick".into(),
            weight: 1.0,
            throughput: vec![("g1".into(), 1.0), ("g2".into(), 9.0)],
        };
        spec.tenants.push(TenantSpec::simple("both", vec![("g1".into(), 1.0), ("g2".into(), 1.1)]));
        spec.tenants[2].workloads.push(quick);
        let problem = spec.validate().unwrap();
        for mechanism in Mechanism::ALL {
            let shares = shared(&problem, mechanism, &[50.0, 50.0, 50.0, 2.0]);
            let own: f64 = shares.of_workload(WorkloadId(3)).iter().sum();
            assert!(own <= 2.0 + 1e-6, "{mechanism} {own}");
            let used: f64 = (0..2).map(|j| shares.used(TypeId(j))).sum();
            assert!((used - 16.0).abs() < 1e-6, "{mechanism} {used}");
        }
    }

    #[test]
    fn who_wants_little_has_it_all() {
        let rows: [&[f64]; 3] = [&[1.0, 2.0], &[1.0, 3.0], &[1.0, 4.0]];
        let problem = ProblemSpec::from_matrix(&[4.0, 4.0], &rows).validate().unwrap();
        for mechanism in Mechanism::ALL {
            let shares = shared(&problem, mechanism, &[1.0, 2.0, 0.0]);
            let total: f64 = (0..2).map(|j| shares.used(TypeId(j))).sum();
            assert!((total - 3.0).abs() < 1e-6, "{mechanism} {total}");
        }
    }
}
