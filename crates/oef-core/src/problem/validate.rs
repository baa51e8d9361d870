//! From a description to a problem, or to the list of everything that is wrong with it.

use super::profile::{MAX_NUMBER, UnusableProfile, check_profile};
use super::{
    GpuType, Problem, ProblemSpec, Tenant, Workload, demand, limits, reference, total_weight,
};
use crate::ids::{TenantId, TypeId};
use std::collections::BTreeMap;
use thiserror::Error;

/// Where in a description something is wrong, by position.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    /// The description as a whole.
    Whole,
    /// The `reference` field.
    Reference,
    /// The name of a gpu type.
    GpuName(usize),
    /// The count of a gpu type.
    GpuCount(usize),
    /// The name of a tenant.
    TenantName(usize),
    /// The weight of a tenant.
    TenantWeight(usize),
    /// The demand of a tenant.
    TenantDemand(usize),
    /// The guarantees of a tenant.
    TenantGuarantee(usize),
    /// The limits by gpu type of a tenant.
    TenantLimit(usize),
    /// The workloads of a tenant as a list.
    TenantWorkloads(usize),
    /// The name of a workload (tenant, workload).
    WorkloadName(usize, usize),
    /// The weight of a workload (tenant, workload).
    WorkloadWeight(usize, usize),
    /// The demand of a workload (tenant, workload).
    WorkloadDemand(usize, usize),
    /// The throughputs of a workload (tenant, workload).
    WorkloadThroughput(usize, usize),
    /// The throughputs of a single worker of a workload.
    WorkloadSingle(usize, usize),
    /// One throughput of a workload (tenant, workload, position in its list).
    WorkloadThroughputEntry(usize, usize, usize),
}

/// One thing that is wrong with a description.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{message}")]
pub struct ProblemError {
    /// Where it is.
    pub field: Field,
    /// What is wrong, with the value.
    pub message: String,
    /// What would be right.
    pub hint: String,
    /// Whether this is a limit of OEF rather than a mistake.
    pub is_limit: bool,
}

/// Everything that is wrong with a description, in its order; never empty.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{}", .0.first().map_or("invalid problem", |e| e.message.as_str()))]
pub struct InvalidProblem(pub Vec<ProblemError>);

impl ProblemSpec {
    /// Checks the description and derives what it leaves open.
    pub fn validate(&self) -> Result<Problem, InvalidProblem> {
        let mut checker = Checker { spec: self, errors: Vec::new() };
        let problem = checker.problem();
        match problem {
            Some(problem) if checker.errors.is_empty() => Ok(problem),
            _ => Err(InvalidProblem(checker.errors)),
        }
    }
}

struct Checker<'a> {
    spec: &'a ProblemSpec,
    errors: Vec<ProblemError>,
}

impl Checker<'_> {
    fn problem(&mut self) -> Option<Problem> {
        if !self.within_limits() {
            return None;
        }
        let types = self.types();
        let by_name: BTreeMap<&str, usize> =
            self.spec.gpus.iter().enumerate().rev().map(|(j, g)| (g.name.as_str(), j)).collect();
        let reference = self.reference(&by_name);
        let (tenants, mut workloads) = self.tenants(&by_name);
        if !self.errors.is_empty() {
            return None;
        }
        let reference_declared = reference.is_some();
        let reference = reference.unwrap_or_else(|| reference::derive(&types, &workloads));
        reference::normalise(reference, &mut workloads);
        let total_weight = total_weight(&tenants);
        Some(Problem { types, tenants, workloads, reference, reference_declared, total_weight })
    }

    fn wrong(&mut self, field: Field, message: String, hint: &str) {
        self.errors.push(ProblemError { field, message, hint: hint.into(), is_limit: false });
    }

    fn within_limits(&mut self) -> bool {
        let workloads: usize = self.spec.tenants.iter().map(|t| t.workloads.len()).sum();
        let checks = [
            (self.spec.gpus.len(), limits::MAX_GPU_TYPES, "gpu types"),
            (self.spec.tenants.len().max(workloads), limits::MAX_WORKLOADS, "workloads"),
        ];
        for (count, limit, what) in checks {
            if count > limit {
                self.errors.push(ProblemError {
                    field: Field::Whole,
                    message: format!("{count} {what}, but the limit is {limit}"),
                    hint: "split the problem, or merge tenants with equal profiles".into(),
                    is_limit: true,
                });
            }
        }
        self.errors.is_empty()
    }

    fn types(&mut self) -> Vec<GpuType> {
        let spec = self.spec;
        if spec.gpus.is_empty() {
            self.wrong(Field::Whole, "no gpu types".into(), "add a gpu type with a count");
        }
        let mut seen = BTreeMap::new();
        for (j, gpu) in spec.gpus.iter().enumerate() {
            self.check_name(Field::GpuName(j), "gpu type", &gpu.name, seen.insert(&gpu.name, j));
            if !(gpu.count >= 0.0 && gpu.count <= MAX_NUMBER) {
                let message = format!("gpu type `{}` has count {}", gpu.name, gpu.count);
                self.wrong(Field::GpuCount(j), message, "a count is a finite number, 0 or more");
            }
        }
        if !spec.gpus.is_empty() && spec.gpus.iter().all(|g| g.count == 0.0) {
            let message = "every gpu type has count 0: there is nothing to share".to_string();
            self.wrong(Field::GpuCount(0), message, "give at least one gpu type a count above 0");
        }
        spec.gpus
            .iter()
            .map(|g| GpuType { name: g.name.clone(), capacity: unsigned(g.count) })
            .collect()
    }

    fn reference(&mut self, by_name: &BTreeMap<&str, usize>) -> Option<TypeId> {
        let name = self.spec.reference.as_deref()?;
        let found = by_name.get(name).map(|&j| TypeId(j));
        if found.is_none() {
            let message = format!("reference `{name}` is not one of the gpu types");
            let hint = format!("{}or leave it out to have it derived", known_types(name, by_name));
            self.wrong(Field::Reference, message, &hint);
        }
        found
    }

    fn tenants(&mut self, by_name: &BTreeMap<&str, usize>) -> (Vec<Tenant>, Vec<Workload>) {
        let spec = self.spec;
        if spec.tenants.is_empty() {
            self.wrong(Field::Whole, "no tenants".into(), "add at least one tenant");
        }
        let (mut tenants, mut workloads) = (Vec::new(), Vec::new());
        let mut seen = BTreeMap::new();
        for (t, tenant) in spec.tenants.iter().enumerate() {
            self.check_name(
                Field::TenantName(t),
                "tenant",
                &tenant.name,
                seen.insert(&tenant.name, t),
            );
            let who = format!("tenant `{}`", tenant.name);
            self.check_weight(Field::TenantWeight(t), &who, tenant.weight);
            self.check_demand(Field::TenantDemand(t), &who, tenant.demand);
            if tenant.workloads.is_empty() {
                let message = format!("{who} has no workload");
                let hint = "give it at least one workload with throughputs";
                self.wrong(Field::TenantWorkloads(t), message, hint);
            }
            let first = workloads.len();
            self.workloads(t, by_name, &mut workloads);
            demand::divide(tenant.demand.map(unsigned), &mut workloads[first..]);
            let (guarantee, limit) = self.promises(t, &who, by_name);
            tenants.push(Tenant {
                name: tenant.name.clone(),
                weight: tenant.weight,
                demand: tenant.demand.map(unsigned),
                workloads: first..workloads.len(),
                guarantee,
                limit,
            });
        }
        self.check_promised(&tenants);
        (tenants, workloads)
    }

    /// The guarantees and limits of a tenant, by type; empty where it has none.
    fn promises(
        &mut self,
        t: usize,
        who: &str,
        by_name: &BTreeMap<&str, usize>,
    ) -> (Vec<f64>, Vec<Option<f64>>) {
        let tenant = &self.spec.tenants[t];
        let guarantee =
            self.by_type((Field::TenantGuarantee(t), "guarantee"), who, by_name, &tenant.guarantee);
        let limit = self.by_type((Field::TenantLimit(t), "limit"), who, by_name, &tenant.limit);
        for (j, gpu) in self.spec.gpus.iter().enumerate() {
            let at = |of: &[Option<f64>]| of.get(j).copied().flatten();
            if let (Some(least), Some(most)) = (at(&guarantee), at(&limit))
                && least > most
            {
                let message = format!(
                    "{who} is guaranteed {least} of `{}`, and its limit there is {most}",
                    gpu.name
                );
                let hint = "raise the limit, or lower the guarantee";
                self.wrong(Field::TenantGuarantee(t), message, hint);
            }
        }
        (guarantee.into_iter().map(|g| g.unwrap_or(0.0)).collect(), limit)
    }

    /// Figures by gpu type; empty where there are none.
    fn by_type(
        &mut self,
        (field, what): (Field, &str),
        who: &str,
        by_name: &BTreeMap<&str, usize>,
        entries: &[(String, f64)],
    ) -> Vec<Option<f64>> {
        let mut figures = vec![None; if entries.is_empty() { 0 } else { self.spec.gpus.len() }];
        for (name, value) in entries {
            if !(0.0..=MAX_NUMBER).contains(value) {
                let message = format!("{who} has {what} {value} on `{name}`");
                let hint = format!("a {what} is a finite number of GPUs, 0 or more");
                self.wrong(field.clone(), message, &hint);
            }
            match by_name.get(name.as_str()) {
                Some(&j) if figures[j].is_some() => {
                    let message = format!("{who} has two {what}s for `{name}`");
                    self.wrong(field.clone(), message, "keep one of them");
                }
                Some(&j) => figures[j] = Some(unsigned(*value)),
                None => {
                    let message =
                        format!("{who} has a {what} for `{name}`, which is not a gpu type here");
                    let hint = format!("{}or add that gpu type", known_types(name, by_name));
                    self.wrong(field.clone(), message, &hint);
                }
            }
        }
        figures
    }

    /// No more GPUs of a type are guaranteed than there are.
    fn check_promised(&mut self, tenants: &[Tenant]) {
        for (j, gpu) in self.spec.gpus.iter().enumerate() {
            let promised: f64 = tenants.iter().map(|t| t.guarantee_on(TypeId(j))).sum();
            let last = tenants.iter().rposition(|t| t.guarantee_on(TypeId(j)) > 0.0);
            if let Some(last) = last.filter(|_| promised > gpu.count * (1.0 + SAME_COUNT)) {
                let message = format!(
                    "guarantees of `{}` add up to {promised}, and there are {}",
                    gpu.name, gpu.count
                );
                let hint = "lower a guarantee, or raise the count";
                self.wrong(Field::TenantGuarantee(last), message, hint);
            }
        }
    }

    fn workloads(&mut self, t: usize, by_name: &BTreeMap<&str, usize>, all: &mut Vec<Workload>) {
        let tenant = &self.spec.tenants[t];
        let total: f64 = tenant.workloads.iter().map(|w| w.weight).sum();
        let mut seen = BTreeMap::new();
        for (w, workload) in tenant.workloads.iter().enumerate() {
            let who = format!("workload `{}` of tenant `{}`", workload.name, tenant.name);
            let before = seen.insert(&workload.name, w);
            self.check_name(Field::WorkloadName(t, w), "workload", &workload.name, before);
            self.check_weight(Field::WorkloadWeight(t, w), &who, workload.weight);
            self.check_demand(Field::WorkloadDemand(t, w), &who, workload.demand);
            let throughput = self.throughput(t, w, &who, by_name);
            let single = self.single(t, w, &who, by_name, &throughput);
            all.push(Workload {
                name: workload.name.clone(),
                tenant: TenantId(t),
                weight: match (total / tenant.weight - 1.0).abs() < SAME_WEIGHT {
                    true => workload.weight,
                    false => tenant.weight * (workload.weight / total),
                },
                declared_demand: workload.demand.map(unsigned),
                demand: workload.demand.map(unsigned),
                throughput,
                single,
                speedup: Vec::new(),
            });
        }
    }

    fn throughput(
        &mut self,
        t: usize,
        w: usize,
        who: &str,
        by_name: &BTreeMap<&str, usize>,
    ) -> Vec<f64> {
        let entries = &self.spec.tenants[t].workloads[w].throughput;
        let mut throughput = vec![0.0; self.spec.gpus.len()];
        let mut seen = vec![false; throughput.len()];
        for (e, (name, value)) in entries.iter().enumerate() {
            let field = Field::WorkloadThroughputEntry(t, w, e);
            // Mostly they come in the order of the types.
            let here = self.spec.gpus.get(e).filter(|gpu| gpu.name == *name).map(|_| e);
            let found = here.or_else(|| by_name.get(name.as_str()).copied());
            let is_second = match found {
                Some(j) => std::mem::replace(&mut seen[j], true),
                None => entries[..e].iter().any(|(other, _)| other == name),
            };
            if is_second {
                let message = format!("{who} has two throughputs for `{name}`");
                self.wrong(field.clone(), message, "keep one of them");
            }
            if !(*value >= 0.0 && *value <= MAX_NUMBER) {
                let message = format!("{who} has throughput {value} on `{name}`");
                let hint =
                    "a throughput is a finite number above 0; 0 or no entry: it cannot run there";
                self.wrong(field.clone(), message, hint);
            }
            match found {
                Some(j) => throughput[j] = unsigned(*value),
                None => {
                    let message = format!(
                        "{who} has a throughput for `{name}`, which is not a gpu type here"
                    );
                    let hint = format!("{}or add that gpu type", known_types(name, by_name));
                    self.wrong(field, message, &hint);
                }
            }
        }
        if !throughput.iter().any(|&thr| thr > 0.0) {
            let is_zero = entries.iter().all(|(_, value)| *value == 0.0);
            let message = match (entries.is_empty(), is_zero) {
                (true, _) => format!("{who} has no throughputs"),
                (false, true) => format!("{who} can run on no gpu type: every throughput is 0"),
                (false, false) => format!("{who} has no throughput above 0 on any gpu type here"),
            };
            let hint = "give it a throughput above 0 on at least one gpu type";
            self.wrong(Field::WorkloadThroughput(t, w), message, hint);
        }
        if let Err(UnusableProfile::Range { low, high, .. }) = check_profile(&throughput) {
            let message = format!("{who} has throughputs from {low:e} to {high:e}");
            let hint =
                "the throughputs of a workload differ by a factor of 1e9 at most; check the units";
            self.wrong(Field::WorkloadThroughput(t, w), message, hint);
        }
        throughput
    }

    /// The throughputs of a single worker: on gpu types of this problem, and in the unit of the gang's.
    fn single(
        &mut self,
        t: usize,
        w: usize,
        who: &str,
        by_name: &BTreeMap<&str, usize>,
        throughput: &[f64],
    ) -> Vec<f64> {
        let entries = &self.spec.tenants[t].workloads[w].single;
        if entries.is_empty() {
            return Vec::new();
        }
        let field = Field::WorkloadSingle(t, w);
        let mut single = vec![0.0; self.spec.gpus.len()];
        for (name, value) in entries {
            let Some(&j) = by_name.get(name.as_str()) else {
                let message =
                    format!("`single` of {who} names `{name}`, which is not a gpu type here");
                let hint = format!("{}or add that gpu type", known_types(name, by_name));
                self.wrong(field, message, &hint);
                return Vec::new();
            };
            if !(*value >= 0.0 && *value <= MAX_NUMBER) {
                let message = format!("`single` of {who} is {value} on `{name}`");
                self.wrong(field, message, "a throughput is a finite number from 0 on");
                return Vec::new();
            }
            single[j] = unsigned(*value);
        }
        let both: Vec<f64> = single.iter().chain(throughput).copied().collect();
        if single.iter().all(|&thr| thr == 0.0) {
            let message = format!("`single` of {who} is 0 on every gpu type");
            self.wrong(
                field,
                message,
                "give the throughput of one worker on at least one gpu type",
            );
        } else if matches!(check_profile(&both), Err(UnusableProfile::Range { .. })) {
            let message = format!("`single` and `throughput` of {who} differ by more than 1e9");
            self.wrong(field, message, "give both in the same unit, per GPU");
        }
        single
    }

    fn check_name(&mut self, field: Field, what: &str, name: &str, before: Option<usize>) {
        if name.trim().is_empty() {
            self.wrong(field.clone(), format!("a {what} has an empty name"), "give it a name");
        }
        if before.is_some() {
            let message = format!("{what} `{name}` occurs twice");
            self.wrong(field, message, "rename one of them, or merge the two");
        }
    }

    fn check_weight(&mut self, field: Field, who: &str, weight: f64) {
        if !(MIN_WEIGHT..=MAX_NUMBER).contains(&weight) {
            let message = format!("{who} has weight {weight}");
            self.wrong(field, message, "a weight is a finite number above 0 (leave it out for 1)");
        }
    }

    fn check_demand(&mut self, field: Field, who: &str, demand: Option<f64>) {
        if let Some(demand) = demand
            && !(0.0..=MAX_NUMBER).contains(&demand)
        {
            let message = format!("{who} has demand {demand}");
            let hint = "a demand is a finite number of GPUs, 0 or more; leave it out for no limit";
            self.wrong(field, message, hint);
        }
    }
}

/// Parts that add up to the tenant's weight, but for rounding, are taken as they are: a problem that was written down has
/// the very same numbers when it is read.
const SAME_WEIGHT: f64 = 1e-13;
/// Sums of guarantees may be above a count by rounding.
const SAME_COUNT: f64 = 1e-12;
/// The least weight that still leaves its reciprocal finite in every product.
const MIN_WEIGHT: f64 = 1e-100;

/// The same number, with 0 for `-0.0`, which has other bits and is written otherwise.
fn unsigned(x: f64) -> f64 {
    x + 0.0
}

fn known_types(name: &str, by_name: &BTreeMap<&str, usize>) -> String {
    let nearest = by_name.keys().min_by_key(|known| edit_distance(name, known));
    match nearest {
        Some(near) if edit_distance(name, near) <= 2.max(name.len() / 3) => {
            format!("did you mean `{near}`? ")
        }
        _ => {
            let mut names: Vec<&str> = by_name.keys().copied().take(8).collect();
            if by_name.len() > names.len() {
                names.push("...");
            }
            format!("known gpu types: {}; ", names.join(", "))
        }
    }
}

/// How many letters two names differ by, whatever their case; long ones are compared at their beginning.
pub(crate) fn edit_distance(a: &str, b: &str) -> usize {
    let start = |name: &str| name.to_lowercase().chars().take(100).collect::<String>();
    strsim::osa_distance(&start(a), &start(b))
}

#[cfg(test)]
mod tests {
    use crate::ProblemSpec;

    #[test]
    fn minus_zero_is_zero() {
        let with = |zero: f64| {
            let mut spec = ProblemSpec::from_matrix(&[1.0, zero], &[&[1.0, zero], &[2.0, 3.0]]);
            let types: Vec<String> = spec.gpus.iter().map(|gpu| gpu.name.clone()).collect();
            let tenant = &mut spec.tenants[1];
            (tenant.demand, tenant.workloads[0].demand) = (Some(zero), Some(zero));
            tenant.guarantee = vec![(types[1].clone(), zero)];
            tenant.limit = vec![(types[0].clone(), zero)];
            tenant.workloads[0].single = vec![(types[0].clone(), 1.0), (types[1].clone(), zero)];
            format!("{:?}", spec.validate().expect("zeros are allowed there"))
        };
        assert_eq!(with(-0.0), with(0.0));
    }

    #[test]
    fn a_gpu_type_that_occurs_twice_is_reported() {
        let mut spec = ProblemSpec::from_matrix(&[1.0, 1.0, 1.0], &[&[1.0, 2.0, 3.0]]);
        spec.gpus[1].name = "g1".into();
        spec.tenants[0].workloads[0].throughput.remove(1);
        let errors = spec.validate().expect_err("two types of one name").0;
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].message.contains("occurs twice"), "{errors:?}");
    }
}
