//! The plain full programs for an interior-point solver: the independent answer on middle problems,
//! where fractions grow too long.
//!
//! The variables are parts of a type's capacity and the throughputs are measured in equal splits, so
//! that all numbers of a problem are of like size. `None` always means that the solver did not reach
//! its tolerance: it then has no opinion.

use crate::instance::Instance;
use clarabel::algebra::CscMatrix;
use clarabel::solver::SupportedConeT::{ExponentialConeT, NonnegativeConeT};
use clarabel::solver::{DefaultSettingsBuilder, DefaultSolver, IPSolver, SolverStatus};
use num_traits::ToPrimitive;
use oef_core::Problem;

/// Residuals and gap that an answer must reach.
const TOLERANCE: f64 = 1e-10;

/// The greatest total throughput without envy between workloads.
pub fn cooperative_total(problem: &Problem) -> Option<f64> {
    let mut model = Model::new(problem);
    for l in model.able() {
        for i in (0..model.rows()).filter(|&i| i != l) {
            let weight = |row: usize| problem.workloads()[row].weight;
            // By weight: what l would have of i's share, were it as large as i's is for i's weight.
            let ratio = weight(l) / weight(i);
            let other = model.worth(l, i, ratio);
            let own = model.worth(l, l, -1.0);
            model.at_most(other.into_iter().chain(own).collect(), 0.0);
        }
    }
    model.most_total(&vec![1.0; problem.workloads().len()])
}

/// The greatest total throughput with everybody at its (usable) equal split or above.
pub fn incentive_total(problem: &Problem) -> Option<f64> {
    weighted_total(problem, &vec![1.0; problem.workloads().len()])
}

/// The greatest sum of throughputs at these rates, with nobody below what it can use of its equal
/// split.
pub fn weighted_total(problem: &Problem, rates: &[f64]) -> Option<f64> {
    let mut model = Model::new(problem);
    let instance = Instance::from(problem);
    for party in instance.parties() {
        let floor = instance.usable_equal_split(&party).to_f64()?;
        if floor > 0.0 {
            let own = party.iter().flat_map(|&l| model.worth(l, l, -model.split[l] / floor));
            let own = own.collect();
            model.at_most(own, -1.0);
        }
    }
    model.most_total(rates)
}

/// The greatest total throughput.
pub fn efficiency_total(problem: &Problem) -> Option<f64> {
    Model::new(problem).most_total(&vec![1.0; problem.workloads().len()])
}

/// The greatest least throughput per weight.
pub fn noncooperative_level(problem: &Problem) -> Option<f64> {
    let model = Model::new(problem);
    let weights: Vec<f64> = problem.workloads().iter().map(|w| w.weight).collect();
    let first = weights.iter().zip(&model.split).map(|(w, s)| s / w).fold(0.0, f64::max);
    let needs =
        |scale: f64| weights.iter().zip(&model.split).map(move |(w, s)| scale * w / s).collect();
    let rough = model.most_level(needs(first))? * first;
    // Over a huge range the level is tiny on the first scale; on its own it is about 1.
    if rough > 0.0 { Some(model.most_level(needs(rough))? * rough) } else { Some(rough) }
}

/// The greatest least ratio of throughput to equal split, if no tenant gets more than `cap` GPUs.
pub fn gavel_level(problem: &Problem, cap: Option<f64>) -> Option<f64> {
    let mut model = Model::new(problem);
    if let Some(cap) = cap {
        for tenant in problem.tenant_ids() {
            let gpus = model.gpus(tenant);
            model.at_most(gpus, cap);
        }
    }
    let needs = vec![1.0; model.rows()];
    model.most_level(needs)
}

/// The workloads that can get anything at all.
pub fn able(problem: &Problem) -> Vec<usize> {
    Model::new(problem).able()
}

/// The GPUs of each workload with the greatest weighted product of throughputs.
pub fn nash(problem: &Problem) -> Option<Vec<Vec<f64>>> {
    let mut model = Model::new(problem);
    let able = model.able();
    let first = model.columns;
    model.columns += able.len();
    let linear = model.bounds.len();
    let mut objective = vec![0.0; model.columns];
    for (position, &l) in able.iter().enumerate() {
        // (log, 1, value) lies in the exponential cone: exp(log) <= value.
        let log = first + position;
        objective[log] = -problem.workloads()[l].weight / problem.total_weight();
        model.at_most(vec![(log, -1.0)], 0.0);
        model.at_most(vec![], 1.0);
        let own = model.worth(l, l, -1.0);
        model.at_most(own, 0.0);
    }
    let x = model.run(objective, linear)?;
    let types = problem.types();
    let gpus = |row: &[f64]| row.iter().zip(types).map(|(x, t)| x * t.capacity).collect();
    Some(x[..first].chunks(types.len()).map(gpus).collect())
}

/// Rows `terms <= bound` over columns `row * types + type`, then others.
#[derive(Clone)]
struct Model<'a> {
    problem: &'a Problem,
    columns: usize,
    entries: Vec<(usize, usize, f64)>,
    bounds: Vec<f64>,
    split: Vec<f64>,
}

impl<'a> Model<'a> {
    fn new(problem: &'a Problem) -> Self {
        let total: f64 = problem.workloads().iter().map(|w| w.weight).sum();
        let split = problem.workloads().iter().map(|w| {
            let all = w.speedup.iter().zip(problem.types()).map(|(s, t)| s * t.capacity);
            all.sum::<f64>() * w.weight / total
        });
        let split: Vec<f64> = split.collect();
        let (rows, types) = (split.len(), problem.types().len());
        let mut model =
            Model { problem, columns: rows * types, entries: vec![], bounds: vec![], split };
        for c in 0..model.columns {
            model.at_most(vec![(c, -1.0)], 0.0);
        }
        for j in 0..types {
            model.at_most((0..rows).map(|l| (l * types + j, 1.0)).collect(), 1.0);
        }
        for tenant in problem.tenant_ids() {
            if let Some(demand) = problem.tenants()[tenant.index()].demand {
                let gpus = model.gpus(tenant);
                model.at_most(gpus, demand);
            }
        }
        model
    }

    fn rows(&self) -> usize {
        self.split.len()
    }

    /// The rows that can get anything at all.
    fn able(&self) -> Vec<usize> {
        (0..self.rows()).filter(|&l| self.split[l] > 0.0).collect()
    }

    /// What the share of row `holder` is worth to row `l`, in equal splits of `l`.
    fn worth(&self, l: usize, holder: usize, factor: f64) -> Vec<(usize, f64)> {
        let types = self.problem.types();
        let speedup = &self.problem.workloads()[l].speedup;
        let scale = |j: usize| {
            factor * speedup[j] * types[j].capacity / self.split[l].max(f64::MIN_POSITIVE)
        };
        let cells = (0..types.len()).filter(|&j| speedup[j] > 0.0 && types[j].capacity > 0.0);
        cells.map(|j| (holder * types.len() + j, scale(j))).collect()
    }

    fn gpus(&self, tenant: oef_core::TenantId) -> Vec<(usize, f64)> {
        let types = self.problem.types();
        let rows = self.problem.workload_ids_of(tenant);
        let cells = rows.flat_map(|l| types.iter().enumerate().map(move |(j, t)| (l, j, t)));
        cells.map(|(l, j, t)| (l.index() * types.len() + j, t.capacity)).collect()
    }

    fn at_most(&mut self, terms: Vec<(usize, f64)>, bound: f64) {
        let row = self.bounds.len();
        self.entries.extend(terms.into_iter().map(|(c, v)| (row, c, v)));
        self.bounds.push(bound);
    }

    /// The greatest sum of throughputs that count so much each.
    fn most_total(self, rates: &[f64]) -> Option<f64> {
        let scale: f64 = self.split.iter().zip(rates).map(|(split, rate)| split * rate).sum();
        let mut objective = vec![0.0; self.columns];
        for l in self.able() {
            for (c, v) in self.worth(l, l, self.split[l] * rates[l] / scale) {
                objective[c] -= v;
            }
        }
        let x = self.run(objective.clone(), self.bounds.len())?;
        Some(-scale * x.iter().zip(&objective).map(|(x, c)| x * c).sum::<f64>())
    }

    /// The greatest `t` with every row at `needs * t` or above.
    fn most_level(&self, needs: Vec<f64>) -> Option<f64> {
        let mut model = self.clone();
        let level = model.columns;
        model.columns += 1;
        for l in self.able() {
            let own = self.worth(l, l, -1.0);
            model.at_most(own.into_iter().chain([(level, needs[l])]).collect(), 0.0);
        }
        let mut objective = vec![0.0; model.columns];
        objective[level] = -1.0;
        Some(model.run(objective, model.bounds.len())?[level])
    }

    /// Minimises; the rows from `linear` on are exponential cones of three rows each.
    fn run(&self, objective: Vec<f64>, linear: usize) -> Option<Vec<f64>> {
        let n = objective.len();
        let (rows, columns, values) = self.entries.iter().fold(
            (vec![], vec![], vec![]),
            |(mut rows, mut columns, mut values), &(r, c, v)| {
                rows.push(r);
                columns.push(c);
                values.push(v);
                (rows, columns, values)
            },
        );
        let matrix = CscMatrix::new_from_triplets(self.bounds.len(), n, rows, columns, values);
        let mut cones = vec![NonnegativeConeT(linear)];
        cones.extend((linear..self.bounds.len()).step_by(3).map(|_| ExponentialConeT()));
        let settings = DefaultSettingsBuilder::default()
            .verbose(false)
            .tol_gap_abs(TOLERANCE)
            .tol_gap_rel(TOLERANCE)
            .tol_feas(TOLERANCE)
            .build()
            .ok()?;
        let zero = CscMatrix::zeros((n, n));
        let mut solver =
            DefaultSolver::new(&zero, &objective, &matrix, &self.bounds, &cones, settings).ok()?;
        solver.solve();
        (solver.solution.status == SolverStatus::Solved).then(|| solver.solution.x.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact;
    use crate::families::{self, Family, Size};
    use crate::instance::Matrix;

    fn near(found: Option<f64>, exact: f64, what: &str) -> bool {
        if let Some(found) = found {
            let off = (found - exact).abs() / exact.abs().max(1e-300);
            assert!(off < 1e-7, "{what}: {found} instead of {exact}");
        }
        found.is_some()
    }

    #[test]
    fn the_two_oracles_agree() {
        let (mut asked, mut answered) = (0, 0);
        for family in Family::ALL {
            for seed in 0..25 {
                let spec = families::problem(family, Size::SMALL, seed);
                let problem = spec.validate().unwrap();
                let instance = Instance::from(&problem);
                let sum =
                    |x: &Matrix| instance.throughputs(x).iter().sum::<crate::Q>().to_f64().unwrap();
                let what = format!("{family:?} {seed}");
                let mut ask = |found, exact: f64| {
                    asked += 1;
                    answered += usize::from(near(found, exact, &what));
                };
                ask(efficiency_total(&problem), sum(&exact::efficiency(&instance)));
                ask(incentive_total(&problem), sum(&exact::incentive(&instance)));
                if !instance.has_demand() {
                    ask(cooperative_total(&problem), sum(&exact::cooperative(&instance)));
                }
            }
        }
        assert!(answered * 10 >= asked * 9, "only {answered} of {asked} were answered");
    }
}
