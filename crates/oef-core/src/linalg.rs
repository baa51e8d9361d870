//! Dense linear algebra: small systems, and Cholesky by blocks for large ones.

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, Slice};
use std::ops::Range;

/// The inner product, summed in eight strands so that it runs at the speed of the vector unit.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a_chunks, b_chunks) = (a.chunks_exact(8), b.chunks_exact(8));
    let tail: f64 = a_chunks.remainder().iter().zip(b_chunks.remainder()).map(|(x, y)| x * y).sum();
    let mut strands = [0.0_f64; 8];
    for (x, y) in a_chunks.zip(b_chunks) {
        for i in 0..8 {
            strands[i] += x[i] * y[i];
        }
    }
    strands.iter().sum::<f64>() + tail
}

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

/// Part of a pivot that must be left for a matrix to have full rank.
const RANK: f64 = 1e-9;

/// Whether a Gram matrix has full rank, by Cholesky's method in place.
pub(crate) fn is_definite(gram: &mut [f64], size: usize) -> bool {
    for c in 0..size {
        let before = gram[c * size + c];
        for r in c..size {
            let (upper, lower) = (&gram[c * size..][..c], &gram[r * size..][..c]);
            let sum = gram[r * size + c] - dot(upper, lower);
            if r > c {
                gram[r * size + c] = sum / gram[c * size + c];
            } else if sum > RANK * before {
                gram[c * size + c] = sum.sqrt();
            } else {
                return false;
            }
        }
    }
    true
}

/// Columns per block of [`Cholesky`]: a panel of them fits in the cache beside a tile.
const BLOCK: usize = 64;

/// Part of a diagonal entry that is nothing but rounding.
const EATEN: f64 = 1e-15;
/// The pivot of an unknown that is given up; its square is still finite.
const GIVEN_UP: f64 = 1e100;

/// The Cholesky factor of a large dense matrix, by blocks, so that nearly all of the work is matrix
/// products.
#[derive(Clone, Debug)]
pub(crate) struct Cholesky {
    n: usize,
    factor: Array2<f64>,
}

impl Cholesky {
    /// Factors a symmetric matrix (lower triangle given). Unknowns whose pivots rounding has eaten are
    /// given up: they come out as zero, which the caller's refinement has to make up for.
    pub fn new(mut matrix: Array2<f64>) -> Self {
        #[cfg(test)]
        work::count();
        let n = matrix.nrows();
        // Relative to what there was at first: what is left of it after some blocks may be nothing.
        let least: Vec<f64> = matrix.diag().iter().map(|d| 1e-300 + EATEN * d.abs()).collect();
        for start in (0..n).step_by(BLOCK) {
            let end = (start + BLOCK).min(n);
            let mut diagonal: Vec<f64> =
                part(&matrix, start..end, start..end).iter().copied().collect();
            factor_rows(&mut diagonal, &least[start..end]);
            for r in start..end {
                for c in start..=r {
                    matrix[[r, c]] = diagonal[(r - start) * (end - start) + c - start];
                }
            }
            if end == n {
                break;
            }
            let inverse = invert_lower(&diagonal, end - start);
            // The panel below: A := A L^-T.
            let panel = part(&matrix, end..n, start..end).dot(&inverse.t());
            part_mut(&mut matrix, end..n, start..end).assign(&panel);
            // The rest, block column by block column: A := A - P P'.
            for left in (end..n).step_by(2 * BLOCK) {
                let right = (left + 2 * BLOCK).min(n);
                let rows = part(&panel, left - end..n - end, 0..BLOCK);
                let columns = part(&panel, left - end..right - end, 0..BLOCK);
                let mut target = part_mut(&mut matrix, left..n, left..right);
                general_mat_mul(-1.0, &rows, &columns.t(), 1.0, &mut target);
            }
        }
        Cholesky { n, factor: matrix }
    }

    /// Solves in place.
    pub fn solve(&self, rhs: &mut [f64]) {
        let n = self.n;
        for r in 0..n {
            let row = self.factor.row(r);
            let row = row.as_slice().unwrap_or(&[]);
            rhs[r] = (rhs[r] - dot(&row[..r], &rhs[..r])) / row[r];
        }
        for r in (0..n).rev() {
            let row = self.factor.row(r);
            let row = row.as_slice().unwrap_or(&[]);
            let x = rhs[r] / row[r];
            rhs[r] = x;
            for (t, l) in rhs[..r].iter_mut().zip(&row[..r]) {
                *t -= l * x;
            }
        }
    }
}

fn part(matrix: &Array2<f64>, rows: Range<usize>, columns: Range<usize>) -> ArrayView2<'_, f64> {
    let mut view = matrix.view();
    view.slice_axis_inplace(Axis(0), Slice::from(rows));
    view.slice_axis_inplace(Axis(1), Slice::from(columns));
    view
}

fn part_mut(
    matrix: &mut Array2<f64>,
    rows: Range<usize>,
    columns: Range<usize>,
) -> ArrayViewMut2<'_, f64> {
    let mut view = matrix.view_mut();
    view.slice_axis_inplace(Axis(0), Slice::from(rows));
    view.slice_axis_inplace(Axis(1), Slice::from(columns));
    view
}

/// Adds the outer product `factor factor'` to the lower triangle of a matrix.
pub(crate) fn add_outer_product(matrix: &mut Array2<f64>, factor: &Array2<f64>) {
    let (n, k) = (factor.nrows(), factor.ncols());
    for left in (0..n).step_by(2 * BLOCK) {
        let right = (left + 2 * BLOCK).min(n);
        let columns = part(factor, left..right, 0..k);
        let mut target = part_mut(matrix, left..n, left..right);
        general_mat_mul(1.0, &part(factor, left..n, 0..k), &columns.t(), 1.0, &mut target);
    }
}

/// Cholesky factor in the lower triangle, in place, row by row. A pivot below `least` is made so large
/// that its unknown comes out as zero: a small one would let the rounding grow from column to column.
fn factor_rows(matrix: &mut [f64], least: &[f64]) {
    let k = least.len();
    for r in 0..k {
        let (above, here) = matrix.split_at_mut(r * k);
        for c in 0..r {
            let upper = &above[c * k..][..=c];
            here[c] = (here[c] - dot(&here[..c], &upper[..c])) / upper[c];
        }
        let left = here[r] - dot(&here[..r], &here[..r]);
        here[r] = if left > least[r] { left.sqrt() } else { GIVEN_UP };
    }
}

/// The inverse of a lower triangle given by rows.
fn invert_lower(factor: &[f64], k: usize) -> Array2<f64> {
    let mut inverse = vec![0.0; k * k];
    for r in 0..k {
        let (above, here) = inverse.split_at_mut(r * k);
        let here = &mut here[..=r];
        let pivot = 1.0 / factor[r * k + r];
        for t in 0..r {
            let entry = factor[r * k + t] * pivot;
            for (x, y) in here[..=t].iter_mut().zip(&above[t * k..][..=t]) {
                *x -= entry * y;
            }
        }
        here[r] = pivot;
    }
    Array2::from_shape_vec((k, k), inverse).unwrap_or_default()
}

/// What tests know of the work that was done on their thread.
#[cfg(test)]
pub(crate) mod work {
    use std::cell::Cell;

    thread_local! {
        static FACTORISATIONS: Cell<usize> = const { Cell::new(0) };
    }

    pub(crate) fn count() {
        FACTORISATIONS.set(factorisations() + 1);
    }

    /// Factorisations so far, dense or sparse.
    pub(crate) fn factorisations() -> usize {
        FACTORISATIONS.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cholesky_solves_across_block_boundaries() {
        for n in [1, 5, 63, 64, 65, 200, 300] {
            let a = Array2::from_shape_fn((n, n), |(r, c)| {
                let near = 1.0 / (1.0 + (r as f64 - c as f64).abs());
                near + if r == c { n as f64 * 0.1 } else { 0.0 }
            });
            let x: Vec<f64> = (0..n).map(|i| (i % 7) as f64 - 3.0).collect();
            let mut b: Vec<f64> = (0..n).map(|r| (0..n).map(|c| a[[r, c]] * x[c]).sum()).collect();
            Cholesky::new(a).solve(&mut b);
            assert!(b.iter().zip(&x).all(|(p, q)| (p - q).abs() < 1e-10), "{n}");
        }
    }

    #[test]
    fn cholesky_of_a_matrix_that_loses_all_rank_in_its_first_block_is_finite() {
        let rank = 20;
        for n in [65, 130, 200, 300] {
            let v = |r: usize, t: usize| (1.0 + (7 * r + 3) as f64 * (0.3 + t as f64)).sin();
            let product = |r: usize, c: usize| (0..rank).map(|t| v(r, t) * v(c, t)).sum::<f64>();
            let a = Array2::from_shape_fn((n, n), |(r, c)| product(r, c));
            let mut b: Vec<f64> = (0..n).map(|r| product(r, 0)).collect();
            Cholesky::new(a).solve(&mut b);
            assert!(b.iter().all(|x| x.is_finite()), "{n}");
        }
    }
}
