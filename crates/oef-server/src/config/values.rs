//! Settings that are one of a few words.

use oef_core::Mechanism;
use oef_sched::guard::Policy;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// For whom the log is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// For people: one line each.
    #[default]
    Text,
    /// For programs: one JSON object each.
    Json,
}

/// What happens to running jobs when the daemon stops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopPolicy {
    /// They go on; the next start finds them.
    #[default]
    Leave,
    /// They write a checkpoint and stop; the next start goes on with them.
    Checkpoint,
}

/// What is done about profiles that are not true, by its name.
pub(super) fn guard<'de, D>(deserializer: D) -> Result<Option<Policy>, D::Error>
where
    D: Deserializer<'de>,
{
    let name = String::deserialize(deserializer)?;
    let known = || Policy::ALL.map(Policy::name).join(", ");
    let wrong = |()| D::Error::custom(format!("`{name}` is not one of {}", known()));
    name.parse().map(Some).map_err(wrong)
}

/// A mechanism by its name.
pub(super) fn mechanism<'de, D>(deserializer: D) -> Result<Option<Mechanism>, D::Error>
where
    D: Deserializer<'de>,
{
    let name = String::deserialize(deserializer)?;
    let known = || Mechanism::ALL.map(Mechanism::name).join(", ");
    let parsed: Result<Mechanism, _> = name.parse();
    parsed.map(Some).map_err(|why| D::Error::custom(format!("{why}; there are: {}", known())))
}
