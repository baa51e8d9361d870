//! Follows the central path.
//!
//! The path begins where it is known, at a large `mu`, and ends in an equilibrium. `mu` need not fall along it:
//! the conditions are not monotone, and the path may turn back for a while before it goes on. Long steps
//! towards a smaller `mu` lose it there; most problems have no such turn, and for these they are the fastest.
//! Otherwise the path is followed closely by its length instead of by `mu`: a step along its tangent, the last
//! one's sign kept, then Newton's steps at right angles to it. So a turn is a bend like any other.

use super::market::Market;
use super::point::{MarketPoint, Work, thrift};

/// Where the path begins, and where one is before its beginning.
const MU_START: f64 = 1.0;
const MU_LOST: f64 = 2.0;
/// Long steps, after which there will be no progress; 10 to 30 are usual.
const LONG_MAX: usize = 100;
/// Close steps; 100 are usual.
const CLOSE_MAX: usize = 2000;
/// Part of the way to the boundary that a long step may take, and how much less a point on the path.
const TO_BOUNDARY: f64 = 0.99;
const ON_PATH: f64 = 0.7;
/// Long steps shorter than this ask for more centring, and so many of them end it.
const SHORT: f64 = 0.3;
const SHORT_MAX: usize = 8;
/// The least part of `mu` that a long step aims at.
const SIGMA_MIN: f64 = 0.02;
/// The first step along the path.
const LENGTH_START: f64 = 0.5;
/// Newton's steps back to the path, after a step along it and at its beginning.
const CORRECTIONS_MAX: usize = 6;
const FIRST_CORRECTIONS_MAX: usize = 60;
/// A step along the path that bends less than the second may be followed by a longer one; a step that bends
/// more than the first is taken back.
const BEND_MAX: f64 = 0.9;
const STRAIGHT: f64 = 0.98;
/// The shortest step along the path.
const LENGTH_MIN: f64 = 1e-7;

/// How the path is followed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Pace {
    /// With long steps towards a smaller `mu`.
    Long,
    /// By its length, along points with a relative error of less than this.
    Close(f64),
}

/// A walk along the path of a market.
pub(super) struct Walk<'a> {
    market: &'a Market,
    pub point: MarketPoint,
    mu: f64,
    /// Newton's systems solved so far.
    pub steps: usize,
    work: Work,
}

/// The path's direction of length 1, in the logarithms of all variables and, last, of `mu`; and the same in
/// the variables themselves.
struct Tangent {
    logarithms: Vec<f64>,
    step: MarketPoint,
}

impl Tangent {
    fn change_of_mu(&self) -> f64 {
        self.logarithms[self.logarithms.len() - 1]
    }
}

impl<'a> Walk<'a> {
    pub fn new(market: &'a Market) -> Self {
        let point = MarketPoint::start(market, MU_START);
        Walk { market, point, mu: MU_START, steps: 0, work: Work::default() }
    }

    /// Goes on until `mu` is as small as wanted; whether it became so.
    pub fn go(&mut self, pace: Pace, wanted: f64, stop: &dyn Fn() -> bool) -> bool {
        match pace {
            Pace::Long => self.hurry(wanted, stop),
            Pace::Close(near) => self.trace(wanted, near, stop),
        }
    }

    /// Predictor and corrector: the second-order terms of the step to `mu = 0` are taken into account in the
    /// step that is made, which aims at a smaller `mu` the farther the first one got.
    fn hurry(&mut self, wanted: f64, stop: &dyn Fn() -> bool) -> bool {
        let market = self.market;
        self.mu = self.point.mu(market);
        let (mut affine, mut step, mut plain) = Default::default();
        let mut short = 0;
        for _ in 0..LONG_MAX {
            if self.mu <= wanted || short > SHORT_MAX || stop() {
                break;
            }
            self.steps += 1;
            let (point, work) = (&mut self.point, &mut self.work);
            point.prepare(market, work);
            point.step(market, work, (0.0, 0.0), None, &mut affine);
            let reach = point.reach(&affine).min(1.0);
            let sigma = (point.mu_after(market, &affine, reach) / self.mu).powi(2);
            let towards = |sigma: f64| (sigma * self.mu, thrift(sigma * self.mu));
            let goal = towards(sigma.clamp(SIGMA_MIN, 1.0));
            point.step(market, work, goal, Some(&affine), &mut step);
            let mut part = (TO_BOUNDARY * point.reach(&step)).min(1.0);
            if part < SHORT {
                point.step(market, work, towards(0.5), None, &mut plain);
                let other = (TO_BOUNDARY * point.reach(&plain)).min(1.0);
                if other > part {
                    part = other;
                    std::mem::swap(&mut step, &mut plain);
                }
            }
            if !step.is_finite() {
                break;
            }
            point.advance(&step, part);
            self.mu = point.mu(market);
            short = if part < 0.1 { short + 1 } else { 0 };
        }
        self.mu <= wanted
    }

    /// Along the path by its length; points with a relative error of less than `near` count as points of it.
    fn trace(&mut self, wanted: f64, near: f64, stop: &dyn Fn() -> bool) -> bool {
        let mut length = LENGTH_START;
        let last = self.steps + CLOSE_MAX;
        let first = if self.steps == 0 { FIRST_CORRECTIONS_MAX } else { CORRECTIONS_MAX };
        if !self.correct(None, near, first) {
            return false;
        }
        let Some(mut ahead) = self.tangent(None) else { return false };
        // Whoever comes back to the beginning has lost the way.
        let lost = |walk: &Self| walk.mu > MU_LOST || walk.steps > last;
        while self.mu > wanted && length > LENGTH_MIN && !lost(self) && !stop() {
            let before = (self.point.clone(), self.mu);
            let change = ahead.change_of_mu();
            length = length.min(ON_PATH * self.point.reach(&ahead.step)).min(0.8 / change.abs());
            self.point.advance(&ahead.step, length);
            self.set_mu(self.mu * (1.0 + change * length));
            let steps = self.steps;
            let on_path = self.correct(Some(&ahead), near, CORRECTIONS_MAX);
            let next = if on_path { self.tangent(Some(&ahead)) } else { None };
            let bend = |next: &Tangent| dot(&ahead.logarithms, &next.logarithms);
            match next.map(|next| (bend(&next), next)) {
                Some((bend, next)) if bend > BEND_MAX => {
                    let quick = self.steps - steps <= 3;
                    length *= if quick && bend > STRAIGHT { 2.0 } else { 1.0 };
                    ahead = next;
                }
                _ => {
                    (self.point, self.mu) = before;
                    length *= 0.3;
                }
            }
        }
        self.mu <= wanted
    }

    fn set_mu(&mut self, mu: f64) {
        self.mu = mu;
        self.point.thrift = thrift(mu);
    }

    /// The tangent here, forwards from an earlier one; at first towards a smaller `mu`.
    fn tangent(&mut self, last: Option<&Tangent>) -> Option<Tangent> {
        let (_, mut step) = self.steps_here()?;
        let mut logarithms = self.point.relative(&step);
        logarithms.push(1.0);
        let length = dot(&logarithms, &logarithms).sqrt();
        let forwards = last.map_or(-1.0, |last| dot(&last.logarithms, &logarithms).signum());
        step.scale(forwards / length);
        logarithms.iter_mut().for_each(|t| *t *= forwards / length);
        Some(Tangent { logarithms, step })
    }

    /// Newton's step to the path with `mu` as it is, and what a change of its logarithm adds.
    fn steps_here(&mut self) -> Option<(MarketPoint, MarketPoint)> {
        self.steps += 1;
        let (market, point, work) = (self.market, &self.point, &mut self.work);
        let (mut correct, mut along) = Default::default();
        let here = (self.mu, thrift(self.mu));
        // The step is linear in both goals, and thrift grows as `mu` to the power of 0.4.
        let there = (2.0 * here.0, 1.4 * here.1);
        point.prepare(market, work);
        point.step(market, work, here, None, &mut correct);
        point.step(market, work, there, None, &mut along);
        along.advance(&correct, -1.0);
        (along.is_finite() && correct.is_finite()).then_some((correct, along))
    }

    /// Back to the path, at right angles to a tangent or else with `mu` as it is; whether it is reached.
    fn correct(&mut self, tangent: Option<&Tangent>, near: f64, steps_max: usize) -> bool {
        let market = self.market;
        for _ in 0..steps_max {
            if self.point.deviation(market, self.mu) < near {
                return true;
            }
            let Some((mut step, along)) = self.steps_here() else { return false };
            let mut change = 0.0;
            if let Some(tangent) = tangent {
                let across =
                    |step: &MarketPoint| dot(&tangent.logarithms, &self.point.relative(step));
                let turn = across(&along) + tangent.change_of_mu();
                change = (-across(&step) / turn).clamp(-0.5, 1.0);
                step.advance(&along, change);
            }
            let part = (0.9 * self.point.reach(&step)).min(1.0);
            self.point.advance(&step, part);
            self.set_mu(self.mu * (1.0 + part * change));
        }
        self.point.deviation(market, self.mu) < near
    }
}

/// The inner product over the shorter of two lists.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
