//! Commands for the daemon and not for people: `oef runner`, `oef run-host` and `oef demo-job`.

use std::ffi::OsString;
use std::process::ExitCode;

/// Runs a hidden command, if the first argument names one. Its arguments are passed on untouched, and before
/// anything else is set up: there may be a thousand runners.
pub fn run() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    let name = args.next()?;
    let rest: Vec<OsString> = args.collect();
    match name.to_str()? {
        "runner" => Some(oef_executor::runner::run(&rest)),
        "run-host" => Some(crate::commands::interactive::host::run(&rest)),
        "demo-job" => Some(oef_executor::demo_job::run(&rest)),
        _ => None,
    }
}
