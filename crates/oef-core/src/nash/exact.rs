//! Prices without the error of the interior path.
//!
//! Who buys what makes a graph of rows and types. Along an edge that carries money the row is
//! indifferent, so the prices of the types of one component are fixed relative to each other by
//! speedups alone, and all that its rows earn is spent on its types. That fixes them altogether.

use super::point::Point;
use crate::scaled::Scaled;

/// The prices that the point's purchases imply.
pub(super) fn prices(scaled: &Scaled, point: &Point) -> Vec<f64> {
    let k = scaled.k;
    let mut income = vec![0.0; k];
    let mut joints: Vec<(f64, usize, usize, f64)> = Vec::new();
    for l in 0..scaled.n {
        let range = l * k..(l + 1) * k;
        let (y, s) = (&point.y[range.clone()], &point.s[range]);
        let clear = |j: usize| confidence(y[j], s[j], point.p[j]);
        let usable = (0..k).filter(|&j| scaled.value(l)[j] > 0.0);
        let Some(best) = usable.max_by(|&a, &b| clear(a).total_cmp(&clear(b))) else { continue };
        income[best] += scaled.weight[l];
        for j in (0..k).filter(|&j| j != best && scaled.value(l)[j] > 0.0 && clear(j) > 1.0) {
            joints.push((clear(j), best, j, scaled.value(l)[j] / scaled.value(l)[best]));
        }
    }
    joints.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let mut part = vec![1.0; k];
    let mut component: Vec<usize> = (0..k).collect();
    for (_, a, b, ratio) in joints {
        let (from, to) = (component[b], component[a]);
        if from == to {
            continue;
        }
        // The whole component of b is rescaled so that b costs `ratio` times what a does.
        let scale = part[a] * ratio / part[b];
        for j in (0..k).filter(|&j| component[j] == from) {
            part[j] *= scale;
        }
        component.iter_mut().filter(|c| **c == from).for_each(|c| *c = to);
    }
    (0..k)
        .map(|j| {
            let together = |i: &usize| component[*i] == component[j];
            let earned: f64 = (0..k).filter(together).map(|i| income[i]).sum();
            let sold: f64 = (0..k).filter(together).map(|i| part[i]).sum();
            part[j] * earned / sold
        })
        .collect()
}

/// How clearly a row buys a type: the money it spends there against what the type costs it above its
/// worth, both as parts; above one it buys.
pub(super) fn confidence(y: f64, s: f64, p: f64) -> f64 {
    if s > 0.0 { y * p * p / s } else { f64::INFINITY }
}
