//! From the optimum of a similar program: the self-dual parametric simplex method.
//!
//! The basis at hand is nearly optimal. Bounds that basic variables violate are moved out of the way,
//! and so are costs whose reduced costs have the wrong sign, each by `mu` times a shift that makes
//! the basis optimal at `mu = 1`. Then `mu` falls to zero. Where a basic variable meets its bound or
//! a reduced cost vanishes on the way, one pivot makes the next basis, which is optimal from there on.
//! Neither feasibility nor optimality is ever given up, so the number of pivots is that of the
//! changes between the two optima and not that of a solve.

mod image;

use super::{COARSE, LpError, Place, STOP_EVERY, Simplex};
use image::{Image, Rows};

/// What is missing is moved out of the way this many times, and a little more that differs from one
/// to the next, so that breakpoints come one at a time.
const SHIFT: f64 = 1.5;
/// How far what is just on its bound is moved out of the way, so that ties do not stop the path.
const TIE: f64 = 1e-5;
/// What counts as just on its bound.
const NEAR: f64 = 1e-9;
/// Pivots that may come at the same `mu` before the path is given up.
const TIES_MAX: usize = 200;
/// Pivots that may be left to do at its end, besides some per row.
const CHECK_MAX: usize = 20;

/// `at_zero + mu * slope`.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    at_zero: f64,
    slope: f64,
}

impl Line {
    fn at(self, mu: f64) -> f64 {
        self.at_zero + mu * self.slope
    }

    fn add(&mut self, factor: f64, other: Line) {
        self.at_zero += factor * other.at_zero;
        self.slope += factor * other.slope;
    }

    fn over(self, divisor: f64) -> Line {
        Line { at_zero: self.at_zero / divisor, slope: self.slope / divisor }
    }
}

/// Factors near one, the same ones every time.
struct Noise(u64);

impl Default for Noise {
    fn default() -> Self {
        Noise(0x9e37_79b9_7f4a_7c15)
    }
}

impl Noise {
    fn next(&mut self) -> f64 {
        let (factor, offset) = (6_364_136_223_846_793_005, 1_442_695_040_888_963_407);
        self.0 = self.0.wrapping_mul(factor).wrapping_add(offset);
        1.0 + 0.1 * (self.0 >> 40) as f64 / (1u64 << 24) as f64
    }
}

/// The shifts, and where everything is as a function of `mu`.
struct Path {
    mu: f64,
    /// The bounds of each variable, which stay as they are,
    limits: Vec<(f64, f64)>,
    /// how far they are moved out, and what is added to its cost.
    bound: Vec<f64>,
    cost: Vec<f64>,
    /// The program's entries by row, and the row of the last basic variable that was looked at.
    rows: Rows,
    image: Image,
    /// Values of the basic variables by position, reduced costs of all.
    value: Vec<Line>,
    reduced: Vec<Line>,
}

impl Path {
    /// What is missing at the start: each takes a pivot or more.
    fn shifts(&self) -> usize {
        self.bound.iter().chain(&self.cost).filter(|shift| shift.abs() > 2.0 * TIE).count()
    }
}

/// The next event on the path.
enum Event {
    Enters(usize),
    /// The basic variable at a position goes to its lower or upper bound.
    Leaves(usize, bool),
}

impl Simplex {
    /// Follows the path to its end. Its own tolerances are coarse: where the vertex counts, it is
    /// checked by [`Self::arrive`].
    pub fn approach(&mut self, pivots_max: usize, stop: &dyn Fn() -> bool) -> Result<(), LpError> {
        self.sync();
        if stop() {
            return Err(LpError::Stopped);
        }
        self.tolerance = COARSE;
        if !self.factored {
            self.refactor();
        }
        let mut path = self.shifted();
        if path.shifts() > pivots_max {
            return Err(LpError::NotConverged);
        }
        let mut ties = 0;
        let first = self.pivots;
        let limit = first + pivots_max;
        loop {
            if self.factors.is_stale() {
                self.refactor();
                self.locate(&mut path);
            }
            let Some((mu, event)) = self.next_event(&path) else {
                break;
            };
            ties = if mu < path.mu - 1e-14 { 0 } else { ties + 1 };
            if ties > TIES_MAX || self.pivots >= limit {
                return Err(LpError::NotConverged);
            }
            if (self.pivots - first).is_multiple_of(STOP_EVERY) && stop() {
                return Err(LpError::Stopped);
            }
            path.mu = mu.min(path.mu);
            self.follow(&mut path, event)?;
        }
        self.basic_value = path.value.iter().map(|x| x.at_zero).collect();
        self.fresh &= !self.factors.is_updated();
        Ok(())
    }

    /// Checks the vertex at the end of a path like any other.
    pub fn arrive(&mut self, stop: &dyn Fn() -> bool) -> Result<(), LpError> {
        let size = self.program.rows();
        self.run(COARSE, CHECK_MAX + size / 10, stop)
    }

    /// The path on which the current basis is optimal at `mu = 1`.
    fn shifted(&mut self) -> Path {
        let size = self.place.len();
        let mut path = Path {
            mu: 1.0,
            limits: (0..size).map(|v| self.bounds(v)).collect(),
            bound: vec![0.0; size],
            cost: vec![0.0; size],
            rows: Rows::of(self.data()),
            image: Image::new(size),
            value: Vec::new(),
            reduced: Vec::new(),
        };
        let mut noise = Noise::default();
        self.locate(&mut path);
        let missing = |at: usize, v: usize| {
            let (lower, upper) = self.bounds(v);
            let x = path.value[at].at_zero;
            ((lower - x).max(x - upper), self.slack(if x < lower { lower } else { upper }))
        };
        let most = self.basis.iter().enumerate().map(|(at, &v)| missing(at, v).0);
        let most = most.fold(0.0, f64::max);
        for (at, &v) in self.basis.iter().enumerate() {
            let (missing, slack) = missing(at, v);
            if missing > slack {
                path.bound[v] = SHIFT * most * (1.0 + 0.01 * (noise.next() - 1.0));
            } else if missing > -NEAR {
                path.bound[v] = TIE * noise.next();
            }
        }
        for v in 0..size {
            let d = path.reduced[v].at_zero;
            let (lower, upper) = self.bounds(v);
            let wrong = match self.place[v] {
                Place::Basic(_) => false,
                Place::Lower => d > 0.0,
                Place::Upper => d < 0.0,
                Place::Free => true,
            };
            if matches!(self.place[v], Place::Lower) && lower < upper && d.abs() < NEAR {
                path.cost[v] = -TIE * noise.next();
            } else if wrong && d.abs() > COARSE.optimal && lower < upper {
                let by = if self.place[v] == Place::Free { 1.0 } else { SHIFT * noise.next() };
                path.cost[v] = -by * d;
            }
        }
        self.locate(&mut path);
        path
    }

    /// Values and reduced costs of the basis, from the factors.
    fn locate(&mut self, path: &mut Path) {
        let rows = self.program.rows();
        let mut right = [vec![0.0; rows], vec![0.0; rows]];
        for v in 0..self.place.len() {
            let x = self.resting(path, v);
            if matches!(self.place[v], Place::Basic(_)) || (x.at_zero == 0.0 && x.slope == 0.0) {
                continue;
            }
            for &(row, a) in self.column(v) {
                right[0][row] -= a * x.at_zero;
                right[1][row] -= a * x.slope;
            }
        }
        let mut dual = [
            self.basis.iter().map(|&v| self.cost_of(v)).collect::<Vec<f64>>(),
            self.basis.iter().map(|&v| path.cost[v]).collect(),
        ];
        for side in 0..2 {
            self.factors.ftran(&mut right[side]);
            self.factors.btran(&mut dual[side]);
        }
        path.value =
            (0..rows).map(|at| Line { at_zero: right[0][at], slope: right[1][at] }).collect();
        path.reduced = (0..self.place.len())
            .map(|v| {
                if matches!(self.place[v], Place::Basic(_)) {
                    return Line::default();
                }
                let mut line = Line { at_zero: self.cost_of(v), slope: path.cost[v] };
                for &(row, a) in self.column(v) {
                    line.at_zero -= a * dual[0][row];
                    line.slope -= a * dual[1][row];
                }
                line
            })
            .collect();
    }

    /// Where a nonbasic variable is.
    fn resting(&self, path: &Path, v: usize) -> Line {
        let (lower, upper) = path.limits[v];
        match self.place[v] {
            Place::Lower => Line { at_zero: lower, slope: -path.bound[v] },
            Place::Upper => Line { at_zero: upper, slope: path.bound[v] },
            _ => Line::default(),
        }
    }

    /// The greatest `mu` below the current one at which the basis stops being optimal.
    fn next_event(&self, path: &Path) -> Option<(f64, Event)> {
        let mut best: Option<(f64, Event)> = None;
        let mut consider = |mu: f64, event: Event| {
            if best.as_ref().is_none_or(|(most, _)| mu > *most) {
                best = Some((mu, event));
            }
        };
        for (at, (&v, &x)) in self.basis.iter().zip(&path.value).enumerate() {
            let (lower, upper) = path.limits[v];
            if x.at_zero >= lower && x.at_zero <= upper {
                continue;
            }
            for (bound, sign, to_upper) in [(lower, 1.0, false), (upper, -1.0, true)] {
                if bound.is_finite() {
                    let room = sign * (x.at_zero - bound);
                    let slope = sign * x.slope + path.bound[v];
                    if room < -self.slack(bound) && slope > 0.0 {
                        consider(-room / slope, Event::Leaves(at, to_upper));
                    }
                }
            }
        }
        for (v, (place, d)) in self.place.iter().zip(&path.reduced).enumerate() {
            let wrong = match place {
                Place::Basic(_) => false,
                Place::Lower => d.at_zero > COARSE.optimal,
                Place::Upper => d.at_zero < -COARSE.optimal,
                Place::Free => d.at_zero.abs() > COARSE.optimal,
            };
            if wrong && path.limits[v].0 < path.limits[v].1 {
                let mu =
                    if d.slope == 0.0 { path.mu } else { (-d.at_zero / d.slope).clamp(0.0, 1.0) };
                consider(mu, Event::Enters(v));
            }
        }
        best
    }

    fn follow(&mut self, path: &mut Path, event: Event) -> Result<(), LpError> {
        let (enter, at, to_upper, column) = match event {
            Event::Enters(enter) => {
                let column = self.image(enter);
                let rise = path.reduced[enter].at_zero > 0.0;
                let (at, to_upper) = self
                    .blocking(path, &column, if rise { 1.0 } else { -1.0 })
                    .ok_or(LpError::Unbounded)?;
                self.row_image(path, at);
                (enter, at, to_upper, column)
            }
            Event::Leaves(at, to_upper) => {
                self.row_image(path, at);
                let enter = self.replacing(path, to_upper).ok_or(LpError::Infeasible)?;
                (enter, at, to_upper, self.image(enter))
            }
        };
        let (pivot, beside) = (column[at], path.image.of(enter));
        if (pivot - beside).abs() > 1e-6 * pivot.abs().max(beside.abs()) {
            if !self.factors.is_updated() {
                return Err(LpError::NotConverged);
            }
            self.refactor();
            self.locate(path);
            return Ok(());
        }
        self.pivots += 1;
        let leave = self.basis[at];
        let start = self.resting(path, enter);
        self.place[leave] = if to_upper { Place::Upper } else { Place::Lower };
        let end = self.resting(path, leave);
        let mut step = path.value[at];
        step.add(-1.0, end);
        let step = step.over(pivot);
        for (value, a) in path.value.iter_mut().zip(&column).filter(|(_, a)| **a != 0.0) {
            value.add(-a, step);
        }
        path.value[at] = start;
        path.value[at].add(1.0, step);
        let ratio = path.reduced[enter].over(pivot);
        for (v, a) in path.image.entries() {
            path.reduced[v].add(-a, ratio);
        }
        path.reduced[enter] = Line::default();
        path.reduced[leave] = Line { at_zero: -ratio.at_zero, slope: -ratio.slope };
        self.basis[at] = enter;
        self.place[enter] = Place::Basic(at);
        self.factors.replace(at, column);
        Ok(())
    }

    /// The column of a variable in terms of the basis.
    fn image(&mut self, v: usize) -> Vec<f64> {
        let mut alpha = vec![0.0; self.program.rows()];
        for &(row, a) in self.column(v) {
            alpha[row] += a;
        }
        self.factors.ftran(&mut alpha);
        alpha
    }

    /// Takes the row of a basic variable in terms of the nonbasic ones into the path's image.
    fn row_image(&mut self, path: &mut Path, at: usize) {
        let mut unit = vec![0.0; self.program.rows()];
        unit[at] = 1.0;
        self.factors.btran(&mut unit);
        path.image.set(&path.rows, &unit, |v| matches!(self.place[v], Place::Basic(_)));
    }

    /// Which basic variable blocks an entering one first, at the current `mu`: among those within
    /// tolerance the one with the greatest pivot.
    fn blocking(&self, path: &Path, column: &[f64], sign: f64) -> Option<(usize, bool)> {
        let room = |at: usize| -> Option<(f64, bool)> {
            let slope = column[at] * sign;
            if slope.abs() <= 1e-9 {
                return None;
            }
            let v = self.basis[at];
            let (lower, upper) = path.limits[v];
            let x = path.value[at].at(path.mu);
            let shift = path.mu * path.bound[v];
            let falls = slope > 0.0;
            let room = if falls { x - lower + shift } else { upper + shift - x };
            room.is_finite().then_some((room.max(0.0), !falls))
        };
        let candidate = |at: usize| {
            let (room, to_upper) = room(at)?;
            Some(Candidate { which: at, room, slope: column[at].abs(), to_upper })
        };
        let chosen = choose((0..column.len()).filter_map(candidate), COARSE.feasible)?;
        Some((chosen.which, chosen.to_upper))
    }

    /// Which nonbasic variable takes the place of a leaving one, at the current `mu`.
    fn replacing(&self, path: &Path, to_upper: bool) -> Option<usize> {
        // At its lower bound the leaving variable must rise, at its upper one fall.
        let sign = if to_upper { 1.0 } else { -1.0 };
        let candidate = |(v, a): (usize, f64)| {
            let slope = a * sign;
            let (lower, upper) = path.limits[v];
            let fits = match self.place[v] {
                Place::Basic(_) => false,
                Place::Lower => slope > 0.0,
                Place::Upper => slope < 0.0,
                Place::Free => true,
            };
            let room = path.reduced[v].at(path.mu).abs();
            (fits && slope.abs() > 1e-9 && lower < upper).then_some(Candidate {
                which: v,
                room,
                slope: slope.abs(),
                to_upper,
            })
        };
        let chosen = choose(path.image.entries().filter_map(candidate), COARSE.optimal)?;
        Some(chosen.which)
    }
}

/// What may leave or enter: how much room it has, and how fast that is used up.
struct Candidate {
    which: usize,
    room: f64,
    slope: f64,
    to_upper: bool,
}

/// Harris' rule: of the candidates whose `room / slope` is least within a tolerance, the one with the
/// greatest slope.
fn choose(candidates: impl Iterator<Item = Candidate>, tolerance: f64) -> Option<Candidate> {
    // As many as there may be at once: growing step by step would take longer than the rest.
    let mut all = Vec::with_capacity(candidates.size_hint().1.unwrap_or(0));
    all.extend(candidates);
    let candidates: Vec<Candidate> = all;
    let relaxed = candidates.iter().map(|c| (c.room + tolerance) / c.slope);
    let relaxed = relaxed.fold(f64::INFINITY, f64::min);
    // Of equal slopes the last one, whatever the order in which they come.
    let within = candidates.into_iter().filter(|c| c.room / c.slope <= relaxed);
    within.max_by(|a, b| a.slope.total_cmp(&b.slope).then(a.which.cmp(&b.which)))
}
