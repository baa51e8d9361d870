//! `max-min` by its definition: every type divided by weight among the workloads that can use it.

use crate::instance::{Instance, Matrix};
use crate::program::Q;
use num_traits::{ToPrimitive, Zero};
use oef_core::Problem;

/// The shares where nobody has a demand.
pub fn max_min(instance: &Instance) -> Matrix {
    let mut shares = vec![vec![Q::zero(); instance.types()]; instance.rows()];
    for j in 0..instance.types() {
        let able: Vec<usize> =
            (0..instance.rows()).filter(|&l| !instance.speedup[l][j].is_zero()).collect();
        let weight: Q = able.iter().map(|&l| &instance.weight[l]).sum();
        for l in able {
            shares[l][j] = &instance.count[j] * &instance.weight[l] / &weight;
        }
    }
    shares
}

/// The plain division where rows have demands: `max-min`, and what `cooperative` takes from it.
#[derive(Clone, Debug)]
pub struct Division {
    /// What every row holds of each type.
    pub held: Vec<Vec<f64>>,
    /// The speed of the slowest GPU that a row takes if it takes all that it can use; else 0.
    pub threshold: Vec<Q>,
    /// Whether a type that somebody can use is used up.
    pub used_up: Vec<bool>,
}

/// Rounds of raising every level once. Levels converge geometrically.
const MAX_ROUNDS: usize = 100_000;
/// What is less than this part of a whole is rounding.
const DUST: f64 = 1e-9;

/// Every type has a level, GPUs on offer per weight to all who can use it, and everybody takes of all
/// offers the fastest that it can use (of equally fast ones in proportion to the counts, as far as they are offered). The
/// levels are the least at which every type is used up, or left by everybody who can use it.
///
/// A higher level of one type leaves everybody no more room on the others, whose levels can only have
/// to rise for it: so raising one after the other, from nothing, ends at the least.
pub fn with_demand(problem: &Problem) -> Division {
    let instance = Instance::from(problem);
    let (n, k) = (instance.rows(), instance.types());
    let weight: Vec<f64> = to_numbers(&instance.weight);
    let count: Vec<f64> = to_numbers(&instance.count);
    let demand = |l: usize| match instance.cap(l) {
        Some(demand) => demand.to_f64().expect("a fraction is near some number"),
        None => f64::INFINITY,
    };
    let demand: Vec<f64> = (0..n).map(demand).collect();
    let wishes: Vec<Vec<Vec<usize>>> = (0..n).map(|l| fastest_first(&instance, l)).collect();
    let take = |level: &[f64], l: usize| {
        let (mut room, mut held) = (demand[l], vec![0.0; k]);
        for group in &wishes[l] {
            // Those offered too little for their part first: the others then have more.
            let mut order = group.clone();
            order.sort_by(|&a, &b| (level[a] / count[a]).total_cmp(&(level[b] / count[b])));
            for (at, &j) in order.iter().enumerate() {
                let part = count[j] / order[at..].iter().map(|&i| count[i]).sum::<f64>();
                held[j] = (room * part).min(level[j] * weight[l]);
                room = (room - held[j]).max(0.0);
            }
        }
        held
    };
    let can_use = |l: usize, j: usize| wishes[l].iter().flatten().any(|&i| i == j);
    let mut level = vec![0.0; k];
    for _ in 0..MAX_ROUNDS {
        let before = level.clone();
        for j in 0..k {
            // What a row would take of the type however much it is offered.
            let room = |l: usize| {
                let mut above: Vec<f64> = level.clone();
                above[j] = f64::INFINITY;
                take(&above, l)[j]
            };
            let able = (0..n).filter(|&l| can_use(l, j));
            let takers: Vec<(f64, f64)> = able.map(|l| (weight[l], room(l))).collect();
            level[j] = fill(count[j], &takers).max(level[j]);
        }
        // A level that has become infinite has moved.
        let is_still = |(now, before): (&f64, &f64)| {
            now == before || (now.is_finite() && now - before <= 1e-15 * now)
        };
        if level.iter().zip(&before).all(is_still) {
            break;
        }
    }
    let held: Vec<Vec<f64>> = (0..n).map(|l| take(&level, l)).collect();
    let threshold = |l: usize| {
        let is_full = held[l].iter().sum::<f64>() >= demand[l] * (1.0 - DUST);
        let taken = (0..k).filter(|&j| held[l][j] > DUST * demand[l]);
        let slowest = taken.map(|j| instance.speedup[l][j].clone()).min();
        slowest.filter(|_| is_full).unwrap_or_else(Q::zero)
    };
    let used_up = |j: usize| {
        let used: f64 = held.iter().map(|held| held[j]).sum();
        (0..n).any(|l| can_use(l, j)) && used >= count[j] * (1.0 - DUST)
    };
    Division {
        threshold: (0..n).map(threshold).collect(),
        used_up: (0..k).map(used_up).collect(),
        held,
    }
}

/// The types that a row can use, the fastest first, and those that are equally fast together.
fn fastest_first(instance: &Instance, row: usize) -> Vec<Vec<usize>> {
    let speed = |j: usize| &instance.speedup[row][j];
    let runs = |j: &usize| !speed(*j).is_zero() && !instance.count[*j].is_zero();
    let mut types: Vec<usize> = (0..instance.types()).filter(runs).collect();
    types.sort_by(|&a, &b| speed(b).cmp(speed(a)));
    types.chunk_by(|&a, &b| speed(a) == speed(b)).map(<[usize]>::to_vec).collect()
}

/// The level at which takers (weight, room) take so many GPUs; infinite if they leave some.
fn fill(count: f64, takers: &[(f64, f64)]) -> f64 {
    let mut ends: Vec<(f64, f64)> = takers.iter().map(|(w, room)| (room / w, *w)).collect();
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut growing: f64 = ends.iter().map(|(_, weight)| weight).sum();
    let (mut level, mut left) = (0.0, count);
    for (end, weight) in ends {
        let more = (end - level) * growing;
        if more >= left {
            return level + left / growing;
        }
        (level, left) = (end, left - more);
        growing -= weight;
    }
    f64::INFINITY
}

/// The same in numbers, for comparison.
pub fn to_numbers(throughputs: &[Q]) -> Vec<f64> {
    throughputs.iter().map(|q| q.to_f64().expect("a fraction is near some number")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use oef_core::ProblemSpec;

    fn held(demands: &[Option<f64>], counts: &[f64], rows: &[&[f64]]) -> Vec<Vec<f64>> {
        let mut spec = ProblemSpec::from_matrix(counts, rows);
        for (tenant, demand) in spec.tenants.iter_mut().zip(demands) {
            tenant.demand = *demand;
        }
        with_demand(&spec.validate().unwrap()).held
    }

    #[test]
    fn divisions_by_hand() {
        let rows: [&[f64]; 2] = [&[1.0, 2.0], &[1.0, 2.0]];
        assert_eq!(held(&[Some(1.0), None], &[2.0, 2.0], &rows), [[0.0, 1.0], [2.0, 1.0]]);
        // Both have what they need of an equal split: the least levels, not those after an exchange.
        let crossed: [&[f64]; 2] = [&[1.0, 2.0], &[2.0, 1.0]];
        assert_eq!(held(&[Some(1.0); 2], &[1.0, 1.0], &crossed), [[0.5, 0.5], [0.5, 0.5]]);
        // Equally fast ones in proportion to the counts; and where too little is offered of one, more of the other.
        let even: [&[f64]; 2] = [&[2.0, 2.0], &[0.0, 1.0]];
        assert_eq!(held(&[Some(1.0), None], &[3.0, 1.0], &even), [[0.75, 0.25], [0.0, 0.75]]);
        assert_eq!(held(&[Some(2.0), None], &[3.0, 1.0], &even), [[1.5, 0.5], [0.0, 0.5]]);
        assert_eq!(held(&[Some(4.0), None], &[4.0, 1.0], &even), [[3.5, 0.5], [0.0, 0.5]]);
        // Two levels become infinite in one round in which no other moves; what that leaves is found in the next.
        let wants = [Some(5.0), Some(1.0), Some(5.0)];
        let rows4: [&[f64]; 3] =
            [&[1.0, 1.0, 0.75, 1.0], &[1.0, 2.0, 1.0, 1.0], &[1.0, 2.0, 3.0, 5.0]];
        let fast = held(&wants, &[8.0, 1.0, 4.0, 3.0], &rows4)[1][1];
        assert!((fast - 7.0 / 12.0).abs() < 1e-12, "{fast}");
        // Nobody needs the slow type.
        assert_eq!(held(&[Some(0.5); 2], &[2.0, 2.0], &rows), [[0.0, 0.5], [0.0, 0.5]]);
    }
}
