//! The runner and the demonstration job as a program of their own, where the whole of `oef` is not
//! wanted.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    match args.split_first() {
        Some((command, rest)) if command == "runner" => oef_executor::runner::run(rest),
        Some((command, rest)) if command == "demo-job" => oef_executor::demo_job::run(rest),
        _ => {
            let _ = writeln!(io::stderr(), "usage: oef-runner runner DIR | demo-job [OPTIONS]");
            ExitCode::from(2)
        }
    }
}
