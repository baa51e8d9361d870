//! An envy-free answer from any bundles: everybody chooses from the same menu.
//!
//! If every row takes the bundle that it likes best among all bundles on offer, nobody envies anybody,
//! whatever the bundles are. What remains is to fit the capacities: all bundles shrink by the same
//! factor, and what is left over of each type is divided by weight among those who can use it; both
//! keep everybody's order of preference.

use crate::linalg::dot;
use crate::scaled::Scaled;

/// Envy-free bundles within the capacities, made from the bundles `y` of an unfinished path.
pub(super) fn choose(scaled: &Scaled, y: &[f64]) -> Vec<f64> {
    let (n, k) = (scaled.n, scaled.k);
    let offer: Vec<f64> = y.iter().map(|y| y.max(0.0)).collect();
    let mut chosen = vec![0.0; n * k];
    for l in 0..n {
        let value = scaled.value(l);
        let liking = |i: usize| dot(value, &offer[i * k..][..k]);
        let mut best = l;
        let mut most = liking(l);
        for i in 0..n {
            let like = liking(i);
            if like > most {
                (best, most) = (i, like);
            }
        }
        for j in (0..k).filter(|&j| value[j] > 0.0) {
            chosen[l * k + j] = offer[best * k + j];
        }
    }
    fit(scaled, &mut chosen);
    chosen
}

fn fit(scaled: &Scaled, y: &mut [f64]) {
    let (n, k) = (scaled.n, scaled.k);
    let used: Vec<f64> =
        (0..k).map(|j| (0..n).map(|l| scaled.weight[l] * y[l * k + j]).sum()).collect();
    let most = used.iter().copied().fold(0.0, f64::max);
    let shrink = if most > 0.0 { 1.0 / most } else { 0.0 };
    for (j, used) in used.iter().enumerate() {
        let users: f64 =
            (0..n).filter(|&l| scaled.value[l * k + j] > 0.0).map(|l| scaled.weight[l]).sum();
        let extra = (1.0 - used * shrink).max(0.0) / users;
        for l in 0..n {
            let e = l * k + j;
            y[e] = if scaled.value[e] > 0.0 { y[e] * shrink + extra } else { 0.0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ProblemSpec;
    use crate::instance::Instance;

    #[test]
    fn any_bundles_make_an_envy_free_answer_that_uses_everything() {
        let spec = ProblemSpec::from_matrix(
            &[3.0, 2.0, 1.0],
            &[&[1.0, 2.0, 3.0], &[1.0, 4.0, 0.0], &[1.0, 1.5, 7.0], &[0.0, 1.0, 2.0]],
        );
        let problem = spec.validate().unwrap();
        let scaled = Scaled::new(&Instance::new(&problem, None));
        let bundles: Vec<f64> = (0..12).map(|e| ((e * 7 + 3) % 5) as f64 / 2.0).collect();
        let y = choose(&scaled, &bundles);
        for l in 0..scaled.n {
            for i in 0..scaled.n {
                assert!(
                    scaled.utility(l, &y, i) <= scaled.utility(l, &y, l) + 1e-12,
                    "{l} envies {i}"
                );
            }
        }
        for j in 0..scaled.k {
            let used: f64 = (0..scaled.n).map(|l| scaled.weight[l] * y[l * scaled.k + j]).sum();
            assert!((used - 1.0).abs() < 1e-12, "type {j}: {used}");
        }
    }
}
