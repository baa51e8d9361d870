//! The bound of an unfinished path.
//!
//! The dual equations hold at the start of a path, and every step takes the same part off whatever is left
//! of them. They stop holding when a pair comes into play with a multiplier, or leaves with one: so
//! what is left of them is known pair by pair. Multipliers less these residuals satisfy the equations
//! at any time, with prices that are near the optimum long before the path is. A few of them are
//! negative. Those become zero, and what that lifts above the prices is handed on to
//! rows that have room below them.

use super::data::Data;
use super::multipliers::{self, Envy, Multipliers};
use super::pairs::Pairs;
use super::point::Point;
use std::collections::BTreeMap;

/// A residual below this is nothing.
const NOTHING: f64 = 1e-15;
/// How much above the prices at hand the repaired multipliers may end, from one attempt to the next: the
/// more room there is, the more can be handed on.
const ROOM: [f64; 9] = [0.0, 0.000_5, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064];
/// Sweeps over the rows per attempt.
const SWEEPS: usize = 3;

/// What pairs (envious, envied) that came or went have left of the dual equations, in units of their multipliers.
#[derive(Clone, Debug, Default)]
pub(super) struct DualResiduals(BTreeMap<(usize, usize), f64>);

impl DualResiduals {
    /// After a step of this length.
    pub fn step(&mut self, step: f64) {
        self.0.retain(|_, residual| {
            *residual *= 1.0 - step;
            residual.abs() > NOTHING
        });
    }

    /// After pairs came and went.
    pub fn change(&mut self, before: &Pairs, after: &Pairs) {
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

    /// What the multipliers of an unfinished path prove: no feasible bundles have a greater total.
    pub fn bound(&self, data: &Data<'_>, point: &Point) -> f64 {
        let mut multipliers = self.without_residuals(point);
        let price = multipliers::prices(data, &multipliers.gain(data));
        multipliers.envy.retain(|e| e.z > 0.0);
        let mut best = multipliers.bound(data);
        for room in ROOM {
            let price = price.iter().map(|p| p + room * p.abs()).collect();
            let mut repair = Repair::new(data, price, multipliers.clone());
            (0..SWEEPS).for_each(|_| repair.sweep());
            best = best.min(repair.multipliers.bound(data));
        }
        best
    }

    /// The multipliers of a point less their residuals; some may be negative.
    fn without_residuals(&self, point: &Point) -> Multipliers {
        let mut multipliers = Multipliers::at(point);
        let mut rest = self.0.clone();
        for e in &mut multipliers.envy {
            e.z -= rest.remove(&(e.envious, e.envied)).unwrap_or(0.0);
        }
        let gone = |((envious, envied), z): ((usize, usize), f64)| Envy { envious, envied, z: -z };
        multipliers.envy.extend(rest.into_iter().map(gone));
        multipliers
    }
}

/// Multipliers that should fit under prices.
struct Repair<'a> {
    data: &'a Data<'a>,
    price: Vec<f64>,
    multipliers: Multipliers,
    gain: Vec<f64>,
    /// The multipliers of each row's own envy, and of the envy towards it.
    own: Vec<Vec<usize>>,
    towards: Vec<Vec<usize>>,
}

impl<'a> Repair<'a> {
    fn new(data: &'a Data<'a>, price: Vec<f64>, multipliers: Multipliers) -> Self {
        let (mut own, mut towards) = (vec![Vec::new(); data.n], vec![Vec::new(); data.n]);
        for (r, e) in multipliers.envy.iter().enumerate() {
            own[e.envious].push(r);
            towards[e.envied].push(r);
        }
        Repair { data, price, gain: multipliers.gain(data), multipliers, own, towards }
    }

    /// Every row that stands above the prices lets go of its own envy where the envied have room for
    /// that, and is envied more by others who have room.
    fn sweep(&mut self) {
        for l in 0..self.data.n {
            let value = self.data.value(l);
            let mut options: Vec<(f64, usize)> = Vec::new();
            if self.room(l, value) < 0.0 {
                let compare = self.data.rows.compare(l);
                let give = |&r: &usize| {
                    let e = self.multipliers.envy[r];
                    (self.room(e.envied, compare).min(e.z), r)
                };
                options.extend(self.own[l].iter().map(give).filter(|o| o.0 > 0.0));
                options.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            }
            for (most, r) in options {
                self.change(r, -most.min(-self.room(l, value)).max(0.0));
            }
            for at in 0..self.towards[l].len() {
                let r = self.towards[l][at];
                let h = self.multipliers.envy[r].envious;
                let excess = -self.room(l, self.data.rows.compare(h));
                if excess > 0.0 {
                    self.change(r, excess.min(self.room(h, self.data.value(h))).max(0.0));
                }
            }
        }
    }

    /// How many units of some values fit between the bundle of row `i` and the prices.
    fn room(&self, i: usize, values: &[f64]) -> f64 {
        let (k, weight) = (self.data.k, self.data.weight[i]);
        let gain = &self.gain[i * k..][..k];
        let types = (0..k).filter(|&j| self.data.usable(i, j) && values[j] > 0.0);
        let room = types.map(|j| (weight * self.price[j] - gain[j]) / values[j]);
        room.fold(f64::INFINITY, f64::min)
    }

    fn change(&mut self, r: usize, by: f64) {
        let Envy { envious, envied, z } = self.multipliers.envy[r];
        let by = if by.is_finite() { by.max(-z) } else { 0.0 };
        self.multipliers.envy[r].z += by;
        let (k, rows) = (self.data.k, self.data.rows);
        for (j, (v, c)) in rows.value(envious).iter().zip(rows.compare(envious)).enumerate() {
            self.gain[envious * k + j] += by * v;
            self.gain[envied * k + j] -= by * c;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows::Rows;
    use super::super::{State, interior, solve};
    use super::*;
    use crate::ProblemSpec;
    use crate::instance::{Alike, Instance, LastOrder};
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
        Instance::new(
            &spec.validate().unwrap(),
            None,
            Alike::InProportion,
            &mut LastOrder::default(),
        )
    }

    #[test]
    fn wherever_a_path_is_cut_short_the_bound_is_true_and_it_ends_near_the_optimum() {
        let instance = instance();
        let rows = Rows::new(&instance, &[]);
        let optimum = solve(&instance, &[], &mut State::default(), &|| false);
        let optimum = rows.total(&rows.to_bundles(&instance, &optimum.x));
        let data = Data::new(&rows);
        let mut last = f64::INFINITY;
        for iterations in 0..16 {
            let asked = Cell::new(0);
            let stop = || asked.replace(asked.get() + 1) >= iterations;
            let start = Point::start(&data, &rows.neighbours(4));
            let run = interior::follow(&data, start, 1e-13, &stop);
            last = run.residuals.bound(&data, &run.point);
            assert!(last >= optimum * (1.0 - 1e-12), "{last} after {iterations}, not {optimum}");
        }
        assert!(last < 1.01 * optimum, "{last} is far from {optimum}");
    }
}
