//! Who compares: rows without a cap, and tenants with one.
//!
//! A tenant that can use at most `D` GPUs does not envy a bundle for what it could not use of it. The
//! value of a bundle `z` to it is that of the best `D` GPUs,
//! `V(z) = min over a >= 0 of a D + sum_j max(w_j - a, 0) z_j`, which is concave: `u >= V(z)` is no
//! linear constraint, but `u >= a D + sum_j max(w_j - a, 0) z_j` with a fixed `a` is, and implies it.
//! For `a` we take the speed of the slowest GPU that the tenant would take of a plain division of
//! every type (`max-min` with demands). That division satisfies all these constraints, so together
//! with the caps they always have a solution, and any solution is free of envy in what can be used.
//!
//! Envy alone could keep GPUs idle that somebody could use: a tenant at its limit, with many slow GPUs,
//! may forbid another to have one more fast GPU than it has. So a type that the division uses up
//! has to be used up. Of any other type `j` nothing useful is idle at an optimum anyway: the division
//! left some of it because everybody who can use it was at its limit with GPUs at least as fast, hence
//! `a >= w_j` for all of them, and none would envy more of it.

use crate::instance::{Cap, Instance};
use crate::limited::usable_equal_split;
use crate::scaled::Scaled;

/// A type of which the division leaves no greater part is used up; the division itself is better.
const USED_UP: f64 = 1e-6;
/// Room for rounding where everything has to be handed out.
const HAIR: f64 = 1e-12;

/// One side of the comparison, in scaled units: it asks for
/// `sum_l part_l v_l.y_l >= base + value.y_i` for every row `i` that is not its own.
#[derive(Clone, Debug)]
pub(super) struct Party {
    /// The rows whose utility it enjoys, with their part in it.
    pub rows: Vec<(usize, f64)>,
    /// What a unit of each type of somebody else's bundle is worth to it.
    pub value: Vec<f64>,
    /// What it asks for besides.
    pub base: f64,
    /// The least utility that it must have: what it can use of its equal split (0: none needed).
    pub floor: f64,
    /// The greatest number of GPUs, if it has a cap.
    pub limit: Option<f64>,
}

/// The part of each type that has to be handed out: what the division uses of it if that is (but for
/// rounding) everything, else nothing.
pub(super) fn used_up(instance: &Instance, division: &[f64]) -> Vec<f64> {
    let k = instance.width();
    let part = |j: usize| division.iter().skip(j).step_by(k).sum::<f64>() / instance.capacity[j];
    let asked = |part: f64| if part >= 1.0 - USED_UP { part.min(1.0) - HAIR } else { 0.0 };
    (0..k).map(|j| asked(part(j))).collect()
}

/// Every row for itself: the parties of an instance without caps.
pub(super) fn without_caps(scaled: &Scaled) -> Vec<Party> {
    (0..scaled.n).map(|l| single(scaled, l, 0.0)).collect()
}

fn single(scaled: &Scaled, l: usize, floor: f64) -> Party {
    Party { rows: vec![(l, 1.0)], value: scaled.value(l).to_vec(), base: 0.0, floor, limit: None }
}

/// The parties of an instance with caps; `division` are the shares of the plain division.
pub(super) fn with_caps(instance: &Instance, scaled: &Scaled, division: &[f64]) -> Vec<Party> {
    let capped = instance.capped_rows();
    let active: f64 = instance.weight.iter().sum();
    // Floors are relative to the equal split of everybody, units to that of the rows present.
    let floor = active / instance.total_weight;
    let free = (0..instance.rows()).filter(|&l| !capped[l]).map(|l| single(scaled, l, floor));
    let limited = instance.caps.iter().filter(|cap| cap.limit > 0.0).map(|cap| {
        let threshold = slowest_taken(instance, division, &cap.rows, cap.limit);
        limited(instance, cap, threshold)
    });
    free.chain(limited).collect()
}

/// A capped party that compares with the given speed as the price of a GPU.
fn limited(instance: &Instance, cap: &Cap, threshold: f64) -> Party {
    let active: f64 = instance.weight.iter().sum();
    let floor = active / instance.total_weight;
    let unit: f64 = cap.rows.iter().map(|&l| instance.equal_split(l) / floor).sum();
    let above =
        |l: usize, j: usize| (instance.profile(l)[j] - threshold).max(0.0) * instance.weight[l];
    let value = (0..instance.width()).map(|j| {
        let worth: f64 = cap.rows.iter().map(|&l| above(l, j)).sum();
        worth * instance.capacity[j] / active / unit
    });
    Party {
        rows: cap.rows.iter().map(|&l| (l, instance.equal_split(l) / floor / unit)).collect(),
        value: value.collect(),
        base: threshold * cap.limit / unit,
        // A hair of room: demands may add up to exactly what there is.
        floor: usable_equal_split(instance, cap) / unit,
        limit: Some(cap.limit),
    }
}

/// Gives parties that are at their limit in `x` the speed of their slowest GPU as threshold, where all
/// their comparisons hold with it at `x`: then `x` stays a solution. Returns whether any changed.
pub(super) fn raise_thresholds(
    instance: &Instance,
    scaled: &Scaled,
    parties: &mut [Party],
    x: &[f64],
) -> bool {
    let y = scaled.to_bundles(instance, x);
    let mut raised = false;
    for cap in instance.caps.iter().filter(|cap| cap.limit > 0.0) {
        let threshold = slowest_taken(instance, x, &cap.rows, cap.limit);
        let Some(party) =
            parties.iter_mut().find(|p| p.limit.is_some() && p.rows[0].0 == cap.rows[0])
        else {
            continue;
        };
        let changed = limited(instance, cap, threshold);
        let own: f64 = party.rows.iter().map(|&(l, part)| part * scaled.utility(l, &y, l)).sum();
        let satisfied = (0..scaled.n).filter(|i| cap.rows.iter().all(|l| l != i)).all(|i| {
            let other = crate::shares::dot(&changed.value, &y[i * scaled.k..][..scaled.k]);
            changed.base + other <= own * (1.0 + 1e-11) + 1e-12
        });
        if satisfied && changed.base > party.base * (1.0 + 1e-9) + 1e-12 {
            // What it has now is where it stays: others may grow past what it could not use.
            *party = Party { floor: party.floor.max(own * (1.0 - 1e-12)), ..changed };
            raised = true;
        }
    }
    raised
}

/// The speed of the slowest GPU taken by a party that is at its limit; 0 for one that is below.
fn slowest_taken(instance: &Instance, division: &[f64], rows: &[usize], limit: f64) -> f64 {
    let k = instance.width();
    let (mut taken, mut slowest) = (0.0, f64::INFINITY);
    for &l in rows {
        for j in 0..k {
            let gpus = division[l * k + j];
            taken += gpus;
            if gpus > 1e-10 * limit {
                slowest = slowest.min(instance.profile(l)[j]);
            }
        }
    }
    if taken < limit * (1.0 - 1e-9) || slowest.is_infinite() { 0.0 } else { slowest }
}
