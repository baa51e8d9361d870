//! The exact answer of each mechanism that is a linear program, on small problems.

use crate::divide::Division;
use crate::instance::{Instance, Matrix};
use crate::program::{Program, Q, Stage, Terms};
use num_traits::{One, Zero};

/// The same throughput per weight for all; where some can still be raised, they are, together.
pub fn noncooperative(instance: &Instance) -> Matrix {
    let goals = (0..instance.rows()).map(|l| (utility(instance, l), instance.weight[l].clone()));
    solve(instance, shared(instance), &[Stage::Leximin(goals.collect())])
}

/// The greatest least ratio of throughput to equal split, and on from there.
pub fn gavel(instance: &Instance) -> Matrix {
    solve(instance, shared(instance), &[evenly(instance)])
}

/// The most total throughput without envy between rows, then as even as possible.
pub fn cooperative(instance: &Instance) -> Matrix {
    solve(instance, envy_free(instance), &[most(instance), evenly(instance)])
}

/// The most total throughput without envy between rows, then the most for one row: as good as
/// [`cooperative`] in all but the last word.
#[cfg(test)]
pub(crate) fn cooperative_in_favour_of(instance: &Instance, row: usize) -> Matrix {
    let favour = Stage::Maximise(utility(instance, row));
    solve(instance, envy_free(instance), &[most(instance), favour])
}

/// Capacity, and no envy between rows.
fn envy_free(instance: &Instance) -> Program {
    let mut program = shared(instance);
    for l in 0..instance.rows() {
        for i in (0..instance.rows()).filter(|&i| i != l) {
            // w_l . x_i / pi_i - w_l . x_l / pi_l <= 0
            let part = |row: usize, scale: Q| {
                let columns = (0..instance.types()).map(move |j| (row, j, scale.clone()));
                columns.map(|(row, j, s)| (column(instance, row, j), &instance.speedup[l][j] * s))
            };
            let other = part(i, instance.weight[i].recip());
            let own = part(l, -instance.weight[l].recip());
            program.at_most(other.chain(own).collect(), Q::zero());
        }
    }
    program
}

/// The same where rows have demands. Nobody envies what it could not use, but that is no linear
/// constraint; in its place a row `l` with a demand `D` and a threshold `a` asks for
/// `w_l.x_l >= a D + sum_j max(w_lj - a, 0) z_j`, where `z` is anybody else's bundle scaled to its weight,
/// which implies it. (Rows that are alike get the same by weight, and do not compare.) A type that the
/// plain division uses up is used up, and all keep what they can use of their equal split.
pub fn cooperative_with_demand(instance: &Instance, division: &Division) -> Matrix {
    let mut program = shared(instance);
    let (met, stage) = demand_floors(&mut program, instance);
    for j in (0..instance.types()).filter(|&j| division.used_up[j]) {
        // By those who can use it: a GPU that somebody cannot use is idle.
        let able = (0..instance.rows()).filter(|&l| !instance.speedup[l][j].is_zero());
        let used = able.map(|l| (column(instance, l, j), -Q::one()));
        program.at_most(used.chain([(met, instance.count[j].clone())]).collect(), Q::zero());
    }
    for l in (0..instance.rows()).filter(|&l| !instance.is_shut(l)) {
        let threshold = &division.threshold[l];
        let base = instance.cap(l).map_or_else(Q::zero, |demand| threshold * demand);
        for i in (0..instance.rows()).filter(|&i| !instance.are_alike(i, l)) {
            let ratio = &instance.weight[l] / &instance.weight[i];
            let mut asked = vec![(met, base.clone())];
            asked.extend((0..instance.types()).map(|j| {
                let above = (&instance.speedup[l][j] - threshold).max(Q::zero());
                (column(instance, i, j), above * &ratio)
            }));
            asked.extend(utility(instance, l).into_iter().map(|(c, w)| (c, -w)));
            program.at_most(asked, Q::zero());
        }
    }
    solve(instance, program, &[stage, most(instance), evenly(instance)])
}

/// The most total throughput with nobody below its (usable) equal split, then as even as possible.
pub fn incentive(instance: &Instance) -> Matrix {
    let mut program = shared(instance);
    let (_, met) = demand_floors(&mut program, instance);
    solve(instance, program, &[met, most(instance), evenly(instance)])
}

/// The most total throughput, then as even as possible.
pub fn efficiency(instance: &Instance) -> Matrix {
    solve(instance, shared(instance), &[most(instance), evenly(instance)])
}

/// Of all shares that leave every row at least at `levels`, one with the most total throughput: if
/// that is more than the levels add up to, the levels are not Pareto efficient. `None` if no shares
/// reach the levels.
pub fn best_above(instance: &Instance, levels: &[Q]) -> Option<Matrix> {
    let mut program = shared(instance);
    let (_, met) = demand_levels(&mut program, instance, levels.to_vec());
    let shares = solve(instance, program, &[met, most(instance)]);
    let reached = instance.throughputs(&shares).iter().zip(levels).all(|(u, level)| u >= level);
    reached.then_some(shares)
}

/// Capacity and demand, with a column per row and type.
fn shared(instance: &Instance) -> Program {
    let mut program = Program::default();
    program.add_columns(instance.rows() * instance.types());
    for j in 0..instance.types() {
        let all = (0..instance.rows()).map(|l| (column(instance, l, j), Q::one()));
        program.at_most(all.collect(), instance.count[j].clone());
    }
    for (l, demand) in instance.demand.iter().enumerate() {
        if let Some(demand) = demand {
            let own = (0..instance.types()).map(|j| (column(instance, l, j), Q::one()));
            program.at_most(own.collect(), demand.clone());
        }
    }
    program
}

/// Demands the usable equal split of everybody, see [`demand_levels`].
fn demand_floors(program: &mut Program, instance: &Instance) -> (usize, Stage) {
    let floors = (0..instance.rows()).map(|l| instance.usable_equal_split(l));
    demand_levels(program, instance, floors.collect())
}

/// Demands levels of throughput, row by row, through one new column: the part of the levels that is met.
/// It starts at nothing, so that the origin stays feasible; the stage returned makes it whole.
fn demand_levels(program: &mut Program, instance: &Instance, levels: Vec<Q>) -> (usize, Stage) {
    let met = program.add_columns(1);
    program.at_most(vec![(met, Q::one())], Q::one());
    for (l, level) in levels.into_iter().enumerate() {
        let short = utility(instance, l).into_iter().map(|(c, w)| (c, -w)).chain([(met, level)]);
        program.at_most(short.collect(), Q::zero());
    }
    (met, Stage::Maximise(vec![(met, Q::one())]))
}

fn most(instance: &Instance) -> Stage {
    Stage::Maximise((0..instance.rows()).flat_map(|l| utility(instance, l)).collect())
}

fn evenly(instance: &Instance) -> Stage {
    let goals = (0..instance.rows()).map(|l| (utility(instance, l), instance.equal_split(l)));
    Stage::Leximin(goals.collect())
}

fn utility(instance: &Instance, row: usize) -> Terms {
    let types = 0..instance.types();
    types.map(|j| (column(instance, row, j), instance.speedup[row][j].clone())).collect()
}

fn column(instance: &Instance, row: usize, gpu: usize) -> usize {
    row * instance.types() + gpu
}

fn solve(instance: &Instance, program: Program, stages: &[Stage]) -> Matrix {
    let columns = program.solve(stages);
    let shares = columns.chunks(instance.types()).take(instance.rows());
    shares.map(<[Q]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use oef_core::ProblemSpec;

    fn instance(counts: &[f64], rows: &[&[f64]]) -> Instance {
        Instance::from(&ProblemSpec::from_matrix(counts, rows).validate().unwrap())
    }

    fn q(n: i64, d: i64) -> Q {
        Q::new(n.into(), d.into())
    }

    const THREE: [&[f64]; 3] = [&[1.0, 2.0], &[1.0, 3.0], &[1.0, 4.0]];

    #[test]
    fn the_paper_s_examples() {
        let three = instance(&[1.0, 1.0], &THREE);
        let total = |x: &Matrix| three.throughputs(x).iter().sum::<Q>();
        assert_eq!(total(&efficiency(&three)), q(5, 1));
        assert_eq!(three.throughputs(&cooperative(&three)), [q(1, 1), q(3, 2), q(2, 1)]);
        let ratio = |x: &Matrix, l| three.value(l, &x[l]) / three.equal_split(l);
        let capped = Instance { demand: vec![Some(q(1, 1)); 3], ..three.clone() };
        for l in 0..3 {
            assert_eq!(ratio(&gavel(&three), l), q(54, 49));
            assert_eq!(ratio(&gavel(&capped), l), q(12, 11));
        }
    }

    #[test]
    fn two_tenants_of_the_paper() {
        let two = instance(&[1.0, 1.0], &[&[1.0, 2.0], &[1.0, 5.0]]);
        assert_eq!(two.throughputs(&cooperative(&two)), [q(3, 2), q(15, 4)]);
        assert_eq!(two.throughputs(&noncooperative(&two)), [q(15, 7), q(15, 7)]);
    }

    #[test]
    fn weights_and_workloads_of_the_paper() {
        let mut weighted = instance(&[1.0, 1.0], &[&[1.0, 2.0], &[1.0, 5.0]]);
        weighted.weight[1] = q(2, 1);
        let t = weighted.throughputs(&noncooperative(&weighted));
        assert_eq!(t[1], &t[0] * q(2, 1));
    }

    #[test]
    fn a_workload_that_cannot_use_the_fast_type_does_not_idle_it() {
        let zero = instance(&[1.0, 1.0], &[&[1.0, 0.0], &[1.0, 5.0]]);
        assert_eq!(zero.throughputs(&noncooperative(&zero)), [q(1, 1), q(5, 1)]);
    }

    #[test]
    fn incentive_meets_every_floor() {
        let three = instance(&[1.0, 1.0], &THREE);
        let x = incentive(&three);
        for l in 0..3 {
            assert!(three.value(l, &x[l]) >= three.equal_split(l));
        }
        assert!(best_above(&three, &three.throughputs(&x)).is_some());
    }
}
