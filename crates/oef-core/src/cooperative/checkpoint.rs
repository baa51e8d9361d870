//! Solving along an interior path that starts where the last one was half way.
//!
//! With demands nearly every row has a bundle of its own, and from one optimum to the next a simplex would go through
//! hundreds of vertices. An interior path does not: half way, its point is so far from all constraints that a row that
//! came or left, or another demand, moves it by less than that. So a solve leaves the point that its path had there,
//! with only the pairs that mattered in the end and those near them, well in the middle of their constraints. The next
//! solve changes what has changed and goes on from there.

use super::data::Data;
use super::interior::{self, Run};
use super::pairs::Pairs;
use super::point::Point;
use crate::linalg::dot;
use std::cmp::Ordering;

/// Pairs that had less slack than this in the end, relative to the utility, are kept.
const NEAR: f64 = 0.005;
/// The same for the pairs of a row that has changed.
const NEAR_CHANGED: f64 = 0.02;
/// Part of a demand by which it must differ for that.
const CHANGED: f64 = 1e-3;
/// One row in so many may have changed: with more, a path from scratch is as fast.
const CHANGED_PART: usize = 8;
/// Steps to the middle of the constraints.
const STEPS_MAX: usize = 8;

/// A point half way along an interior path, and the program that the path was for.
#[derive(Clone, Debug)]
pub(super) struct Checkpoint {
    point: Point,
    cap: Vec<f64>,
    base: Vec<f64>,
    weight: Vec<f64>,
    worth: Vec<f64>,
}

impl Checkpoint {
    /// What a path that has arrived leaves. One from scratch has met many pairs that did not matter, and must be
    /// centred without them.
    pub fn new(data: &Data<'_>, run: &Run, is_centred: bool) -> Option<Self> {
        let mut point = run.middle.clone()?;
        point.restrict(data, run.point.near_pairs(data));
        if !is_centred {
            interior::centre(data, &mut point, STEPS_MAX);
        }
        let (weight, worth) = (data.weight.clone(), data.worth.clone());
        let (cap, base) = (data.rows.cap.clone(), data.rows.base.clone());
        Some(Checkpoint { point, cap, base, weight, worth })
    }

    /// A point to start from for rows that stood at `from`; the others start like the row that is most like them.
    /// Nothing where too many have changed.
    pub fn start(&self, data: &Data<'_>, from: &[Option<usize>]) -> Option<Point> {
        let (n, k, old) = (data.n, data.k, &self.point);
        let alike = |l: usize| from[l].or_else(|| from[most_alike(data, from, l)?]).unwrap_or(0);
        let source: Vec<usize> = (0..n).map(alike).collect();
        // Units have changed with the weights: everybody has the GPUs that it had.
        let of_worth = typical(from, &data.worth, &self.worth);
        let of_weight = typical(from, &data.weight, &self.weight);
        let unit = n as f64 / self.weight.len() as f64 / of_weight;
        let has_changed = |l: usize| {
            let differs =
                |new: f64, old: f64| new != old && (new - old).abs() > CHANGED * new.min(old);
            let Some(o) = from[l] else { return true };
            differs(data.rows.cap[l], self.cap[o] * unit)
                || differs(data.rows.base[l], self.base[o] * unit)
        };
        let changed: Vec<bool> = (0..n).map(has_changed).collect();
        if CHANGED_PART * changed.iter().filter(|changed| **changed).count() > n {
            return None;
        }
        let copy = |x: &[f64], by: f64| source.iter().map(|&o| by * x[o]).collect::<Vec<f64>>();
        let rows = |x: &[f64], by: f64| -> Vec<f64> {
            source.iter().flat_map(|&o| &x[o * k..][..k]).map(|x| by * x).collect()
        };
        let mut point = Point {
            y: rows(&old.y, unit),
            v: rows(&old.v, of_worth),
            u: copy(&old.u, unit),
            a: copy(&old.a, unit),
            alpha: copy(&old.alpha, of_worth),
            r: copy(&old.r, unit),
            lambda: copy(&old.lambda, of_worth),
            c: old.c.clone(),
            p: old.p.iter().map(|p| p * of_worth / of_weight).collect(),
            pairs: Pairs::default(),
        };
        let room = old.mu().sqrt();
        for (j, c) in point.c.iter_mut().enumerate() {
            if data.rows.used_up[j] {
                *c = 0.0;
            } else if *c == 0.0 {
                point.p[j] = point.p[j].max(room);
                *c = room * room / point.p[j];
            }
        }
        for (l, &o) in source.iter().enumerate() {
            point.adjust(data, l, self.cap[o] * unit, room);
        }
        point.fit(data);
        let mut now: Vec<Vec<usize>> = vec![Vec::new(); old.u.len()];
        source.iter().enumerate().for_each(|(l, &o)| now[o].push(l));
        let mut list = Vec::new();
        for o in 0..old.u.len() {
            for r in old.pairs.range(o) {
                let (s, z) = (old.pairs.s[r] * unit, old.pairs.z[r] * of_worth);
                for &i in &now[o] {
                    let envious = now[old.pairs.envious[r]].iter().filter(|&&l| l != i);
                    list.extend(envious.map(|&l| (l, i, s, z)));
                }
            }
        }
        point.pairs = Pairs::from_list(data, &renewed(data, &point, list, &changed, room));
        Some(point)
    }
}

/// The pairs (envious, envied, slack, multiplier) of rows that have changed: those that are no longer as near as they
/// were get room, and those come into play that are near now.
fn renewed(
    data: &Data<'_>,
    point: &Point,
    mut list: Vec<(usize, usize, f64, f64)>,
    changed: &[bool],
    room: f64,
) -> Vec<(usize, usize, f64, f64)> {
    let n = data.n;
    let asked = point.comparisons(data);
    let slack = |l: usize, i: usize| point.u[l] - asked[[l, i]];
    let mut known = vec![false; n * n];
    for (l, i, s, z) in &mut list {
        known[*l * n + *i] = true;
        let slack = slack(*l, *i);
        if (changed[*l] || changed[*i]) && (slack - *s).abs() > room {
            *s = slack.max(room);
            *z = room * room / *s;
        }
    }
    for c in (0..n).filter(|&c| changed[c]) {
        for (l, i) in (0..n).filter(|&i| i != c).flat_map(|i| [(c, i), (i, c)]) {
            let near = slack(l, i) < NEAR_CHANGED * point.u[l] && data.rows.compares(l, i);
            if near && !std::mem::replace(&mut known[l * n + i], true) {
                let s = slack(l, i).max(room);
                list.push((l, i, s, room * room / s));
            }
        }
    }
    list
}

impl Point {
    /// Scales what everybody has of each type so that all of it fits the capacity.
    fn fit(&mut self, data: &Data<'_>) {
        let (n, k) = (data.n, data.k);
        let held = |j: usize| (0..n).map(|i| data.weight[i] * self.y[i * k + j]).sum::<f64>();
        let by: Vec<f64> = (0..k).map(|j| n as f64 / (self.c[j] + held(j))).collect();
        for l in 0..n {
            let bundle = &mut self.y[l * k..][..k];
            let before = dot(data.value(l), bundle);
            bundle.iter_mut().zip(&by).for_each(|(y, by)| *y *= by);
            self.u[l] *= dot(data.value(l), bundle) / before;
            self.v[l * k..][..k].iter_mut().zip(&by).for_each(|(v, by)| *v /= by);
        }
        self.c.iter_mut().zip(&by).for_each(|(c, by)| *c *= by);
    }

    /// Makes the bundle of row `l` fit its demand, which was `was`, and what it can use.
    fn adjust(&mut self, data: &Data<'_>, l: usize, was: f64, room: f64) {
        let (is, k) = (data.rows.cap[l], data.k);
        if !is.is_finite() {
            (self.r[l], self.lambda[l]) = (1.0, 0.0);
        } else if !was.is_finite() {
            (self.r[l], self.lambda[l]) = (room, room);
        } else if (was - is).abs() > 1e-9 * is {
            if self.lambda[l] > self.r[l] {
                // It was at its demand, and will be.
                let by = is / was;
                self.y[l * k..][..k].iter_mut().for_each(|y| *y *= by);
                self.v[l * k..][..k].iter_mut().for_each(|v| *v /= by);
                self.u[l] *= by;
                self.r[l] *= by;
                self.lambda[l] /= by;
            } else {
                self.r[l] = (self.r[l] + is - was).max(room);
                self.lambda[l] = room * room / self.r[l];
            }
        }
        for j in 0..k {
            let e = l * k + j;
            if !data.usable(l, j) {
                (self.y[e], self.v[e]) = (0.0, 0.0);
            } else if self.y[e] == 0.0 {
                (self.y[e], self.v[e]) = (room, room);
            }
        }
    }

    /// The pairs (envious, envied) in play, and those that are nearly tight, by `envious * n + envied`.
    fn near_pairs(&self, data: &Data<'_>) -> Vec<bool> {
        let n = data.n;
        let asked = self.comparisons(data);
        let mut near = vec![false; n * n];
        for (l, row) in asked.rows().into_iter().enumerate() {
            for (i, other) in row.iter().enumerate() {
                near[l * n + i] = *other > self.u[l] * (1.0 - NEAR) && data.rows.compares(l, i);
            }
        }
        self.pairs.list().into_iter().for_each(|(l, i)| near[l * n + i] = true);
        near
    }

    /// Leaves these pairs in play and no others.
    fn restrict(&mut self, data: &Data<'_>, mut wanted: Vec<bool>) {
        let (n, mu) = (data.n, self.mu());
        let asked = self.comparisons(data);
        let mut list = Vec::new();
        for i in 0..n {
            for r in self.pairs.range(i) {
                let l = self.pairs.envious[r];
                if std::mem::take(&mut wanted[l * n + i]) {
                    list.push((l, i, self.pairs.s[r], self.pairs.z[r]));
                }
            }
        }
        for (at, _) in wanted.iter().enumerate().filter(|(_, wanted)| **wanted) {
            let (l, i) = (at / n, at % n);
            let s = (self.u[l] - asked[[l, i]]).max(interior::ROOM * mu.sqrt());
            list.push((l, i, s, mu / s));
        }
        self.pairs = Pairs::from_list(data, &list);
    }
}

/// The median of the ratios between new and old numbers of the rows that were there.
fn typical(from: &[Option<usize>], new: &[f64], old: &[f64]) -> f64 {
    let ratios = from.iter().zip(new).filter_map(|(from, new)| Some(new / old[(*from)?]));
    let mut ratios: Vec<f64> = ratios.collect();
    ratios.sort_by(f64::total_cmp);
    ratios.get(ratios.len() / 2).copied().unwrap_or(1.0)
}

/// The row among those that were there whose values are most like those of row `l`; if it has a demand, one that has
/// a demand, if there is any.
fn most_alike(data: &Data<'_>, from: &[Option<usize>], l: usize) -> Option<usize> {
    let log = |v: f64| v.max(1e-13).ln();
    let distance = |i: usize| -> f64 {
        data.value(l).iter().zip(data.value(i)).map(|(a, b)| (log(*a) - log(*b)).powi(2)).sum()
    };
    let differ = |i: usize| data.is_capped(l) != data.is_capped(i);
    let compare = |a: &usize, b: &usize| -> Ordering {
        differ(*a).cmp(&differ(*b)).then(distance(*a).total_cmp(&distance(*b)))
    };
    (0..data.n).filter(|&i| from[i].is_some()).min_by(compare)
}
