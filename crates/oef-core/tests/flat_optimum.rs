//! Where shares that differ by a thousandth have totals that differ by 1e-12, a solve from the last answer and one from
//! scratch still give the same shares.

use oef_core::{
    Change, GpuSpec, Mechanism, Options, Outcome, Problem, ProblemSpec, Solver, TenantSpec,
    equal_split, solve,
};
use oef_oracle::Random;

const TYPES: usize = 10;
const TENANTS: usize = 300;

/// Somebody like those of measured tables: speedups rise with the type, more for some than for others.
fn taste(name: String, random: &mut Random) -> TenantSpec {
    let steep = 0.5 + 0.8 * random.unit();
    let speedup = |j: usize, noise: f64| match j {
        0 => 1.0,
        _ => 10_f64.powf(steep * j as f64 / 9.0) * (0.5 * noise - 0.25).exp(),
    };
    let throughput = (0..TYPES).map(|j| (format!("g{j}"), speedup(j, random.unit()))).collect();
    TenantSpec::simple(name, throughput)
}

/// A cluster in which half of the tenants have a demand between 0.3 and 1.2 of an equal split.
fn cluster(seed: u64) -> Problem {
    let mut random = Random::new(seed);
    let gpu = |j: usize, random: &mut Random| GpuSpec {
        name: format!("g{j}"),
        count: random.between(8, 32) as f64,
    };
    let gpus: Vec<GpuSpec> = (0..TYPES).map(|j| gpu(j, &mut random)).collect();
    let split = gpus.iter().map(|gpu| gpu.count).sum::<f64>() / TENANTS as f64;
    let mut tenants: Vec<TenantSpec> =
        (0..TENANTS).map(|i| taste(format!("t{i}"), &mut random)).collect();
    for tenant in &mut tenants {
        let demand = split * (0.3 + 0.9 * random.unit());
        tenant.demand = random.one_in(2).then_some(demand);
    }
    ProblemSpec { reference: Some("g0".into()), gpus, tenants }.validate().unwrap()
}

/// Throughputs over those of an equal split.
fn levels<'a>(problem: &'a Problem, outcome: &'a Outcome) -> impl Iterator<Item = f64> + 'a {
    let level = |t| outcome.shares.throughput(problem, t) / equal_split(problem, t);
    problem.tenant_ids().map(level)
}

/// Somebody comes; the shares must be those of a solve from scratch.
fn compare(seed: u64, newcomer: u64) {
    let mut solver = Solver::new(cluster(seed), Mechanism::Cooperative);
    solver.solve(&Options::default()).unwrap();
    let newcomer = taste("newcomer".into(), &mut Random::new(newcomer));
    solver.apply(&Change::AddTenant(newcomer)).unwrap();
    let again = solver.solve(&Options::default()).unwrap();
    assert!(again.solver.method.contains("the last"), "{}", again.solver.method);
    let problem = solver.problem();
    let fresh = solve(problem, Mechanism::Cooperative, &Options::default()).unwrap();
    for outcome in [&again, &fresh] {
        assert!(outcome.solver.canonical && outcome.solver.gap <= 1e-9, "{:?}", outcome.solver);
    }
    let pairs = levels(problem, &again).zip(levels(problem, &fresh));
    let differ = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(differ <= 1e-9, "seed {seed}: throughputs differ by {differ:e} of an equal split");
}

/// The totals differed by 1e-12 and by 9e-12, the throughputs by 8e-5 and by 1.2e-4 of an equal split.
#[test]
fn an_arrival_gives_the_shares_of_a_solve_from_scratch() {
    compare(10, 1002);
    compare(16, 1003);
}
