//! What a mechanism answers.

use super::Mechanism;
use crate::ids::{TypeId, WorkloadId};
use crate::shares::Shares;
use std::borrow::Cow;
use thiserror::Error;

/// Shares with what the mechanism knows about them.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Outcome {
    /// The mechanism that was asked.
    pub mechanism: Mechanism,
    /// Who gets what.
    pub shares: Shares,
    /// What was handed out before the mechanism ran, for guarantees and limits; it is part of the shares. `None`: the
    /// problem has neither.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub first: Option<Shares>,
    /// The price of each gpu type in total normalised throughput per GPU: from the duals of the mechanism's program; under
    /// `max-min`, which has none, the mean of what its GPUs add where they are. Empty for a mechanism without prices
    /// (`gandiva-fair` has trades instead).
    pub prices: Vec<f64>,
    /// `gandiva-fair` only: the trades in their order.
    pub trades: Vec<Trade>,
    /// How the answer was found and how good it is.
    pub solver: SolverReport,
}

/// One trade of `gandiva-fair`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Trade {
    /// Gives slow GPUs, gets fast ones.
    pub buyer: WorkloadId,
    /// Gives fast GPUs, gets slow ones.
    pub seller: WorkloadId,
    /// The type that the buyer gets.
    pub fast: TypeId,
    /// The type that the buyer pays with.
    pub slow: TypeId,
    /// GPUs of the fast type that change hands.
    pub amount: f64,
    /// Slow GPUs paid for each fast one.
    pub price: f64,
}

/// How an answer was found.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SolverReport {
    /// Whether the answer is proven to be the optimum of the mechanism's program.
    pub status: Status,
    /// The method, in a few words.
    pub method: Cow<'static, str>,
    /// Proven relative distance to the optimum of the program (0 for a closed form).
    #[cfg_attr(feature = "serde", serde(with = "gap"))]
    pub gap: f64,
    /// Whether ties between optima were broken to the end: no other answer is as good. (Written down by versions
    /// that broke every tie or failed.)
    #[cfg_attr(feature = "serde", serde(default = "is_canonical"))]
    pub canonical: bool,
    /// Iterations or pivots.
    pub iterations: usize,
}

/// How far an answer is proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Status {
    /// Feasible and optimal within the tolerance of [`OPTIMALITY_TOLERANCE`].
    ///
    /// [`OPTIMALITY_TOLERANCE`]: crate::OPTIMALITY_TOLERANCE
    Optimal,
    /// Feasible; a limit was hit before optimality was proven, and the gap says how far it may be.
    Feasible,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SolveError {
    /// The problem is larger than the mechanism takes.
    #[error("{mechanism} takes at most {limit} different profiles, and there are {found}")]
    TooLarge {
        /// The mechanism asked.
        mechanism: Mechanism,
        /// Its limit.
        limit: usize,
        /// What the problem has.
        found: usize,
    },
    /// The arithmetic did not reach an answer whose residuals are small.
    #[error("{mechanism}: no answer with small residuals was found ({detail})")]
    Numerical {
        /// The mechanism asked.
        mechanism: Mechanism,
        /// What went wrong.
        detail: String,
    },
}

#[cfg(feature = "serde")]
fn is_canonical() -> bool {
    true
}

/// A gap may be without bound, which JSON has no number for.
#[cfg(feature = "serde")]
mod gap {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(gap: &f64, to: S) -> Result<S::Ok, S::Error> {
        Some(*gap).filter(|gap| gap.is_finite()).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(from)?.unwrap_or(f64::INFINITY))
    }
}
