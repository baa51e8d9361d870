//! Series on top of each other.

use super::line::Series;
use super::palette::Look;

/// More places than this are thinned before the series are added up: 500 series of a month of rounds would
/// otherwise be millions of sums for a picture of a few hundred columns.
const MAX_PLACES: usize = 4_000;

/// One layer: a series, or all those in grey.
#[derive(Debug)]
pub(crate) struct Layer {
    pub name: String,
    pub look: Look,
    /// The upper edge, with the layers below added.
    pub edge: Vec<(f64, f64)>,
    /// The mean of the series alone.
    pub mean: f64,
}

/// The layers from the bottom up; those in grey are one, at the top.
pub(crate) fn layers(series: &[Series], looks: &[Look], is_step: bool) -> Vec<Layer> {
    let places = places(series);
    let mut sums = vec![0.0; places.len()];
    let mut out = Vec::new();
    let mut add = |name: String, look: Look, parts: &[&Series]| {
        let mut total = 0.0;
        for part in parts {
            for (sum, value) in sums.iter_mut().zip(values(part, &places, is_step)) {
                *sum += value;
                total += value;
            }
        }
        let mean = total / places.len().max(1) as f64;
        let edge = places.iter().copied().zip(sums.iter().copied()).collect();
        out.push(Layer { name, look, edge, mean });
    };
    for (one, look) in series.iter().zip(looks).filter(|(_, look)| **look != Look::Rest) {
        add(one.name.clone(), *look, &[one]);
    }
    let rest: Vec<&Series> =
        series.iter().zip(looks).filter(|(_, look)| **look == Look::Rest).map(|(s, _)| s).collect();
    if !rest.is_empty() {
        add(crate::format::counted(rest.len(), "other"), Look::Rest, &rest);
    }
    out
}

/// All places where some series has a point, in order.
fn places(series: &[Series]) -> Vec<f64> {
    let mut all: Vec<f64> = series.iter().flat_map(|s| s.points.iter().map(|p| p.0)).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    if all.len() > MAX_PLACES {
        let last = all.len() - 1;
        return (0..MAX_PLACES).map(|i| all[i * last / (MAX_PLACES - 1)]).collect();
    }
    all
}

/// The values of a series at these places: between its points by slope or step, outside of them zero.
fn values(series: &Series, places: &[f64], is_step: bool) -> Vec<f64> {
    let points: Vec<(f64, f64)> =
        series.points.iter().copied().filter(|p| p.1.is_finite()).collect();
    let mut next = 0;
    let value = |x: &f64| {
        while next < points.len() && points[next].0 <= *x {
            next += 1;
        }
        if next == 0 {
            return 0.0;
        }
        let (x0, y0) = points[next - 1];
        let y = match points.get(next) {
            Some((x1, y1)) if !is_step && x1 > &x0 => y0 + (y1 - y0) * (x - x0) / (x1 - x0),
            None if x > &x0 && !is_step => 0.0,
            _ => y0,
        };
        y.max(0.0)
    };
    places.iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_add_up() {
        let series = [
            Series::new("a", vec![(0.0, 1.0), (10.0, 3.0)]),
            Series::new("b", vec![(5.0, 1.0), (10.0, -1.0)]),
        ];
        let layers = layers(&series, &[Look::Slot(0), Look::Slot(1)], false);
        assert_eq!(layers[0].edge, [(0.0, 1.0), (5.0, 2.0), (10.0, 3.0)]);
        assert_eq!(layers[1].edge, [(0.0, 1.0), (5.0, 3.0), (10.0, 3.0)]);
    }

    #[test]
    fn steps_hold_their_value() {
        let series =
            [Series::new("a", vec![(0.0, 1.0), (10.0, 3.0)]), Series::new("b", vec![(5.0, 2.0)])];
        let layers = layers(&series, &[Look::Slot(0), Look::Rest], true);
        assert_eq!(layers[1].edge, [(0.0, 1.0), (5.0, 3.0), (10.0, 5.0)]);
    }
}
