//! `cooperative`: the most total throughput in which nobody prefers another's bundle.
//!
//! With `y_l = x_l / pi_l` the bundle of row `l` per unit of weight:
//!
//! ```text
//! max  sum_l pi_l w_l.y_l
//! s.t. w_l.y_l >= w_l.y_i          for all rows l, i          (no envy)
//!      sum_l pi_l y_l <= m,  y >= 0
//! ```
//!
//! There are `n(n-1)` envy constraints and about `1.7 n` of them bind. They are added as they are
//! violated. The vertex is canonical: among the optima the one whose throughputs over equal split are
//! lexicographically greatest.

mod again;
mod data;
mod debts;
mod envy_program;
mod face;
mod groups;
mod interior;
mod lanes;
mod menu;
mod multipliers;
mod newton;
mod pairs;
mod parties;
mod proof;
mod purify;
mod targets;
mod vertex;

use crate::OPTIMALITY_TOLERANCE;
use crate::allocation::Allocation;
use crate::instance::Instance;
use crate::lp::LpError;
use crate::scaled::Scaled;
use envy_program::EnvyProgram;

/// In the report, where it starts from its last answer.
const GOING_ON: &str = "parametric simplex from the last vertex, proven group by group";
/// In the report.
const METHOD: &str = "interior point, then simplex with envy rows on demand";
/// Up to here the simplex method alone is faster.
const SIMPLEX_MAX: usize = 8;
/// Complementarity at which the interior path ends: the bundles are then good to ten digits.
const ACCURACY: f64 = 1e-13;
/// Bundles that agree to this are taken for one bundle; the bound tells whether that was right.
const SAME: [f64; 3] = [1e-6, 1e-8, 1e-11];
/// A gap that is nothing but the rounding of the bound.
const EXACT: f64 = 2e-11;
/// Pivots per solve from the end of the path, which usually needs none, after which the proof by
/// groups has a try.
const PATIENCE: usize = 50;
/// Pivots times rows that one attempt at a vertex may take, less than a second: where ties make the
/// simplex go round, the answer at hand with its proven gap is better than one after minutes.
const PIVOT_WORK: usize = 600_000;
/// Rounds in which tenants reach their limit and leave room for others; each needs a new one.
const THRESHOLDS_MAX: usize = 20;
/// Rows up to which every row can have its own bundle in the simplex within seconds.
const OWN_BUNDLES_MAX: usize = 120;
/// Nearest rows whose envy is looked at from the start.
const NEIGHBOURS: usize = 8;

/// What a solve leaves for the next one of a similar instance.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    kept: Option<again::Kept>,
}

/// An answer with the optimal vertex that it was made from.
struct Finished {
    allocation: Allocation,
    vertex: vertex::Vertex,
    bundles: Vec<f64>,
}

/// Computes the shares of the rows of an instance without caps.
///
/// An interior-point method finds the optimum to ten digits and proves a bound; from there a simplex
/// walks the last step to the canonical vertex, with one bundle for all rows that hold the same. Where
/// ties make that a long walk, the equations of the optimal face are solved instead. If all that does
/// not meet the bound, every row gets its own bundle again, for a limited number of pivots. When there
/// is no time, the bundles at hand become a menu, which is free of envy, with the gap to the bound.
///
/// An instance that is like the last one is solved from where that ended, if it can be.
pub(crate) fn solve(
    instance: &Instance,
    state: &mut State,
    stop: &dyn Fn() -> bool,
) -> Result<Allocation, LpError> {
    let scaled = Scaled::new(instance);
    if scaled.n <= SIMPLEX_MAX {
        return from_scratch(instance, &scaled, stop);
    }
    if let Some(kept) = state.kept.take()
        && let Some(found) = again::solve(&kept, instance, &scaled, stop)
    {
        state.kept = Some(found.kept);
        return Ok(Allocation { method: GOING_ON, ..found.allocation });
    }
    let data = data::Data::new(&scaled);
    let start = interior::Point::start(&data, &scaled.neighbours(NEIGHBOURS));
    let mut run = interior::follow(&data, start, ACCURACY, stop);
    let mut bound = run.point.bound(&data);
    if stop() {
        let bound = bound.min(run.debts.bound(&data, &run.point));
        return Ok(from_menu(instance, &scaled, &run.point, bound));
    }
    let mut found = from_end(instance, &scaled, &run, bound, state, stop);
    if found.is_none()
        && let Some(nearer) = interior::start_again(&data, &run, ACCURACY, stop)
    {
        run = nearer;
        bound = bound.min(run.point.bound(&data));
        found = from_end(instance, &scaled, &run, bound, state, stop);
    }
    let mut allocation = match found {
        Some(allocation) => allocation,
        None => with_patience(instance, &scaled, &run, bound, state, stop)?,
    };
    allocation.pivots += run.iterations;
    Ok(allocation)
}

/// The answer from the end of a path: the vertex there, if it is near; else the canonical point of the
/// face there; else a proof by groups.
fn from_end(
    instance: &Instance,
    scaled: &Scaled,
    run: &interior::Run,
    bound: f64,
    state: &mut State,
    stop: &dyn Fn() -> bool,
) -> Option<Allocation> {
    let near = near_vertex(instance, scaled, run, SAME[0], bound, PATIENCE, stop);
    if let Some(found) = near.filter(|found| found.allocation.gap <= EXACT) {
        let (vertex, bundles) = (found.vertex, found.bundles);
        state.kept = Some(again::Kept::new(instance, vertex, bundles, &run.point));
        return Some(found.allocation);
    }
    on_face(instance, scaled, run, bound, state, stop).or_else(|| {
        let found = again::from_path(instance, scaled, &run.point, stop)?;
        state.kept = Some(found.kept);
        Some(found.allocation)
    })
}

/// The answer where the end of the path has none.
fn with_patience(
    instance: &Instance,
    scaled: &Scaled,
    run: &interior::Run,
    bound: f64,
    state: &mut State,
    stop: &dyn Fn() -> bool,
) -> Result<Allocation, LpError> {
    match best_vertex(instance, scaled, run, bound, stop) {
        Some(found) if found.allocation.gap <= OPTIMALITY_TOLERANCE => {
            let (vertex, bundles) = (found.vertex, found.bundles);
            state.kept = Some(again::Kept::new(instance, vertex, bundles, &run.point));
            Ok(found.allocation)
        }
        other => {
            let other = other.map(|found| found.allocation);
            let thorough = with_own_bundles(instance, scaled, run, stop);
            let menu = from_menu(instance, scaled, &run.point, bound);
            let answers = [other, thorough, Some(menu)].into_iter().flatten();
            let best = answers.min_by(|a, b| a.gap.total_cmp(&b.gap));
            best.ok_or(LpError::NotConverged)
        }
    }
}

/// The canonical point of the face at the end of the path.
fn on_face(
    instance: &Instance,
    scaled: &Scaled,
    run: &interior::Run,
    bound: f64,
    state: &mut State,
    stop: &dyn Fn() -> bool,
) -> Option<Allocation> {
    let found = face::canonical(scaled, &run.point, stop)?;
    let gap = ((bound - scaled.total(&found.y)) / bound).abs();
    if gap > OPTIMALITY_TOLERANCE {
        return None;
    }
    state.kept = Some(again::Kept::new(instance, found.vertex, found.bundles, &run.point));
    let price = scaled.to_prices(instance, &run.point.p);
    let x = scaled.to_shares(instance, &found.y);
    Some(Allocation { x, price, gap, pivots: found.pivots, method: METHOD, canonical: true })
}

/// The vertex with shared bundles near the end of the path.
fn near_vertex(
    instance: &Instance,
    scaled: &Scaled,
    run: &interior::Run,
    same: f64,
    bound: f64,
    patience: usize,
    stop: &dyn Fn() -> bool,
) -> Option<Finished> {
    let vertex = vertex::Vertex::near(scaled, &run.point, same);
    let program = EnvyProgram::resume(scaled, &vertex, &vec![false; scaled.n]);
    let program = program.with_patience(patience).with_limit(PIVOT_WORK / scaled.n);
    finish(instance, scaled, program, Some(bound), stop).ok()
}

/// The best vertex with shared bundles near the end of the path.
fn best_vertex(
    instance: &Instance,
    scaled: &Scaled,
    run: &interior::Run,
    bound: f64,
    stop: &dyn Fn() -> bool,
) -> Option<Finished> {
    let mut best: Option<Finished> = None;
    for same in SAME {
        if stop() {
            break;
        }
        if let Some(found) = near_vertex(instance, scaled, run, same, bound, usize::MAX, stop)
            && best.as_ref().is_none_or(|best| found.allocation.gap < best.allocation.gap)
        {
            best = Some(found);
        }
        if best.as_ref().is_some_and(|best| best.allocation.gap <= EXACT) {
            break;
        }
    }
    best
}

/// The vertex with a bundle for every row: it needs no bound from the path, but the many ties between
/// rows with the same bundle cost it hundreds of pivots per row.
fn with_own_bundles(
    instance: &Instance,
    scaled: &Scaled,
    run: &interior::Run,
    stop: &dyn Fn() -> bool,
) -> Option<Allocation> {
    if scaled.n > OWN_BUNDLES_MAX {
        return None;
    }
    let vertex = vertex::Vertex::near(scaled, &run.point, 0.0);
    let program = EnvyProgram::resume(scaled, &vertex, &vec![false; scaled.n]);
    let program = program.with_limit(PIVOT_WORK / scaled.n);
    finish(instance, scaled, program, None, stop).ok().map(|found| found.allocation)
}

/// The simplex method alone, with a bundle for every row.
fn from_scratch(
    instance: &Instance,
    scaled: &Scaled,
    stop: &dyn Fn() -> bool,
) -> Result<Allocation, LpError> {
    let program = EnvyProgram::new(scaled, &scaled.neighbours(3));
    finish(instance, scaled, program, None, stop).map(|found| found.allocation)
}

/// Walks to the optimal vertex and on to the canonical one. The bound is that of the path, or that of
/// the vertex's own duals where every row has its own bundle.
fn finish(
    instance: &Instance,
    scaled: &Scaled,
    mut program: EnvyProgram<'_>,
    bound: Option<f64>,
    stop: &dyn Fn() -> bool,
) -> Result<Finished, LpError> {
    program.optimise(stop)?;
    let (vertex, bundles) = (program.vertex(), program.held());
    let bound = bound.unwrap_or_else(|| program.bound());
    let price = program.prices();
    program.make_canonical(stop)?;
    let y = program.bundles();
    let total = scaled.total(&y);
    let allocation = Allocation {
        x: scaled.to_shares(instance, &y),
        price: scaled.to_prices(instance, &price),
        gap: ((bound - total) / bound).abs(),
        pivots: program.pivots(),
        method: METHOD,
        canonical: true,
    };
    Ok(Finished { allocation, vertex, bundles })
}

/// An envy-free answer from an unfinished path.
fn from_menu(
    instance: &Instance,
    scaled: &Scaled,
    point: &interior::Point,
    bound: f64,
) -> Allocation {
    let y = menu::choose(scaled, &point.y);
    let gap = ((bound - scaled.total(&y)) / bound).abs();
    let price = scaled.to_prices(instance, &point.p);
    let x = scaled.to_shares(instance, &y);
    Allocation { x, price, gap, pivots: 0, method: METHOD, canonical: false }
}

/// Computes the shares under caps. `division` are the shares of the plain division of every type
/// (`max-min` with demands): the constraints of capped tenants are made from it, and a type that it
/// uses up is used up here. It satisfies all of that itself, so there always is an answer.
pub(crate) fn solve_limited(
    instance: &Instance,
    division: &[f64],
    stop: &dyn Fn() -> bool,
) -> Result<Allocation, LpError> {
    let scaled = Scaled::new(instance);
    let mut parties = parties::with_caps(instance, &scaled, division);
    let used = parties::used_up(instance, division);
    let mut shut = vec![false; scaled.n];
    for cap in instance.caps.iter().filter(|cap| cap.limit <= 0.0) {
        for &l in &cap.rows {
            shut[l] = true;
        }
    }
    let mut found: Option<Allocation> = None;
    for _ in 0..THRESHOLDS_MAX {
        let mut program =
            EnvyProgram::with_parties(&scaled, parties.clone(), &instance.capacity, &shut);
        program.use_at_least(&used);
        let Ok(next) = finish_limited(instance, &scaled, program, stop) else {
            // Cut short: what there is stands, with a gap that says so.
            return Ok(cut_short(instance, found, division));
        };
        let pivots = next.pivots + found.map_or(0, |before| before.pivots);
        // Tenants that are at their limit now may be told to envy only what they could use; that
        // leaves more room for the others.
        let raised = parties::raise_thresholds(instance, &scaled, &mut parties, &next.x);
        found = Some(Allocation { pivots, ..next });
        if !raised {
            break;
        }
    }
    Ok(found.unwrap_or_else(|| cut_short(instance, None, division)))
}

fn finish_limited(
    instance: &Instance,
    scaled: &Scaled,
    mut program: EnvyProgram<'_>,
    stop: &dyn Fn() -> bool,
) -> Result<Allocation, LpError> {
    program.optimise_step_by_step(stop)?;
    let gap = program.gap();
    let price = program.prices();
    program.make_canonical(stop)?;
    let x = scaled.to_shares(instance, &program.bundles());
    let price = scaled.to_prices(instance, &price);
    Ok(Allocation { x, price, gap, pivots: program.pivots(), method: METHOD, canonical: true })
}

/// The last answer, or else the plain division, which nobody envies either, where the program could not be
/// solved to the end: with the gap to what the GPUs could do if each were where it is fastest.
fn cut_short(instance: &Instance, found: Option<Allocation>, division: &[f64]) -> Allocation {
    let (n, k) = (instance.rows(), instance.width());
    let fastest = |j: usize| (0..n).map(|l| instance.profile(l)[j]).fold(0.0, f64::max);
    let price: Vec<f64> = (0..k).map(fastest).collect();
    let bound: f64 = price.iter().zip(&instance.capacity).map(|(p, m)| p * m).sum();
    let mut answer =
        found.unwrap_or_else(|| Allocation::closed_form(division.to_vec(), price, METHOD));
    answer.canonical = false;
    let worth = |(e, x): (usize, &f64)| instance.profile(e / k)[e % k] * x;
    let total: f64 = answer.x.iter().enumerate().map(worth).sum();
    let gap = if bound > 0.0 { 1.0 - total / bound } else { 0.0 };
    answer.gap = answer.gap.max(gap);
    answer
}
