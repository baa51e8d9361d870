//! `nash`: the market with incomes by weight, `max sum_l pi_l log(w_l.x_l)` with `sum_l x_l <= m`.
//!
//! The optimum is the equilibrium of a market (Eisenberg and Gale): at prices `p` every row spends its
//! weight on the types with the best `w_lj / p_j`, and everything is sold. Nobody can afford better
//! than what it has, hence no envy and a sharing incentive; and it is Pareto efficient.
//!
//! With demands the same is maximised under the caps. A tenant that has enough leaves money unspent,
//! and what it buys for the rest may be less than what it could use of its equal split: floors keep
//! the sharing incentive where they are needed.
//!
//! An interior-point method ([`point`], [`newton`]) finds utilities and prices: each row is a `k x k`
//! block (diagonal plus rank one), each group of rows with a cap or a floor adds two equations, and
//! what couples them is one `k x k` system for the prices. Without caps the prices are then made exact
//! ([`exact`]); with caps purchases and prices are ([`finish`]). The shares are a vertex among those that give the rows these utilities.

mod exact;
mod finish;
mod newton;
mod point;
mod terms;

use crate::allocation::Allocation;
use crate::instance::Instance;
use crate::limited;
use crate::lp::LpError;
use crate::market::{Levelling, MarketState, lexicographic};
use crate::scaled::Scaled;
use point::Point;
use terms::{Floors, Terms};

/// In the report.
const METHOD: &str = "interior point in the prices, then a vertex";
/// Types whose value for money is this near to the best are bought too.
const TIED: f64 = 1e-9;
/// Under caps: a gap that is nothing but the rounding of the vertex.
const EXACT: f64 = 1e-12;
/// An answer farther than this from the bound is none.
const GAP_MAX: f64 = 0.1;

/// Computes the shares of the rows of an instance, within its caps.
pub(crate) fn solve(instance: &Instance, stop: &dyn Fn() -> bool) -> Result<Allocation, LpError> {
    let scaled = Scaled::new(instance);
    let mut terms = Terms::new(instance, &scaled, Floors::None);
    let (mut point, mut steps) = point::follow(&terms, stop).ok_or(LpError::Stopped)?;
    if instance.caps.is_empty() {
        return best_of(&terms, open_candidates(instance, &terms, &point, stop), instance, steps);
    }
    if !keeps_floors(instance, &scaled, &point) {
        terms = Terms::new(instance, &scaled, Floors::WithRoom);
        let (again, more) = point::follow(&terms, stop).ok_or(LpError::Stopped)?;
        (point, steps) = (again, steps + more);
        terms = Terms::new(instance, &scaled, Floors::Exact);
    }
    best_of(&terms, capped_candidates(instance, &terms, &point, stop), instance, steps)
}

/// Shares with the prices that are to prove them.
struct Candidate {
    x: Vec<f64>,
    price: Vec<f64>,
    cap: Vec<f64>,
    floor: Vec<f64>,
}

/// Without caps: the vertex at exact prices, the vertex at the point's prices, the point itself.
fn open_candidates(
    instance: &Instance,
    terms: &Terms<'_>,
    point: &Point,
    stop: &dyn Fn() -> bool,
) -> Vec<Candidate> {
    let (scaled, k) = (terms.scaled, terms.scaled.k);
    let smeared = scaled.to_shares(instance, &point.y);
    let candidate = |x, price: &[f64]| {
        // The bound is least where all incomes are just spent.
        let spent: f64 = price.iter().sum();
        let price = price.iter().map(|p| p / spent).collect();
        Candidate { x, price, cap: Vec::new(), floor: Vec::new() }
    };
    let exact = exact::prices(scaled, point);
    let best: Vec<f64> = (0..scaled.n)
        .map(|l| scaled.value(l).iter().zip(&exact).map(|(v, p)| v / p).fold(0.0, f64::max))
        .collect();
    let bought = |l: usize, j: usize| {
        exact::confidence(point.y[l * k + j], point.s[l * k + j], point.p[j]) > 1.0
    };
    let tied = |l: usize, j: usize| {
        scaled.value(l)[j] >= best[l] * exact[j] * (1.0 - TIED) || bought(l, j)
    };
    let vertex = |utility: &dyn Fn(usize) -> f64, allowed: &dyn Fn(usize, usize) -> bool| {
        let whole = |l: usize| crate::shares::dot(instance.profile(l), &instance.capacity);
        let target: Vec<f64> =
            (0..scaled.n).map(|l| utility(l) * scaled.weight[l] * whole(l)).collect();
        let held = vec![true; scaled.n];
        let levelling =
            Levelling { instance, target: &target, held: &held, allowed: Some(allowed) };
        lexicographic(&levelling, &mut MarketState::default(), stop).ok()
    };
    let mut candidates = Vec::new();
    if let Some(found) = vertex(&|l| best[l], &tied) {
        candidates.push(candidate(found.x, &exact));
    }
    if let Some(found) = vertex(&|l| point.u[l], &bought) {
        candidates.push(candidate(found.x, &point.p));
    }
    candidates.push(candidate(smeared, &point.p));
    candidates
}

/// With caps: the vertices that give everybody its utility, at which nothing useful is idle, the best
/// first, then the points themselves; with the last digits solved for, and as the path left them.
fn capped_candidates(
    instance: &Instance,
    terms: &Terms<'_>,
    point: &Point,
    stop: &dyn Fn() -> bool,
) -> Vec<Candidate> {
    let (mut vertices, mut points) = (Vec::new(), Vec::new());
    for point in finish::refine(terms, point).iter().chain([point]) {
        let candidate = |x| Candidate {
            x,
            price: point.p.clone(),
            cap: point.cap.clone(),
            floor: point.floor.clone(),
        };
        let smeared = terms.scaled.to_shares(instance, &point.y);
        if let Ok(x) = limited::vertex(instance, &throughputs(instance, &smeared), stop) {
            let vertex = candidate(x);
            vertices.push((gap(terms, instance, &vertex), vertex));
        }
        points.push(candidate(smeared));
        if vertices.iter().any(|(gap, _)| *gap <= EXACT) {
            break;
        }
    }
    vertices.sort_by(|a, b| a.0.total_cmp(&b.0));
    vertices.into_iter().map(|(_, vertex)| vertex).chain(points).collect()
}

fn throughputs(instance: &Instance, x: &[f64]) -> Vec<f64> {
    let k = instance.width();
    (0..instance.rows())
        .map(|l| crate::shares::dot(instance.profile(l), &x[l * k..][..k]))
        .collect()
}

/// Whether everybody has what it can use of its equal split.
fn keeps_floors(instance: &Instance, scaled: &Scaled, point: &Point) -> bool {
    let throughput = throughputs(instance, &scaled.to_shares(instance, &point.y));
    let capped = instance.capped_rows();
    let reached = |rows: &[usize]| rows.iter().map(|&l| throughput[l]).sum::<f64>();
    let enough = |reached: f64, floor: f64| reached >= floor * (1.0 - 1e-8);
    instance
        .caps
        .iter()
        .all(|cap| enough(reached(&cap.rows), limited::usable_equal_split(instance, cap)))
        && (0..instance.rows()).all(|l| capped[l] || enough(throughput[l], instance.equal_split(l)))
}

/// The first candidate that is proven optimal, or else the one that is nearest to it. The mean hardly
/// feels a row of little weight, so without caps everything has to be sold, too.
fn best_of(
    terms: &Terms<'_>,
    candidates: Vec<Candidate>,
    instance: &Instance,
    steps: usize,
) -> Result<Allocation, LpError> {
    let mut best: Option<(f64, Allocation)> = None;
    for mut candidate in candidates {
        instance.fit(&mut candidate.x);
        let gap = gap(terms, instance, &candidate);
        let fault = if terms.sells_out() { gap.max(unsold(instance, &candidate.x)) } else { gap };
        let better = fault < best.as_ref().map_or(GAP_MAX, |(least, _)| *least);
        if !better {
            continue;
        }
        let total: f64 = instance.speedup.iter().zip(&candidate.x).map(|(w, x)| w * x).sum();
        let prices = candidate.price.iter().zip(&instance.capacity);
        let price = prices.map(|(p, m)| p * total / m).collect();
        best = Some((
            fault,
            Allocation {
                x: candidate.x,
                price,
                gap,
                pivots: steps,
                method: METHOD,
                canonical: true,
            },
        ));
        if fault <= crate::OPTIMALITY_TOLERANCE {
            break;
        }
    }
    best.map(|(_, found)| found).ok_or(LpError::NotConverged)
}

/// The greatest part of a type that nobody has.
fn unsold(instance: &Instance, x: &[f64]) -> f64 {
    let k = instance.width();
    let part = |j: usize| 1.0 - x.iter().skip(j).step_by(k).sum::<f64>() / instance.capacity[j];
    (0..k).map(part).fold(0.0, f64::max)
}

/// Distance in the weighted mean of log utilities to what the prices prove: the relative distance of
/// the geometric mean of the throughputs.
fn gap(terms: &Terms<'_>, instance: &Instance, candidate: &Candidate) -> f64 {
    let scaled = terms.scaled;
    let throughput = throughputs(instance, &candidate.x);
    let mut mean = 0.0;
    for l in (0..scaled.n).filter(|&l| terms.takes_part(l)) {
        let whole = crate::shares::dot(instance.profile(l), &instance.capacity);
        mean += scaled.weight[l] * (throughput[l] / (scaled.weight[l] * whole)).ln();
    }
    (terms.bound(&candidate.price, &candidate.cap, &candidate.floor) - mean).abs()
}
