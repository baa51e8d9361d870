//! The system has no room: for files, processes, memory or bytes.

use rustix::io::Errno;
use std::io;

/// Whether an operation may work later, when others have ended or given something back. That is never a failure
/// of the job for which it was tried.
pub(crate) fn is_exhausted(error: &io::Error) -> bool {
    let known =
        [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::NOSPC, Errno::DQUOT, Errno::AGAIN];
    error.raw_os_error().is_some_and(|code| known.contains(&Errno::from_raw_os_error(code)))
}
