//! A solver that goes on from where it was.

use crate::change::{self, Change, ChangeError};
use crate::ids::{TenantId, TypeId};
use crate::mechanism::{Mechanism, Memory, Options, Outcome, SolveError, solve_again};
use crate::problem::{InvalidProblem, Problem, ProblemSpec};
use thiserror::Error;

/// A problem under one mechanism, with what the last solve learned about it.
///
/// After an arrival, a departure or another change the next solve starts from the prices or the vertex
/// of the last one instead of from nothing. Its answer is the one that [`solve`](crate::solve) would give for the
/// changed problem. The reference type stays that of the problem the solver was made for, so that
/// figures before and after can be compared.
///
/// ```
/// use oef_core::{Change, Mechanism, Options, ProblemSpec, Solver, TenantSpec};
///
/// let spec = ProblemSpec::from_matrix(&[1.0, 1.0], &[&[1.0, 2.0], &[1.0, 5.0]]);
/// let mut solver = Solver::new(spec.validate().unwrap(), Mechanism::Noncooperative);
/// let before = solver.solve(&Options::default()).unwrap();
/// assert!((before.shares.total(solver.problem()) - 30.0 / 7.0).abs() < 1e-9);
///
/// let newcomer = TenantSpec::simple("u3", vec![("g1".into(), 1.0), ("g2".into(), 3.0)]);
/// solver.apply(&Change::AddTenant(newcomer)).unwrap();
/// let after = solver.solve(&Options::default()).unwrap();
/// assert_eq!(solver.problem().tenants().len(), 3);
/// let afresh = oef_core::solve(solver.problem(), Mechanism::Noncooperative, &Options::default());
/// assert_eq!(after.shares, afresh.unwrap().shares);
/// ```
#[derive(Debug)]
pub struct Solver {
    problem: Problem,
    mechanism: Mechanism,
    memory: Memory,
}

/// Weights and counts that are valid without a second look; others are checked with the description.
const ORDINARY: std::ops::RangeInclusive<f64> = 1e-9..=1e9;

/// Why a change was not made; the solver's problem is as it was.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ApplyError {
    /// The change names something that is not there.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// The problem would no longer be valid.
    #[error(transparent)]
    Invalid(#[from] InvalidProblem),
}

impl Clone for Solver {
    /// A copy that has room for arrivals, too.
    fn clone(&self) -> Self {
        let memory = self.memory.clone();
        Solver { memory, ..Solver::new(self.problem.clone(), self.mechanism) }
    }
}

impl Solver {
    /// A solver that has solved nothing yet.
    pub fn new(problem: Problem, mechanism: Mechanism) -> Self {
        let mut problem = problem;
        problem.reserve();
        Solver { problem, mechanism, memory: Memory::default() }
    }

    /// The problem as it is now.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The mechanism.
    pub fn mechanism(&self) -> Mechanism {
        self.mechanism
    }

    /// Computes the shares of the problem as it is now.
    pub fn solve(&mut self, options: &Options<'_>) -> Result<Outcome, SolveError> {
        solve_again(&self.problem, self.mechanism, options, &mut self.memory)
    }

    /// Takes another problem; what was learned from the last one is where the next solve starts.
    pub fn replace(&mut self, problem: Problem) {
        self.problem = problem;
    }

    /// Makes a change; on an error nothing has changed.
    pub fn apply(&mut self, change: &Change) -> Result<(), ApplyError> {
        match change {
            // Guarantees are checked against all others and the counts.
            other if self.problem.has_guarantees_or_limits() => self.rebuild(other),
            Change::AddTenant(tenant)
                if self.problem.tenant_named(&tenant.name).is_none()
                    && tenant.guarantee.is_empty()
                    && tenant.limit.is_empty() =>
            {
                Ok(self.problem.add_tenant(tenant)?)
            }
            Change::RemoveTenant { tenant } if self.problem.tenants().len() > 1 => {
                let tenant = self.tenant(change, tenant)?;
                self.memory.remove(&self.problem.tenants()[tenant.0].workloads);
                self.problem.remove_tenant(tenant);
                Ok(())
            }
            Change::SetWeight { tenant, weight } if ORDINARY.contains(weight) => {
                self.problem.set_weight(self.tenant(change, tenant)?, *weight);
                Ok(())
            }
            Change::SetCapacity { gpu, count } if ORDINARY.contains(count) => {
                self.problem.set_capacity(self.gpu(change, gpu)?, *count);
                Ok(())
            }
            // Rarer changes, and those that cannot be made, go through the description.
            other => self.rebuild(other),
        }
    }

    fn rebuild(&mut self, change: &Change) -> Result<(), ApplyError> {
        let spec = ProblemSpec::from(&self.problem);
        self.problem = change::apply(&spec, std::slice::from_ref(change))?.validate()?;
        Ok(())
    }

    fn tenant(&self, change: &Change, name: &str) -> Result<TenantId, ApplyError> {
        self.problem.tenant_named(name).ok_or_else(|| self.unknown(change))
    }

    fn gpu(&self, change: &Change, name: &str) -> Result<TypeId, ApplyError> {
        self.problem.type_named(name).ok_or_else(|| self.unknown(change))
    }

    /// The error of a change that names something unknown, with the nearest known name.
    fn unknown(&self, change: &Change) -> ApplyError {
        let spec = ProblemSpec::from(&self.problem);
        match change::apply(&spec, std::slice::from_ref(change)) {
            Err(error) => error.into(),
            Ok(_) => ChangeError::UnknownTenant { name: String::new(), nearest: None }.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TenantSpec;

    fn solver(mechanism: Mechanism) -> Solver {
        let rows: [&[f64]; 3] = [&[1.0, 2.0], &[1.0, 3.0], &[1.0, 5.0]];
        Solver::new(ProblemSpec::from_matrix(&[2.0, 1.0], &rows).validate().unwrap(), mechanism)
    }

    #[test]
    fn a_change_that_cannot_be_made_changes_nothing() {
        let weight = |tenant: &str, weight| Change::SetWeight { tenant: tenant.into(), weight };
        let count = |gpu: &str, count| Change::SetCapacity { gpu: gpu.into(), count };
        let changes = [
            weight("u9", 2.0),
            weight("u1", f64::NAN),
            weight("u1", -1.0),
            weight("u1", 1e200),
            count("g9", 1.0),
            count("g1", f64::INFINITY),
            Change::AddTenant(TenantSpec::simple("u1", vec![("g1".into(), 1.0)])),
            Change::AddTenant(TenantSpec::simple("u4", vec![("h100".into(), 1.0)])),
            Change::RemoveTenant { tenant: "u9".into() },
        ];
        let mut solver = solver(Mechanism::Nash);
        let before = solver.problem().clone();
        for change in changes {
            assert!(solver.apply(&change).is_err(), "{change:?}");
            assert_eq!(solver.problem(), &before, "{change:?}");
        }
    }

    #[test]
    fn a_copy_has_room_for_arrivals() {
        let problem = solver(Mechanism::Nash).clone().problem;
        assert!(problem.tenants.capacity() > problem.tenants.len());
        assert!(problem.workloads.capacity() > problem.workloads.len());
    }

    #[test]
    fn solving_again_gives_the_answer_of_a_fresh_solve() {
        let throughput = ["g1", "g2", "g3"].map(|gpu| (gpu.to_string(), 2.0)).to_vec();
        let changes = [
            Change::AddTenant(TenantSpec::simple("newcomer", throughput)),
            Change::SetWeight { tenant: "u2".into(), weight: 2.5 },
            Change::SetCapacity { gpu: "g2".into(), count: 3.0 },
            Change::RemoveTenant { tenant: "u1".into() },
            Change::SetDemand { tenant: "u3".into(), demand: Some(0.4) },
            Change::SetDemand { tenant: "u3".into(), demand: Some(0.39) },
        ];
        for mechanism in Mechanism::ALL {
            let mut solver = Solver::new(crowd(|_| 1.0, 3.0), mechanism);
            let mut warm = 0;
            for change in &changes {
                solver.solve(&Options::default()).unwrap();
                solver.apply(change).unwrap();
                let again = solver.solve(&Options::default()).unwrap();
                let fresh = crate::solve(solver.problem(), mechanism, &Options::default()).unwrap();
                warm += usize::from(again.solver.method.contains("the last"));
                for tenant in solver.problem().tenant_ids() {
                    let throughput = |o: &Outcome| o.shares.throughput(solver.problem(), tenant);
                    let (again, fresh) = (throughput(&again), throughput(&fresh));
                    assert!((again - fresh).abs() <= 1e-9 * fresh, "{mechanism} {change:?}");
                }
            }
            if mechanism == Mechanism::Cooperative {
                assert!(warm >= 4, "{warm} of {} started from the last answer", changes.len());
            }
        }
    }

    /// Twelve tenants whose speedups rise with the type, more for some than for others.
    fn crowd(weight: impl Fn(usize) -> f64, count: f64) -> Problem {
        let row = |l: usize| {
            let taste = 1.3 + 0.17 * l as f64;
            vec![1.0, taste, taste.powf(1.8 + 0.03 * ((7 * l) % 5) as f64)]
        };
        let rows: Vec<Vec<f64>> = (0..12).map(row).collect();
        let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
        let mut spec = ProblemSpec::from_matrix(&[count, 2.0, 1.0], &rows);
        for (l, tenant) in spec.tenants.iter_mut().enumerate() {
            tenant.weight = weight(l);
        }
        spec.validate().unwrap()
    }

    #[test]
    fn a_problem_that_replaces_another_gets_the_answer_of_a_fresh_solve() {
        let problems = [
            crowd(|_| 1.0, 3.0),
            crowd(|l| if l == 4 { 2.0 } else { 1.0 }, 3.0),
            crowd(|l| if l == 4 { 2.0 } else { 1.0 }, 2.5),
            // Nothing of the last problem is left in this one.
            ProblemSpec::from_matrix(&[1.0, 1.0], &[&[1.0, 2.0], &[1.0, 5.0]]).validate().unwrap(),
            crowd(|l| 1.0 + l as f64, 4.0),
        ];
        for mechanism in Mechanism::ALL {
            let mut solver = Solver::new(problems[0].clone(), mechanism);
            let mut methods = Vec::new();
            for problem in &problems {
                solver.replace(problem.clone());
                assert_eq!(solver.problem(), problem);
                let again = solver.solve(&Options::default()).unwrap();
                let fresh = crate::solve(problem, mechanism, &Options::default()).unwrap();
                methods.push(again.solver.method.contains("the last"));
                for tenant in problem.tenant_ids() {
                    let throughput = |o: &Outcome| o.shares.throughput(problem, tenant);
                    let (again, fresh) = (throughput(&again), throughput(&fresh));
                    assert!((again - fresh).abs() <= 1e-9 * fresh, "{mechanism}: {again}, {fresh}");
                }
            }
            if mechanism == Mechanism::Cooperative {
                assert_eq!(methods[..3], [false, true, true], "the second and third go on");
            }
        }
    }
}
