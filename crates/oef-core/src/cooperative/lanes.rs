//! Small triangular systems, several side by side: one system alone is a chain of waits for the
//! arithmetic, four of them in step keep it busy.

/// How many systems go side by side.
pub(super) const LANES: usize = 4;
/// The same number of each of the systems; or so many neighbouring numbers of a row.
pub(super) type Lane = [f64; LANES];

/// Entries of a packed triangle of order `k`.
pub(super) const fn packed(k: usize) -> usize {
    k * (k + 1) / 2
}

/// Where row `r` of a packed lower triangle begins.
pub(super) const fn row(r: usize) -> usize {
    packed(r)
}

/// Cholesky factors in place of packed lower triangles. The diagonals become the reciprocals of the
/// pivots, which are floored relative to the diagonal: near the end of an interior path a matrix loses
/// rank where some unknowns stop mattering.
pub(super) fn factor(matrix: &mut [Lane], k: usize) {
    for r in 0..k {
        let (above, here) = matrix.split_at_mut(row(r));
        let here = &mut here[..=r];
        for c in 0..r {
            let upper = &above[row(c)..][..=c];
            let mut sum = here[c];
            for (x, y) in here[..c].iter().zip(upper) {
                subtract(&mut sum, x, y);
            }
            here[c] = times(&sum, &upper[c]);
        }
        let diagonal = here[r];
        let mut sum = diagonal;
        for x in &here[..r] {
            subtract(&mut sum, x, x);
        }
        for t in 0..LANES {
            here[r][t] = 1.0 / sum[t].max(1e-300 + 1e-15 * diagonal[t].abs()).sqrt();
        }
    }
}

/// Solves with factors of [`factor`].
pub(super) fn forward(factor: &[Lane], x: &mut [Lane]) {
    for r in 0..x.len() {
        let entries = &factor[row(r)..][..=r];
        let mut sum = x[r];
        for (l, x) in entries[..r].iter().zip(&x[..r]) {
            subtract(&mut sum, l, x);
        }
        x[r] = times(&sum, &entries[r]);
    }
}

/// Solves with the transposes of factors of [`factor`].
pub(super) fn backward(factor: &[Lane], x: &mut [Lane]) {
    for r in (0..x.len()).rev() {
        let entries = &factor[row(r)..][..=r];
        let value = times(&x[r], &entries[r]);
        x[r] = value;
        for (l, x) in entries[..r].iter().zip(&mut x[..r]) {
            subtract(x, l, &value);
        }
    }
}

/// The factor of one of the systems, for right hand sides side by side.
pub(super) fn spread(factor: &[Lane], lane: usize) -> impl Iterator<Item = Lane> {
    factor.iter().map(move |entry| [entry[lane]; LANES])
}

/// The inverses of factors of [`factor`], packed like them.
pub(super) fn invert(factor: &[Lane], k: usize) -> Vec<Lane> {
    let mut inverse = vec![[0.0; LANES]; packed(k)];
    for r in 0..k {
        let entries = &factor[row(r)..][..=r];
        for c in 0..r {
            let mut sum = [0.0; LANES];
            for t in c..r {
                subtract(&mut sum, &entries[t], &inverse[row(t) + c]);
            }
            inverse[row(r) + c] = times(&sum, &entries[r]);
        }
        inverse[row(r) + r] = entries[r];
    }
    inverse
}

/// The products of all columns of two groups: `sum_r a_r b_r'`.
pub(super) fn tile(a: &[Lane], b: &[Lane]) -> [Lane; LANES] {
    let mut tile = [[0.0; LANES]; LANES];
    for (a, b) in a.iter().zip(b) {
        for s in 0..LANES {
            for t in 0..LANES {
                tile[s][t] += a[s] * b[t];
            }
        }
    }
    tile
}

/// `x += factor * y`, number by number.
pub(super) fn add(x: &mut [Lane], factor: f64, y: &[Lane]) {
    for (x, y) in x.iter_mut().zip(y) {
        for t in 0..LANES {
            x[t] += factor * y[t];
        }
    }
}

/// The inner product of two rows.
pub(super) fn product(x: &[Lane], y: &[Lane]) -> f64 {
    let mut sum = [0.0; LANES];
    for (x, y) in x.iter().zip(y) {
        for t in 0..LANES {
            sum[t] += x[t] * y[t];
        }
    }
    total(&sum)
}

/// The sum over the systems.
pub(super) fn total(x: &Lane) -> f64 {
    (x[0] + x[2]) + (x[1] + x[3])
}

fn subtract(sum: &mut Lane, x: &Lane, y: &Lane) {
    for t in 0..LANES {
        sum[t] -= x[t] * y[t];
    }
}

fn times(x: &Lane, y: &Lane) -> Lane {
    std::array::from_fn(|t| x[t] * y[t])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `A = M M' + I`, packed, another one in every lane.
    fn definite(k: usize) -> Vec<Lane> {
        let entry = |r: usize, c: usize, t: usize| ((3 * r + 5 * c + 7 * t) % 11) as f64 / 11.0;
        let mut matrix = vec![[0.0; LANES]; packed(k)];
        for r in 0..k {
            for c in 0..=r {
                for t in 0..LANES {
                    let sum: f64 = (0..k).map(|j| entry(r, j, t) * entry(c, j, t)).sum();
                    matrix[row(r) + c][t] = sum + if r == c { 1.0 } else { 0.0 };
                }
            }
        }
        matrix
    }

    fn full(matrix: &[Lane], r: usize, c: usize, t: usize) -> f64 {
        matrix[row(r.max(c)) + r.min(c)][t]
    }

    #[test]
    fn systems_side_by_side_are_solved() {
        for k in [1, 2, 3, 4, 5, 10, 13] {
            let matrix = definite(k);
            let x: Vec<Lane> =
                (0..k).map(|r| std::array::from_fn(|t| (r + 2 * t) as f64 - 3.0)).collect();
            let times = |r: usize, t: usize| (0..k).map(|c| full(&matrix, r, c, t) * x[c][t]).sum();
            let mut solved: Vec<Lane> =
                (0..k).map(|r| std::array::from_fn(|t| times(r, t))).collect();
            let mut factors = matrix.clone();
            factor(&mut factors, k);
            forward(&factors, &mut solved);
            backward(&factors, &mut solved);
            for (found, wanted) in solved.as_flattened().iter().zip(x.as_flattened()) {
                assert!((found - wanted).abs() < 1e-10, "{k}: {found} is not {wanted}");
            }
        }
    }

    #[test]
    fn inverses_are_inverses() {
        let k = 6;
        let mut factors = definite(k);
        factor(&mut factors, k);
        let inverse = invert(&factors, k);
        for c in 0..k {
            let mut unit = vec![[0.0; LANES]; k];
            unit[c] = [1.0; LANES];
            forward(&factors, &mut unit);
            for r in c..k {
                for t in 0..LANES {
                    assert!((unit[r][t] - inverse[row(r) + c][t]).abs() < 1e-12, "{r} {c} {t}");
                }
            }
        }
    }

    #[test]
    fn products_are_the_plain_ones() {
        let a: Vec<Lane> = (0..3).map(|r| std::array::from_fn(|t| (r * 4 + t) as f64)).collect();
        let b: Vec<Lane> = (0..3).map(|r| std::array::from_fn(|t| (r + t * t) as f64)).collect();
        let tile = tile(&a, &b);
        for s in 0..LANES {
            for t in 0..LANES {
                let plain: f64 = (0..3).map(|r| a[r][s] * b[r][t]).sum();
                assert_eq!(tile[s][t], plain);
            }
        }
        let plain: f64 = a.as_flattened().iter().zip(b.as_flattened()).map(|(x, y)| x * y).sum();
        assert_eq!(product(&a, &b), plain);
    }
}
