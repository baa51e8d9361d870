//! The bound of an unfinished path.
//!
//! The dual equations hold at the start of a path, and every step takes the same part off whatever is left
//! of them. They stop holding when a pair comes into play with a multiplier, or leaves with one: so
//! what is left is what such pairs still owe. Multipliers less their debts satisfy the equations
//! at any time, with prices that are near the optimum long before the path is. A few of them are
//! negative. Those become zero, and what that lifts above the prices is handed on to
//! rows that have room below them.

use super::data::Data;
use super::interior::Point;
use super::multipliers::{self, Envy};
use super::pairs::Pairs;
use std::collections::BTreeMap;

/// A debt below this is nothing.
const PAID: f64 = 1e-15;
/// How much above the prices at hand the repaired multipliers may end, from one attempt to the next: the
/// more room there is, the more can be handed on.
const ROOM: [f64; 9] = [0.0, 0.000_5, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064];
/// Sweeps over the rows per attempt.
const SWEEPS: usize = 3;

/// What the multipliers of pairs (envious, envied) still owe to the dual equations.
#[derive(Clone, Debug, Default)]
pub(super) struct Debts(BTreeMap<(usize, usize), f64>);

impl Debts {
    /// After a step of this length.
    pub fn pay(&mut self, step: f64) {
        self.0.retain(|_, debt| {
            *debt *= 1.0 - step;
            debt.abs() > PAID
        });
    }

    /// After pairs came and went.
    pub fn take(&mut self, before: &Pairs, after: &Pairs) {
        let rows = before.start.len().saturating_sub(1);
        let mut change = vec![0.0; rows];
        for i in 0..rows {
            before.range(i).for_each(|r| change[before.envious[r]] -= before.z[r]);
            after.range(i).for_each(|r| change[after.envious[r]] += after.z[r]);
            let (left, came) = (&before.envious[before.range(i)], &after.envious[after.range(i)]);
            for &l in left.iter().chain(came) {
                let change = std::mem::take(&mut change[l]);
                if change != 0.0 {
                    *self.0.entry((l, i)).or_insert(0.0) += change;
                }
            }
        }
    }

    /// What the multipliers of an unfinished path prove: no envy-free bundles have a greater total.
    pub fn bound(&self, data: &Data<'_>, point: &Point) -> f64 {
        let settled = self.settled(point);
        let price = multipliers::prices(data, &multipliers::gain(data, &settled));
        let positive: Vec<Envy> = settled.into_iter().filter(|e| e.z > 0.0).collect();
        let mut best = multipliers::bound(data, &positive);
        for room in ROOM {
            let price = price.iter().map(|p| p * (1.0 + room)).collect();
            let mut repair = Repair::new(data, price, positive.clone());
            (0..SWEEPS).for_each(|_| repair.sweep());
            best = best.min(multipliers::bound(data, &repair.z));
        }
        best
    }

    /// The multipliers of a point less their debts.
    fn settled(&self, point: &Point) -> Vec<Envy> {
        let pairs = &point.pairs;
        let mut rest = self.0.clone();
        let mut settled = Vec::with_capacity(pairs.z.len());
        for i in 0..point.u.len() {
            for r in pairs.range(i) {
                let envious = pairs.envious[r];
                let z = pairs.z[r] - rest.remove(&(envious, i)).unwrap_or(0.0);
                settled.push(Envy { envious, envied: i, z });
            }
        }
        let gone =
            |((envious, envied), debt): ((usize, usize), f64)| Envy { envious, envied, z: -debt };
        settled.extend(rest.into_iter().map(gone));
        settled
    }
}

/// Multipliers that should fit under prices.
struct Repair<'a> {
    data: &'a Data<'a>,
    price: Vec<f64>,
    z: Vec<Envy>,
    gain: Vec<f64>,
    /// The multipliers of each row's own envy, and of the envy towards it.
    own: Vec<Vec<usize>>,
    towards: Vec<Vec<usize>>,
}

impl<'a> Repair<'a> {
    fn new(data: &'a Data<'a>, price: Vec<f64>, z: Vec<Envy>) -> Self {
        let (mut own, mut towards) = (vec![Vec::new(); data.n], vec![Vec::new(); data.n]);
        for (r, e) in z.iter().enumerate() {
            own[e.envious].push(r);
            towards[e.envied].push(r);
        }
        Repair { data, price, gain: multipliers::gain(data, &z), z, own, towards }
    }

    /// Every row that stands above the prices lets go of its own envy where the envied have room for
    /// that, and is envied more by others who have room.
    fn sweep(&mut self) {
        for l in 0..self.data.n {
            let mut options: Vec<(f64, usize)> = Vec::new();
            if self.excess(l, l) > 0.0 {
                let give = |&r: &usize| (self.room(self.z[r].envied, l).min(self.z[r].z), r);
                options.extend(self.own[l].iter().map(give).filter(|o| o.0 > 0.0));
                options.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            }
            for (most, r) in options {
                self.change(r, -most.min(self.excess(l, l)).max(0.0));
            }
            for at in 0..self.towards[l].len() {
                let r = self.towards[l][at];
                let h = self.z[r].envious;
                let excess = self.excess(l, h);
                if excess > 0.0 {
                    self.change(r, excess.min(self.room(h, h)).max(0.0));
                }
            }
        }
    }

    /// How many units of the values of row `by` the bundle of row `l` stands above the prices.
    fn excess(&self, l: usize, by: usize) -> f64 {
        -self.room(l, by)
    }

    /// How many units of the values of row `by` fit between the bundle of row `i` and the prices.
    fn room(&self, i: usize, by: usize) -> f64 {
        let (k, weight) = (self.data.k, self.data.weight[i]);
        let gain = &self.gain[i * k..][..k];
        let types = (0..k).filter(|&j| self.data.usable(i, j) && self.data.usable(by, j));
        let room = types.map(|j| (weight * self.price[j] - gain[j]) / self.data.value(by)[j]);
        room.fold(f64::INFINITY, f64::min)
    }

    fn change(&mut self, r: usize, by: f64) {
        let Envy { envious, envied, z } = self.z[r];
        let by = if by.is_finite() { by.max(-z) } else { 0.0 };
        self.z[r].z += by;
        let k = self.data.k;
        for (j, v) in self.data.value(envious).iter().enumerate() {
            self.gain[envious * k + j] += by * v;
            self.gain[envied * k + j] -= by * v;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{State, interior, solve};
    use super::*;
    use crate::ProblemSpec;
    use crate::instance::{Instance, LastOrder};
    use crate::scaled::Scaled;
    use std::cell::Cell;

    /// Forty tenants with crossing tastes for five types, two of which not everybody can use.
    fn instance() -> Instance {
        let entry = |l: usize, j: usize| {
            let steep = 0.4 + 0.03 * ((l * 17) % 40) as f64;
            let noise = 0.02 * ((l * 31 + j * 57) % 23) as f64;
            let unusable = (l % 9 == 4 && j == 3) || (l % 11 == 5 && j == 4);
            if unusable { 0.0 } else { (steep * j as f64 + noise).exp() }
        };
        let rows: Vec<Vec<f64>> = (0..40).map(|l| (0..5).map(|j| entry(l, j)).collect()).collect();
        let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
        let spec = ProblemSpec::from_matrix(&[9.0, 7.0, 5.0, 3.0, 2.0], &rows);
        Instance::new(&spec.validate().unwrap(), None, &mut LastOrder::default())
    }

    #[test]
    fn wherever_a_path_is_cut_short_the_bound_is_true_and_it_ends_near_the_optimum() {
        let instance = instance();
        let scaled = Scaled::new(&instance);
        let optimum = solve(&instance, &mut State::default(), &|| false).unwrap();
        let optimum = scaled.total(&scaled.to_bundles(&instance, &optimum.x));
        let data = Data::new(&scaled);
        let mut last = f64::INFINITY;
        for iterations in 0..16 {
            let asked = Cell::new(0);
            let stop = || asked.replace(asked.get() + 1) >= iterations;
            let start = Point::start(&data, &scaled.neighbours(4));
            let run = interior::follow(&data, start, 1e-13, &stop);
            last = run.debts.bound(&data, &run.point);
            assert!(last >= optimum * (1.0 - 1e-12), "{last} after {iterations}, not {optimum}");
        }
        assert!(last < 1.01 * optimum, "{last} is far from {optimum}");
    }
}
