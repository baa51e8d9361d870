//! `max-min`: every gpu type divided by weight among the workloads that can use it.
//!
//! Each type has a *level*: the GPUs of it on offer per unit of weight. Without demands the level is
//! the capacity over the weight of everybody who can run there, and everybody takes what is offered.
//!
//! With demands a row takes of all that it is offered only the fastest GPUs, as many as it can use, and
//! the levels rise until nothing is idle that somebody could use. They can rise in turn: a higher level
//! of one type never makes anybody take more of another (a row that has what it needs gives up its
//! slowest GPUs for better ones), so the levels climb to the least ones at which every type is either
//! used up or wanted by nobody, and no step on the way hands out too much. Of types that are equally fast for it a row takes
//! in proportion to their capacities, as far as it is offered that: so nothing depends on the names of types.

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
    /// Where each group of equally fast types ends.
    ends: Vec<usize>,
}

impl Limited {
    /// The types, those that are equally fast together.
    fn groups(&self) -> impl Iterator<Item = &[usize]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| &self.types[std::mem::replace(&mut start, end)..end])
    }
}

/// The types of a row at its demand: it takes all that it is offered of some, and the rest in proportion to capacity of some
/// that are equally fast.
struct Full<'a> {
    /// Those that are faster than the slowest that it takes.
    faster: &'a [usize],
    /// Those that are as fast as the slowest that it takes.
    slowest: &'a [usize],
    /// What the faster ones leave of its demand.
    room: f64,
    /// What it takes of the slowest per GPU of their capacity, if it is offered as much.
    part: f64,
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
            types.sort_by(|&a, &b| speed[b].total_cmp(&speed[a]));
            let is_last =
                |&at: &usize| types.get(at).is_none_or(|&j| speed[j] < speed[types[at - 1]]);
            let ends = (1..=types.len()).filter(is_last).collect();
            limited.push(Limited { row, types, ends });
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
        // What grows by `by` has so much room.
        let mut within = |room: f64, by: f64| {
            if part * by > room {
                part = room / by;
            }
        };
        for limited in &self.limited {
            let weight = self.instance.weight[limited.row];
            let growth = |types: &[usize]| types.iter().map(|&j| weight * rise[j]).sum::<f64>();
            let full = match self.full(limited) {
                Ok(full) => full,
                Err(room) => {
                    within(room, growth(&limited.types));
                    continue;
                }
            };
            let takes_all = |j: &usize| self.takes_all(&full, *j, weight);
            let (all, shared): (Vec<usize>, Vec<usize>) =
                full.slowest.iter().partition(|j| takes_all(j));
            let capacity = shared.iter().map(|&j| self.instance.capacity[j]).sum::<f64>();
            let faster = growth(full.faster);
            within(full.room, faster);
            for &j in &all {
                // What is left for each GPU shrinks, and what is offered of this type grows.
                let most = full.part * self.instance.capacity[j];
                let shrinks = (faster + growth(&all)) / capacity * self.instance.capacity[j];
                within(most - weight * self.level[j], weight * rise[j] + shrinks);
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
        for limited in &self.limited {
            let weight = self.instance.weight[limited.row];
            let Ok(full) = self.full(limited) else {
                for &j in &limited.types {
                    idle[j] -= weight * self.level[j];
                    equations[j * k + j] += weight;
                }
                continue;
            };
            let takes_all = |j: &usize| self.takes_all(&full, *j, weight);
            let (mut all, shared): (Vec<usize>, Vec<usize>) =
                full.slowest.iter().partition(|j| takes_all(j));
            all.extend(full.faster);
            for &j in &all {
                idle[j] -= weight * self.level[j];
                equations[j * k + j] += weight;
            }
            let capacity = shared.iter().map(|&j| self.instance.capacity[j]).sum::<f64>();
            for &j in &shared {
                let own = self.instance.capacity[j];
                idle[j] -= (full.part * own).min(weight * self.level[j]);
                all.iter().for_each(|&i| equations[j * k + i] -= weight * own / capacity);
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
        for limited in &self.limited {
            let (row, capacity) = (limited.row, self.instance.capacity[j]);
            let (mut room, weight) = (self.instance.demand[row], self.instance.weight[row]);
            let offer = |i: usize| weight * if i == j { level } else { self.level[i] };
            for group in limited.groups() {
                if group.contains(&j) {
                    let most = (self.part(group, room, &offer) * capacity).min(room);
                    used += offer(j).min(most);
                    slope += if offer(j) < most { weight } else { 0.0 };
                    break;
                }
                room -= group.iter().map(|&i| offer(i)).sum::<f64>();
                if room <= 0.0 {
                    break;
                }
            }
        }
        (used, slope)
    }

    /// How many GPUs per GPU of their capacity a row takes of equally fast types, at most as many as it is offered of each:
    /// so that they are `room` together, or without bound where it is offered less than that.
    fn part(&self, group: &[usize], room: f64, offer: &dyn Fn(usize) -> f64) -> f64 {
        if group.iter().map(|&j| offer(j)).sum::<f64>() <= room {
            return f64::INFINITY;
        }
        let mut part = 0.0;
        loop {
            // The offers that are too small for it leave more to the others.
            let (mut rest, mut capacity) = (room, 0.0);
            for &j in group {
                let own = self.instance.capacity[j];
                if offer(j) <= part * own {
                    rest -= offer(j);
                } else {
                    capacity += own;
                }
            }
            let next = rest / capacity;
            if next <= part || next.is_nan() {
                return part;
            }
            part = next;
        }
    }

    /// Where a row at its demand stands, to rounding, or else the GPUs that it could take besides all that it is offered.
    fn full<'b>(&self, limited: &'b Limited) -> Result<Full<'b>, f64> {
        let (demand, weight) =
            (self.instance.demand[limited.row], self.instance.weight[limited.row]);
        let offer = |j: usize| weight * self.level[j];
        let (mut room, mut start) = (demand, 0);
        for slowest in limited.groups() {
            let left = room - slowest.iter().map(|&j| offer(j)).sum::<f64>();
            if left <= demand * IDLE {
                let ratio = |&j: &usize| offer(j) / self.instance.capacity[j];
                let most = slowest.iter().map(ratio).fold(0.0, f64::max);
                let part = self.part(slowest, room, &offer).min(most);
                return Ok(Full { faster: &limited.types[..start], slowest, room, part });
            }
            room = left;
            start += slowest.len();
        }
        Err(room)
    }

    /// Whether a row at its demand takes all that it is offered of one of its slowest types.
    fn takes_all(&self, full: &Full<'_>, j: usize, weight: f64) -> bool {
        weight * self.level[j] < full.part * self.instance.capacity[j] * (1.0 - IDLE)
    }

    fn holdings(&self) -> Vec<f64> {
        let (instance, k) = (self.instance, self.level.len());
        let mut held = vec![0.0; instance.speedup.len()];
        for (e, held) in held.iter_mut().enumerate() {
            if instance.demand[e / k].is_infinite() && instance.speedup[e] > 0.0 {
                *held = instance.weight[e / k] * self.level[e % k];
            }
        }
        for limited in &self.limited {
            let (row, mut room) = (limited.row, instance.demand[limited.row]);
            let offer = |j: usize| instance.weight[row] * self.level[j];
            for group in limited.groups() {
                let (part, mut left) = (self.part(group, room, &offer), room);
                for &j in group {
                    let take = offer(j).min(part * instance.capacity[j]).min(left);
                    held[row * k + j] = take;
                    left -= take;
                }
                room = left;
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
        let cases: [(&str, &str, &[&[f64]]); 15] = [
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
                "of equally fast types in proportion to the capacities",
                "3 1 | a d1: 2 2 | b d1: 2 2 | c: 1 2",
                &[&[0.75, 0.25], &[0.75, 0.25], &[1.5, 0.5]],
            ),
            (
                "what is offered too little of one of them comes from the other",
                "4 4 | a d2: 2 2 | b w7: 0 2",
                &[&[1.5, 0.5], &[0.0, 3.5]],
            ),
            (
                "faster ones first",
                "2 2 2 | a d3: 2 2 3 | b: 1 1 1",
                &[&[1.0, 1.0, 1.0], &[1.0, 1.0, 1.0]],
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
