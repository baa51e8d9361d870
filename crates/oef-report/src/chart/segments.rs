//! Fewer rows and fewer segments for a timeline that would be too large to draw.

use std::collections::BTreeMap;

/// A stretch of time in which a row belongs to a category.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Segment {
    pub start: f64,
    pub end: f64,
    pub category: usize,
}

/// In order, without overlaps (a later start wins), and with equal neighbours merged.
pub(crate) fn tidied(segments: &[Segment]) -> Vec<Segment> {
    let mut sorted: Vec<Segment> = segments.iter().copied().filter(|s| s.end > s.start).collect();
    sorted.sort_by(|a, b| a.start.total_cmp(&b.start));
    let mut out: Vec<Segment> = Vec::with_capacity(sorted.len());
    for segment in sorted {
        if let Some(last) = out.last_mut() {
            if last.category == segment.category && segment.start <= last.end {
                last.end = last.end.max(segment.end);
                continue;
            }
            last.end = last.end.min(segment.start);
        }
        out.push(segment);
    }
    out.retain(|s| s.end > s.start);
    out
}

/// The same on a grid of `columns` columns between `low` and `high`: each column has the category that holds
/// most of it, or none. `segments` are tidy.
pub(crate) fn on_grid(segments: &[Segment], columns: usize, low: f64, high: f64) -> Vec<Segment> {
    let length = (high - low) / columns as f64;
    let mut out: Vec<Segment> = Vec::new();
    let mut first = 0;
    for column in 0..columns {
        let (start, end) = (low + column as f64 * length, low + (column + 1) as f64 * length);
        while first < segments.len() && segments[first].end <= start {
            first += 1;
        }
        let Some(category) = longest(&segments[first..], start, end) else { continue };
        match out.last_mut() {
            // Column ends are computed the same way each time, so neighbours meet exactly.
            Some(last) if last.category == category && last.end >= start => last.end = end,
            _ => out.push(Segment { start, end, category }),
        }
    }
    out
}

/// The category that holds most of the time between two ends, if it is more than is free.
fn longest(segments: &[Segment], start: f64, end: f64) -> Option<usize> {
    let mut held: BTreeMap<usize, f64> = BTreeMap::new();
    for segment in segments.iter().take_while(|s| s.start < end) {
        let part = segment.end.min(end) - segment.start.max(start);
        *held.entry(segment.category).or_default() += part;
    }
    let free = (end - start) - held.values().sum::<f64>();
    let most = held.into_iter().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
    Some(most.0).filter(|_| most.1 >= free)
}

/// Which rows to draw of groups of these sizes, if there may be about `limit`: all of them, or evenly chosen
/// ones, from each group its part and at least one. Indices count through all groups.
pub(crate) fn sampled(sizes: &[usize], limit: usize) -> Vec<usize> {
    let total: usize = sizes.iter().sum();
    if total <= limit {
        return (0..total).collect();
    }
    let mut out = Vec::new();
    let mut start = 0;
    for &size in sizes {
        let part = (size as f64 * limit as f64 / total as f64).floor() as usize;
        let count = part.clamp(1, size.max(1)).min(size);
        // The middle one of each of `count` even parts.
        out.extend((0..count).map(|i| start + (2 * i + 1) * size / (2 * count)));
        start += size;
    }
    // The rows that small groups were given come on top; only very many groups could make that many.
    out.truncate(limit.saturating_mul(2));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(start: f64, end: f64, category: usize) -> Segment {
        Segment { start, end, category }
    }

    #[test]
    fn equal_neighbours_merge_and_overlaps_end() {
        let tidy = tidied(&[
            segment(5.0, 9.0, 1),
            segment(0.0, 2.0, 0),
            segment(2.0, 6.0, 0),
            segment(9.0, 9.0, 3),
            segment(20.0, 21.0, 1),
        ]);
        assert_eq!(tidy, [segment(0.0, 5.0, 0), segment(5.0, 9.0, 1), segment(20.0, 21.0, 1)]);
    }

    #[test]
    fn a_column_has_the_category_that_holds_most_of_it() {
        let tidy = [segment(0.0, 6.0, 0), segment(6.0, 10.0, 1), segment(28.0, 40.0, 2)];
        let grid = on_grid(&tidy, 4, 0.0, 40.0);
        assert_eq!(grid, [segment(0.0, 10.0, 0), segment(30.0, 40.0, 2)]);
    }

    #[test]
    fn each_group_keeps_a_row() {
        let rows = sampled(&[6_000, 2, 40], 100);
        assert!(rows.len() <= 102);
        assert!(rows.iter().any(|r| (6_000..6_002).contains(r)));
        assert!(rows.iter().any(|r| *r >= 6_002));
        assert!(rows.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(sampled(&[2, 3], 100), [0, 1, 2, 3, 4]);
        assert_eq!(sampled(&[0, 300], 1).len(), 1);
    }
}
