//! Solving from the last optimum.
//!
//! After one tenant came or left, or when demands have changed a little, nearly everything is as it was: which rows share a bundle, what the
//! bundles hold, which pairs are tight. So the program with shared bundles is solved from the last
//! vertex, along a path on which a newcomer's claim grows from nothing and that of a row that has left
//! is let go. Then every group of rows with the same bundle must be proven to want no other (see
//! [`super::proof`]), starting from the last multipliers. Groups that cannot be proven are split in
//! the direction that the failed proof shows, until all of them can. The answer counts only if the
//! multipliers prove it over all pairs, and if they show that in every optimum the same rows share
//! bundles; else it is for the cold solve to find.

use super::checkpoint::Checkpoint;
use super::data::Data;
use super::envy_program::EnvyProgram;
use super::multipliers::{Envy, Multipliers};
use super::point::Point;
use super::rows::Rows;
use super::shared_bundles::{Drafts, SharedBundles, SharingProofs};
use super::vertex::Vertex;
use super::{Answer, BY_GROUPS, EXACT};
use crate::ids::TypeId;
use crate::instance::{Instance, direction};
use crate::linalg::dot;
use std::collections::{BTreeMap, VecDeque};

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
    multipliers: Multipliers,
    /// Where a path for rows with demands starts.
    pub checkpoint: Option<Checkpoint>,
}

/// Where the rows of an instance stood in the last one, and which rows of that have left.
pub(super) struct Moves {
    pub from: Vec<Option<usize>>,
    gone: Vec<usize>,
}

/// The last vertex carried over: rows that have left stand as ghosts without weight behind the others.
struct Start {
    extended: Rows,
    vertex: Vertex,
    last: LastMultipliers,
}

/// The last multipliers, where a proof starts from.
#[derive(Default)]
pub(super) struct LastMultipliers {
    /// Towards each row: (envious row, z).
    pub envy: Vec<Vec<(usize, f64)>>,
    /// Of each row's cap.
    pub cap: Vec<f64>,
}

impl LastMultipliers {
    /// Multipliers of rows that stand elsewhere now.
    fn new(multipliers: &Multipliers, now: impl Fn(usize) -> usize, rows: usize) -> Self {
        let mut last = LastMultipliers { envy: vec![Vec::new(); rows], cap: vec![0.0; rows] };
        for e in &multipliers.envy {
            last.envy[now(e.envied)].push((now(e.envious), e.z));
        }
        for (l, cap) in multipliers.cap.iter().enumerate() {
            last.cap[now(l)] = *cap;
        }
        last
    }

    /// Takes others instead of those towards the same rows.
    fn replace(&mut self, proven: &[Envy]) {
        proven.iter().for_each(|e| self.envy[e.envied].clear());
        proven.iter().for_each(|e| self.envy[e.envied].push((e.envious, e.z)));
    }
}

impl Kept {
    /// What a proven vertex leaves.
    pub fn new(
        instance: &Instance,
        vertex: Vertex,
        bundles: Vec<f64>,
        multipliers: Multipliers,
    ) -> Self {
        let (types, speedup) = (instance.types.clone(), instance.speedup.clone());
        Kept { types, speedup, vertex, bundles, multipliers, checkpoint: None }
    }

    /// Tells rows by the directions of their profiles, and those with equal ones by the order of their demands; `None` if
    /// too much has changed.
    pub fn compare(&self, instance: &Instance) -> Option<Moves> {
        let k = instance.width();
        if self.types != instance.types {
            return None;
        }
        let key = |row: &[f64]| direction(row.iter().copied()).collect::<Vec<u64>>();
        let mut old: BTreeMap<Vec<u64>, VecDeque<usize>> = BTreeMap::new();
        for (l, row) in self.speedup.chunks(k).enumerate() {
            old.entry(key(row)).or_default().push_back(l);
        }
        let mut find = |l: usize| old.get_mut(&key(instance.profile(l)))?.pop_front();
        let from: Vec<Option<usize>> = (0..instance.rows()).map(&mut find).collect();
        let mut stays = vec![false; self.vertex.bundle_of.len()];
        from.iter().flatten().for_each(|&o| stays[o] = true);
        let gone: Vec<usize> = (0..stays.len()).filter(|&o| !stays[o]).collect();
        let new = from.iter().filter(|f| f.is_none()).count();
        let few = new + gone.len() <= CHANGED_MAX && 2 * new < instance.rows();
        few.then_some(Moves { from, gone })
    }

    fn start(&self, instance: &Instance, rows: &Rows, moves: &Moves) -> Start {
        let (n, k) = (rows.n, rows.k);
        let mut extended = rows.clone();
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
            extended.push_weightless(row.map(|v| v / whole));
        }
        let mut vertex = self.vertex.clone();
        vertex.bundle_of = vec![0; extended.n];
        for (o, &l) in now.iter().enumerate() {
            vertex.bundle_of[l] = self.vertex.bundle_of[o];
        }
        vertex.pairs.iter_mut().for_each(|pair| pair.0 = now[pair.0]);
        self.add_near_pairs(rows, moves, &mut vertex);
        let last = LastMultipliers::new(&self.multipliers, |o| now[o], extended.n);
        Start { extended, vertex, last }
    }

    /// Pairs that were not in the program but may soon be tight, and the newcomers with theirs.
    fn add_near_pairs(&self, rows: &Rows, moves: &Moves, vertex: &mut Vertex) {
        let k = rows.k;
        let bundles = self.bundles.len() / k;
        let bundle = |b: usize| &self.bundles[b * k..][..k];
        let like = |l: usize, b: usize| dot(rows.value(l), bundle(b));
        let asked = |l: usize, b: usize| rows.base[l] + dot(rows.compare(l), bundle(b));
        let mut present = vec![false; vertex.bundle_of.len() * bundles];
        for &(l, b, _) in &vertex.pairs {
            present[l * bundles + b] = true;
        }
        let known = |l: &usize| moves.from[*l].is_some();
        let mut favourite = Vec::new();
        for l in 0..rows.n {
            let likes: Vec<f64> = (0..bundles).map(|b| asked(l, b)).collect();
            let best = (0..bundles).max_by(|&a, &b| likes[a].total_cmp(&likes[b])).unwrap_or(0);
            let (enough, own) = if known(&l) {
                (like(l, vertex.bundle_of[l]) * (1.0 - NEAR), Some(vertex.bundle_of[l]))
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
            for i in (0..rows.n).filter(known) {
                if asked(i, best) > (1.0 - NEAR_NEWCOMER) * like(i, vertex.bundle_of[i]) {
                    vertex.pairs.push((i, bundles + at, true));
                }
            }
        }
    }
}

/// The answer for an instance that is like the last one, if it is found and proven.
pub(super) fn from_last(
    kept: &Kept,
    instance: &Instance,
    rows: &Rows,
    stop: &dyn Fn() -> bool,
) -> Option<Answer> {
    let moves = kept.compare(instance)?;
    let start = kept.start(instance, rows, &moves);
    // With demands nearly every row has a bundle of its own, and a pivot takes longer.
    let pivots_max = match rows.is_limited() {
        true => PIVOTS_LEAST,
        false => PIVOTS_LEAST + PIVOTS_PER_ROW * rows.n,
    };
    settle(instance, rows, start, pivots_max, stop)
}

/// The answer from the end of an interior path, if it is found and proven: where the vertex there was
/// not the optimum, or is far from it.
pub(super) fn from_path(
    instance: &Instance,
    rows: &Rows,
    point: &Point,
    stop: &dyn Fn() -> bool,
) -> Option<Answer> {
    let last = LastMultipliers::new(&Multipliers::tight(point), |l| l, rows.n);
    let vertex = Vertex::near(rows, point, NEARLY_SAME, 1.0);
    let start = Start { extended: rows.clone(), vertex, last };
    settle(instance, rows, start, 2 * (PIVOTS_LEAST + PIVOTS_PER_ROW * rows.n), stop)
}

/// The best bundles with rows sharing them where the bundles of a path agree within `same`, and with groups split as long
/// as that gains something. All of them are feasible.
pub(super) fn shared(
    rows: &Rows,
    point: &Point,
    same: f64,
    stop: &dyn Fn() -> bool,
) -> Option<Vec<f64>> {
    let data = Data::new(rows);
    let mut last = LastMultipliers::new(&Multipliers::tight(point), |l| l, rows.n);
    let mut vertex = Vertex::near(rows, point, same, 1.0);
    let mut drafts = Drafts::default();
    let mut best: Option<(f64, Vec<f64>)> = None;
    for _ in 0..ROUNDS_MAX {
        if stop() {
            break;
        }
        let pivots_max = PIVOTS_LEAST + PIVOTS_PER_ROW * rows.n;
        let mut program = EnvyProgram::resume(rows, &vertex, rows.n);
        if program.approach(pivots_max, stop).is_err() || program.arrive(pivots_max, stop).is_err()
        {
            break;
        }
        let Seen { y, proofs, .. } = Seen::at(&mut program, &data, &mut last, &mut drafts);
        let total = rows.total(&y);
        let gains = best.as_ref().is_none_or(|best| total > best.0 * (1.0 + EXACT));
        if best.as_ref().is_none_or(|best| total > best.0) && rows.is_feasible(&y) {
            best = Some((total, y));
        }
        let SharingProofs::Split(label, proven) = proofs else { break };
        if !gains {
            break;
        }
        vertex = program.vertex().regrouped(&label);
        last.replace(&proven);
    }
    best.map(|best| best.1)
}

/// Moves to the optimum with the bundles shared as they are, proves it or splits bundles, and so on.
fn settle(
    instance: &Instance,
    rows: &Rows,
    start: Start,
    pivots_max: usize,
    stop: &dyn Fn() -> bool,
) -> Option<Answer> {
    let data = Data::new(rows);
    let Start { mut extended, mut vertex, mut last } = start;
    let (mut left, mut drafts) = (pivots_max, Drafts::default());
    for _ in 0..ROUNDS_MAX {
        if stop() {
            return None;
        }
        let mut program = EnvyProgram::resume(&extended, &vertex, rows.n);
        program.approach(left, stop).ok()?;
        let mut seen = Seen::at(&mut program, &data, &mut last, &mut drafts);
        if !matches!(seen.proofs, SharingProofs::Split(..)) {
            // Only the last vertex need be exact; mostly it is the one that was proven.
            let near = program.pivots();
            program.arrive(left, stop).ok()?;
            if program.pivots() > near || !seen.is_exact(&data) {
                seen = Seen::at(&mut program, &data, &mut last, &mut drafts);
            }
        }
        left = left.saturating_sub(program.pivots());
        vertex = program.vertex();
        let Seen { y, groups, proofs } = seen;
        match proofs {
            SharingProofs::Open => return None,
            SharingProofs::Split(label, proven) => {
                vertex = vertex.regrouped(&label);
                extended = rows.clone();
                last.envy.truncate(rows.n);
                last.envy.iter_mut().for_each(|list| list.retain(|e| e.0 < rows.n));
                last.replace(&proven);
            }
            SharingProofs::Proven(multipliers) => {
                let bound = multipliers.bound(&data);
                if ((bound - rows.total(&y)) / bound).abs() > EXACT {
                    return None;
                }
                let vertex = vertex.regrouped(&groups.of);
                let first = groups.members.iter().flat_map(|m| &y[m[0] * rows.k..][..rows.k]);
                let kept = Kept::new(instance, vertex, first.copied().collect(), multipliers);
                if extended.n > rows.n {
                    // Nobody is in the program but those who are there.
                    program = EnvyProgram::resume(rows, &kept.vertex, rows.n);
                    program.approach(left, stop).ok()?;
                    program.arrive(left, stop).ok()?;
                    left = left.saturating_sub(program.pivots());
                }
                let price = program.prices();
                let canonical = program.make_canonical(stop).ok()?;
                let y = program.bundles();
                let gap = ((bound - rows.total(&y)) / bound).abs();
                let (pivots, method, kept) = (pivots_max - left, BY_GROUPS, Some(kept));
                let answer = Answer { y, price, gap, pivots, method, canonical, kept };
                return (canonical && gap <= EXACT).then_some(answer);
            }
        }
    }
    None
}

/// A vertex with its bundles shared as they are, and what became of its proof.
struct Seen {
    y: Vec<f64>,
    groups: SharedBundles,
    proofs: SharingProofs,
}

impl Seen {
    fn at(
        program: &mut EnvyProgram<'_>,
        data: &Data<'_>,
        last: &mut LastMultipliers,
        drafts: &mut Drafts,
    ) -> Self {
        let mut y = program.bundles();
        y.truncate(data.n * data.k);
        let multipliers = program.multipliers(data.n);
        let groups = SharedBundles::new(data, &y, &program.vertex(), &multipliers, last);
        let proofs = groups.prove(data, &y, &multipliers.price, last, drafts);
        Seen { y, groups, proofs }
    }

    /// Whether the proof leaves no gap.
    fn is_exact(&self, data: &Data<'_>) -> bool {
        let SharingProofs::Proven(multipliers) = &self.proofs else { return false };
        let bound = multipliers.bound(data);
        ((bound - data.rows.total(&self.y)) / bound).abs() <= EXACT
    }
}
