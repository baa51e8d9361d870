//! What the operator wants done about profiles that are not true.

use std::str::FromStr;

/// What is done where a profile is not what jobs show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Policy {
    /// Nothing, and nothing is said.
    Off,
    /// It is said.
    Report,
    /// It is said, and what was seen counts.
    #[default]
    Replace,
}

impl Policy {
    /// Every policy.
    pub const ALL: [Policy; 3] = [Policy::Off, Policy::Report, Policy::Replace];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Policy::Off => "off",
            Policy::Report => "report",
            Policy::Replace => "replace",
        }
    }
}

impl FromStr for Policy {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Policy::ALL.into_iter().find(|policy| policy.name() == text).ok_or(())
    }
}
