//! A problem as somebody wrote it down, not yet checked.

use super::Problem;
use crate::ids::TypeId;

/// A description of a problem with the fields of the problem file. [`ProblemSpec::validate`] makes it
/// a [`Problem`].
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ProblemSpec {
    /// The reference gpu type, if the author chose one.
    pub reference: Option<String>,
    /// The gpu types.
    pub gpus: Vec<GpuSpec>,
    /// The tenants.
    pub tenants: Vec<TenantSpec>,
}

/// One gpu type of a description.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct GpuSpec {
    /// Its name.
    pub name: String,
    /// How many there are.
    pub count: f64,
}

/// One tenant of a description.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TenantSpec {
    /// Its name.
    pub name: String,
    /// Its weight.
    pub weight: f64,
    /// GPUs it can use at most.
    pub demand: Option<f64>,
    /// GPUs by gpu type name that it gets before anybody's share, as far as it can use them.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub guarantee: Vec<(String, f64)>,
    /// GPUs by gpu type name that it gets at most.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub limit: Vec<(String, f64)>,
    /// Its workloads.
    pub workloads: Vec<WorkloadSpec>,
}

/// One workload of a description.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct WorkloadSpec {
    /// Its name.
    pub name: String,
    /// Its part in the tenant's weight, relative to the tenant's other workloads.
    pub weight: f64,
    /// GPUs it can use at most.
    #[cfg_attr(feature = "serde", serde(default))]
    pub demand: Option<f64>,
    /// Throughput per gpu type name, in any unit; a missing type or 0: cannot run there.
    pub throughput: Vec<(String, f64)>,
    /// The throughput of a single worker of the same program, in the same unit, where the workload's jobs are gangs: what
    /// counts as 1 is its throughput on the reference type. Empty: the workload's own.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub single: Vec<(String, f64)>,
}

impl TenantSpec {
    /// A tenant of weight 1 with one workload named `default`.
    pub fn simple(name: impl Into<String>, throughput: Vec<(String, f64)>) -> Self {
        TenantSpec {
            name: name.into(),
            weight: 1.0,
            demand: None,
            guarantee: Vec::new(),
            limit: Vec::new(),
            workloads: vec![WorkloadSpec {
                name: "default".into(),
                weight: 1.0,
                demand: None,
                throughput,
                single: Vec::new(),
            }],
        }
    }
}

impl ProblemSpec {
    /// A problem from a matrix: gpu types `g1, g2, ...` with the given counts, one tenant of weight 1
    /// (`u1, u2, ...`) per row of throughputs. The short way to write the paper's examples.
    ///
    /// ```
    /// let spec = oef_core::ProblemSpec::from_matrix(&[1.0, 1.0], &[&[1.0, 2.0], &[1.0, 5.0]]);
    /// assert_eq!(spec.validate().unwrap().tenants().len(), 2);
    /// ```
    pub fn from_matrix(counts: &[f64], rows: &[&[f64]]) -> Self {
        let names: Vec<String> = (1..=counts.len()).map(|j| format!("g{j}")).collect();
        ProblemSpec {
            reference: None,
            gpus: names
                .iter()
                .zip(counts)
                .map(|(name, &count)| GpuSpec { name: name.clone(), count })
                .collect(),
            tenants: rows
                .iter()
                .enumerate()
                .map(|(l, row)| {
                    let throughput = names.iter().cloned().zip(row.iter().copied()).collect();
                    TenantSpec::simple(format!("u{}", l + 1), throughput)
                })
                .collect(),
        }
    }
}

impl From<&Problem> for ProblemSpec {
    /// The description that validates to this problem again (with the reference type spelt out).
    fn from(problem: &Problem) -> Self {
        let gpus =
            problem.types.iter().map(|t| GpuSpec { name: t.name.clone(), count: t.capacity });
        let tenants = problem.tenants.iter().map(|tenant| TenantSpec {
            name: tenant.name.clone(),
            weight: tenant.weight,
            demand: tenant.demand,
            guarantee: given(problem, |gpu| Some(tenant.guarantee_on(gpu)).filter(|&g| g > 0.0)),
            limit: given(problem, |gpu| tenant.limit_on(gpu)),
            workloads: problem.workloads[tenant.workloads.clone()]
                .iter()
                .map(|w| WorkloadSpec {
                    name: w.name.clone(),
                    weight: w.weight,
                    demand: w.declared_demand,
                    throughput: named(problem, &w.throughput),
                    single: named(problem, &w.single),
                })
                .collect(),
        });
        ProblemSpec {
            reference: Some(problem.types[problem.reference.0].name.clone()),
            gpus: gpus.collect(),
            tenants: tenants.collect(),
        }
    }
}

/// Figures with the names of their gpu types.
fn named(problem: &Problem, figures: &[f64]) -> Vec<(String, f64)> {
    problem.types.iter().zip(figures).map(|(t, &thr)| (t.name.clone(), thr)).collect()
}

/// The figures that there are, with the names of their gpu types.
fn given(problem: &Problem, figure: impl Fn(TypeId) -> Option<f64>) -> Vec<(String, f64)> {
    let types = problem.types.iter().enumerate();
    types.filter_map(|(j, t)| Some((t.name.clone(), figure(TypeId(j))?))).collect()
}
