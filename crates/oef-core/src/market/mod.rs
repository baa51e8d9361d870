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
