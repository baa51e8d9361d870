//! Solving again after changes gives what a solve from scratch gives.

mod common;

use common::{holds, seeds};
use oef_core::{Change, Mechanism, Options, Problem, ProblemSpec, Solver, TenantSpec, solve};
use oef_oracle::Random;
use oef_oracle::families::{Family, Size, problems};
use proptest::prelude::*;

const FREE: &[Family] = &Family::WITHOUT_DEMAND;
const SIZE: Size = Size { rows: 40, types: 6 };
/// Changes per problem.
const STEPS: usize = 6;

proptest! {
    #![proptest_config(common::cases(48))]

    #[test]
    fn cooperative_again_is_cooperative_afresh(
        spec in problems(FREE, SIZE), others in problems(FREE, SIZE), seed in seeds()
    ) {
        let mut random = Random::new(seed);
        let mut solver = Solver::new(spec.validate().unwrap(), Mechanism::Cooperative);
        solver.solve(&Options::default()).unwrap();
        for step in 0..STEPS {
            let Some(change) = change(solver.problem(), &others, step, &mut random) else { continue };
            if solver.apply(&change).is_err() {
                continue;
            }
            let again = solver.solve(&Options::default()).unwrap();
            let fresh = solve(solver.problem(), Mechanism::Cooperative, &Options::default()).unwrap();
            let problem = solver.problem();
            // A fresh solve that could not be proven is no yardstick.
            if fresh.solver.gap > 1e-9 {
                continue;
            }
            let now = ProblemSpec::from(problem);
            holds(again.solver.gap <= 1e-9, &now, || {
                format!("gap {} after {change:?} (seed {seed})", again.solver.gap)
            });
            for tenant in problem.tenant_ids() {
                let (a, b) =
                    (again.shares.throughput(problem, tenant), fresh.shares.throughput(problem, tenant));
                holds((a - b).abs() <= 1e-7 * b.abs(), &now, || {
                    format!("tenant {} has {a}, not {b}, after {change:?} (seed {seed})", tenant.index())
                });
            }
        }
    }
}

/// A random arrival, departure, or change of weight, profile or capacity.
fn change(
    problem: &Problem,
    others: &ProblemSpec,
    step: usize,
    random: &mut Random,
) -> Option<Change> {
    let spec = ProblemSpec::from(problem);
    let somebody = random.pick(&spec.tenants).name;
    Some(match random.between(0, 5) {
        0 | 1 => Change::AddTenant(newcomer(&spec, others, step, random)?),
        2 | 3 => Change::RemoveTenant { tenant: somebody },
        4 => Change::SetWeight { tenant: somebody, weight: 0.25 + 2.0 * random.unit() },
        _ => {
            let gpu = random.pick(&spec.gpus);
            Change::SetCapacity { gpu: gpu.name, count: gpu.count * (0.8 + 0.5 * random.unit()) }
        }
    })
}

/// Somebody with a throughput for every type of the problem that a tenant of another problem has too.
fn newcomer(
    spec: &ProblemSpec,
    others: &ProblemSpec,
    step: usize,
    random: &mut Random,
) -> Option<TenantSpec> {
    let model = random.pick(&others.tenants);
    let throughput: Vec<(String, f64)> = model
        .workloads
        .first()?
        .throughput
        .iter()
        .filter(|(gpu, _)| spec.gpus.iter().any(|g| g.name == *gpu))
        .cloned()
        .collect();
    let mut tenant = TenantSpec::simple(format!("newcomer {step}"), throughput);
    tenant.weight = model.weight;
    Some(tenant)
}
