//! What the duals of a vertex say: prices, how far they can be trusted, a bound, and the optimal face.

use super::*;

impl Simplex {
    /// The duals of the rows: what one more unit on the row's bound adds to the objective.
    pub fn duals(&mut self) -> Vec<f64> {
        let mut y = self.working_duals();
        if let Some((_, scaling)) = &self.scaled {
            for (y, row) in y.iter_mut().zip(&scaling.row) {
                *y *= row / scaling.cost;
            }
        }
        y
    }

    pub(super) fn working_duals(&mut self) -> Vec<f64> {
        let mut y: Vec<f64> = self.basis.iter().map(|&v| self.cost_of(v)).collect();
        self.factors.btran(&mut y);
        y
    }

    /// The duals, with zero for those that may be nothing but rounding.
    pub fn certain_duals(&mut self) -> Vec<f64> {
        let y = self.working_duals();
        let errors = self.dual_errors(&y);
        let mut certain = self.duals();
        for ((certain, y), error) in certain.iter_mut().zip(&y).zip(&errors) {
            if y.abs() <= CERTAIN * error {
                *certain = 0.0;
            }
        }
        certain
    }

    /// What rounding can do to each dual.
    ///
    /// Each equation `B' y = c` holds up to the rounding of its terms. What that can do to `y` is
    /// seen by solving for errors of that size, once for each bit of the equations' numbers, which is the sign. So any two
    /// errors have different signs once: those of two rows that are tied do not cancel each other every time. A dual that
    /// is much greater than its own errors is not zero, however small it is beside the others.
    pub(super) fn dual_errors(&mut self, y: &[f64]) -> Vec<f64> {
        let size = |at: usize| -> f64 {
            let terms = self.column(self.basis[at]).iter().map(|&(row, a)| (a * y[row]).abs());
            f64::EPSILON * (self.cost_of(self.basis[at]).abs() + terms.sum::<f64>())
        };
        let sizes: Vec<f64> = (0..self.basis.len()).map(size).collect();
        let mut worst = vec![0.0_f64; sizes.len()];
        let bits = usize::BITS - sizes.len().leading_zeros();
        for bit in 0..bits {
            let sign = |at: usize| if at >> bit & 1 == 0 { 1.0 } else { -1.0 };
            let mut errors: Vec<f64> =
                sizes.iter().enumerate().map(|(at, s)| s * sign(at)).collect();
            self.factors.btran(&mut errors);
            for (worst, error) in worst.iter_mut().zip(&errors) {
                *worst = worst.max(error.abs());
            }
        }
        worst
    }

    /// What the duals prove: no feasible point has a greater objective, up to rounding in the reduced
    /// costs of unbounded variables.
    pub fn dual_bound(&mut self) -> f64 {
        let y = self.working_duals();
        let mut bound = 0.0;
        for v in 0..self.place.len() {
            let (reduced, _) = self.reduced_cost(v, &y, false);
            let (lower, upper) = self.bounds(v);
            let at = if reduced > 0.0 { upper } else { lower };
            if at.is_finite() {
                bound += reduced * at;
            }
        }
        bound / self.scaled.as_ref().map_or(1.0, |(_, s)| s.cost)
    }

    /// Restricts the program to its optimal face: whatever has a reduced cost stays on its bound.
    /// Returns whether anything is left that could move.
    pub fn restrict_to_optimal_face(&mut self) -> bool {
        let tied = self.tied();
        for &v in &tied {
            let (lower, upper) = self.program.bounds(v);
            let at = if self.place[v] == Place::Upper { upper } else { lower };
            self.program.set_bounds(v, at, at);
        }
        self.program.cost.fill(0.0);
        self.can_move(&tied)
    }

    /// Whether the vertex is the only optimum.
    pub fn is_only_optimum(&mut self) -> bool {
        let tied = self.tied();
        !self.can_move(&tied)
    }

    /// What has a reduced cost, in order.
    fn tied(&mut self) -> Vec<usize> {
        let y = self.working_duals();
        let errors = self.dual_errors(&y);
        let has_cost = |v: &usize| {
            let (reduced, scale) = self.reduced_cost(*v, &y, false);
            // A reduced cost made of nothing but the errors of its duals ties nothing.
            let terms = self.column(*v).iter().map(|&(row, a)| (a * errors[row]).abs());
            let noise = CERTAIN * terms.sum::<f64>();
            reduced.abs() > noise.max(10.0 * COARSE.optimal * scale)
        };
        (0..self.place.len()).filter(|&v| !self.is_basic(v)).filter(has_cost).collect()
    }

    /// Whether anything moves while what is tied, in order, stays on its bound.
    fn can_move(&self, tied: &[usize]) -> bool {
        let moves = |v: usize| {
            let (lower, upper) = self.program.bounds(v);
            upper > lower && !self.is_basic(v) && tied.binary_search(&v).is_err()
        };
        (0..self.place.len()).any(moves)
    }

    fn is_basic(&self, v: usize) -> bool {
        matches!(self.place[v], Place::Basic(_))
    }
}
