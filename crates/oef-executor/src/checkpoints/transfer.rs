//! A transfer as a figure, for whoever counts them.

use super::bring::{Brought, NotBrought};
use oef_sched::Span;
use serde::{Deserialize, Serialize};

/// What became of one transfer, all its tries together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transfer {
    /// How it ended.
    pub result: TransferResult,
    /// Bytes that came over the line; of a transfer that did not come whole nobody knows them.
    pub bytes: u64,
    /// From the beginning of the first try to the end of the last.
    pub took: Span,
}

/// How a transfer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransferResult {
    /// All is there.
    Brought,
    /// There was nothing to bring, and nobody had said that there is.
    Nothing,
    /// It was not wanted any more.
    Stopped,
    /// It could not be had.
    Failed,
}

impl TransferResult {
    /// Every one.
    pub const ALL: [TransferResult; 4] = [
        TransferResult::Brought,
        TransferResult::Nothing,
        TransferResult::Stopped,
        TransferResult::Failed,
    ];

    /// Its name in figures.
    pub fn name(self) -> &'static str {
        match self {
            TransferResult::Brought => "brought",
            TransferResult::Nothing => "nothing",
            TransferResult::Stopped => "stopped",
            TransferResult::Failed => "failed",
        }
    }
}

impl Transfer {
    /// From what came of it.
    pub(crate) fn of(brought: &Result<Brought, NotBrought>, took: Span) -> Transfer {
        let (result, bytes) = match brought {
            Ok(Brought::All(report)) => (TransferResult::Brought, report.line_bytes),
            Ok(Brought::Nothing) => (TransferResult::Nothing, 0),
            Err(NotBrought::Stopped) => (TransferResult::Stopped, 0),
            Err(NotBrought::Failed { .. }) => (TransferResult::Failed, 0),
        };
        Transfer { result, bytes, took }
    }
}
