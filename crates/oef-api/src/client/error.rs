//! What goes wrong between a client and the daemon.

use super::AccessError;
use crate::types::ApiError;
use thiserror::Error;

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum ClientError {
    /// It is not known where the daemon is, or what to show it.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The daemon cannot be reached, or went away in the middle.
    #[error("{server} cannot be reached: {cause}")]
    Unreachable {
        /// The daemon.
        server: String,
        /// Why.
        cause: String,
        /// How far the request got.
        reach: Reach,
    },
    /// The daemon refuses.
    #[error("{0}")]
    Refused(Box<ApiError>),
    /// What answers does not speak this protocol.
    #[error("{server} gave an answer that is not understood: {detail}")]
    Protocol {
        /// The daemon, if it is one.
        server: String,
        /// What is wrong with the answer.
        detail: String,
    },
}

/// How far a request got that has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Nobody listens: the request was not sent.
    Nobody,
    /// It may have been carried out.
    Unknown,
}

impl ClientError {
    /// The way out.
    pub fn hint(&self) -> Option<String> {
        match self {
            ClientError::Access(error) => Some(error.hint()),
            ClientError::Unreachable { reach: Reach::Nobody, .. } => Some(
                "is the daemon running? `oef up` starts one here; OEF_SERVER names another".into(),
            ),
            ClientError::Unreachable { reach: Reach::Unknown, .. } => {
                Some("look whether it was done before you try again".into())
            }
            ClientError::Refused(problem) => {
                problem.hint.clone().or_else(|| match problem.status {
                    401 => Some(
                        "the token is wrong, revoked or expired: set OEF_TOKEN to one that counts"
                            .into(),
                    ),
                    _ => None,
                })
            }
            ClientError::Protocol { .. } => Some(
                "does OEF_SERVER name an OEF daemon, of a version that this client knows?".into(),
            ),
        }
    }

    /// The problem, where the daemon refused.
    pub fn problem(&self) -> Option<&ApiError> {
        match self {
            ClientError::Refused(problem) => Some(problem),
            _ => None,
        }
    }
}
