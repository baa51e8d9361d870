//! Fewer points that look the same: of all points that fall on one column of pixels, the first, the lowest, the
//! highest and the last are kept, so that no peak is lost.

/// Indices of the points to keep of `points`, which are sorted by x, when `columns` columns are drawn between
/// `low` and `high`.
pub(crate) fn reduce(points: &[(f64, f64)], columns: usize, low: f64, high: f64) -> Vec<usize> {
    if points.len() <= columns.saturating_mul(2) || columns == 0 {
        return (0..points.len()).collect();
    }
    let column = |x: f64| {
        let part = (x - low) / (high - low);
        // Saturates, and what is outside or not a number falls on the first or last column.
        ((part * columns as f64) as usize).min(columns - 1)
    };
    let mut kept = Vec::new();
    let mut start = 0;
    while start < points.len() {
        let here = column(points[start].0);
        let length = points[start..].iter().take_while(|p| column(p.0) == here).count().max(1);
        keep_extremes(points, start, start + length, &mut kept);
        start += length;
    }
    kept
}

fn keep_extremes(points: &[(f64, f64)], start: usize, end: usize, kept: &mut Vec<usize>) {
    let by_y = |a: &usize, b: &usize| points[*a].1.total_cmp(&points[*b].1);
    let lowest = (start..end).min_by(by_y).unwrap_or(start);
    let highest = (start..end).max_by(by_y).unwrap_or(start);
    let mut four = [start, lowest, highest, end - 1];
    four.sort_unstable();
    for index in four {
        if kept.last() != Some(&index) {
            kept.push(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(count: usize) -> Vec<(f64, f64)> {
        (0..count).map(|i| (i as f64, (i as f64 * 0.7).sin())).collect()
    }

    #[test]
    fn few_points_stay_as_they_are() {
        assert_eq!(reduce(&wave(10), 100, 0.0, 9.0), (0..10).collect::<Vec<_>>());
        assert!(reduce(&[], 100, 0.0, 9.0).is_empty());
    }

    #[test]
    fn peaks_and_ends_are_kept() {
        let mut points = wave(100_000);
        points[43_210].1 = 99.0;
        points[65_432].1 = -99.0;
        let kept = reduce(&points, 200, 0.0, 99_999.0);
        assert!(kept.len() <= 800, "{}", kept.len());
        for index in [0, 43_210, 65_432, 99_999] {
            assert!(kept.contains(&index));
        }
        assert!(kept.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn one_place_for_all_points_is_no_trouble() {
        let points: Vec<(f64, f64)> = (0..1000).map(|i| (5.0, i as f64)).collect();
        assert_eq!(reduce(&points, 10, 5.0, 5.0), [0, 999]);
    }
}
