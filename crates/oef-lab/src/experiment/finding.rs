//! What an experiment found.

use super::claim::{Claim, Verdict};
use super::exhibit::Exhibit;
use oef_core::{InvalidProblem, SolveError};
use oef_sim::engine::SimulationError;
use serde::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// One experiment of the paper's evaluation (a to k), or one of ours (l and m).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Experiment {
    /// Which.
    pub id: Id,
    /// What the paper says, in a sentence.
    pub paper: String,
    /// What was done here, point by point.
    pub done: Vec<String>,
    /// The figures.
    pub claims: Vec<Claim>,
    /// What follows from them.
    pub verdict: Verdict,
    /// Why it came out so, in plain words.
    pub why: String,
    /// What there is to see.
    pub exhibits: Vec<Exhibit>,
}

/// The experiments by letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Id {
    /// Four tenants with equal throughput.
    A,
    /// A tenant cheats.
    B,
    /// The sharing incentive.
    C,
    /// A second workload.
    D,
    /// The envy matrix.
    E,
    /// Throughput of 20 tenants, noncooperative.
    F,
    /// The same, cooperative.
    G,
    /// Job completion times over three days.
    H,
    /// Workers that wait for slower ones.
    I,
    /// Solver time.
    J,
    /// Errors of the profiles.
    K,
    /// Under-reporting.
    L,
    /// Mechanisms beyond the paper.
    M,
}

/// Why an experiment could not be run.
#[derive(Debug, Error)]
pub enum ExperimentError {
    /// A simulation failed.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// A mechanism failed.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// The speedups make no problem.
    #[error(transparent)]
    Problem(#[from] InvalidProblem),
    /// Times of the solver come from outside.
    #[error("experiment j needs a clock, which the library has not: see `solver_time`")]
    NeedsClock,
}

impl Experiment {
    /// An experiment with its verdict.
    pub fn new(id: Id, paper: &str, claims: Vec<Claim>, why: String) -> Self {
        let verdict = Verdict::of(&claims);
        let (paper, done, exhibits) = (paper.into(), Vec::new(), Vec::new());
        Experiment { id, paper, done, claims, verdict, why, exhibits }
    }

    /// With what was done.
    pub fn done<T: Into<String>>(mut self, done: impl IntoIterator<Item = T>) -> Self {
        self.done.extend(done.into_iter().map(Into::into));
        self
    }

    /// With something to see.
    pub fn show(mut self, exhibit: Exhibit) -> Self {
        self.exhibits.push(exhibit);
        self
    }
}

impl Id {
    /// All of them.
    pub const ALL: [Id; 13] = {
        use Id::{A, B, C, D, E, F, G, H, I, J, K, L, M};
        [A, B, C, D, E, F, G, H, I, J, K, L, M]
    };

    /// The letter.
    pub const fn letter(self) -> &'static str {
        ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m"][self as usize]
    }

    /// What it is about.
    pub const fn title(self) -> &'static str {
        match self {
            Id::A => "Four tenants, equal throughput",
            Id::B => "A tenant cheats",
            Id::C => "Sharing incentive",
            Id::D => "A second workload",
            Id::E => "No envy",
            Id::F => "Throughput of 20 tenants, noncooperative",
            Id::G => "Throughput of 20 tenants, cooperative",
            Id::H => "Job completion times over three days",
            Id::I => "Workers that wait for slower ones",
            Id::J => "Solver time",
            Id::K => "Errors of the profiles",
            Id::L => "Under-reporting",
            Id::M => "Other mechanisms on the same loads",
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.letter())
    }
}

impl FromStr for Id {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Id::ALL.into_iter().find(|id| id.letter().eq_ignore_ascii_case(text.trim()));
        found.ok_or_else(|| format!("there is no experiment `{}`; they are a to m", text.trim()))
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.letter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_lead_back_to_their_experiments() {
        for id in Id::ALL {
            assert_eq!(id.letter().parse(), Ok(id));
        }
        assert!("n".parse::<Id>().is_err() && "".parse::<Id>().is_err());
    }
}
