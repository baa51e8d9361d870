//! The plain full programs for an interior-point solver: the independent answer on middle problems,
//! where fractions grow too long.
//!
//! The variables are parts of a type's capacity and the throughputs are measured in equal splits, so
//! that all numbers of a problem are of like size. `None` always means that the solver did not reach
//! its tolerance: it then has no opinion.

use crate::divide;
use crate::instance::Instance;
use crate::program::Q;
use clarabel::algebra::CscMatrix;
use clarabel::solver::SupportedConeT::{ExponentialConeT, NonnegativeConeT};
use clarabel::solver::{DefaultSettingsBuilder, DefaultSolver, IPSolver, SolverStatus};
use num_traits::ToPrimitive;
use oef_core::problem::GpuType;
use oef_core::{Problem, Shares, WorkloadId};

/// Residuals and gap that the solver aims at.
const TOLERANCE: f64 = 1e-10;
/// What will do where it cannot get there.
const GOOD_ENOUGH: f64 = 1e-8;

/// The shares without envy between workloads that have the greatest total throughput: a program to ask
/// several questions of. A *ratio* is a throughput over its equal split.
pub struct EnvyFree<'a> {
    model: Model<'a>,
    total: f64,
}

impl<'a> EnvyFree<'a> {
    /// `None` if the greatest total could not be found.
    pub fn new(problem: &'a Problem) -> Option<Self> {
        let mut model = Model::new(problem, None);
        let instance = Instance::from(problem);
        let division = divide::with_demand(problem);
        let types = problem.types();
        let threshold = divide::to_numbers(&division.threshold);
        for l in model.able() {
            let (speedup, weight) =
                (&problem.workloads()[l].speedup, problem.workloads()[l].weight);
            let above = |j: usize| (speedup[j] - threshold[l]).max(0.0);
            let demand = instance.cap(l).and_then(Q::to_f64).unwrap_or(0.0);
            for i in (0..model.rows()).filter(|&i| !instance.are_alike(i, l)) {
                // By weight: what l would have of i's share, were it as large as i's is for i's weight.
                let ratio = weight / problem.workloads()[i].weight / model.split[l];
                let cells = (0..types.len()).filter(|&j| above(j) * types[j].capacity > 0.0);
                let other =
                    cells.map(|j| (i * types.len() + j, above(j) * types[j].capacity * ratio));
                let own = model.worth(l, l, -1.0);
                let terms = other.chain(own).collect();
                model.at_most(terms, -threshold[l] * demand / model.split[l]);
            }
        }
        if instance.has_demand() {
            for l in model.able() {
                let floor = instance.usable_equal_split(l).to_f64()?;
                if floor > 0.0 {
                    let own = model.worth(l, l, -model.split[l] / floor);
                    model.at_most(own, -1.0);
                }
            }
            for j in (0..types.len()).filter(|&j| division.used_up[j]) {
                let able = (0..model.rows()).filter(|&l| problem.workloads()[l].speedup[j] > 0.0);
                let used = able.map(|l| (l * types.len() + j, -1.0)).collect();
                model.at_most(used, -1.0);
            }
        }
        let total = model.most_total()?;
        Some(EnvyFree { model, total })
    }

    /// The greatest total throughput.
    pub fn total(&self) -> f64 {
        self.total
    }

    /// The greatest total is a little more than was found: shares that reach it are at hand. What depends on
    /// the total may do so ten thousand times as strongly, so that the last digits count.
    pub fn raise_total(&mut self, total: f64) {
        self.total = self.total.max(total);
    }

    /// By how much shares break what is asked of them, in equal splits or parts of a type.
    pub fn excess(&self, shares: &Shares) -> f64 {
        let problem = self.model.problem;
        let cells = (0..self.model.rows()).flat_map(|l| shares.of_workload(WorkloadId(l)).to_vec());
        let types = problem.types().iter().cycle();
        let part =
            |(gpus, t): (f64, &GpuType)| if t.capacity > 0.0 { gpus / t.capacity } else { gpus };
        let x: Vec<f64> = cells.zip(types).map(part).collect();
        let mut excess: Vec<f64> = self.model.bounds.iter().map(|bound| -bound).collect();
        for &(row, column, value) in &self.model.entries {
            excess[row] += value * x[column];
        }
        // Not `f64::max`, which drops a NaN.
        excess.into_iter().fold(0.0, |worst, excess| if excess <= worst { worst } else { excess })
    }

    /// The throughput of a row that counts as 1.
    pub fn split(&self, row: usize) -> f64 {
        self.model.split[row]
    }

    /// The greatest sum of ratios that count so much each, over all shares with the greatest total that
    /// leave the rows with a floor at that ratio or above.
    ///
    /// This solver works inside, and exactly the greatest total leaves no room there: total and floors are
    /// eased by a part. So the sum is never less than the true one, and may be more where shares of
    /// nearly the greatest total differ much.
    pub fn most(&self, rates: &[f64], floors: &[Option<f64>], ease: f64) -> Option<f64> {
        let mut model = self.model.clone();
        let able = model.able();
        let eased = model.bounds.len();
        let own = |l: usize, factor: f64| self.model.worth(l, l, factor).into_iter();
        let total = able.iter().flat_map(|&l| own(l, -self.model.split[l] / self.total));
        model.at_most(total.collect(), ease - 1.0);
        for &l in &able {
            if let Some(floor) = floors[l].filter(|floor| *floor > 0.0) {
                model.at_most(own(l, -1.0 / floor).collect(), ease - 1.0);
            }
        }
        let mut objective = vec![0.0; model.columns];
        for (c, v) in able.iter().flat_map(|&l| own(l, -rates[l])) {
            objective[c] += v;
        }
        let answer = model.answer(&objective, model.bounds.len())?;
        if answer.off > ease {
            return None;
        }
        let most = -answer.x.iter().zip(&objective).map(|(x, c)| x * c).sum::<f64>();
        // The sum is concave in what was eased, and the duals are its slopes here.
        let gained: f64 = answer.duals[eased..].iter().map(|dual| dual * ease).sum();
        Some(most - gained)
    }
}

/// The greatest total throughput with everybody at its (usable) equal split or above.
pub fn incentive_total(problem: &Problem) -> Option<f64> {
    let instance = Instance::from(problem);
    let floors: Vec<Q> = (0..instance.rows()).map(|l| instance.usable_equal_split(l)).collect();
    total_above(problem, &divide::to_numbers(&floors))
}

/// The greatest total throughput with every workload at its floor or above.
pub fn total_above(problem: &Problem, floors: &[f64]) -> Option<f64> {
    let mut model = Model::new(problem, None);
    for l in model.able() {
        if floors[l] > 0.0 {
            let own = model.worth(l, l, -model.split[l] / floors[l]);
            model.at_most(own, -1.0);
        }
    }
    model.most_total()
}

/// The greatest total throughput.
pub fn efficiency_total(problem: &Problem) -> Option<f64> {
    Model::new(problem, None).most_total()
}

/// The greatest least throughput per weight.
pub fn noncooperative_level(problem: &Problem) -> Option<f64> {
    let model = Model::new(problem, None);
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
    let model = Model::new(problem, cap);
    let needs = vec![1.0; model.rows()];
    model.most_level(needs)
}

/// The GPUs of each workload with the greatest weighted product of throughputs.
pub fn nash(problem: &Problem) -> Option<Vec<Vec<f64>>> {
    let mut model = Model::new(problem, None);
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
    let x = model.answer(&objective, linear)?.x;
    let types = problem.types();
    let gpus = |row: &[f64]| row.iter().zip(types).map(|(x, t)| x * t.capacity).collect();
    Some(x[..first].chunks(types.len()).map(gpus).collect())
}

/// A solution, with one dual for each row.
struct Answer {
    x: Vec<f64>,
    duals: Vec<f64>,
    /// The largest of residuals and gap.
    off: f64,
}

/// Rows `terms <= bound` over columns `row * types + type`, then others.
#[derive(Clone)]
struct Model<'a> {
    problem: &'a Problem,
    columns: usize,
    entries: Vec<(usize, usize, f64)>,
    bounds: Vec<f64>,
    split: Vec<f64>,
    shut: Vec<bool>,
}

impl<'a> Model<'a> {
    fn new(problem: &'a Problem, cap: Option<f64>) -> Self {
        let instance = Instance::within(problem, cap);
        let total: f64 = problem.workloads().iter().map(|w| w.weight).sum();
        let split = problem.workloads().iter().map(|w| {
            let all = w.speedup.iter().zip(problem.types()).map(|(s, t)| s * t.capacity);
            all.sum::<f64>() * w.weight / total
        });
        let split: Vec<f64> = split.collect();
        let (rows, types) = (split.len(), problem.types().len());
        let shut = (0..rows).map(|l| instance.is_shut(l)).collect();
        let mut model =
            Model { problem, columns: rows * types, entries: vec![], bounds: vec![], split, shut };
        for c in 0..model.columns {
            model.at_most(vec![(c, -1.0)], 0.0);
        }
        for j in 0..types {
            model.at_most((0..rows).map(|l| (l * types + j, 1.0)).collect(), 1.0);
        }
        for (l, demand) in instance.demand.iter().enumerate() {
            if let Some(demand) = demand.as_ref().and_then(Q::to_f64) {
                let gpus = problem.types().iter().enumerate();
                let gpus = gpus.map(|(j, t)| (l * types + j, t.capacity)).collect();
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
        (0..self.rows()).filter(|&l| self.split[l] > 0.0 && !self.shut[l]).collect()
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

    fn at_most(&mut self, terms: Vec<(usize, f64)>, bound: f64) {
        let row = self.bounds.len();
        self.entries.extend(terms.into_iter().map(|(c, v)| (row, c, v)));
        self.bounds.push(bound);
    }

    /// The greatest sum of throughputs.
    fn most_total(&self) -> Option<f64> {
        let scale: f64 = self.able().iter().map(|&l| self.split[l]).sum();
        if scale <= 0.0 {
            return Some(0.0);
        }
        let mut objective = vec![0.0; self.columns];
        for l in self.able() {
            for (c, v) in self.worth(l, l, self.split[l] / scale) {
                objective[c] -= v;
            }
        }
        let x = self.answer(&objective, self.bounds.len())?.x;
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
        Some(model.answer(&objective, model.bounds.len())?.x[level])
    }

    /// Minimises; the rows from `linear` on are exponential cones of three rows each.
    fn answer(&self, objective: &[f64], linear: usize) -> Option<Answer> {
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
            DefaultSolver::new(&zero, objective, &matrix, &self.bounds, &cones, settings).ok()?;
        solver.solve();
        let solution = &solver.solution;
        let gap =
            (solution.obj_val - solution.obj_val_dual).abs() / solution.obj_val.abs().max(1.0);
        let off = solution.r_prim.max(solution.r_dual).max(gap);
        let is_solved = match solution.status {
            SolverStatus::Solved => true,
            SolverStatus::AlmostSolved => off <= GOOD_ENOUGH,
            _ => false,
        };
        is_solved.then(|| Answer { x: solution.x.clone(), duals: solution.z.clone(), off })
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
            let off = (found - exact).abs();
            assert!(off <= 1e-7 * exact.abs(), "{what}: {found} instead of {exact}");
        }
        found.is_some()
    }

    #[test]
    fn the_two_oracles_agree() {
        let (mut asked, mut answered) = (0, 0);
        for family in Family::ALL {
            for seed in (families::first_seed()..).take(25) {
                let spec = families::problem(family, Size::SMALL, seed);
                let problem = spec.validate().unwrap();
                let instance = Instance::from(&problem);
                let sum = |x: &Matrix| instance.throughputs(x).iter().sum::<Q>().to_f64().unwrap();
                let what = format!("{family:?} {seed}");
                let mut ask = |found, exact: f64| {
                    asked += 1;
                    answered += usize::from(near(found, exact, &what));
                };
                ask(efficiency_total(&problem), sum(&exact::efficiency(&instance)));
                ask(incentive_total(&problem), sum(&exact::incentive(&instance)));
                let cooperative = match instance.has_demand() {
                    true => {
                        exact::cooperative_with_demand(&instance, &divide::with_demand(&problem))
                    }
                    false => exact::cooperative(&instance),
                };
                let total = EnvyFree::new(&problem).map(|program| program.total());
                ask(total, sum(&cooperative));
            }
        }
        assert!(answered * 10 >= asked * 9, "only {answered} of {asked} were answered");
    }
}
