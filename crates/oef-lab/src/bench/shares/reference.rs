//! The plain way to the cooperative optimum: the whole program, every envy constraint, given to a
//! general solver. A yardstick for time and for the total, on another path than the core's.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettingsBuilder, DefaultSolver, IPSolver as _, NonnegativeConeT, SolverStatus,
};
use oef_core::Problem;
use std::time::Instant;

/// Beyond this many tenants the whole program takes longer than anybody wants to wait.
pub const TENANTS_MAX: usize = 100;

/// Time and total of a reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// What it is.
    pub name: &'static str,
    /// How long it took.
    pub seconds: f64,
    /// Its total throughput; `None` where it found none.
    pub total: Option<f64>,
    /// The largest relative difference of any tenant's throughput, where every tenant's is known.
    pub tenants_differ: Option<f64>,
}

/// Solves max sum w·x with w_l·x_l >= w_l·x_i for all l, i and sum x <= m, for tenants of equal
/// weight and one workload each (as the generated instances are).
pub fn full_program(problem: &Problem) -> Reference {
    let start = Instant::now();
    let rows: Vec<&[f64]> = problem.workloads().iter().map(|w| w.speedup.as_slice()).collect();
    let (n, k) = (rows.len(), problem.types().len());
    let objective: Vec<f64> = rows.iter().flat_map(|row| row.iter().map(|w| -w)).collect();
    let mut entries = Entries::default();
    for l in 0..n {
        for i in (0..n).filter(|&i| i != l) {
            let row = entries.add_row(0.0);
            for j in 0..k {
                entries.set(row, i * k + j, rows[l][j]);
                entries.set(row, l * k + j, -rows[l][j]);
            }
        }
    }
    for (j, gpu) in problem.types().iter().enumerate() {
        let row = entries.add_row(gpu.capacity);
        (0..n).for_each(|l| entries.set(row, l * k + j, 1.0));
    }
    for variable in 0..n * k {
        let row = entries.add_row(0.0);
        entries.set(row, variable, -1.0);
    }
    let total = solve(n * k, objective, entries);
    let seconds = start.elapsed().as_secs_f64();
    Reference { name: "full program", seconds, total, tenants_differ: None }
}

/// The rows of `A x <= b`, entry by entry.
#[derive(Default)]
struct Entries {
    row: Vec<usize>,
    column: Vec<usize>,
    value: Vec<f64>,
    right: Vec<f64>,
}

impl Entries {
    fn add_row(&mut self, right: f64) -> usize {
        self.right.push(right);
        self.right.len() - 1
    }

    fn set(&mut self, row: usize, column: usize, value: f64) {
        self.row.push(row);
        self.column.push(column);
        self.value.push(value);
    }
}

fn solve(variables: usize, objective: Vec<f64>, entries: Entries) -> Option<f64> {
    let rows = entries.right.len();
    let matrix =
        CscMatrix::new_from_triplets(rows, variables, entries.row, entries.column, entries.value);
    let quadratic = CscMatrix::zeros((variables, variables));
    let cones = [NonnegativeConeT(rows)];
    // The settings are constants; a wrong one would be a mistake in this file.
    let settings = DefaultSettingsBuilder::default().verbose(false).max_threads(1).build().ok()?;
    let mut solver =
        DefaultSolver::new(&quadratic, &objective, &matrix, &entries.right, &cones, settings)
            .ok()?;
    solver.solve();
    let solved =
        matches!(solver.solution.status, SolverStatus::Solved | SolverStatus::AlmostSolved);
    solved.then_some(-solver.solution.obj_val)
}

#[cfg(test)]
mod tests {
    use super::*;
    use oef_core::ProblemSpec;

    #[test]
    fn the_full_program_finds_the_papers_total() {
        let spec = ProblemSpec::from_matrix(&[1.0, 1.0], &[&[1.0, 2.0], &[1.0, 5.0]]);
        let reference = full_program(&spec.validate().unwrap());
        assert!((reference.total.unwrap() - 5.25).abs() < 1e-6, "{reference:?}");
    }
}
