//! Instances from seeds: the same seed gives the same numbers on every machine.

use oef_core::{GpuSpec, Problem, ProblemSpec, TenantSpec, WorkloadSpec};
use rand_pcg::Pcg32;
use rand_pcg::rand_core::Rng as _;
use serde_json::{Value, json};

/// Gpu types in every instance, as the bars are stated.
pub const TYPES: usize = 10;
/// How much faster the fastest type is than the slowest for a tenant of average taste.
const SPREAD: f64 = 10.0;

/// PCG's own stream: with it the instances of a seed are those that they always were.
const STREAM: u64 = 0x0a02_bdbf_7bb3_c0a7;

fn random(seed: u64) -> Pcg32 {
    Pcg32::new(seed, STREAM)
}

/// A number in [low, high).
fn within(pcg: &mut Pcg32, low: f64, high: f64) -> f64 {
    let high_bits = u64::from(pcg.next_u32()) << 21;
    let unit = (high_bits ^ u64::from(pcg.next_u32())) as f64 / (1_u64 << 53) as f64;
    low + (high - low) * unit
}

/// `tenants` tenants of weight 1 that share `profiles` different profiles (as many as tenants: all
/// different), 8 to 32 GPUs of each type.
pub fn spec(tenants: usize, profiles: usize, seed: u64) -> ProblemSpec {
    let mut pcg = random(seed);
    let gpus = (0..TYPES)
        .map(|j| GpuSpec { name: type_name(j), count: within(&mut pcg, 8.0, 33.0).floor() })
        .collect();
    let rows: Vec<Vec<f64>> = (0..profiles).map(|_| row(&mut pcg)).collect();
    let tenants = (0..tenants).map(|i| tenant(format!("t{i}"), &rows[i % profiles]));
    ProblemSpec { reference: Some(type_name(0)), gpus, tenants: tenants.collect() }
}

/// Gives half of the tenants a demand between 0.3 and 1.2 of an equal split.
pub fn limit(spec: &mut ProblemSpec, seed: u64) {
    let mut pcg = random(seed ^ 0x0064_656d_616e_6473);
    let split = spec.gpus.iter().map(|g| g.count).sum::<f64>() / spec.tenants.len() as f64;
    for tenant in &mut spec.tenants {
        let demand = split * within(&mut pcg, 0.3, 1.2);
        tenant.demand = (within(&mut pcg, 0.0, 1.0) < 0.5).then_some(demand);
    }
}

/// Changes every demand by up to a twentieth, another way every round.
pub fn change_demands(spec: &mut ProblemSpec, seed: u64, round: u64) {
    let mut pcg = random(seed ^ (round + 1).wrapping_mul(0x9e37_79b9));
    for demand in spec.tenants.iter_mut().flat_map(|tenant| &mut tenant.demand) {
        *demand *= within(&mut pcg, 0.95, 1.05);
    }
}

/// A tenant that is in no instance of this seed yet, for arrivals.
pub fn newcomer(seed: u64) -> TenantSpec {
    let mut pcg = random(seed ^ 0x6e65_7763_6f6d_6572);
    let row = row(&mut pcg);
    tenant("newcomer".into(), &row)
}

/// The same as a problem file, for whoever reads those.
pub fn to_json(problem: &Problem) -> Value {
    let spec = ProblemSpec::from(problem);
    let gpus: Vec<Value> =
        spec.gpus.iter().map(|g| json!({ "type": g.name, "count": g.count })).collect();
    let workload = |w: &WorkloadSpec| {
        let throughput: serde_json::Map<String, Value> =
            w.throughput.iter().map(|(gpu, x)| (gpu.clone(), json!(x))).collect();
        json!({ "name": w.name, "weight": w.weight, "throughput": throughput })
    };
    let tenants: Vec<Value> = (spec.tenants.iter())
        .map(|t| {
            let workloads: Vec<Value> = t.workloads.iter().map(workload).collect();
            json!({ "name": t.name, "weight": t.weight, "workload": workloads })
        })
        .collect();
    json!({ "reference": spec.reference, "gpu": gpus, "tenant": tenants })
}

fn type_name(j: usize) -> String {
    format!("g{}", j + 1)
}

/// Speedups that rise with the type, more for some tenants than for others, with noise of each
/// entry's own, so that the ratios of neighbouring types cross between tenants as they do in
/// measured tables.
fn row(pcg: &mut Pcg32) -> Vec<f64> {
    let exponent = within(pcg, 0.5, 1.3);
    let last = (TYPES - 1) as f64;
    let speedup = |(j, noise): (usize, f64)| {
        if j == 0 { 1.0 } else { SPREAD.powf(exponent * j as f64 / last) * noise.exp() }
    };
    (0..TYPES)
        .map(|j| (j, within(pcg, -0.25, 0.25)))
        .collect::<Vec<_>>()
        .into_iter()
        .map(speedup)
        .collect()
}

fn tenant(name: String, row: &[f64]) -> TenantSpec {
    let throughput = row.iter().enumerate().map(|(j, &x)| (type_name(j), x)).collect();
    TenantSpec::simple(name, throughput)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_are_what_they_were() {
        let mut pcg = random(42);
        let first: Vec<f64> = (0..3).map(|_| within(&mut pcg, 0.0, 1.0)).collect();
        assert!(first.iter().all(|x| (0.0..1.0).contains(x)), "{first:?}");
        assert_eq!(spec(5, 5, 7), spec(5, 5, 7));
        assert_ne!(spec(5, 5, 7), spec(5, 5, 8));
    }

    #[test]
    fn instances_are_valid_and_as_varied_as_asked() {
        let problem = spec(50, 5, 1).validate().unwrap();
        let mut rows: Vec<_> =
            problem.workloads().iter().map(|w| format!("{:?}", w.speedup)).collect();
        rows.sort();
        rows.dedup();
        assert_eq!(rows.len(), 5);
        assert!(problem.types().iter().all(|t| (8.0..=32.0).contains(&t.capacity)));
    }
}
