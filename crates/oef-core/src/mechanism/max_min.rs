//! `max-min`: every gpu type divided by weight among the workloads that can use it.
//!
//! Each type has a *level*: the GPUs of it on offer per unit of weight. Without demands the level is
//! the capacity over the weight of everybody who can run there, and everybody takes what is offered.
//!
//! With demands a row takes of all that it is offered only the fastest GPUs, as many as it can use, and
//! the levels rise until nothing is idle that somebody could use. They can rise in turn: a higher level
//! of one type never makes anybody take more of another (a row that has what it needs gives up its
//! slowest GPUs for better ones), so the levels climb to the least ones at which every type is either
//! used up or wanted by nobody, and no step on the way hands out too much.

use crate::instance::Instance;

/// Rounds of raising each level once, with a leap after each. Usually a few do; where all demands just bind, it takes one for
/// each row that comes to have its demand with faster types. Stopping early leaves a little idle.
const MAX_ROUNDS: usize = 2_000;
/// Evaluations in the search for one level: enough to halve any range of doubles to nothing.
const MAX_STEPS: usize = 2_000;
/// What may stay idle of a type, relative to its capacity: more than the rounding of a sum over a million
/// workloads, and far less than anybody would miss.
const IDLE: f64 = 1e-11;
/// The rounding of what is taken of a type.
const ROUNDING: f64 = 1e-13;
/// Added to the diagonal of the equations of a leap, relative to it: where everybody has its demand, they have no solution,
/// and this one points the way.
const NUDGE: f64 = 1e-12;

/// Divides every type; GPUs per row and type.
pub(crate) fn divide(instance: &Instance) -> Vec<f64> {
    let mut levels = Levels::new(instance);
    levels.rise();
    levels.holdings()
}

struct Levels<'a> {
    instance: &'a Instance,
    level: Vec<f64>,
    /// The weight of those who take of a type whatever they are offered.
    unlimited: Vec<f64>,
    /// The level of a type above which nobody with a demand takes more.
    top: Vec<f64>,
    limited: Vec<Limited>,
}

/// A row with a demand, and the types that it can use, the fastest first.
struct Limited {
    row: usize,
    types: Vec<usize>,
}

impl<'a> Levels<'a> {
    fn new(instance: &'a Instance) -> Self {
        let k = instance.width();
        let (mut able, mut unlimited, mut top) = (vec![0.0; k], vec![0.0; k], vec![0.0_f64; k]);
        let mut limited = Vec::new();
        for row in 0..instance.rows() {
            let (speed, weight) = (instance.profile(row), instance.weight[row]);
            let mut types: Vec<usize> = (0..k).filter(|&j| speed[j] > 0.0).collect();
            types.iter().for_each(|&j| able[j] += weight);
            if instance.demand[row].is_infinite() {
                types.iter().for_each(|&j| unlimited[j] += weight);
                continue;
            }
            types.iter().for_each(|&j| top[j] = top[j].max(instance.demand[row] / weight));
            // Equal speeds keep the order of the types, which is the instance's own.
            types.sort_by(|&a, &b| speed[b].total_cmp(&speed[a]).then(a.cmp(&b)));
            limited.push(Limited { row, types });
        }
        let level = instance.capacity.iter().zip(&able);
        let level = level.map(|(&m, &w)| if w > 0.0 { m / w } else { 0.0 }).collect();
        Levels { instance, level, unlimited, top, limited }
    }

    fn rise(&mut self) {
        if self.limited.is_empty() {
            return;
        }
        for _ in 0..MAX_ROUNDS {
            let mut moved = false;
            for j in 0..self.level.len() {
                moved |= self.raise(j);
            }
            if !moved {
                return;
            }
            self.leap();
        }
    }

    /// Raises all levels at once, to where every type is used up or somebody comes to have its demand with faster types
    /// than before. Up to there what is taken is linear in the levels: of a type that a row takes all of, a higher offer
    /// brings `weight` more, and takes as much from the last type of a row that has its demand. So the equations have a
    /// dominant diagonal, no level falls, and no type is overtaken. One level after another would come to the same
    /// point, but where nearly all demands just bind only after millions of rounds.
    fn leap(&mut self) {
        let k = self.level.len();
        let (mut equations, mut idle) = self.equations();
        for j in 0..k {
            equations[j * k + j] *= 1.0 + NUDGE;
        }
        eliminate(&mut equations, &mut idle);
        let rise = idle;
        let mut part: f64 = 1.0;
        for Limited { row, types } in &self.limited {
            let (demand, weight) = (self.instance.demand[*row], self.instance.weight[*row]);
            let (mut room, mut faster) = (demand, 0.0);
            for &j in types {
                room -= weight * self.level[j];
                if room <= demand * IDLE {
                    break;
                }
                faster += weight * rise[j];
                if part * faster > room {
                    part = room / faster;
                }
            }
        }
        let from = self.level.clone();
        self.level.iter_mut().zip(&rise).for_each(|(level, rise)| *level += part * rise);
        let fits = |j: usize| {
            self.taken(j, self.level[j]).0 <= self.instance.capacity[j] * (1.0 + ROUNDING)
        };
        if !(0..k).all(fits) {
            self.level = from;
        }
    }

    /// By how much a higher level of each type changes what is taken of each, and how much of each is idle.
    fn equations(&self) -> (Vec<f64>, Vec<f64>) {
        let k = self.level.len();
        let (mut equations, mut idle) = (vec![0.0; k * k], self.instance.capacity.clone());
        for j in 0..k {
            equations[j * k + j] = self.unlimited[j];
            idle[j] -= self.unlimited[j] * self.level[j];
        }
        for Limited { row, types } in &self.limited {
            let (demand, weight) = (self.instance.demand[*row], self.instance.weight[*row]);
            let mut room = demand;
            for (at, &j) in types.iter().enumerate() {
                let offer = weight * self.level[j];
                idle[j] -= offer.min(room);
                room -= offer;
                if room <= demand * IDLE {
                    types[..at].iter().for_each(|&i| equations[j * k + i] -= weight);
                    break;
                }
                equations[j * k + j] += weight;
            }
        }
        (equations, idle)
    }

    /// Raises one level until the type is used up or nobody takes more; false if it already was so.
    fn raise(&mut self, j: usize) -> bool {
        let capacity = self.instance.capacity[j];
        let (mut low, enough) = (self.level[j], capacity * (1.0 - IDLE));
        let mut high = match self.unlimited[j] {
            0.0 => self.top[j],
            weight => capacity / weight,
        };
        let (mut used, mut slope) = self.taken(j, low);
        if used >= enough || low >= high {
            return false;
        }
        if self.taken(j, high).0 <= capacity {
            self.level[j] = high;
            return true;
        }
        for _ in 0..MAX_STEPS {
            // What is taken is piecewise linear in the level: follow the line from the lower end, or,
            // where that overshot, take the middle of the bracket in orders of magnitude.
            let along = low + (capacity - used) / slope;
            let next = if along < high { along } else { low.sqrt() * high.sqrt() };
            if next <= low || next >= high {
                break;
            }
            let there = self.taken(j, next);
            if there.0 > capacity * (1.0 + f64::EPSILON) {
                high = next;
                continue;
            }
            (low, used, slope) = (next, there.0, there.1);
            if used >= enough {
                break;
            }
        }
        self.level[j] = low;
        true
    }

    /// GPUs of type `j` taken if its level were `level`, and by how much that grows with the level.
    fn taken(&self, j: usize, level: f64) -> (f64, f64) {
        let (mut used, mut slope) = (self.unlimited[j] * level, self.unlimited[j]);
        for Limited { row, types } in &self.limited {
            let (mut room, weight) = (self.instance.demand[*row], self.instance.weight[*row]);
            for &i in types {
                let offer = weight * if i == j { level } else { self.level[i] };
                if i == j {
                    used += offer.min(room);
                    slope += if offer < room { weight } else { 0.0 };
                    break;
                }
                room -= offer;
                if room <= 0.0 {
                    break;
                }
            }
        }
        (used, slope)
    }

    fn holdings(&self) -> Vec<f64> {
        let (instance, k) = (self.instance, self.level.len());
        let mut held = vec![0.0; instance.speedup.len()];
        for (e, held) in held.iter_mut().enumerate() {
            if instance.demand[e / k].is_infinite() && instance.speedup[e] > 0.0 {
                *held = instance.weight[e / k] * self.level[e % k];
            }
        }
        for Limited { row, types } in &self.limited {
            let mut room = instance.demand[*row];
            for &j in types {
                let take = (instance.weight[*row] * self.level[j]).min(room);
                held[row * k + j] = take;
                room -= take;
            }
        }
        held
    }
}

/// Solves equations whose diagonal outweighs the rest of each column, where it is not zero, and whose other entries are
/// negative; nothing below zero is a solution. Such equations need no pivoting.
fn eliminate(a: &mut [f64], right: &mut [f64]) {
    let k = right.len();
    for p in (0..k).filter(|&p| a[p * k + p] <= 0.0).collect::<Vec<_>>() {
        (0..k).for_each(|j| (a[p * k + j], a[j * k + p]) = (0.0, 0.0));
        (a[p * k + p], right[p]) = (1.0, 0.0);
    }
    for p in 0..k {
        for i in p + 1..k {
            let factor = a[i * k + p] / a[p * k + p];
            if factor != 0.0 {
                (p..k).for_each(|j| a[i * k + j] -= factor * a[p * k + j]);
                right[i] -= factor * right[p];
            }
        }
    }
    for p in (0..k).rev() {
        let known: f64 = (p + 1..k).map(|j| a[p * k + j] * right[j]).sum();
        right[p] = ((right[p] - known) / a[p * k + p]).max(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{
        check_usable, no_order_matters, problem, random_problem, twins_agree,
    };
    use crate::{Mechanism, Options, Problem, Shares, solve};
    use proptest::prelude::*;

    fn divided(problem: &Problem) -> Shares {
        solve(problem, Mechanism::MaxMin, &Options::default()).unwrap().shares
    }

    #[test]
    fn divisions() {
        // What each tenant gets of each type.
        let cases: [(&str, &str, &[&[f64]]); 12] = [
            ("by weight", "3 6 | a: 1 2 | b w2: 1 3", &[&[1.0, 2.0], &[2.0, 4.0]]),
            (
                "what one cannot use goes to the others",
                "3 6 | a: 1 0 | b: 1 3 | c: 1 2",
                &[&[1.0, 0.0], &[1.0, 3.0], &[1.0, 3.0]],
            ),
            ("a type that is not there", "0 2 | a: 1 2 | b: 1 2", &[&[0.0, 1.0], &[0.0, 1.0]]),
            (
                "a demand above the part changes nothing",
                "2 2 | a d3: 1 2 | b: 1 2",
                &[&[1.0, 1.0], &[1.0, 1.0]],
            ),
            ("the best GPUs are kept", "2 2 | a d1: 1 2 | b: 1 3", &[&[0.0, 1.0], &[2.0, 1.0]]),
            ("the best for this tenant", "2 2 | a d1: 2 1 | b: 1 3", &[&[1.0, 0.0], &[1.0, 2.0]]),
            ("no demand at all", "2 2 | a d0: 1 2 | b: 1 3", &[&[0.0, 0.0], &[2.0, 2.0]]),
            (
                "everybody is satisfied, the slowest stay idle",
                "2 2 | a d1: 1 2 | b d1: 1 3",
                &[&[0.0, 1.0], &[0.0, 1.0]],
            ),
            (
                "what one leaves lets another move up",
                "3 3 | a d2: 1 2 | b d1: 1 2 | c: 1 0",
                &[&[0.0, 2.0], &[0.0, 1.0], &[3.0, 0.0]],
            ),
            (
                "demands that just fail to bind: millions of small rises, in a few leaps",
                "1 1 | a d0.9999999: 1 2 | b d0.9999999: 2 1",
                &[&[0.0, 0.999_999_9], &[0.999_999_9, 0.0]],
            ),
            (
                "two rounds of leaving",
                "12 | a d1: 1 | b d3: 1 | c d9: 1 | d: 1",
                &[&[1.0], &[3.0], &[4.0], &[4.0]],
            ),
            (
                "weights and demand",
                "12 | a d1: 1 | b w2: 1 | c w2 d9: 1",
                &[&[1.0], &[5.5], &[5.5]],
            ),
        ];
        for (what, text, want) in cases {
            let problem = problem(text);
            let shares = divided(&problem);
            for (t, want) in problem.tenant_ids().zip(want) {
                let got = shares.of_tenant(&problem, t);
                let close = got.iter().zip(*want).all(|(g, w)| (g - w).abs() < 1e-9);
                assert!(close, "{what}: tenant {} got {got:?}, not {want:?}", t.0);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn nothing_useful_is_idle_and_no_order_matters(seed: u64) {
            let problem = random_problem(seed);
            let shares = divided(&problem);
            check_usable(&problem, &shares, seed);
            twins_agree(&problem, &shares);
            no_order_matters(&problem, &shares, seed, divided);
        }
    }
}
