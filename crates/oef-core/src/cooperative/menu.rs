//! An envy-free answer from any bundles: everybody chooses from the same menu.
//!
//! If every row takes the bundle that it likes best among all bundles on offer, nobody envies anybody,
//! whatever the bundles are. What remains is to fit the capacities. Where the choices ask for too much
//! of a type, all bundles get less of it (and more of what nobody asks for), and everybody chooses
//! again; in the end all bundles shrink by the same factor, and what is left over of each type is
//! divided by weight among those who can use it. None of that makes envy.
//!
//! Where there are demands, the plain division is the answer to begin with (see [`super::rows`]), and it moves as far
//! towards the bundles of the path as the constraints allow.

use super::rows::Rows;
use crate::linalg::dot;
use ndarray::{Array2, ArrayView2};

/// Rounds of changing the mixture of the bundles; each costs a product of two matrices.
const ROUNDS: usize = 40;
/// How far a round goes towards what the choices ask for: too far, and they swing.
const STEP: f64 = 0.3;
/// What may be missing in a constraint, in units of an equal split: rounding.
const MISSING: f64 = 5e-11;

/// Envy-free bundles within the capacities, made from the bundles `y` of an unfinished path.
pub(super) fn choose(rows: &Rows, y: &[f64]) -> Vec<f64> {
    let mut menu: Vec<f64> = y.iter().map(|y| y.max(0.0)).collect();
    let mut best = Vec::new();
    let mut most = f64::NEG_INFINITY;
    for _ in 0..ROUNDS {
        let mut chosen = favourites(rows, &menu);
        let used = used(rows, &chosen);
        fit(rows, &used, &mut chosen);
        let total = rows.total(&chosen);
        if total > most {
            (most, best) = (total, chosen);
        }
        for (j, used) in used.iter().enumerate() {
            let factor = used.max(1e-3).powf(-STEP).clamp(0.5, 2.0);
            for entry in menu.iter_mut().skip(j).step_by(rows.k) {
                *entry *= factor;
            }
        }
    }
    best
}

/// Feasible bundles between a feasible answer and the bundles `y` of an unfinished path.
pub(super) fn between(rows: &Rows, feasible: &[f64], y: &[f64]) -> Vec<f64> {
    let (n, k) = (rows.n, rows.k);
    let used = used(rows, y);
    let wanted = |e: usize| y[e].max(0.0) / if rows.used_up[e % k] { used[e % k] } else { 1.0 };
    let mut wanted: Vec<f64> = (0..n * k).map(wanted).collect();
    for (bundle, cap) in wanted.chunks_exact_mut(k).zip(&rows.cap) {
        let shrink = (cap / dot(&rows.size, bundle)).min(1.0);
        bundle.iter_mut().for_each(|y| *y *= shrink);
    }
    let constraints = |y: &[f64]| -> Vec<f64> {
        let bundle = |l: usize| &y[l * k..][..k];
        let idle = (0..k).filter(|&j| !rows.used_up[j]);
        let mut slack: Vec<f64> = idle.map(|j| 1.0 - self::used(rows, y)[j]).collect();
        let capped = (0..n).filter(|&l| rows.cap[l].is_finite());
        slack.extend(capped.map(|l| rows.cap[l] - dot(&rows.size, bundle(l))));
        slack.extend((0..n).map(|l| rows.utility(l, y, l) - rows.floor[l]));
        for l in 0..n {
            let others = (0..n).filter(|&i| i != l);
            slack.extend(others.map(|i| rows.slack(l, bundle(l), bundle(i))));
        }
        slack
    };
    let (here, there) = (constraints(feasible), constraints(&wanted));
    let limits = here.iter().zip(&there).filter(|(_, there)| **there < -MISSING);
    let limits = limits.map(|(here, there)| here.max(0.0) / (here.max(0.0) - there));
    let part = limits.fold(1.0, f64::min);
    feasible.iter().zip(&wanted).map(|(f, w)| f + part * (w - f)).collect()
}

/// What everybody likes best of the menu, without what it cannot use.
fn favourites(rows: &Rows, menu: &[f64]) -> Vec<f64> {
    let (n, k) = (rows.n, rows.k);
    let mut chosen = vec![0.0; n * k];
    let liking =
        match (ArrayView2::from_shape((n, k), &rows.value), ArrayView2::from_shape((n, k), menu)) {
            (Ok(value), Ok(menu)) => value.dot(&menu.t()),
            _ => Array2::zeros((n, n)),
        };
    for (l, row) in liking.rows().into_iter().enumerate() {
        let mut best = l;
        for (i, like) in row.iter().enumerate() {
            if *like > row[best] {
                best = i;
            }
        }
        for j in (0..k).filter(|&j| rows.value[l * k + j] > 0.0) {
            chosen[l * k + j] = menu[best * k + j];
        }
    }
    chosen
}

/// Part of each type's capacity that bundles take.
fn used(rows: &Rows, y: &[f64]) -> Vec<f64> {
    let (n, k) = (rows.n, rows.k);
    (0..k).map(|j| (0..n).map(|l| rows.weight[l] * y[l * k + j]).sum()).collect()
}

fn fit(rows: &Rows, used: &[f64], y: &mut [f64]) {
    let (n, k) = (rows.n, rows.k);
    let most = used.iter().copied().fold(0.0, f64::max);
    let shrink = if most > 0.0 { 1.0 / most } else { 0.0 };
    for (j, used) in used.iter().enumerate() {
        let users: f64 =
            (0..n).filter(|&l| rows.value[l * k + j] > 0.0).map(|l| rows.weight[l]).sum();
        let extra = (1.0 - used * shrink).max(0.0) / users;
        for l in 0..n {
            let e = l * k + j;
            y[e] = if rows.value[e] > 0.0 { y[e] * shrink + extra } else { 0.0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ProblemSpec;
    use crate::instance::{Alike, Instance, LastOrder};

    #[test]
    fn any_bundles_make_an_envy_free_answer_that_uses_everything() {
        let spec = ProblemSpec::from_matrix(
            &[3.0, 2.0, 1.0],
            &[&[1.0, 2.0, 3.0], &[1.0, 4.0, 0.0], &[1.0, 1.5, 7.0], &[0.0, 1.0, 2.0]],
        );
        let problem = spec.validate().unwrap();
        let rows = Rows::new(
            &Instance::new(&problem, None, Alike::InProportion, &mut LastOrder::default()),
            &[],
        );
        let bundles: Vec<f64> = (0..12).map(|e| ((e * 7 + 3) % 5) as f64 / 2.0).collect();
        let y = choose(&rows, &bundles);
        for l in 0..rows.n {
            for i in 0..rows.n {
                assert!(rows.utility(l, &y, i) <= rows.utility(l, &y, l) + 1e-12, "{l} envies {i}");
            }
        }
        for j in 0..rows.k {
            let used: f64 = (0..rows.n).map(|l| rows.weight[l] * y[l * rows.k + j]).sum();
            assert!((used - 1.0).abs() < 1e-12, "type {j}: {used}");
        }
    }
}
