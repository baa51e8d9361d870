//! One pivot: which variable enters, how far it can go, and who leaves.

use super::*;

impl Simplex {
    /// The entering variable and whether it rises.
    pub(super) fn price(&mut self, infeasible: bool, by_index: bool) -> Option<(usize, bool)> {
        let mut y: Vec<f64> = if infeasible {
            self.basis
                .iter()
                .zip(&self.basic_value)
                .map(|(&v, &x)| self.phase_one_cost(v, x))
                .collect()
        } else {
            self.basis.iter().map(|&v| self.cost_of(v) + self.perturbation_of(v)).collect()
        };
        self.factors.btran(&mut y);
        let mut best = None;
        let mut best_merit = 0.0;
        for v in 0..self.place.len() {
            let place = self.place[v];
            if matches!(place, Place::Basic(_)) {
                continue;
            }
            let reduced = self.reduced(v, &y, infeasible);
            let wants = match place {
                Place::Lower => reduced > 0.0,
                Place::Upper => reduced < 0.0,
                _ => true,
            };
            // What takes longer to see comes last.
            let merit = reduced.abs();
            if !wants
                || merit <= best_merit
                || merit <= self.tolerance.optimal * self.terms(v, &y, infeasible)
            {
                continue;
            }
            let (lower, upper) = self.bounds(v);
            if lower == upper {
                continue;
            }
            best_merit = merit;
            best = Some((v, reduced > 0.0));
            if by_index {
                break;
            }
        }
        best
    }

    /// In phase one: the direction in which a basic variable should move.
    pub(super) fn phase_one_cost(&self, v: usize, x: f64) -> f64 {
        let (lower, upper) = self.bounds(v);
        if x < lower - self.slack(lower) {
            1.0
        } else if x > upper + self.slack(upper) {
            -1.0
        } else {
            0.0
        }
    }

    /// Reduced cost of a nonbasic variable, and the size of the terms it came from.
    pub(super) fn reduced_cost(&self, v: usize, y: &[f64], infeasible: bool) -> (f64, f64) {
        (self.reduced(v, y, infeasible), self.terms(v, y, infeasible))
    }

    fn reduced(&self, v: usize, y: &[f64], infeasible: bool) -> f64 {
        let own = self.own_cost(v, infeasible);
        self.column(v).iter().fold(own, |sum, &(row, a)| sum - a * y[row])
    }

    fn terms(&self, v: usize, y: &[f64], infeasible: bool) -> f64 {
        let own = self.own_cost(v, infeasible).abs().max(self.tolerance.least_term);
        self.column(v).iter().fold(own, |most, &(row, a)| most.max((a * y[row]).abs()))
    }

    fn own_cost(&self, v: usize, infeasible: bool) -> f64 {
        if infeasible { 0.0 } else { self.cost_of(v) + self.perturbation_of(v) }
    }

    /// Moves the entering variable as far as the basis allows, and pivots. Returns the step.
    pub(super) fn pivot(
        &mut self,
        enter: usize,
        rise: bool,
        infeasible: bool,
    ) -> Result<f64, LpError> {
        let mut alpha = vec![0.0; self.program.rows()];
        for &(row, a) in column(self.data(), &self.logical, enter) {
            alpha[row] += a;
        }
        self.factors.ftran(&mut alpha);
        let sign = if rise { 1.0 } else { -1.0 };
        let (lower, upper) = self.bounds(enter);
        let range = upper - lower;
        let block = self.ratio_test(&alpha, sign, infeasible);
        self.pivots += 1;
        if range.is_finite() && block.is_none_or(|(_, step, _)| range <= step) {
            self.shift(&alpha, sign * range);
            self.place[enter] = if rise { Place::Upper } else { Place::Lower };
            return Ok(range);
        }
        let Some((at, step, to_upper)) = block else {
            return Err(if infeasible { LpError::NotConverged } else { LpError::Unbounded });
        };
        let start = match self.place[enter] {
            Place::Upper => upper,
            Place::Lower => lower,
            _ => 0.0,
        };
        self.shift(&alpha, sign * step);
        let leave = self.basis[at];
        self.place[leave] = if to_upper { Place::Upper } else { Place::Lower };
        self.basis[at] = enter;
        self.place[enter] = Place::Basic(at);
        self.basic_value[at] = start + sign * step;
        self.factors.replace(at, alpha);
        Ok(step)
    }

    /// Harris' two passes: the longest step with bounds relaxed by the tolerance, then the largest
    /// pivot among those that block within it. Gives the position, the step, and the bound reached.
    pub(super) fn ratio_test(
        &self,
        alpha: &[f64],
        sign: f64,
        infeasible: bool,
    ) -> Option<(usize, f64, bool)> {
        let mut relaxed = f64::INFINITY;
        let least = PIVOT * alpha.iter().fold(0.0_f64, |m, a| m.max(a.abs())).min(1.0);
        for at in 0..alpha.len() {
            if let Some((room, _)) = self.room(at, alpha[at] * sign, least, infeasible) {
                relaxed = relaxed.min((room + self.tolerance.feasible) / alpha[at].abs());
            }
        }
        if relaxed.is_infinite() {
            return None;
        }
        let mut best: Option<(usize, f64, bool)> = None;
        let mut best_pivot = 0.0;
        for at in 0..alpha.len() {
            let size = alpha[at].abs();
            if let Some((room, to_upper)) = self.room(at, alpha[at] * sign, least, infeasible)
                && room / size <= relaxed
                && size > best_pivot
            {
                best_pivot = size;
                best = Some((at, (room / size).max(0.0), to_upper));
            }
        }
        best
    }

    /// How far the basic variable at a position may move when the entering one moves by one unit
    /// against `slope`, and which bound it meets.
    pub(super) fn room(
        &self,
        at: usize,
        slope: f64,
        least: f64,
        infeasible: bool,
    ) -> Option<(f64, bool)> {
        if slope.abs() <= least {
            return None;
        }
        let (lower, upper) = self.bounds(self.basis[at]);
        let x = self.basic_value[at];
        let falls = slope > 0.0;
        if infeasible {
            // A violated bound blocks only from the wrong side: on reaching it the variable leaves.
            if x < lower - self.slack(lower) {
                return if falls { None } else { Some((lower - x, false)) };
            }
            if x > upper + self.slack(upper) {
                return if falls { Some((x - upper, true)) } else { None };
            }
        }
        let (room, to_upper) = if falls { (x - lower, false) } else { (upper - x, true) };
        room.is_finite().then_some((room, to_upper))
    }

    pub(super) fn shift(&mut self, alpha: &[f64], step: f64) {
        for (x, a) in self.basic_value.iter_mut().zip(alpha) {
            *x -= step * a;
        }
    }

    /// Breaks ties among the costs by a little, repeatably.
    pub(super) fn perturb(&mut self) {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let scale = self.data().cost.iter().fold(1e-3_f64, |m, c| m.max(c.abs()));
        self.perturbation = (0..self.program.vars())
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                -scale * 1e-7 * (0.5 + (state >> 40) as f64 / (1u64 << 24) as f64)
            })
            .collect();
    }

    pub(super) fn perturbation_of(&self, v: usize) -> f64 {
        self.perturbation.get(v).copied().unwrap_or(0.0)
    }
}
