//! Multipliers at the end of an interior path, made exact.
//!
//! What a bundle holds at an optimum has no reduced cost, and only what is tight there has a multiplier: these are
//! equations, and at the end of a path they hold but for rounding. Bounds show that rounding in full. So the equations of
//! the answer are solved once more, from there; where they leave multipliers open, those stay as they are.

use super::data::Data;
use super::multipliers::Multipliers;
use super::point::Point;
use crate::linalg::dot;
use crate::lp::Lu;

/// Slack, and entries of bundles, that are nothing but rounding.
const TIGHT: f64 = 1e-11;
/// Solves with the same factors; the second one takes the rounding off the first.
const ROUNDS: usize = 2;

/// The multipliers at the end of a path, made exact for an answer there. Whatever they are, their bound is one: nothing
/// relies on the answer's being the optimum.
pub(super) fn polished(data: &Data<'_>, point: &Point, y: &[f64]) -> Multipliers {
    let (n, k, rows) = (data.n, data.k, data.rows);
    let bundle = |l: usize| &y[l * k..][..k];
    let mut found = Multipliers::at(point);
    found.envy.retain(|e| rows.slack(e.envious, bundle(e.envious), bundle(e.envied)) < TIGHT);
    for (l, lambda) in found.cap.iter_mut().enumerate() {
        let is_tight = dot(&rows.size, bundle(l)) > rows.cap[l] - TIGHT;
        *lambda = if is_tight { *lambda } else { 0.0 };
    }
    let mut price = point.p.clone();
    // The unknowns are the prices, the multipliers of the caps, and those of the pairs.
    let (caps, pairs) = (k, k + n);
    let unknowns = pairs + found.envy.len();
    let (mut own, mut towards) = (vec![Vec::new(); n], vec![Vec::new(); n]);
    for (r, e) in found.envy.iter().enumerate() {
        own[e.envious].push(pairs + r);
        towards[e.envied].push((pairs + r, e.envious));
    }
    let held: Vec<usize> = (0..n * k).filter(|&e| y[e] > TIGHT).collect();
    let column = |&e: &usize| -> Vec<(usize, f64)> {
        let (i, j) = (e / k, e % k);
        let value = data.value(i)[j];
        let mut column = vec![(j, -data.weight[i])];
        if found.cap[i] > 0.0 {
            column.push((caps + i, -data.rows.size[j]));
        }
        column.extend(own[i].iter().map(|&row| (row, value)));
        column.extend(towards[i].iter().map(|&(row, l)| (row, -data.rows.compare(l)[j])));
        column.retain(|entry| entry.1 != 0.0);
        column
    };
    let columns: Vec<Vec<(usize, f64)>> = held.iter().map(column).collect();
    let columns: Vec<&[(usize, f64)]> = columns.iter().map(Vec::as_slice).collect();
    let mut factors = Lu::default();
    let deficiency = factors.factor(unknowns, &columns);
    let mut place: Vec<Option<usize>> = vec![Some(0); held.len()];
    deficiency.columns.iter().for_each(|&c| place[c] = None);
    place.iter_mut().flatten().zip(0..).for_each(|(place, at)| *place = at);
    let placed = held.len() - deficiency.columns.len();
    let bare: Vec<(usize, usize)> = deficiency.rows.iter().copied().zip(placed..).collect();
    factors.complete(&place, &bare, 1.0);
    for _ in 0..ROUNDS {
        let gain = found.gain(data);
        let mut change = vec![0.0; unknowns];
        for (&e, place) in held.iter().zip(&place) {
            if let Some(at) = place {
                change[*at] = data.weight[e / k] * price[e % k] - gain[e];
            }
        }
        factors.btran(&mut change);
        price.iter_mut().zip(&change).for_each(|(p, by)| *p += by);
        found.cap.iter_mut().zip(&change[caps..]).for_each(|(lambda, by)| *lambda += by);
        found.envy.iter_mut().zip(&change[pairs..]).for_each(|(e, by)| e.z += by);
    }
    found.cap.iter_mut().for_each(|lambda| *lambda = lambda.max(0.0));
    found.envy.iter_mut().for_each(|e| e.z = e.z.max(0.0));
    found
}
