//! A structured interior-point method for the cooperative program.
//!
//! Unknowns: a bundle `y_i >= 0` and a utility `u_l` per row; `own`: `v_l.y_l >= u_l`; `envy`:
//! `u_l >= base_l + c_l.y_i` for the pairs in play; caps `g.y_l <= d_l` where there is a demand; capacity
//! `sum_i weight_i y_i <= 1`, with equality for types that must be used up; maximise
//! `sum_l worth_l u_l`. In the Newton system every bundle is a `k x k` block that can be eliminated on
//! its own, which leaves one dense symmetric `n x n` system in the utilities with `k` border columns
//! for the capacities (see [`super::newton`]).
//!
//! Pairs come into play as the path approaches them, within the one run: from the nearest neighbours
//! at first, near-active ones while complementarity is large, violated ones at any time.

use super::data::Data;
use super::dual_residuals::DualResiduals;
use super::newton::Newton;
use super::point::{Point, TO_BOUNDARY};
use super::rhs::Rhs;
use std::rc::Rc;

/// Iterations; 15 to 45 are usual.
const ITERATIONS_MAX: usize = 120;
/// Envy at the end of a path that shows that it has missed a pair.
const MISSED: f64 = 1e-6;
/// How often a path goes back for pairs that it has missed; once is usual.
const RETURNS_MAX: usize = 3;
/// Fresh starts of a path that got stuck; with the pairs that it has met, one or two are enough.
const RESTARTS_MAX: usize = 4;
/// What may be left at the end of a path that has arrived.
const ARRIVED: f64 = 1e-11;
/// The same where less accuracy is asked for, relative to it.
const LEFT: f64 = 100.0;
/// Iterations with the complementarity asked for, none of which leaves clearly less of the equations, after which what is left
/// is rounding.
const IDLE_MAX: usize = 6;
const LESS: f64 = 0.8;
/// Weight of what is left of the dual equations: they have other units.
const DUAL: f64 = 1e-2;
/// Short steps in a row after which the arithmetic is at its end. Where hundreds of pairs come into play violated, some steps
/// are short before the path has room again, and a start from the beginning takes several times as many.
const STUCK_MAX: usize = 8;
/// Correctors per iteration: each is a solve, against the factorisation that a longer step saves.
const CORRECTORS_MAX: usize = 2;
/// By how much a corrector must lengthen the steps, both together.
const LONGER: f64 = 0.05;
/// While complementarity is above this, pairs come into play before they are violated.
const EARLY: f64 = 1e-4;
/// How near (relative to the root of complementarity) is near enough for that.
const NEAR: f64 = 0.1;
/// Violation, relative to the utility, that is far.
const FAR: f64 = 0.02;
/// Slack of a pair that comes into play violated, relative to the root of complementarity.
pub(super) const ROOM: f64 = 0.1;
/// The same where there are demands: more pairs come late there.
const ROOM_LIMITED: f64 = 0.3;
/// The same on a path that starts half way. Above this complementarity, pairs come into play there only if the
/// violation is far.
const ROOM_LATE: f64 = 0.3;
const FAR_ONLY: f64 = 3e-4;
/// Complementarity aimed at is at least this part of the primal residual.
const BALANCE: f64 = 1e-3;
/// Pairs that come into play per row and iteration at most; with demands more of them matter in the end.
const ADDED_MAX: usize = 2;
const ADDED_MAX_LIMITED: usize = 4;
const ADDED_MAX_THOROUGH: usize = 20;
/// Complementarity below which the pairs in play stay as they are: there is no room for others. If they have missed one,
/// the path goes back to here.
const SETTLED: f64 = 1e-9;
/// What may be left where rounding has ended a path before its time: mostly the vertex is clear from there.
const NEAR_THE_END: f64 = 1e-6;
/// Complementarity half way, where the next solve may start, and what may be left there of the primal and of the dual
/// equations.
const HALF_WAY: f64 = 1e-3;
const CENTRED: (f64, f64) = (1e-2, 1e-1);
/// Complementarity from which on the nearest point is remembered.
const NEARING: f64 = 1e-4;
/// A path that was nearer to its end by this factor is lost to rounding.
const LOST: f64 = 0.01;

/// Where a run ended: at the optimum, or wherever it was stopped or got stuck. Which of these is for
/// the bound to tell.
pub(super) struct Run {
    pub point: Point,
    pub iterations: usize,
    /// What pairs that came or went have left of the dual equations.
    pub residuals: DualResiduals,
    /// Complementarity and what is left of the equations: how far the end is.
    left: f64,
    /// Every pair (envious, envied) that was ever in play, for a start with more care; nothing where
    /// that has been.
    met: Vec<(usize, usize)>,
    /// Where the path was half way.
    pub middle: Option<Point>,
    /// The last point at which there was room for more pairs, with its residuals.
    settling: Option<Rc<(Point, DualResiduals)>>,
}

impl Run {
    /// Whether the path has come to its end.
    pub fn has_arrived(&self) -> bool {
        self.left < SETTLED
    }

    /// Whether the vertex at its end is mostly clear.
    pub fn is_near_the_end(&self) -> bool {
        self.left < NEAR_THE_END
    }

    /// Whether somebody envies at the end, and pays for it: the limit of a multiplier was too low.
    pub fn has_paid(&self) -> bool {
        self.is_near_the_end() && self.point.pairs.e.iter().any(|envy| *envy > MISSED)
    }
}

/// Follows the path from the given point until complementarity is below `accuracy`, or it gets stuck on the way.
pub(super) fn follow(data: &Data<'_>, start: Point, accuracy: f64, stop: &dyn Fn() -> bool) -> Run {
    let mut walk = Walk { met: start.pairs.list(), care: Care::Quick };
    let run = walk.follow(data, start, accuracy, stop);
    Run { met: walk.met, ..run }
}

/// Follows the path from where another one was half way.
pub(super) fn resume(
    data: &Data<'_>,
    mut start: Point,
    accuracy: f64,
    stop: &dyn Fn() -> bool,
) -> Run {
    centre(data, &mut start, 1);
    let middle = Some(start.clone());
    let run = Walk::late().follow(data, start, accuracy, stop);
    Run { middle, iterations: run.iterations + 1, ..run }
}

/// Follows the path on from where [`resume`] has ended.
pub(super) fn go_on(data: &Data<'_>, run: Run, accuracy: f64, stop: &dyn Fn() -> bool) -> Run {
    let mut walk = Walk::late();
    let mut next = walk.follow_once(data, (run.point, run.residuals), accuracy, stop);
    next.settling = next.settling.or(run.settling);
    let next = walk.go_back(data, next, accuracy, stop);
    Run { middle: run.middle, iterations: run.iterations + next.iterations, ..next }
}

/// Moves to the middle of the constraints half way along the path, in at most so many steps.
pub(super) fn centre(data: &Data<'_>, point: &mut Point, steps_max: usize) {
    for _ in 0..steps_max {
        let mut rhs = Rhs::residuals(data, point);
        let (primal, dual) = rhs.norms();
        if primal < CENTRED.0 && dual < CENTRED.1 {
            break;
        }
        let newton = Newton::new(data, point, HALF_WAY);
        rhs.aim(point, HALF_WAY, None);
        let mut full = newton.solve(data, point, &rhs);
        let (primal, dual) = point.step_lengths(&full);
        let (primal, dual) = correct(data, point, &newton, &mut full, HALF_WAY, primal, dual);
        let (primal, dual) = ((TO_BOUNDARY * primal).min(1.0), (TO_BOUNDARY * dual).min(1.0));
        if !point.mu_after(&full, primal, dual).is_finite() {
            break;
        }
        point.advance(&full, primal, dual);
    }
}

/// Follows the path again where its first end is not the optimum; `None` if that gets no nearer. Where somebody pays for envy
/// at its end, that is for the limits to mend.
///
/// Where profiles have ties, pairs that were dropped may come back when there is no room left for them,
/// and the path gets stuck; or they come back unnoticed. So it starts again with all pairs that it
/// has met, and drops none.
pub(super) fn start_again(
    data: &Data<'_>,
    first: &Run,
    accuracy: f64,
    stop: &dyn Fn() -> bool,
) -> Option<Run> {
    if first.met.is_empty() {
        // It was found with care already.
        return None;
    }
    let mut walk = Walk { met: first.met.clone(), care: Care::Steady };
    let mut least = first.left.max(walk.missed(data, &first.point).1);
    let mut iterations = first.iterations;
    let mut best = None;
    for restart in 0..RESTARTS_MAX {
        if least < ARRIVED || (restart > 0 && least < SETTLED) || stop() {
            break;
        }
        walk.care = if restart == 0 { Care::Steady } else { Care::Thorough };
        walk.met.sort_unstable();
        walk.met.dedup();
        let start = Point::start(data, &walk.met);
        let mut run = walk.follow(data, start, accuracy, stop);
        iterations += run.iterations;
        if run.has_paid() {
            return Some(Run { iterations, ..run });
        }
        run.left = run.left.max(walk.missed(data, &run.point).1);
        if run.left < least {
            least = run.left;
            best = Some(run);
        }
    }
    best.map(|best| Run { iterations, ..best })
}

/// How pairs come into play and leave.
#[derive(Clone, Copy, PartialEq)]
enum Care {
    /// A few at a time, and those that the path has left behind are dropped.
    Quick,
    /// The same, but only those that are violated by far before those at hand have brought the path near its end.
    Late,
    /// A few at a time, and all of them stay.
    Steady,
    /// Many at a time, and all of them stay.
    Thorough,
}

/// What a path has met.
struct Walk {
    /// Every pair (envious, envied) that was ever in play.
    met: Vec<(usize, usize)>,
    care: Care,
}

impl Walk {
    /// Along a path that starts half way.
    fn late() -> Self {
        Walk { met: Vec::new(), care: Care::Late }
    }

    /// To the end of a path that has missed no pair.
    fn follow(
        &mut self,
        data: &Data<'_>,
        start: Point,
        accuracy: f64,
        stop: &dyn Fn() -> bool,
    ) -> Run {
        let run = self.follow_once(data, (start, DualResiduals::default()), accuracy, stop);
        self.go_back(data, run, accuracy, stop)
    }

    /// Goes back for the pairs that a path has missed.
    ///
    /// Where multipliers are small, bundles move by a thousandth after the pairs in play have settled, and others are then
    /// violated. Without these the path ends beside the optimum, often by less than 1e-10 of the total. When the pairs
    /// settled there was still room for them, so the path goes on from there.
    fn go_back(
        &mut self,
        data: &Data<'_>,
        mut run: Run,
        accuracy: f64,
        stop: &dyn Fn() -> bool,
    ) -> Run {
        for _ in 0..RETURNS_MAX {
            if !run.is_near_the_end() || run.has_paid() || stop() {
                break;
            }
            let (missed, most) = self.missed(data, &run.point);
            let Some(from) = run.settling.clone() else { break };
            let (mut point, mut residuals) = Rc::unwrap_or_clone(from);
            let before = point.pairs.clone();
            point.bring_into_play(data, &missed, room(data, self.care));
            if point.pairs.s.len() == before.s.len() {
                break;
            }
            residuals.change(&before, &point.pairs);
            if self.care != Care::Thorough {
                self.care = Care::Steady;
            }
            let next = self.follow_once(data, (point, residuals), accuracy, stop);
            run.iterations += next.iterations;
            if next.left.max(self.missed(data, &next.point).1) >= run.left.max(most) {
                break;
            }
            let middle = run.middle.or(next.middle);
            let settling = next.settling.or(run.settling);
            run = Run { iterations: run.iterations, middle, settling, ..next };
        }
        run
    }

    fn follow_once(
        &mut self,
        data: &Data<'_>,
        (mut point, mut left_over): (Point, DualResiduals),
        accuracy: f64,
        stop: &dyn Fn() -> bool,
    ) -> Run {
        let mut settling = None;
        let mut stuck = 0;
        // At the end of the path: the least that was left, and the iterations since then.
        let (mut least, mut idle) = (f64::INFINITY, 0);
        let mut iterations = 0;
        let mut middle = None;
        // The nearest point so far: rounding may take over before the end.
        let mut nearest: Option<(f64, Rc<(Point, DualResiduals)>)> = None;
        let mut least_settled = f64::INFINITY;
        let left = loop {
            let mu = point.mu();
            let residuals = Rhs::residuals(data, &point);
            let (primal, dual) = residuals.norms();
            let left = mu + primal + DUAL * dual;
            if mu < HALF_WAY && middle.is_none() {
                middle = Some(point.clone());
            }
            let arrived = mu < accuracy && left < ARRIVED.max(LEFT * accuracy);
            let is_nearest = !nearest.as_ref().is_some_and(|nearest| nearest.0 <= left);
            if mu < NEARING && (is_nearest || mu >= SETTLED) {
                let here = Rc::new((point.clone(), left_over.clone()));
                if mu >= SETTLED {
                    settling = Some(Rc::clone(&here));
                }
                if is_nearest {
                    nearest = Some((left, here));
                }
            }
            if mu < SETTLED {
                least_settled = left.min(least_settled);
            }
            if mu < accuracy {
                (least, idle) = if left < LESS * least { (left, 0) } else { (least, idle + 1) };
            }
            let lost = least_settled < LOST * left || idle > IDLE_MAX;
            let exhausted = stuck > STUCK_MAX || iterations == ITERATIONS_MAX;
            if arrived || lost || exhausted || stop() {
                break left;
            }
            let Some((primal, dual)) = iterate(data, &mut point, mu, residuals) else {
                break left;
            };
            iterations += 1;
            stuck = if primal.min(dual) < 0.05 { stuck + 1 } else { 0 };
            let before = point.pairs.clone();
            adapt_pairs(data, &mut point, self);
            if self.care != Care::Late {
                // They are for the bound of a path that was cut short, and this one then counts for nothing.
                left_over.step(dual);
                left_over.change(&before, &point.pairs);
            }
        };
        let (left, (point, residuals)) = match nearest {
            Some((least, nearest)) if least < left => (least, Rc::unwrap_or_clone(nearest)),
            _ => (left, (point, left_over)),
        };
        Run { point, iterations, residuals, left, met: Vec::new(), middle, settling }
    }

    /// Pairs with envy that came too late to be noticed, and the greatest envy: they count as met.
    fn missed(&mut self, data: &Data<'_>, point: &Point) -> (Vec<(usize, usize)>, f64) {
        let (known, mut most) = (self.met.len(), 0.0_f64);
        for (l, row) in point.comparisons(data).rows().into_iter().enumerate() {
            for (i, other) in row.iter().enumerate() {
                let envy = other - point.u[l];
                if envy > MISSED && data.rows.compares(l, i) {
                    self.met.push((l, i));
                    most = most.max(envy);
                }
            }
        }
        (self.met[known..].to_vec(), most)
    }
}

/// One predictor-corrector step; returns the step lengths, primal and dual, or nothing where the arithmetic
/// broke down, and then the point stays.
fn iterate(data: &Data<'_>, point: &mut Point, mu: f64, residuals: Rhs) -> Option<(f64, f64)> {
    let mut rhs = residuals;
    let newton = Newton::new(data, point, mu);
    rhs.aim(point, 0.0, None);
    let affine = newton.solve(data, point, &rhs);
    let (primal, dual) = point.step_lengths(&affine);
    let after = point.mu_after(&affine, primal, dual);
    let sigma = (after / mu).clamp(0.0, 1.0).powi(3).max(1e-6);
    // Products must not vanish before the equations hold: a pair that came late still has to move.
    let target = (sigma * mu).max(BALANCE * rhs.norms().0);
    rhs.aim(point, target, Some(&affine));
    let mut full = newton.solve(data, point, &rhs);
    let (primal, dual) = point.step_lengths(&full);
    let (primal, dual) = correct(data, point, &newton, &mut full, target, primal, dual);
    let (primal, dual) = ((TO_BOUNDARY * primal).min(1.0), (TO_BOUNDARY * dual).min(1.0));
    if !point.mu_after(&full, primal, dual).is_finite() {
        return None;
    }
    point.advance(&full, primal, dual);
    Some((primal, dual))
}

/// Gondzio's correctors: products that the step would leave far from the target are pulled back,
/// as long as that lengthens the step.
fn correct(
    data: &Data<'_>,
    point: &Point,
    newton: &Newton,
    direction: &mut Point,
    target: f64,
    primal: f64,
    dual: f64,
) -> (f64, f64) {
    let (mut primal, mut dual) = (primal, dual);
    for _ in 0..CORRECTORS_MAX {
        if primal + dual + LONGER > 2.0 / TO_BOUNDARY {
            // No step is longer than that.
            break;
        }
        let (wish_primal, wish_dual) = ((primal + 0.3).min(1.0), (dual + 0.3).min(1.0));
        let pull = Rhs::pull_back(data, point, direction, wish_primal, wish_dual, target);
        let mut trial = newton.solve(data, point, &pull);
        trial.add(direction);
        let (p, d) = point.step_lengths(&trial);
        if p + d < primal + dual + LONGER {
            break;
        }
        *direction = trial;
        (primal, dual) = (p, d);
        if primal > 0.95 && dual > 0.95 {
            break;
        }
    }
    (primal, dual)
}

/// Slack of a pair that comes into play violated, relative to the root of complementarity.
fn room(data: &Data<'_>, care: Care) -> f64 {
    match care {
        Care::Late => ROOM_LATE,
        _ if data.rows.is_limited() => ROOM_LIMITED,
        _ => ROOM,
    }
}

/// Pairs come into play that the path has come near to, and those leave that it has left behind.
fn adapt_pairs(data: &Data<'_>, point: &mut Point, walk: &mut Walk) {
    let n = data.n;
    let mu = point.mu();
    let late = walk.care == Care::Late;
    let far_only = late && mu > FAR_ONLY;
    if mu < SETTLED {
        return;
    }
    let asked = point.comparisons(data);
    let mut present = vec![false; n * n];
    for i in 0..n {
        for r in point.pairs.range(i) {
            present[point.pairs.envious[r] * n + i] = true;
        }
    }
    let most = match walk.care {
        Care::Thorough => ADDED_MAX_THOROUGH,
        _ if data.rows.is_limited() => ADDED_MAX_LIMITED,
        _ => ADDED_MAX,
    };
    let near = if mu > EARLY { NEAR * mu.sqrt() } else { 0.0 };
    let mut added: Vec<(usize, usize, f64, f64)> = Vec::new();
    let room = room(data, walk.care) * mu.sqrt();
    let mut worst: Vec<(f64, usize)> = Vec::new();
    for l in 0..n {
        let limit = point.u[l] * if far_only { 1.0 + FAR } else { 1.0 - near };
        worst.clear();
        for (i, &other) in asked.row(l).iter().enumerate() {
            if other > limit && !present[l * n + i] && data.rows.compares(l, i) {
                worst.push((point.u[l] - other, i));
            }
        }
        worst.sort_by(|a, b| a.0.total_cmp(&b.0));
        added.extend(worst.iter().take(most).map(|&(slack, i)| {
            let s = if late { slack.abs().max(room) } else { slack.max(room) };
            (l, i, s, mu / s)
        }));
    }
    walk.met.extend(added.iter().map(|&(l, i, _, _)| (l, i)));
    let stay = mu > 1e-2 || far_only || matches!(walk.care, Care::Steady | Care::Thorough);
    let keep = |s: f64, z: f64| stay || z > 1e-3 * s;
    point.pairs.rebuild(data, keep, &added);
}
