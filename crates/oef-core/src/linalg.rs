//! Small dense linear algebra.

/// Solves a small symmetric positive definite system (lower triangle given; both arguments are
/// overwritten), by Cholesky with floored pivots: near the end of an interior path a matrix loses
/// rank where some unknowns stop mattering.
pub(crate) fn solve_spd(matrix: &mut [f64], rhs: &mut [f64]) -> Vec<f64> {
    let k = rhs.len();
    factor_spd(matrix, k);
    solve_factored(matrix, rhs);
    rhs.to_vec()
}

/// Cholesky factor in the lower triangle, in place, with pivots floored relative to the diagonal.
pub(crate) fn factor_spd(matrix: &mut [f64], k: usize) {
    for c in 0..k {
        let diagonal = matrix[c * k + c];
        for r in c..k {
            let mut sum = matrix[r * k + c];
            for t in 0..c {
                sum -= matrix[r * k + t] * matrix[c * k + t];
            }
            if r == c {
                matrix[c * k + c] = sum.max(1e-300 + 1e-15 * diagonal.abs()).sqrt();
            } else {
                matrix[r * k + c] = sum / matrix[c * k + c];
            }
        }
    }
}

/// Solves with a factor of [`factor_spd`], in place.
pub(crate) fn solve_factored(factor: &[f64], rhs: &mut [f64]) {
    let k = rhs.len();
    for r in 0..k {
        let mut sum = rhs[r];
        for c in 0..r {
            sum -= factor[r * k + c] * rhs[c];
        }
        rhs[r] = sum / factor[r * k + r];
    }
    for r in (0..k).rev() {
        let mut sum = rhs[r];
        for c in r + 1..k {
            sum -= factor[c * k + r] * rhs[c];
        }
        rhs[r] = sum / factor[r * k + r];
    }
}
