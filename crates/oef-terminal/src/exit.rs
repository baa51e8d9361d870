//! The exit codes: an interface that scripts rely on.

use std::process::ExitCode;

/// How a command ended. The numbers are part of the published interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The command did what it was asked.
    Done = 0,
    /// The thing asked about does not hold: a property named with `--require` fails, a job failed.
    DoesNotHold = 1,
    /// Bad input or usage; the message names the file, the field, the value and what would be right.
    BadInput = 2,
    /// The daemon cannot be reached, or it refuses.
    Server = 3,
    /// A limit was hit: time, size, or the precision of the arithmetic.
    Limit = 4,
    /// Stopped by Ctrl-C: 128 and the number of the signal, as shells have it.
    Interrupted = 130,
}

/// The same in words, for `--help` and the man page.
pub const EXIT_CODES_HELP: &str = "\
Exit codes:
  0  done
  1  the thing asked about does not hold (a property named with --require fails, a job failed)
  2  bad input or usage; the message names the file, the line, the field and what would be right
  3  the server cannot be reached or refuses
  4  a limit was hit: time, size, or the precision of the arithmetic
  130  stopped by Ctrl-C";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}
