//! Solving again from the last optimum.
//!
//! After one tenant came or left nearly everything is as it was: which rows share a bundle, what the
//! bundles hold, which pairs are tight. So the program with shared bundles is solved from the last
//! vertex, along a path on which a newcomer's claim grows from nothing and that of a row that has left
//! is let go. Then every group of rows with the same bundle must be proven to want no other (see
//! [`super::proof`]), starting from the last multipliers. Groups that cannot be proven are split in
//! the direction that the failed proof shows, until all of them can. The answer counts only if the
//! multipliers prove it over all pairs, and if they show that in every optimum the same rows share
//! bundles; else it is for the cold solve to find.

use super::EXACT;
use super::data::Data;
use super::envy_program::EnvyProgram;
use super::groups::{Drafts, Groups, Outcome};
use super::interior::Point;
use super::multipliers::{self, Envy};
use super::vertex::Vertex;
use crate::allocation::Allocation;
use crate::ids::TypeId;
use crate::instance::Instance;
use crate::linalg::dot;
use crate::scaled::Scaled;
use std::collections::BTreeMap;

/// Rows that may come and go before a fresh start is better.
const CHANGED_MAX: usize = 8;
/// Rounds of splitting groups before a fresh start is better; two or three are usual.
const ROUNDS_MAX: usize = 12;
/// Pivots before a fresh start is better, besides some per row; one for every three rows is usual.
const PIVOTS_LEAST: usize = 200;
const PIVOTS_PER_ROW: usize = 2;
/// Pairs whose slack was less than this part of the utility go into the program at once.
const NEAR: f64 = 0.003;
/// The same for the pairs of a newcomer with the bundles it would choose from.
const NEAR_NEWCOMER: f64 = 0.02;
/// Bundles at the end of an interior path that agree to this are taken for the same.
const NEARLY_SAME: f64 = 1e-6;

/// What a solve leaves for the next one.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    types: Vec<TypeId>,
    /// Speedups, row after row.
    speedup: Vec<f64>,
    vertex: Vertex,
    /// The distinct bundles of the vertex.
    bundles: Vec<f64>,
    z: Vec<Envy>,
}

/// A proven answer, and what it leaves for the next solve.
pub(super) struct Found {
    pub allocation: Allocation,
    pub kept: Kept,
}

/// Where the rows of an instance stood in the last one, and which rows of that have left.
struct Moves {
    from: Vec<Option<usize>>,
    gone: Vec<usize>,
}

/// The last vertex carried over: rows that have left stand as ghosts without weight behind the others.
struct Start {
    extended: Scaled,
    vertex: Vertex,
    /// The last multipliers towards each row: (envious row, z).
    last: Vec<Vec<(usize, f64)>>,
}

impl Kept {
    /// What the end of an interior path and the vertex found from it leave.
    pub fn new(instance: &Instance, vertex: Vertex, bundles: Vec<f64>, point: &Point) -> Self {
        let z = multipliers::at(point);
        Self::of(instance, vertex, bundles, z)
    }

    fn of(instance: &Instance, vertex: Vertex, bundles: Vec<f64>, z: Vec<Envy>) -> Self {
        let (types, speedup) = (instance.types.clone(), instance.speedup.clone());
        Kept { types, speedup, vertex, bundles, z }
    }

    /// Tells rows by their profiles; `None` if too much has changed.
    fn compare(&self, instance: &Instance) -> Option<Moves> {
        let k = instance.width();
        if self.types != instance.types {
            return None;
        }
        let key = |row: &[f64]| row.iter().map(|w| w.to_bits()).collect::<Vec<u64>>();
        let rows = self.speedup.chunks(k).enumerate();
        let old: BTreeMap<Vec<u64>, usize> = rows.map(|(l, row)| (key(row), l)).collect();
        let from: Vec<Option<usize>> =
            (0..instance.rows()).map(|l| old.get(&key(instance.profile(l))).copied()).collect();
        let mut stays = vec![false; self.vertex.bundle_of.len()];
        from.iter().flatten().for_each(|&o| stays[o] = true);
        let gone: Vec<usize> = (0..stays.len()).filter(|&o| !stays[o]).collect();
        let new = from.iter().filter(|f| f.is_none()).count();
        let few = new + gone.len() <= CHANGED_MAX && 2 * new < instance.rows();
        few.then_some(Moves { from, gone })
    }

    fn start(&self, instance: &Instance, scaled: &Scaled, moves: &Moves) -> Start {
        let (n, k) = (scaled.n, scaled.k);
        let mut extended = scaled.clone();
        let mut now = vec![0; self.vertex.bundle_of.len()];
        for (l, from) in moves.from.iter().enumerate() {
            if let Some(o) = from {
                now[*o] = l;
            }
        }
        for (g, &o) in moves.gone.iter().enumerate() {
            now[o] = n + g;
            let profile = &self.speedup[o * k..][..k];
            let row = profile.iter().zip(&instance.capacity).map(|(w, m)| w * m);
            let whole: f64 = row.clone().sum();
            extended.value.extend(row.map(|v| v / whole));
            extended.weight.push(0.0);
            extended.worth.push(0.0);
            extended.n += 1;
        }
        let mut vertex = self.vertex.clone();
        vertex.bundle_of = vec![0; extended.n];
        for (o, &l) in now.iter().enumerate() {
            vertex.bundle_of[l] = self.vertex.bundle_of[o];
        }
        vertex.pairs.iter_mut().for_each(|pair| pair.0 = now[pair.0]);
        self.add_near_pairs(scaled, moves, &mut vertex);
        let mut last = vec![Vec::new(); extended.n];
        for e in &self.z {
            last[now[e.envied]].push((now[e.envious], e.z));
        }
        Start { extended, vertex, last }
    }

    /// Pairs that were not in the program but may soon be tight, and the newcomers with theirs.
    fn add_near_pairs(&self, scaled: &Scaled, moves: &Moves, vertex: &mut Vertex) {
        let k = scaled.k;
        let bundles = self.bundles.len() / k;
        let like = |l: usize, b: usize| dot(scaled.value(l), &self.bundles[b * k..][..k]);
        let mut present = vec![false; vertex.bundle_of.len() * bundles];
        for &(l, b, _) in &vertex.pairs {
            present[l * bundles + b] = true;
        }
        let known = |l: &usize| moves.from[*l].is_some();
        let mut favourite = Vec::new();
        for l in 0..scaled.n {
            let likes: Vec<f64> = (0..bundles).map(|b| like(l, b)).collect();
            let best = (0..bundles).max_by(|&a, &b| likes[a].total_cmp(&likes[b])).unwrap_or(0);
            let (enough, own) = if known(&l) {
                (likes[vertex.bundle_of[l]] * (1.0 - NEAR), Some(vertex.bundle_of[l]))
            } else {
                favourite.push((l, best));
                (likes[best] * (1.0 - NEAR_NEWCOMER), None)
            };
            for b in (0..bundles).filter(|&b| Some(b) != own && likes[b] > enough) {
                if !present[l * bundles + b] {
                    vertex.pairs.push((l, b, true));
                }
            }
        }
        // A newcomer has a bundle of its own, with nothing in it yet.
        for (at, (l, best)) in favourite.into_iter().enumerate() {
            vertex.bundle_of[l] = bundles + at;
            for i in (0..scaled.n).filter(known) {
                if like(i, best) > (1.0 - NEAR_NEWCOMER) * like(i, vertex.bundle_of[i]) {
                    vertex.pairs.push((i, bundles + at, true));
                }
            }
        }
    }
}

/// The answer for an instance that is like the last one, if it is found and proven.
pub(super) fn solve(
    kept: &Kept,
    instance: &Instance,
    scaled: &Scaled,
    stop: &dyn Fn() -> bool,
) -> Option<Found> {
    let moves = kept.compare(instance)?;
    let start = kept.start(instance, scaled, &moves);
    settle(instance, scaled, start, PIVOTS_LEAST + PIVOTS_PER_ROW * scaled.n, stop)
}

/// The answer from the end of an interior path, if it is found and proven: where the vertex there was
/// not the optimum, or is far from it.
pub(super) fn from_path(
    instance: &Instance,
    scaled: &Scaled,
    point: &Point,
    stop: &dyn Fn() -> bool,
) -> Option<Found> {
    let mut last = vec![Vec::new(); scaled.n];
    for e in multipliers::at(point) {
        last[e.envied].push((e.envious, e.z));
    }
    let vertex = Vertex::near(scaled, point, NEARLY_SAME);
    let start = Start { extended: scaled.clone(), vertex, last };
    settle(instance, scaled, start, 2 * (PIVOTS_LEAST + PIVOTS_PER_ROW * scaled.n), stop)
}

/// Moves to the optimum with the bundles shared as they are, proves it or splits bundles, and so on.
fn settle(
    instance: &Instance,
    scaled: &Scaled,
    start: Start,
    pivots_max: usize,
    stop: &dyn Fn() -> bool,
) -> Option<Found> {
    let data = Data::new(scaled);
    let Start { mut extended, mut vertex, mut last } = start;
    let (mut left, mut drafts) = (pivots_max, Drafts::default());
    for _ in 0..ROUNDS_MAX {
        let ghost: Vec<bool> = (0..extended.n).map(|l| l >= scaled.n).collect();
        let mut program = EnvyProgram::resume(&extended, &vertex, &ghost);
        program.approach(left, stop).ok()?;
        let mut seen = Seen::at(&mut program, &data, &mut last, &mut drafts);
        if !matches!(seen.outcome, Outcome::Split(..)) {
            // Only the last vertex need be exact; mostly it is the one that was proven.
            let near = program.pivots();
            program.arrive(left, stop).ok()?;
            if program.pivots() > near || !seen.is_exact(&data) {
                seen = Seen::at(&mut program, &data, &mut last, &mut drafts);
            }
        }
        left = left.saturating_sub(program.pivots());
        vertex = program.vertex();
        let Seen { groups, outcome, .. } = seen;
        match outcome {
            Outcome::Open => return None,
            Outcome::Split(label, proven) => {
                vertex = vertex.regrouped(&label);
                extended = scaled.clone();
                last.truncate(scaled.n);
                last.iter_mut().for_each(|list| list.retain(|e| e.0 < scaled.n));
                proven.iter().for_each(|e| last[e.envied].clear());
                proven.iter().for_each(|e| last[e.envied].push((e.envious, e.z)));
            }
            Outcome::Proven(z) => {
                let y = own_bundles(&program, &data);
                let bound = multipliers::bound(&data, &z);
                if ((bound - scaled.total(&y)) / bound).abs() > EXACT {
                    return None;
                }
                let vertex = vertex.regrouped(&groups.of);
                let first = groups.members.iter().flat_map(|m| &y[m[0] * scaled.k..][..scaled.k]);
                let kept = Kept::of(instance, vertex, first.copied().collect(), z);
                if extended.n > scaled.n {
                    // Nobody is in the program but those who are there.
                    program = EnvyProgram::resume(scaled, &kept.vertex, &vec![false; scaled.n]);
                    program.approach(left, stop).ok()?;
                    program.arrive(left, stop).ok()?;
                    left = left.saturating_sub(program.pivots());
                }
                let mut allocation = canonical(instance, scaled, program, bound, stop)?;
                allocation.pivots = pivots_max - left;
                return Some(Found { allocation, kept });
            }
        }
    }
    None
}

/// A vertex with its bundles shared as they are, and what became of its proof.
struct Seen {
    y: Vec<f64>,
    groups: Groups,
    outcome: Outcome,
}

impl Seen {
    fn at(
        program: &mut EnvyProgram<'_>,
        data: &Data<'_>,
        last: &mut [Vec<(usize, f64)>],
        drafts: &mut Drafts,
    ) -> Self {
        let y = own_bundles(program, data);
        let (price, shared) = program.multipliers(data.n);
        let groups = Groups::new(data, &y, &program.vertex(), &shared, last);
        let outcome = groups.prove(data, &y, &price, last, drafts);
        Seen { y, groups, outcome }
    }

    /// Whether the proof leaves no gap.
    fn is_exact(&self, data: &Data<'_>) -> bool {
        let Outcome::Proven(z) = &self.outcome else { return false };
        let bound = multipliers::bound(data, z);
        ((bound - data.scaled.total(&self.y)) / bound).abs() <= EXACT
    }
}

/// The bundles of the rows that are there, without those of ghosts.
fn own_bundles(program: &EnvyProgram<'_>, data: &Data<'_>) -> Vec<f64> {
    let mut y = program.bundles();
    y.truncate(data.n * data.k);
    y
}

/// The canonical optimum from a proven vertex.
fn canonical(
    instance: &Instance,
    scaled: &Scaled,
    mut program: EnvyProgram<'_>,
    bound: f64,
    stop: &dyn Fn() -> bool,
) -> Option<Allocation> {
    let price = program.prices();
    program.make_canonical(stop).ok()?;
    let y = program.bundles();
    let gap = ((bound - scaled.total(&y)) / bound).abs();
    let (x, price) = (scaled.to_shares(instance, &y), scaled.to_prices(instance, &price));
    let (pivots, method) = (program.pivots(), super::METHOD);
    (gap <= EXACT).then_some(Allocation { x, price, gap, pivots, method, canonical: true })
}
