//! The small dense system of an iteration, and the walk along a direction.

/// Cholesky factor of a positive definite matrix given by its lower triangle; a pivot that rounding
/// made vanish is lifted, so that its direction is left out rather than blown up.
pub(super) fn cholesky(matrix: &[f64], k: usize) -> Option<Vec<f64>> {
    let mut factor = matrix.to_vec();
    for j in 0..k {
        let before: f64 = (0..j).map(|o| factor[j * k + o] * factor[j * k + o]).sum();
        let pivot = matrix[j * k + j] - before;
        let least = PIVOT_MIN * matrix[j * k + j];
        let pivot = if pivot > least { pivot } else { matrix[j * k + j] * PIVOT_LIFTED };
        if !(pivot.is_finite() && pivot > 0.0) {
            return None;
        }
        let root = pivot.sqrt();
        factor[j * k + j] = root;
        for i in j + 1..k {
            let along: f64 = (0..j).map(|o| factor[i * k + o] * factor[j * k + o]).sum();
            factor[i * k + j] = (matrix[i * k + j] - along) / root;
        }
    }
    Some(factor)
}

/// A pivot below this part of its diagonal is rounding.
const PIVOT_MIN: f64 = 1e-15;
/// What such a pivot is replaced by, relative to its diagonal: the direction hardly moves.
const PIVOT_LIFTED: f64 = 1e12;

/// Solves with the factor, then once more for what the first solution leaves.
pub(super) fn solve_refined(matrix: &[f64], factor: &[f64], right: &[f64], k: usize) -> Vec<f64> {
    let mut solution = substitute(factor, right, k);
    let rest: Vec<f64> = (0..k)
        .map(|i| {
            let entry = |j: usize| if j <= i { matrix[i * k + j] } else { matrix[j * k + i] };
            right[i] - (0..k).map(|j| entry(j) * solution[j]).sum::<f64>()
        })
        .collect();
    let correction = substitute(factor, &rest, k);
    solution.iter_mut().zip(correction).for_each(|(s, c)| *s += c);
    solution
}

fn substitute(factor: &[f64], right: &[f64], k: usize) -> Vec<f64> {
    let mut b = right.to_vec();
    for i in 0..k {
        let along: f64 = (0..i).map(|j| factor[i * k + j] * b[j]).sum();
        b[i] = (b[i] - along) / factor[i * k + i];
    }
    for i in (0..k).rev() {
        let along: f64 = (i + 1..k).map(|j| factor[j * k + i] * b[j]).sum();
        b[i] = (b[i] - along) / factor[i * k + i];
    }
    b
}
