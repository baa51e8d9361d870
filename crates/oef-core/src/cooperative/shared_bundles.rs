//! The rows that share a bundle at a vertex, proven group by group, or split where they want to part.

use super::data::Data;
use super::envy_program::{BundleMultipliers, clusters};
use super::multipliers::{Envy, Multipliers};
use super::proof::{Attempt, Draft, Proof, SharedBundle};
use super::vertex::{Vertex, in_order};
use super::warm_start::LastMultipliers;
use std::collections::BTreeMap;

/// Bundles of a vertex that agree to this are the same.
const SAME: f64 = 1e-9;
/// Directions that agree to this part of the greatest are the same.
const SAME_DIRECTION: f64 = 0.003;

/// The rows with the same bundle at a vertex, and what the program says about each group of them.
pub(super) struct SharedBundles {
    pub of: Vec<usize>,
    pub members: Vec<Vec<usize>>,
    /// Rows that compare with its bundle, with their multiplier, by group: rows outside, and members with a threshold.
    outside: Vec<Vec<(usize, f64)>>,
    /// The multiplier of the cap of its bundle, by group.
    cap: Vec<f64>,
    /// `worth` and the multipliers towards other groups, by row.
    alpha: Vec<f64>,
}

/// What became of the proofs for all groups.
pub(super) enum SharingProofs {
    /// Multipliers for all rows.
    Proven(Multipliers),
    /// Whether the same rows share bundles in every optimum is not known.
    Open,
    /// Labels by which groups should be split, and multipliers towards the rows of the others.
    Split(Vec<usize>, Vec<Envy>),
}

/// Drafts of the last proofs, by their first member.
#[derive(Default)]
pub(super) struct Drafts(BTreeMap<usize, Draft>);

impl Drafts {
    fn take(&mut self, members: &[usize]) -> Option<Draft> {
        self.0.remove(members.first()?)
    }

    fn keep<'a>(&mut self, attempts: impl Iterator<Item = Attempt<'a>>) {
        let drafts = attempts.map(Attempt::into_draft);
        self.0 = drafts.filter_map(|draft| Some((*draft.members().first()?, draft))).collect();
    }
}

impl SharedBundles {
    /// Groups the rows by their bundles `y`. Multipliers within a group are added to `last`: they are
    /// where its proof starts from.
    pub fn new(
        data: &Data<'_>,
        y: &[f64],
        vertex: &Vertex,
        multipliers: &BundleMultipliers,
        last: &mut LastMultipliers,
    ) -> Self {
        let of = in_order(&clusters(data.rows, y, SAME));
        let count = of.iter().max().map_or(0, |g| g + 1);
        let mut members = vec![Vec::new(); count];
        let mut member_with: BTreeMap<usize, usize> = BTreeMap::new();
        let mut cap_of = vec![0.0; count];
        for (l, &g) in of.iter().enumerate() {
            members[g].push(l);
            let b = vertex.bundle_of[l];
            if member_with.insert(b, l).is_none() {
                cap_of[g] += multipliers.cap[b];
            }
        }
        let mut alpha = data.worth.clone();
        let mut outside: Vec<BTreeMap<usize, f64>> = vec![BTreeMap::new(); count];
        for &(l, b, z) in multipliers.envy.iter().filter(|m| m.0 < data.n) {
            let Some(&i) = member_with.get(&b) else { continue };
            if of[l] == of[i] && !data.rows.compares_with_itself(l) {
                last.envy[i].push((l, z));
            } else {
                *outside[of[i]].entry(l).or_insert(0.0) += z;
                alpha[l] += z;
            }
        }
        let outside = outside.into_iter().map(|list| list.into_iter().collect()).collect();
        SharedBundles { of, members, outside, cap: cap_of, alpha }
    }

    /// Proves group by group, from the drafts of the last proofs.
    pub fn prove(
        &self,
        data: &Data<'_>,
        y: &[f64],
        price: &[f64],
        last: &LastMultipliers,
        drafts: &mut Drafts,
    ) -> SharingProofs {
        let (mut proof, mut label) = (Multipliers::of_envy(Vec::new(), data.n), self.of.clone());
        let mut labels = self.members.len();
        let groups = self.described(data, y, last);
        let mut attempts = Vec::new();
        let mut whole = true;
        for group in &groups {
            match Attempt::new(data, group, price, drafts.take(group.members)) {
                Ok(attempt) => attempts.push((group, attempt)),
                Err(directions) => {
                    whole = false;
                    relabel(&mut label, &mut labels, group, &directions, data.k);
                }
            }
        }
        if !whole {
            attempts.iter().for_each(|(_, attempt)| attempt.add_multipliers(&mut proof));
            drafts.keep(attempts.into_iter().map(|(_, attempt)| attempt));
            return SharingProofs::Split(label, proof.envy);
        }
        let mut open = false;
        for (group, attempt) in &mut attempts {
            match attempt.finish() {
                Proof::Found => attempt.add_multipliers(&mut proof),
                Proof::Open => open = true,
                Proof::Split(directions) => {
                    whole = false;
                    relabel(&mut label, &mut labels, group, &directions, data.k);
                }
            }
        }
        drafts.keep(attempts.into_iter().map(|(_, attempt)| attempt));
        for (g, members) in self.members.iter().enumerate() {
            if let [only] = members[..] {
                let outside = self.outside[g].iter();
                proof.envy.extend(outside.map(|&(l, z)| Envy { envious: l, envied: only, z }));
                proof.cap[only] = self.cap[g];
            }
        }
        match (whole, open) {
            (false, _) => SharingProofs::Split(label, proof.envy),
            (true, true) => SharingProofs::Open,
            (true, false) => SharingProofs::Proven(proof),
        }
    }

    /// The groups of more than one row.
    fn described<'a>(
        &'a self,
        data: &Data<'_>,
        y: &[f64],
        last: &'a LastMultipliers,
    ) -> Vec<SharedBundle<'a>> {
        let k = data.k;
        let several = (0..self.members.len()).filter(|&g| self.members[g].len() > 1);
        let describe = |g: usize| {
            let members = &self.members[g];
            let least = members.iter().map(|&l| data.rows.cap[l]).fold(f64::INFINITY, f64::min);
            let at_cap = |m: &usize| data.rows.cap[members[*m]] <= least * (1.0 + SAME);
            SharedBundle {
                members,
                held: (0..k).filter(|&j| y[members[0] * k + j] > SAME).collect(),
                alpha: members.iter().map(|&l| self.alpha[l]).collect(),
                outside: &self.outside[g],
                cap: self.cap[g],
                at_cap: (0..members.len()).filter(at_cap).collect(),
                last: members.iter().map(|&l| &last.envy[l][..]).collect(),
                last_cap: members.iter().map(|&l| last.cap[l]).collect(),
            }
        };
        several.map(describe).collect()
    }
}

/// Gives the parts into which a group falls labels of their own, but for the largest.
fn relabel(
    label: &mut [usize],
    labels: &mut usize,
    group: &SharedBundle<'_>,
    directions: &[f64],
    k: usize,
) {
    for (&l, part) in group.members.iter().zip(split(directions, k)) {
        if part > 0 {
            label[l] = *labels + part;
        }
    }
    *labels += group.members.len() + 1;
}

/// Numbers the parts into which directions fall; the largest part has number 0.
fn split(directions: &[f64], k: usize) -> Vec<usize> {
    let most = directions.iter().fold(0.0_f64, |m, d| m.max(d.abs()));
    let rows: Vec<&[f64]> = directions.chunks(k).collect();
    let mut leaders: Vec<usize> = Vec::new();
    let mut sizes: Vec<usize> = Vec::new();
    let mut part = Vec::with_capacity(rows.len());
    for (m, row) in rows.iter().enumerate() {
        let alike = |&lead: &usize| {
            let pairs = row.iter().zip(rows[lead]);
            pairs.clone().all(|(a, b)| (a - b).abs() < SAME_DIRECTION * most)
        };
        let at = leaders.iter().position(alike).unwrap_or_else(|| {
            leaders.push(m);
            sizes.push(0);
            leaders.len() - 1
        });
        sizes[at] += 1;
        part.push(at);
    }
    let largest = (0..sizes.len()).max_by_key(|&p| sizes[p]).unwrap_or(0);
    part.iter().map(|&p| if p == largest { 0 } else { p + 1 }).collect()
}
