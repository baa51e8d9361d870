//! From a point in the middle of a face to one of its vertices.
//!
//! Along any direction within the face something blocks sooner or later: an entry becomes nothing, or a
//! pair becomes tight. What blocked stays as it is, which leaves one direction less. So there are as
//! many steps as there were directions, whatever ties there are.

use crate::linalg::dot;
use crate::scaled::Scaled;

/// A direction that changes something by less than this part of its greatest entry leaves it alone.
const STILL: f64 = 1e-9;
/// Room in which the steadiest of those that block is chosen.
const ROOM: f64 = 1e-13;

/// What blocks a step.
#[derive(Clone, Copy)]
enum Block {
    Entry(usize),
    Pair { envious: usize, own: usize, other: usize },
}

/// Bundles with the directions in which they may move.
pub(super) struct Middle<'a> {
    pub scaled: &'a Scaled,
    /// The bundle of each row.
    pub bundle_of: &'a [usize],
    /// Part of a type's capacity that a unit in each bundle takes.
    pub weight: Vec<f64>,
    /// Types that are not used up.
    pub idle: &'a [usize],
    /// Bundle after bundle.
    pub bundles: Vec<f64>,
    pub directions: Vec<Vec<f64>>,
}

impl Middle<'_> {
    /// The bundles of a vertex, if types with capacity to spare still have some there.
    pub fn vertex(mut self) -> Option<Vec<f64>> {
        let mut slack = self.slacks(&self.bundles);
        while let Some(mut direction) = self.directions.pop() {
            let most = direction.iter().fold(0.0_f64, |m, d| m.max(d.abs()));
            if most < STILL {
                continue;
            }
            direction.iter_mut().for_each(|d| *d /= most);
            let mut rates = self.slacks(&direction);
            let mut found = self.block(&direction, &slack, &rates);
            if found.is_none() {
                direction.iter_mut().chain(&mut rates).for_each(|d| *d = -*d);
                found = self.block(&direction, &slack, &rates);
            }
            let (block, step) = found?;
            for (x, d) in self.bundles.iter_mut().zip(&direction) {
                *x = (*x + step * d).max(0.0);
            }
            for (s, r) in slack.iter_mut().zip(&rates) {
                *s += step * r;
            }
            self.keep(block, &direction);
        }
        self.is_within().then_some(self.bundles)
    }

    /// How much more each row likes its own bundle than every other.
    fn slacks(&self, bundles: &[f64]) -> Vec<f64> {
        let k = self.scaled.k;
        let mut slacks = Vec::with_capacity(self.bundle_of.len() * bundles.len() / k);
        for (l, &own) in self.bundle_of.iter().enumerate() {
            let value = self.scaled.value(l);
            let mine = dot(value, &bundles[own * k..][..k]);
            slacks.extend(bundles.chunks_exact(k).map(|bundle| mine - dot(value, bundle)));
        }
        slacks
    }

    /// What blocks first, and after which step: of those within the room the one that changes fastest.
    fn block(&self, direction: &[f64], slack: &[f64], rates: &[f64]) -> Option<(Block, f64)> {
        let falls = |(x, d): (&f64, &f64)| (*d < -STILL).then(|| (x.max(0.0), -d));
        let entries = || self.bundles.iter().zip(direction).map(falls);
        let pairs = || slack.iter().zip(rates).map(falls);
        let all = entries().chain(pairs()).flatten();
        let limit = all.map(|(x, rate)| (x + ROOM) / rate).fold(f64::INFINITY, f64::min);
        let all = entries().chain(pairs()).enumerate();
        let within =
            all.filter_map(|(at, e)| e.filter(|(x, rate)| x / rate <= limit).map(|e| (at, e)));
        let (at, (x, rate)) = within.max_by(|a, b| a.1.1.total_cmp(&b.1.1))?;
        let count = self.weight.len();
        let block = at.checked_sub(direction.len()).map_or(Block::Entry(at), |pair| Block::Pair {
            envious: pair / count,
            own: self.bundle_of[pair / count],
            other: pair % count,
        });
        Some((block, x / rate))
    }

    /// Takes what would change the block out of the other directions.
    fn keep(&mut self, block: Block, direction: &[f64]) {
        let k = self.scaled.k;
        let change = |d: &[f64]| match block {
            Block::Entry(e) => d[e],
            Block::Pair { envious, own, other } => {
                let value = self.scaled.value(envious);
                dot(value, &d[own * k..][..k]) - dot(value, &d[other * k..][..k])
            }
        };
        let rate = change(direction);
        for other in &mut self.directions {
            let part = change(other) / rate;
            if part != 0.0 {
                other.iter_mut().zip(direction).for_each(|(o, d)| *o -= part * d);
                if let Block::Entry(e) = block {
                    other[e] = 0.0;
                }
            }
        }
    }

    /// Whether types that are not used up are still within their capacity.
    fn is_within(&self) -> bool {
        let k = self.scaled.k;
        let used = |j: usize| {
            let entries = self.bundles.iter().skip(j).step_by(k);
            entries.zip(&self.weight).map(|(x, w)| x * w).sum::<f64>()
        };
        self.idle.iter().all(|&j| used(j) <= 1.0)
    }
}
