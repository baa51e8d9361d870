//! Starting the interior path of a changed problem from that of the one before.
//!
//! The optimum itself is a bad place to start from: whatever is tight there has no room to move. A
//! point from the middle of the path has, and it knows the pairs that will matter. Rows are told by
//! their profiles; a new row starts with the bundle that it likes best among those on offer.

use super::interior::{Data, Pairs, Point};
use crate::instance::Instance;
use crate::linalg::dot;
use std::collections::BTreeMap;

/// What a solve leaves for the next one.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    saved: Option<Saved>,
}

#[derive(Clone, Debug)]
struct Saved {
    /// Where each profile stands.
    row: BTreeMap<Vec<u64>, usize>,
    types: usize,
    point: Point,
}

/// Rows that may change before a fresh start is better.
const CHANGED_MAX: usize = 8;
/// Pairs that a new row starts with, in either direction.
const PAIRS: usize = 10;

impl State {
    /// Keeps a point of the path.
    pub fn keep(&mut self, instance: &Instance, point: Option<Point>) {
        self.saved = point.map(|point| Saved {
            row: (0..instance.rows()).map(|l| (key(instance, l), l)).collect(),
            types: instance.width(),
            point,
        });
    }

    /// A point for `instance`, if it is like the one that was kept.
    pub fn start(&self, instance: &Instance, data: &Data<'_>) -> Option<Point> {
        let saved = self.saved.as_ref().filter(|saved| saved.types == instance.width())?;
        let from: Vec<Option<usize>> =
            (0..data.n).map(|l| saved.row.get(&key(instance, l)).copied()).collect();
        let known = from.iter().flatten().count();
        let changed = (data.n - known) + (saved.row.len() - known);
        (changed <= CHANGED_MAX && known > 0).then(|| saved.carry_over(data, &from))
    }
}

impl Saved {
    fn carry_over(&self, data: &Data<'_>, from: &[Option<usize>]) -> Point {
        let (n, k) = (data.n, data.k);
        let old = &self.point;
        let mu = old.mu();
        let room = mu.sqrt();
        let mut point = Point {
            y: vec![room; n * k],
            v: vec![room; n * k],
            u: vec![0.0; n],
            a: vec![room; n],
            alpha: vec![room; n],
            c: old.c.clone(),
            p: old.p.clone(),
            pairs: Pairs::default(),
        };
        for l in 0..n {
            match from[l] {
                Some(o) => {
                    point.y[l * k..][..k].copy_from_slice(&old.y[o * k..][..k]);
                    point.v[l * k..][..k].copy_from_slice(&old.v[o * k..][..k]);
                    (point.u[l], point.a[l], point.alpha[l]) = (old.u[o], old.a[o], old.alpha[o]);
                }
                None => self.welcome(data, &mut point, l, mu),
            }
        }
        let mut list = self.known_pairs(from);
        for l in (0..n).filter(|&l| from[l].is_none()) {
            list.extend(new_pairs(data, &point, l, mu));
        }
        point.pairs = Pairs::from_list(n, &list);
        point
    }

    /// Gives a new row the bundle that it likes best.
    fn welcome(&self, data: &Data<'_>, point: &mut Point, l: usize, mu: f64) {
        let k = data.k;
        let bundle = |i: usize| &self.point.y[i * k..][..k];
        let liking = |i: usize| dot(data.value(l), bundle(i));
        let best = (0..self.point.u.len()).max_by(|&a, &b| liking(a).total_cmp(&liking(b)));
        let best = best.unwrap_or(0);
        for j in 0..k {
            let e = l * k + j;
            let usable = data.usable(l, j);
            point.y[e] = if usable { bundle(best)[j].max(mu.sqrt() * 1e-2) } else { 0.0 };
            point.v[e] = if usable { mu / point.y[e] } else { 0.0 };
        }
        point.alpha[l] = data.worth[l].max(mu.sqrt());
        point.a[l] = mu / point.alpha[l];
        point.u[l] = dot(data.value(l), &point.y[l * k..][..k]) - point.a[l];
    }

    fn known_pairs(&self, from: &[Option<usize>]) -> Vec<(usize, usize, f64, f64)> {
        let pairs = &self.point.pairs;
        let mut now = vec![None; self.point.u.len()];
        for (l, o) in from.iter().enumerate() {
            if let Some(o) = o {
                now[*o] = Some(l);
            }
        }
        let mut list = Vec::with_capacity(pairs.s.len());
        for i in 0..now.len() {
            for r in pairs.range(i) {
                if let (Some(l), Some(i)) = (now[pairs.envious[r]], now[i]) {
                    list.push((l, i, pairs.s[r], pairs.z[r]));
                }
            }
        }
        list
    }
}

/// The pairs with least slack between a new row and the others, in both directions.
fn new_pairs(data: &Data<'_>, point: &Point, l: usize, mu: f64) -> Vec<(usize, usize, f64, f64)> {
    let (n, k) = (data.n, data.k);
    let bundle = |i: usize| &point.y[i * k..][..k];
    let mut list = Vec::new();
    let slack_of = |envious: usize, i: usize| point.u[envious] - dot(data.value(envious), bundle(i));
    for outward in [true, false] {
        let pair = |i: usize| if outward { (l, i) } else { (i, l) };
        let mut slacks: Vec<(f64, usize)> = (0..n)
            .filter(|&i| i != l)
            .map(|i| (slack_of(pair(i).0, pair(i).1), i))
            .collect();
        slacks.sort_by(|a, b| a.0.total_cmp(&b.0));
        list.extend(slacks.iter().take(PAIRS).map(|&(slack, i)| {
            let s = slack.max(0.3 * mu.sqrt());
            (pair(i).0, pair(i).1, s, mu / s)
        }));
    }
    list
}

fn key(instance: &Instance, row: usize) -> Vec<u64> {
    instance.profile(row).iter().map(|w| w.to_bits()).collect()
}
