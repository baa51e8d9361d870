//! The mechanisms by name.

use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// A way to share, see the table in the crate documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Mechanism {
    /// The same normalised throughput per weight for all.
    Noncooperative,
    /// The most total throughput without envy.
    Cooperative,
    /// A market with incomes by weight: everybody buys the best that it can pay and use.
    Nash,
    /// The most total throughput in which nobody falls below its equal split.
    Incentive,
    /// Every type divided by weight.
    MaxMin,
    /// The most total throughput, fair or not.
    Efficiency,
    /// The greatest least ratio of throughput to equal split.
    Gavel,
    /// Max-min, then trades of slow for fast GPUs at second prices.
    GandivaFair,
}

/// Which mechanism to take, in one sentence.
pub const ADVICE: &str = "Take nash, the default of the daemon: nobody envies, nobody is below an equal split and nothing \
     is wasted, also when tenants have fewer jobs than GPUs; take noncooperative where tenants may overstate their profiles and \
     nobody measures them.";

impl Mechanism {
    /// What the daemon and the commands on problem files use unless they are told otherwise.
    pub const DEFAULT: Mechanism = Mechanism::Nash;

    /// All of them, in the order in which they are shown.
    pub const ALL: [Mechanism; 8] = [
        Mechanism::Noncooperative,
        Mechanism::Cooperative,
        Mechanism::Nash,
        Mechanism::Incentive,
        Mechanism::MaxMin,
        Mechanism::Efficiency,
        Mechanism::Gavel,
        Mechanism::GandivaFair,
    ];

    /// The name on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Mechanism::Noncooperative => "noncooperative",
            Mechanism::Cooperative => "cooperative",
            Mechanism::Nash => "nash",
            Mechanism::Incentive => "incentive",
            Mechanism::MaxMin => "max-min",
            Mechanism::Efficiency => "efficiency",
            Mechanism::Gavel => "gavel",
            Mechanism::GandivaFair => "gandiva-fair",
        }
    }

    /// One line on what it computes.
    pub const fn summary(self) -> &'static str {
        match self {
            Mechanism::Noncooperative => "the same normalised throughput per weight for all",
            Mechanism::Cooperative => "the most total throughput without envy",
            Mechanism::Nash => "a market with incomes by weight",
            Mechanism::Incentive => "the most total throughput with nobody below its equal split",
            Mechanism::MaxMin => "every gpu type divided by weight",
            Mechanism::Efficiency => "the most total throughput, fair or not",
            Mechanism::Gavel => "the greatest least ratio of throughput to equal split",
            Mechanism::GandivaFair => "max-min, then trades of slow for fast GPUs",
        }
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that no mechanism has.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not a mechanism")]
pub struct UnknownMechanism(pub String);

impl FromStr for Mechanism {
    type Err = UnknownMechanism;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Mechanism::ALL.into_iter().find(|m| m.name() == name);
        found.ok_or_else(|| UnknownMechanism(name.into()))
    }
}
