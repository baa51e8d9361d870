//! The reference type and the normalisation of profiles: part of the fairness contract.

use super::profile::MAX_RATIO;
use super::{GpuType, Workload};
use crate::ids::TypeId;

/// The type that is slowest for the most weight. A workload whose slowest throughput occurs on
/// several types speaks for each of them; the alphabetically first name wins a tie, so that the order
/// of the file does not matter.
pub(super) fn derive(types: &[GpuType], workloads: &[Workload]) -> TypeId {
    let mut weight = vec![0.0; types.len()];
    // Summed in an order that does not depend on the file, so that the rounding does not either.
    let mut order: Vec<&Workload> = workloads.iter().collect();
    order.sort_by(|a, b| a.weight.total_cmp(&b.weight));
    for workload in order {
        let slowest = slowest_runnable(workload.unit());
        for (j, &thr) in workload.unit().iter().enumerate() {
            if thr > 0.0 && thr == slowest {
                weight[j] += workload.weight;
            }
        }
    }
    let mut best = 0;
    for j in 1..types.len() {
        let tied = (weight[j] - weight[best]).abs() <= 1e-12 * weight[best];
        if (tied && types[j].name < types[best].name) || (!tied && weight[j] > weight[best]) {
            best = j;
        }
    }
    TypeId(best)
}

/// A median speedup beyond this factor counts as this factor. No two gpu types differ by that much for most
/// workloads; where few run on both types, one odd profile would otherwise decide how all others count.
const MEDIAN_MAX: f64 = 1000.0;

/// Fills in every workload's speedups.
pub(super) fn normalise(reference: TypeId, workloads: &mut [Workload]) {
    let r = reference.0;
    let (mut stranded, mut medians) =
        (Vec::new(), vec![None; workloads.first().map_or(0, |w| w.unit().len())]);
    for (l, workload) in workloads.iter_mut().enumerate() {
        let base = workload.unit()[r];
        if base > 0.0 {
            workload.speedup = workload.throughput.iter().map(|thr| thr / base).collect();
        } else {
            stranded.push(l);
        }
    }
    let scaled: Vec<(usize, Vec<f64>)> = stranded
        .into_iter()
        .map(|l| {
            let (own, gang) = (workloads[l].unit(), &workloads[l].throughput);
            let slowest = slowest_runnable(own);
            // The slowest type, the one with the lesser median if two are equally slow.
            let factor = (0..own.len())
                .filter(|&j| own[j] == slowest)
                .map(|j| *medians[j].get_or_insert_with(|| median_speedup(j, r, workloads)))
                .fold(f64::INFINITY, f64::min);
            let fastest = gang.iter().copied().fold(slowest, f64::max);
            let factor =
                factor.clamp(1.0 / MEDIAN_MAX, MEDIAN_MAX).min(MAX_RATIO * slowest / fastest);
            (l, gang.iter().map(|thr| thr / slowest * factor).collect())
        })
        .collect();
    for (l, speedup) in scaled {
        workloads[l].speedup = speedup;
    }
}

fn slowest_runnable(throughput: &[f64]) -> f64 {
    throughput.iter().copied().filter(|&thr| thr > 0.0).fold(f64::INFINITY, f64::min)
}

/// The weighted median of the speedup of type `j` over the workloads that run on it and on the
/// reference type; 1 where there is none. Weighted, so that a tenant of weight 2 counts as two
/// tenants would.
fn median_speedup(j: usize, reference: usize, workloads: &[Workload]) -> f64 {
    let mut known: Vec<(f64, f64)> = workloads
        .iter()
        .map(|w| (w.unit(), w.weight))
        .filter(|(unit, _)| unit[reference] > 0.0 && unit[j] > 0.0)
        .map(|(unit, weight)| (unit[j] / unit[reference], weight))
        .collect();
    if known.is_empty() {
        return 1.0;
    }
    known.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let half = known.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let slack = 1e-12 * half;
    let mut below = 0.0;
    for (i, &(speedup, weight)) in known.iter().enumerate() {
        below += weight;
        if below > half + slack {
            return speedup;
        }
        if below >= half - slack {
            // Exactly half of the weight lies below: the middle of the two neighbours.
            return known.get(i + 1).map_or(speedup, |next| (speedup + next.0) / 2.0);
        }
    }
    known[known.len() - 1].0
}
