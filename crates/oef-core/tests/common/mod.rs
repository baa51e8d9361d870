//! What the integration tests share.
#![allow(dead_code, reason = "every test file uses its own part of this")]

use oef_core::{
    Mechanism, Options, Outcome, Problem, ProblemSpec, Shares, TenantSpec, TypeId, WorkloadId,
    solve,
};
use oef_oracle::problem_file;
use proptest::prelude::*;

/// So many cases. A failure prints its problem as a file, so there is no seed to keep beside the tests.
pub fn cases(count: u32) -> ProptestConfig {
    ProptestConfig { cases: count, failure_persistence: None, ..ProptestConfig::default() }
}

/// Seeds, which do not shrink: a smaller one is no simpler.
pub fn seeds() -> impl Strategy<Value = u64> {
    any::<u64>().no_shrink()
}

/// All mechanisms, or those that `OEF_ONLY` names (comma-separated).
#[allow(clippy::disallowed_methods, reason = "a test is asked for more or less from outside")]
pub fn mechanisms() -> Vec<Mechanism> {
    let only = std::env::var("OEF_ONLY").unwrap_or_default();
    let is_wanted = |m: &Mechanism| only.is_empty() || only.split(',').any(|name| name == m.name());
    Mechanism::ALL.into_iter().filter(is_wanted).collect()
}

/// The valid problem of a description.
pub fn valid(spec: &ProblemSpec) -> Problem {
    spec.validate().unwrap_or_else(|e| panic!("{e}\n{}", problem_file(spec)))
}

/// The outcome of a mechanism, or a panic with the problem as a file.
pub fn outcome(spec: &ProblemSpec, mechanism: Mechanism) -> (Problem, Outcome) {
    let problem = valid(spec);
    match solve(&problem, mechanism, &Options::default()) {
        Ok(outcome) => (problem, outcome),
        Err(error) => panic!("{mechanism}: {error}\n{}", problem_file(spec)),
    }
}

/// The shares of a mechanism, or a panic with the problem as a file.
pub fn shares(spec: &ProblemSpec, mechanism: Mechanism) -> (Problem, Shares) {
    let (problem, outcome) = outcome(spec, mechanism);
    (problem, outcome.shares)
}

/// The throughputs of all tenants by name.
pub fn by_name(spec: &ProblemSpec, mechanism: Mechanism) -> Vec<(String, f64)> {
    let (problem, shares) = shares(spec, mechanism);
    let mut values: Vec<(String, f64)> = problem
        .tenant_ids()
        .map(|t| (problem.tenants()[t.index()].name.clone(), shares.throughput(&problem, t)))
        .collect();
    values.sort_by(|a, b| a.0.cmp(&b.0));
    values
}

/// Every share with the names it belongs to, sorted by them.
pub fn named_shares(spec: &ProblemSpec, mechanism: Mechanism) -> Vec<(String, f64)> {
    let (problem, shares) = shares(spec, mechanism);
    let mut named = Vec::new();
    for (l, workload) in problem.workloads().iter().enumerate() {
        let tenant = &problem.tenants()[workload.tenant.index()].name;
        for (j, gpu) in problem.types().iter().enumerate() {
            let name = format!("{tenant}/{}/{}", workload.name, gpu.name);
            named.push((name, shares.get(WorkloadId(l), TypeId(j))));
        }
    }
    named.sort_by(|a, b| a.0.cmp(&b.0));
    named
}

/// The GPUs that one tenant has of each type, by the tenant's name.
pub fn bundle(problem: &Problem, shares: &Shares, tenant: &str) -> Vec<f64> {
    shares.of_tenant(problem, problem.tenant_named(tenant).expect("a tenant of that name"))
}

/// Whether two numbers are equal but for so much, relative to the greater.
pub fn near(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * a.abs().max(b.abs())
}

/// Fails with the problem as a file unless something holds.
#[track_caller]
pub fn holds(condition: bool, spec: &ProblemSpec, what: impl FnOnce() -> String) {
    assert!(condition, "{}\n{}", what(), problem_file(spec));
}

/// A matrix problem whose reference is its first type.
pub fn matrix(counts: &[f64], rows: &[&[f64]]) -> ProblemSpec {
    ProblemSpec { reference: Some("g1".into()), ..ProblemSpec::from_matrix(counts, rows) }
}

/// The throughput on a type, by position, of a tenant's only workload.
pub fn entry(tenant: &mut TenantSpec, gpu: usize) -> &mut f64 {
    &mut tenant.workloads[0].throughput[gpu].1
}

/// All workloads of a problem.
pub fn workloads(problem: &Problem) -> impl Iterator<Item = WorkloadId> + use<> {
    (0..problem.workloads().len()).map(WorkloadId)
}
