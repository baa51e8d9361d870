//! Why a daemon does not start or did not end well, with the way out.

use crate::daemon::StartError;
use crate::http::TlsError;
use oef_api::types::ApiError;
use oef_executor::ExecutorError;
use oef_executor::checkpoints::ToolsMissing;
use oef_executor::gpus::{MpsError, SpecError};
use oef_executor::slurm::SlurmError;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use thiserror::Error;

/// Why a daemon does not start, or did not end well.
#[derive(Debug, Error)]
pub enum RunError {
    /// Settings with which a daemon does not start, all of them.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; and "))]
    Refused(Vec<RunError>),
    /// Others could read the tokens.
    #[error(
        "{0} can be reached from other machines, and tokens would cross the network in the clear; give \
         [tls] a certificate and key, listen on 127.0.0.1, or say `insecure = true`"
    )]
    Open(SocketAddr),
    /// Somebody else listens.
    #[error("{address} is in use: {who}; or choose another port, as in `--listen {}:0`", address.ip())]
    PortInUse {
        /// The address.
        address: SocketAddr,
        /// Who listens there.
        who: String,
    },
    /// The address cannot be used.
    #[error("cannot listen on {address}: {why}; choose an address of this machine")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        why: io::Error,
    },
    /// The certificate cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The GPUs are not understood.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// NVIDIA's service does not start.
    #[error(transparent)]
    Mps(#[from] MpsError),
    /// There are none.
    #[error(
        "no GPU was found in this machine; name emulated ones in [gpus] to try it, as in `emulated = \"rtx3090=4\"`"
    )]
    NoGpus,
    /// The local socket cannot be opened.
    #[error("the local socket {} cannot be opened: {why}; set [socket] path", path.display())]
    Socket {
        /// Where.
        path: PathBuf,
        /// Why.
        why: io::Error,
    },
    /// Slurm refuses, or is not here.
    #[error(transparent)]
    Slurm(SlurmError),
    /// Slurm has no GPUs.
    #[error(
        "Slurm knows no GPU{}; slurm.conf needs GresTypes=gpu and Gres=gpu:TYPE:COUNT on its nodes (`oef slurm doctor` says which lines)",
        .0.as_ref().map(|name| format!(" in partition `{name}`, or has no such partition")).unwrap_or_default()
    )]
    SlurmWithoutGpus(Option<String>),
    /// Checkpoints could not be moved.
    #[error(transparent)]
    Checkpoints(#[from] ToolsMissing),
    /// The executor does not start.
    #[error(transparent)]
    Executor(#[from] ExecutorError),
    /// The daemon does not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// There is no place for the state folder.
    #[error(
        "no state folder is given, and neither XDG_STATE_HOME nor HOME is set; name one with `--state DIR`"
    )]
    NoHomeFolder,
    /// The access file cannot be written.
    #[error("the access file {} cannot be written: {why}", path.display())]
    AccessFile {
        /// The file.
        path: PathBuf,
        /// Why.
        why: io::Error,
    },
    /// A group or tenant of the settings was refused.
    #[error("a group or tenant of the settings could not be created: {0}")]
    First(ApiError),
    /// The system gave no random numbers.
    #[error("there is no token for the owner: {0}")]
    Secret(ApiError),
    /// It has stopped, and could not write down what happened last.
    #[error(
        "stopped, but the journal could not be written: {0}; nothing was acknowledged since then"
    )]
    Unwritten(String),
    /// The system refused a thread, a signal or a path.
    #[error("the system refused: {0}")]
    Runtime(io::Error),
}
