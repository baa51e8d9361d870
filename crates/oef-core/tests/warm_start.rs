//! Solving again after changes gives what a solve from scratch gives.

mod common;

use common::{holds, seeds};
use oef_core::{
    Change, GpuSpec, Mechanism, Options, Outcome, Problem, ProblemSpec, Solver, TenantSpec,
    WorkloadSpec, solve,
};
use oef_oracle::Random;
use oef_oracle::families::{Family, Size, problems};
use proptest::prelude::*;
use std::sync::Mutex;

const FAMILIES: &[Family] = &Family::ALL;
const SIZE: Size = Size { rows: 40, types: 6 };
/// Changes per problem.
const STEPS: usize = 6;

proptest! {
    #![proptest_config(common::cases(48))]

    #[test]
    fn cooperative_again_is_cooperative_afresh(
        spec in problems(FAMILIES, SIZE), others in problems(FAMILIES, SIZE), seed in seeds()
    ) {
        let mut random = Random::new(seed);
        let mut solver = Solver::new(spec.validate().unwrap(), Mechanism::Cooperative);
        solver.solve(&Options::default()).unwrap();
        let mut tally = Tally::default();
        for step in 0..STEPS {
            let Some(change) = change(solver.problem(), &others, step, &mut random) else {
                tally.impossible += 1;
                continue;
            };
            if solver.apply(&change).is_err() {
                tally.impossible += 1;
                continue;
            }
            let again = solver.solve(&Options::default()).unwrap();
            let fresh = solve(solver.problem(), Mechanism::Cooperative, &Options::default()).unwrap();
            let problem = solver.problem();
            // A fresh solve that could not be proven is no yardstick.
            if fresh.solver.gap > 1e-9 {
                tally.unproven += 1;
                continue;
            }
            tally.compared += 1;
            tally.warm += usize::from(is_warm(&again));
            tally.could_be_warm += usize::from(problem.tenants().len() > ALONE_MAX);
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
        tally.add_to_all();
    }
}

/// Up to so many tenants there is nothing to go on from: the simplex method alone is faster.
const ALONE_MAX: usize = 8;

/// What became of the changes of a property.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    /// Changes that the problem did not allow, and fresh solves without a proof.
    impossible: usize,
    unproven: usize,
    compared: usize,
    could_be_warm: usize,
    warm: usize,
}

static ALL: Mutex<Tally> =
    Mutex::new(Tally { impossible: 0, unproven: 0, compared: 0, could_be_warm: 0, warm: 0 });

impl Tally {
    /// Adds to the changes of all cases so far, of which most must be compared, and many of those have started from the
    /// last answer.
    fn add_to_all(self) {
        let mut all = ALL.lock().unwrap();
        all.impossible += self.impossible;
        all.unproven += self.unproven;
        all.compared += self.compared;
        all.could_be_warm += self.could_be_warm;
        all.warm += self.warm;
        if all.compared + all.impossible + all.unproven < 20 * STEPS {
            return;
        }
        assert!(3 * (all.impossible + all.unproven) < all.compared, "{all:?}");
        assert!(10 * all.unproven < all.compared, "{all:?}");
        assert!(3 * all.warm > all.could_be_warm, "{all:?}");
    }
}

/// Whether an answer started from the last one.
fn is_warm(outcome: &Outcome) -> bool {
    outcome.solver.method.contains("the last")
}

/// Somebody like those of measured tables: speedups rise with the type, more for some than for others.
fn taste(name: String, types: usize, random: &mut Random) -> TenantSpec {
    let steep = 0.5 + 0.8 * random.unit();
    let speedup = |j: usize, noise: f64| {
        10_f64.powf(steep * j as f64 / types as f64) * (0.5 * noise - 0.25).exp()
    };
    let throughput = (0..types).map(|j| (format!("g{j}"), speedup(j, random.unit()))).collect();
    TenantSpec::simple(name, throughput)
}

/// Arrivals, departures and other profiles, some of tenants with two workloads: nearly always the
/// solver goes on from where it was, and its answer is that of a fresh solve.
#[test]
fn cooperative_goes_on_from_its_last_answer() {
    let (types, mut random) = (6, Random::new(7));
    let gpus = (0..types).map(|j| GpuSpec { name: format!("g{j}"), count: (8 + 3 * j) as f64 });
    let mut tenants: Vec<TenantSpec> =
        (0..50).map(|i| taste(format!("t{i}"), types, &mut random)).collect();
    for i in 0..10 {
        let second = taste(String::new(), types, &mut random).workloads[0].clone();
        let second = WorkloadSpec { name: "second".into(), ..second };
        tenants[i].workloads.push(second);
    }
    let spec = ProblemSpec { reference: Some("g0".into()), gpus: gpus.collect(), tenants };
    let mut solver = Solver::new(spec.validate().unwrap(), Mechanism::Cooperative);
    solver.solve(&Options::default()).unwrap();
    let steps = 24;
    let mut went_on = 0;
    for step in 0..steps {
        let change = match step % 3 {
            0 => Change::AddTenant(taste(format!("new {step}"), types, &mut random)),
            1 => Change::RemoveTenant { tenant: format!("t{step}") },
            _ => Change::SetThroughput {
                tenant: format!("t{}", 30 + step / 3),
                workload: None,
                gpu: "g3".into(),
                value: 1.0 + 3.0 * random.unit(),
            },
        };
        solver.apply(&change).unwrap();
        let again = solver.solve(&Options::default()).unwrap();
        went_on += usize::from(is_warm(&again));
        let problem = solver.problem();
        let fresh = solve(problem, Mechanism::Cooperative, &Options::default()).unwrap();
        assert!(!is_warm(&fresh));
        assert!(again.solver.gap <= 1e-9, "gap {} after {change:?}", again.solver.gap);
        for tenant in problem.tenant_ids() {
            let of = |outcome: &Outcome| outcome.shares.throughput(problem, tenant);
            let (a, b) = (of(&again), of(&fresh));
            assert!((a - b).abs() <= 1e-9 * b, "{a}, not {b}, after {change:?}");
        }
        for workload in common::workloads(problem) {
            let pairs = again.shares.of_workload(workload).iter();
            for (a, b) in pairs.zip(fresh.shares.of_workload(workload)) {
                assert!((a - b).abs() <= 1e-9, "{a} GPUs, not {b}, after {change:?}");
            }
        }
    }
    assert!(4 * went_on >= 3 * steps, "went on {went_on} times of {steps}");
}

/// A hundred tenants, half of them with a demand. Whoever comes, leaves or can use more or less, alone or with four others,
/// nearly always the solver goes on from half way along its last path, and its answer is that of a fresh solve.
#[test]
fn cooperative_with_demands_goes_on_from_half_way() {
    let (types, tenants, mut random) = (10, 100, Random::new(11));
    let gpus: Vec<GpuSpec> =
        (0..types).map(|j| GpuSpec { name: format!("g{j}"), count: (8 + 2 * j) as f64 }).collect();
    let split = gpus.iter().map(|gpu| gpu.count).sum::<f64>() / tenants as f64;
    let demanding = |i: usize, random: &mut Random| {
        let demand = i.is_multiple_of(2).then(|| split * (0.3 + 0.9 * random.unit()));
        TenantSpec { demand, ..taste(format!("t{i}"), types, random) }
    };
    let tenants = (0..tenants).map(|i| demanding(i, &mut random)).collect();
    let spec = ProblemSpec { reference: Some("g0".into()), gpus, tenants };
    let mut solver = Solver::new(spec.validate().unwrap(), Mechanism::Cooperative);
    solver.solve(&Options::default()).unwrap();
    let (steps, mut went_on) = (16, 0);
    for step in 0..steps {
        let set = |i: usize, random: &mut Random| Change::SetDemand {
            tenant: format!("t{}", 2 * i),
            demand: Some(split * (0.3 + 0.9 * random.unit())),
        };
        let changes = match step % 4 {
            0 => vec![Change::AddTenant(demanding(100 + step, &mut random))],
            1 => vec![Change::RemoveTenant { tenant: format!("t{}", 2 * step + 1) }],
            2 => vec![set(step, &mut random)],
            _ => (0..5).map(|i| set(step + 5 * i, &mut random)).collect(),
        };
        for change in &changes {
            solver.apply(change).unwrap();
        }
        let again = solver.solve(&Options::default()).unwrap();
        let problem = solver.problem();
        let fresh = solve(problem, Mechanism::Cooperative, &Options::default()).unwrap();
        went_on += usize::from(again.solver.method.contains("half way"));
        assert!(again.solver.gap <= 1e-9 && fresh.solver.gap <= 1e-9, "{changes:?}");
        for workload in common::workloads(problem) {
            let pairs = again.shares.of_workload(workload).iter();
            for (a, b) in pairs.zip(fresh.shares.of_workload(workload)) {
                assert!((a - b).abs() <= 1e-9, "{a} GPUs, not {b}, after {changes:?}");
            }
        }
    }
    assert!(4 * went_on >= 3 * steps, "went on {went_on} times of {steps}");
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
