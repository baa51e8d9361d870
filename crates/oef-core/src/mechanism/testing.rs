//! Problems as one line of text, random problems from a seed, and what every division must keep.

use crate::ids::{TenantId, TypeId, WorkloadId};
use crate::problem::{GpuSpec, Problem, ProblemSpec, TenantSpec, WorkloadSpec};
use crate::shares::{Shares, equal_split};

/// `"3 6 | a: 1 2 | b w2 d4: 1 3, 1 5"`: counts, then tenants with weight, demand and workloads.
pub(super) fn problem(text: &str) -> Problem {
    let mut parts = text.split('|').map(str::trim);
    let numbers = |s: &str| -> Vec<f64> {
        s.split_whitespace().map(|n| n.parse().expect("a number")).collect()
    };
    let counts = numbers(parts.next().expect("counts"));
    let type_name = |j: usize| format!("g{}", j + 1);
    let gpus = counts.iter().enumerate().map(|(j, &count)| GpuSpec { name: type_name(j), count });
    let tenants = parts.map(|tenant| {
        let (head, rows) = tenant.split_once(':').expect("a colon");
        let mut head = head.split_whitespace();
        let mut spec = TenantSpec::simple(head.next().expect("a name"), Vec::new());
        for word in head {
            match word.split_at(1) {
                ("w", weight) => spec.weight = weight.parse().expect("a weight"),
                ("d", demand) => spec.demand = Some(demand.parse().expect("a demand")),
                _ => panic!("no such word: {word}"),
            }
        }
        let rows = rows.split(',').enumerate().map(|(w, row)| WorkloadSpec {
            demand: None,
            name: format!("job{w}"),
            weight: 1.0,
            throughput: numbers(row)
                .into_iter()
                .enumerate()
                .map(|(j, v)| (type_name(j), v))
                .collect(),
            single: Vec::new(),
        });
        spec.workloads = rows.collect();
        spec
    });
    let spec = ProblemSpec { reference: None, gpus: gpus.collect(), tenants: tenants.collect() };
    spec.validate().expect("a valid problem")
}

/// A stream of numbers from a seed (SplitMix64).
pub(super) struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.roll() % n.max(1) as u64) as usize
    }

    fn real(&mut self) -> f64 {
        (self.roll() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Weights, demands, twins, several workloads, zeros, ties and wide ranges, all mixed.
pub(super) fn random_problem(seed: u64) -> Problem {
    let mut dice = Dice(seed);
    let k = 1 + dice.below(5);
    let n = 1 + dice.below(9);
    let wide = dice.below(4) == 0;
    let whole = dice.below(3) == 0;
    let type_name = |j: usize| format!("g{}", (j * 7 + 3) % 11);
    let gpus: Vec<GpuSpec> =
        (0..k).map(|j| GpuSpec { name: type_name(j), count: 1.0 + dice.below(8) as f64 }).collect();
    let mut tenants: Vec<TenantSpec> = Vec::new();
    for t in 0..n {
        let mut spec = TenantSpec::simple(format!("t{}", (t * 5 + 2) % 13), Vec::new());
        if t > 0 && dice.below(4) == 0 {
            let twin = &tenants[dice.below(t)];
            spec = TenantSpec { name: spec.name, ..twin.clone() };
            tenants.push(spec);
            continue;
        }
        spec.weight = [1.0, 1.0, 2.0, 0.5 + dice.real()][dice.below(4)];
        spec.demand = (dice.below(3) == 0).then(|| 4.0 * dice.real());
        spec.workloads = (0..1 + dice.below(3))
            .map(|w| {
                let mut row: Vec<f64> = (0..k)
                    .map(|_| match (dice.below(6), wide, whole) {
                        (0, _, _) => 0.0,
                        (_, true, _) => 10f64.powf(4.0 * dice.real() - 2.0),
                        (_, _, true) => 1.0 + dice.below(4) as f64,
                        _ => 1.0 + 3.0 * dice.real(),
                    })
                    .collect();
                if row.iter().all(|&v| v == 0.0) {
                    row[dice.below(k)] = 1.0;
                }
                WorkloadSpec {
                    demand: None,
                    name: format!("w{w}"),
                    weight: 1.0 + dice.below(2) as f64,
                    throughput: row
                        .into_iter()
                        .enumerate()
                        .map(|(j, v)| (type_name(j), v))
                        .collect(),
                    single: Vec::new(),
                }
            })
            .collect();
        tenants.push(spec);
    }
    ProblemSpec { reference: None, gpus, tenants }.validate().expect("a valid problem")
}

/// Many tenants, all different.
pub(super) fn large_problem(n: usize, k: usize, limited: bool) -> Problem {
    let mut dice = Dice(1);
    let rows: Vec<Vec<f64>> =
        (0..n).map(|_| (0..k).map(|j| 1.0 + j as f64 * dice.real()).collect()).collect();
    let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
    let mut spec = ProblemSpec::from_matrix(&vec![n as f64 / k as f64; k], &rows);
    for tenant in spec.tenants.iter_mut().filter(|_| limited) {
        tenant.demand = Some(2.0 * dice.real());
    }
    spec.validate().expect("a valid problem")
}

/// The same problem with types, tenants and workloads in another order, and where each tenant is now.
fn shuffled(problem: &Problem, seed: u64) -> (Problem, Vec<TenantId>) {
    fn mix<T>(items: &mut [T], dice: &mut Dice) {
        for i in (1..items.len()).rev() {
            items.swap(i, dice.below(i + 1));
        }
    }
    let mut dice = Dice(seed ^ 0xABCD);
    let mut spec = ProblemSpec::from(problem);
    mix(&mut spec.gpus, &mut dice);
    mix(&mut spec.tenants, &mut dice);
    for tenant in &mut spec.tenants {
        mix(&mut tenant.workloads, &mut dice);
    }
    let other = spec.validate().expect("still a valid problem");
    let back = problem.tenants().iter().map(|t| other.tenant_named(&t.name).expect("still there"));
    let back = back.collect();
    (other, back)
}

/// Capacity, demand, only usable GPUs, nothing useful idle, at least the equal split.
pub(super) fn check_usable(problem: &Problem, shares: &Shares, seed: u64) {
    for (j, gpu) in problem.types().iter().enumerate() {
        assert!(
            shares.used(TypeId(j)) <= gpu.capacity * (1.0 + 1e-9),
            "seed {seed}: too much of {j}"
        );
    }
    for (l, workload) in problem.workloads().iter().enumerate() {
        let gpus: f64 = shares.of_workload(WorkloadId(l)).iter().sum();
        let demand = workload.demand.unwrap_or(f64::INFINITY);
        assert!(
            gpus <= demand * (1.0 + 1e-9) + 1e-12,
            "seed {seed}: {gpus} for a demand of {demand}"
        );
        for (j, gpu) in problem.types().iter().enumerate() {
            let can = workload.speedup[j] > 0.0;
            let held = shares.get(WorkloadId(l), TypeId(j));
            assert!(held >= 0.0 && (can || held == 0.0), "seed {seed}: holds what it cannot use");
            let idle = gpu.capacity - shares.used(TypeId(j));
            let has_room = gpus < demand * (1.0 - 1e-6) - 1e-9;
            assert!(!(can && has_room && idle > 1e-6), "seed {seed}: {idle} of type {j} idle");
        }
    }
    for t in problem.tenant_ids() {
        let (own, split) = (shares.throughput(problem, t), equal_split(problem, t));
        assert!(own >= split * (1.0 - 1e-9), "seed {seed}: {own} below the equal split {split}");
    }
}

/// The above, and nobody below max-min.
pub(super) fn check_against_max_min(
    problem: &Problem,
    shares: &Shares,
    before: &Shares,
    seed: u64,
) {
    check_usable(problem, shares, seed);
    for t in problem.tenant_ids() {
        let (now, then) = (shares.throughput(problem, t), before.throughput(problem, t));
        assert!(now >= then * (1.0 - 1e-9), "seed {seed}: {now} after trading, {then} before");
    }
}

/// Equal tenants get equal throughput per weight.
pub(super) fn twins_agree(problem: &Problem, shares: &Shares) {
    let of = |t: TenantId| {
        let tenant = &problem.tenants()[t.0];
        let rows = problem.workloads_of(t).iter().map(|w| (w.weight / tenant.weight, &w.speedup));
        (tenant.demand.map(|d| d / tenant.weight), rows.collect::<Vec<_>>())
    };
    for a in problem.tenant_ids() {
        for b in problem.tenant_ids().filter(|b| of(*b) == of(a)) {
            let per_weight =
                |t: TenantId| shares.throughput(problem, t) / problem.tenants()[t.0].weight;
            let (x, y) = (per_weight(a), per_weight(b));
            assert!((x - y).abs() <= 1e-9 * x.max(1e-9), "twins {} and {}: {x} and {y}", a.0, b.0);
        }
    }
}

/// Shuffling tenants and types changes nobody's throughput.
pub(super) fn no_order_matters(
    problem: &Problem,
    shares: &Shares,
    seed: u64,
    solve: impl Fn(&Problem) -> Shares,
) {
    let (other, back) = shuffled(problem, seed);
    let other_shares = solve(&other);
    for t in problem.tenant_ids() {
        let here = shares.throughput(problem, t);
        let there = other_shares.throughput(&other, back[t.0]);
        assert!((here - there).abs() <= 1e-9 * here.max(1e-9), "seed {seed}: {here} {there}");
    }
}
