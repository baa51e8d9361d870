//! Reports that are likely to pay.
//!
//! Shares change where the reported ratio of two types passes another tenant's: the best lies lie
//! just beside the ratios of others, from either side, and on a grid for everything else.

use super::trial::Profile;
use crate::ids::TenantId;
use crate::problem::Problem;

/// Factors of the grid, besides 1.
const GRID: [f64; 18] =
    [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97, 1.03, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0];
/// How far beside another's ratio: near enough to gain all but a millionth, far enough not to tie.
const BESIDE: [f64; 4] = [1.0 - 1e-6, 1.0 + 1e-6, 1.0 - 1e-3, 1.0 + 1e-3];
/// Others' ratios that are tried for one entry, spread over all of them.
const RATIOS_MAX: usize = 12;
/// Others whose whole profile is tried.
const IMITATED_MAX: usize = 16;

/// Values to report for one entry, all else being true.
pub(super) fn values(
    problem: &Problem,
    tenant: TenantId,
    truth: &Profile,
    (row, gpu): (usize, usize),
) -> Vec<f64> {
    let own = truth[row][gpu];
    let mut ratios = Vec::new();
    for other in problem.workloads().iter().filter(|w| w.tenant != tenant) {
        for j in 0..problem.types().len() {
            let (mine, theirs) = (truth[row][j], other.speedup[j]);
            if j != gpu && mine > 0.0 && theirs > 0.0 && other.speedup[gpu] > 0.0 {
                ratios.push(mine * other.speedup[gpu] / theirs);
            }
        }
    }
    let mut values: Vec<f64> = spread(ratios, RATIOS_MAX)
        .into_iter()
        .flat_map(|ratio| BESIDE.map(|beside| ratio * beside))
        .collect();
    values.extend(GRID.map(|factor| own * factor));
    if truth[row].iter().enumerate().any(|(j, &w)| j != gpu && w > 0.0) {
        values.push(0.0);
    }
    values.retain(|&value| value != own);
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

/// The truth with all entries but the anchors stretched together, as a whole, or with powers.
pub(super) fn stretches(truth: &Profile, entries: &[(usize, usize)]) -> Vec<Profile> {
    let with = |change: &dyn Fn(f64) -> f64| {
        let mut profile = truth.clone();
        for &(row, gpu) in entries {
            profile[row][gpu] = change(profile[row][gpu]);
        }
        profile
    };
    let scaled = GRID.iter().map(|&factor| with(&|w| w * factor));
    let powers = [0.25, 0.5, 0.75, 0.9, 1.1, 1.5, 2.0];
    let bent = powers.iter().map(|&power| with(&|w| if w > 0.0 { w.powf(power) } else { w }));
    scaled.chain(bent).collect()
}

/// The others' profiles as the tenant's own, a hair beside them.
pub(super) fn imitations(problem: &Problem, tenant: TenantId, truth: &Profile) -> Vec<Profile> {
    let mut others: Vec<&Vec<f64>> =
        problem.workloads().iter().filter(|w| w.tenant != tenant).map(|w| &w.speedup).collect();
    others.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    others.dedup();
    let step = others.len().div_ceil(IMITATED_MAX).max(1);
    let reference = problem.reference().0;
    let mut profiles = Vec::new();
    for other in others.into_iter().step_by(step) {
        for beside in [1.0, BESIDE[0], BESIDE[1]] {
            let row: Vec<f64> = (other.iter().enumerate())
                .map(|(j, w)| if j == reference { *w } else { w * beside })
                .collect();
            profiles.push(vec![row; truth.len()]);
        }
    }
    profiles
}

/// At most `most` of the values, evenly spread in their order, the least and the greatest included.
fn spread(mut values: Vec<f64>, most: usize) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values.dedup();
    if values.len() <= most {
        return values;
    }
    (0..most).map(|i| values[i * (values.len() - 1) / (most - 1)]).collect()
}
