//! Families of random problems, each from a seed, each after one kind of trouble.
//!
//! Most numbers are multiples of 1/16, which floating point holds exactly and fractions keep short.

use crate::random::Random;
use oef_core::{GpuSpec, ProblemSpec, TenantSpec, WorkloadSpec};
use proptest::prelude::*;

/// A kind of problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// All ratios between neighbouring types are ordered alike over the tenants.
    Ordered,
    /// Anything between 1/4 and 8.
    General,
    /// Whole numbers from 1 to 4: many optima.
    Tied,
    /// Equal rows, types that somebody or nobody has or can use, proportional columns, one tenant, one type.
    Degenerate,
    /// Speedups from 1e-6 to 1e6.
    HugeRange,
    /// Unequal weights.
    Weighted,
    /// Tenants with up to three workloads.
    MultiWorkload,
    /// Tenants that can use only so many GPUs, each with one workload.
    Demand,
    /// The same with up to three workloads that share the demand, some with one of their own.
    SharedDemand,
}

impl Family {
    /// All of them.
    pub const ALL: [Family; 9] = [
        Family::Ordered,
        Family::General,
        Family::Tied,
        Family::Degenerate,
        Family::HugeRange,
        Family::Weighted,
        Family::MultiWorkload,
        Family::Demand,
        Family::SharedDemand,
    ];

    /// Those in which nobody has a demand.
    pub const WITHOUT_DEMAND: [Family; 7] = [
        Family::Ordered,
        Family::General,
        Family::Tied,
        Family::Degenerate,
        Family::HugeRange,
        Family::Weighted,
        Family::MultiWorkload,
    ];

    /// Those in which every workload runs on every type and every type has GPUs, without demand.
    pub const POSITIVE: [Family; 6] = [
        Family::Ordered,
        Family::General,
        Family::Tied,
        Family::HugeRange,
        Family::Weighted,
        Family::MultiWorkload,
    ];
}

/// How large a problem may be.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Most workloads.
    pub rows: usize,
    /// Most gpu types.
    pub types: usize,
}

impl Size {
    /// What the exact oracle answers in milliseconds.
    pub const SMALL: Size = Size { rows: 6, types: 4 };
    /// What the plain full programs of another solver still take.
    pub const MIDDLE: Size = Size { rows: 40, types: 10 };
}

/// The problem of a seed.
pub fn problem(family: Family, size: Size, seed: u64) -> ProblemSpec {
    let mut random = Random::new(seed ^ ((family as u64) << 56));
    let n = random.between(1.max(size.rows / 4), size.rows);
    let k = random.between(1.max(size.types / 3), size.types);
    let rows = rows(family, n, k, &mut random);
    let mut spec = assemble(family, rows, &mut random);
    spec.gpus = counts(family, k, &mut random);
    // The first type as reference keeps the speedups as short as the throughputs. One in four leaves
    // the choice to the documented rule, and with it the division that makes them long.
    let declared = spec.tenants.iter().flat_map(|t| &t.workloads).all(|w| w.throughput[0].1 > 0.0);
    if declared && !random.one_in(4) {
        spec.reference = Some("g1".into());
    }
    settle(&mut spec);
    spec
}

/// Where tests that go through seeds one after the other begin: at the seed of the property tests, so that
/// with another one they look elsewhere too; at 0 where there is none.
pub fn first_seed() -> u64 {
    let given = std::env::var("PROPTEST_RNG_SEED").ok().and_then(|seed| seed.parse().ok());
    given.unwrap_or(0)
}

/// Declares the first type as reference where the documented choice does not do: a huge range may leave
/// what a problem may hold once it is normalised by another type. For whoever changes a problem.
pub fn settle(spec: &mut ProblemSpec) {
    if spec.validate().is_err() {
        spec.reference = Some("g1".into());
    }
}

/// Problems of some families for property tests. They do not shrink by themselves: a smaller seed is no
/// smaller problem.
pub fn problems(families: &'static [Family], size: Size) -> impl Strategy<Value = ProblemSpec> {
    (prop::sample::select(families).no_shrink(), any::<u64>().no_shrink())
        .prop_map(move |(family, seed)| problem(family, size, seed))
}

fn rows(family: Family, n: usize, k: usize, random: &mut Random) -> Vec<Vec<f64>> {
    match family {
        Family::Ordered => ordered(n, k, random),
        Family::Degenerate => degenerate(n, k, random),
        Family::Tied => table(n, k, || random.between(1, 4) as f64),
        Family::HugeRange => {
            let mut rows = table(n, k, || huge(random));
            rows.iter_mut().for_each(|row| row[0] = 1.0);
            rows
        }
        _ => {
            let mut rows = table(n, k, || random.between(4, 128) as f64 / 16.0);
            rows.iter_mut().for_each(|row| row[0] = 1.0);
            if matches!(family, Family::Demand | Family::SharedDemand) && random.one_in(3) {
                forbid_some(&mut rows, random);
            }
            rows
        }
    }
}

fn table(n: usize, k: usize, mut entry: impl FnMut() -> f64) -> Vec<Vec<f64>> {
    (0..n).map(|_| (0..k).map(|_| entry()).collect()).collect()
}

/// Three significant digits from 1e-5 to 1e4: a profile may cover nine orders of magnitude.
fn huge(random: &mut Random) -> f64 {
    let digits = random.between(100, 999) as f64;
    let exponent = random.between(0, 8) as i32 - 7;
    digits * 10_f64.powi(exponent)
}

fn ordered(n: usize, k: usize, random: &mut Random) -> Vec<Vec<f64>> {
    let steps: Vec<f64> = (1..k).map(|_| random.between(1, 6) as f64 / 4.0).collect();
    let row = |steepness: f64| {
        let mut row = vec![1.0];
        for step in &steps {
            row.push(row[row.len() - 1] * (1.0 + steepness * step));
        }
        row
    };
    (0..n).map(|_| row(random.between(0, 8) as f64 / 4.0)).collect()
}

fn degenerate(n: usize, k: usize, random: &mut Random) -> Vec<Vec<f64>> {
    let n = if random.one_in(8) { 1 } else { n };
    let mut rows = table(n, k, || random.between(1, 8) as f64 / 2.0);
    if random.one_in(2) {
        for l in 1..n {
            if random.one_in(2) {
                rows[l] = rows[random.between(0, l - 1)].clone();
            }
        }
    }
    if k > 1 && random.one_in(3) {
        let (from, to) = (random.between(0, k - 1), random.between(0, k - 1));
        let factor = random.pick(&[1.0, 2.0, 0.5]);
        rows.iter_mut().for_each(|row| row[to] = row[from] * factor);
    }
    if random.one_in(2) {
        forbid_some(&mut rows, random);
    }
    rows
}

/// Zeroes about a quarter of the entries and leaves every row one.
fn forbid_some(rows: &mut [Vec<f64>], random: &mut Random) {
    for row in rows {
        let spared = random.between(0, row.len() - 1);
        for j in 0..row.len() {
            if j != spared && random.one_in(4) {
                row[j] = 0.0;
            }
        }
    }
}

fn counts(family: Family, k: usize, random: &mut Random) -> Vec<GpuSpec> {
    let mut counts: Vec<f64> = (0..k).map(|_| random.between(1, 8) as f64).collect();
    if family == Family::Degenerate && k > 1 && random.one_in(3) {
        let spared = random.between(0, k - 1);
        for j in (0..k).filter(|&j| j != spared) {
            if random.one_in(2) {
                counts[j] = 0.0;
            }
        }
    }
    if random.one_in(4) {
        counts.iter_mut().for_each(|m| *m *= random.pick(&[0.25, 1.0, 1.5]));
    }
    let named = counts.into_iter().enumerate();
    named.map(|(j, count)| GpuSpec { name: format!("g{}", j + 1), count }).collect()
}

fn assemble(family: Family, rows: Vec<Vec<f64>>, random: &mut Random) -> ProblemSpec {
    let mut spec = ProblemSpec::default();
    let mut rows = rows.into_iter().peekable();
    while rows.peek().is_some() {
        let workloads = match family {
            Family::MultiWorkload | Family::SharedDemand => random.between(1, 3),
            Family::Degenerate if random.one_in(4) => 2,
            _ => 1,
        };
        let named = rows.by_ref().take(workloads).enumerate();
        let mut workloads: Vec<WorkloadSpec> = named
            .map(|(w, row)| WorkloadSpec {
                name: format!("w{}", w + 1),
                weight: 1.0,
                demand: None,
                throughput: row
                    .into_iter()
                    .enumerate()
                    .map(|(j, t)| (format!("g{}", j + 1), t))
                    .collect(),
                single: Vec::new(),
            })
            .collect();
        if family == Family::MultiWorkload && random.one_in(3) {
            workloads.iter_mut().for_each(|w| w.weight = random.pick(&[1.0, 3.0, 0.5]));
        }
        if family == Family::SharedDemand {
            for workload in &mut workloads {
                workload.demand = random.one_in(3).then(|| random.between(0, 16) as f64 / 4.0);
            }
        }
        let weight = match family {
            Family::Weighted => random.pick(&[0.25, 0.5, 1.0, 2.0, 3.0, 7.0, 1.3]),
            Family::Demand | Family::SharedDemand | Family::MultiWorkload => {
                random.pick(&[1.0, 1.0, 2.0, 0.5])
            }
            _ => 1.0,
        };
        let demand = (matches!(family, Family::Demand | Family::SharedDemand) && !random.one_in(3))
            .then(|| random.between(0, 24) as f64 / 4.0);
        let name = format!("u{}", spec.tenants.len() + 1);
        spec.tenants.push(TenantSpec {
            name,
            weight,
            demand,
            guarantee: Vec::new(),
            limit: Vec::new(),
            workloads,
        });
    }
    spec
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_gives_a_valid_problem_and_always_the_same() {
        for family in Family::ALL {
            for seed in 0..300 {
                for size in [Size::SMALL, Size::MIDDLE] {
                    let spec = problem(family, size, seed);
                    let valid = spec.validate();
                    assert!(valid.is_ok(), "{family:?} {seed}: {valid:?}");
                    assert_eq!(spec, problem(family, size, seed));
                }
            }
        }
    }
}
