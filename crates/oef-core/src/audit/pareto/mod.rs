//! Pareto efficiency, by its own program: can anybody gain without another's loss?
//!
//! The traders are the workloads. Trader i values type j at W_ij and has the throughput u_i now. The exchange
//! program
//!
//! ```text
//! maximise   sum_ij W_ij x_ij - sum_i u_i            the gain
//! so that    sum_j W_ij x_ij >= u_i                  nobody loses
//!            sum_i x_ij <= m_j                       capacity
//!            sum_j x_ij <= D_i                       demand
//! ```
//!
//! has the dual: minimise m.p + sum_i (D_i q_i - s_i u_i) with p, q >= 0, s >= 1 and
//! p_j + q_i >= s_i W_ij. Every p gives a bound on the gain (`bound`); prices that support the shares
//! give the bound 0, which is the proof of efficiency without any program. Otherwise an interior-point
//! method solves the pair (`program`), and both its answers are checked by hand: the prices by the
//! same bound, the shares by counting. Where the program is too large or stalls, idle GPUs or a ring of
//! trades (`cycle`) still show that there is a gain.

mod bound;
mod cycle;
mod decide;
mod dense;
mod exchange;
mod newton;
mod program;
mod repair;

pub(super) use decide::decide;
pub use decide::pareto_efficiency;
