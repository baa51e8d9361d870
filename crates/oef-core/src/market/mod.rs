//! Mechanisms whose program has one price per gpu type: noncooperative, gavel, incentive, efficiency.
//!
//! Each is `max t` or `max sum_l w_l.x_l` subject to `w_l.x_l >= floor_l + target_l t` for every row
//! and `sum_l x_l <= m`. Its dual has `k` prices, and at prices `p` row `l` buys only types with the
//! least `p_j / w_lj`. For nearly every row that is one type: such a row is *clear* and needs no
//! variables at all, only its use of that type added up. The few rows that hesitate between types
//! stand *explicitly* in a small master program, which a simplex solves to a vertex. When a clear row
//! would rather buy elsewhere at the master's prices it becomes explicit, until none does: then the
//! prices prove the optimum for everybody.

mod levels;
mod master;
mod smooth;
mod surplus;

pub(crate) use levels::{Levelling, MarketState, lexicographic};
pub(crate) use surplus::{efficiency, incentive};

/// Shares and prices of the rows of an instance.
#[derive(Clone, Debug)]
pub(crate) struct Allocation {
    /// GPUs, row after row.
    pub x: Vec<f64>,
    /// Price per type, in units of the objective per GPU.
    pub price: Vec<f64>,
    /// Relative distance between the objective and the bound that the prices prove.
    pub gap: f64,
    /// Simplex pivots.
    pub pivots: usize,
    /// Whether ties between optima are broken as they should be, as far as that was proven.
    pub canonical: bool,
}
