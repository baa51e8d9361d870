//! The daemon with a real journal, real processes and emulated GPUs.
//!
//! Jobs need a program that is their runner. This test is that program, so it has a `main` of its own:
//! called with `runner` or `demo-job` it is one of those, otherwise it runs the tests one after the other.
//! Words on the command line choose tests by a part of their name.

#![expect(clippy::result_large_err, reason = "a problem is told once, not passed through layers")]

mod common;
mod events;
mod gangs;
mod lifecycle;
mod load;
mod nodes;
mod restarts;
mod sample;
mod upgrade;

use std::ffi::OsString;
use std::panic::catch_unwind;
use std::process::ExitCode;
use std::time::Instant;

type Test = (&'static str, fn());

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    match args.split_first() {
        Some((first, rest)) if first == "runner" => oef_executor::runner::run(rest),
        Some((first, rest)) if first == "demo-job" => oef_executor::demo_job::run(rest),
        _ => run(&args),
    }
}

#[expect(clippy::print_stdout, reason = "a test's output is for whoever runs it")]
fn run(args: &[OsString]) -> ExitCode {
    let words: Vec<String> = args
        .iter()
        .filter_map(|a| a.to_str())
        .filter(|a| !a.starts_with('-'))
        .map(String::from)
        .collect();
    let mut failed = Vec::new();
    let long: &[Test] = if std::env::var_os("OEF_LONG").is_some() { load::TESTS } else { &[] };
    let tests: Vec<Test> = [
        lifecycle::TESTS,
        events::TESTS,
        gangs::TESTS,
        nodes::TESTS,
        restarts::TESTS,
        sample::TESTS,
        upgrade::TESTS,
        long,
    ]
    .concat();
    for (name, test) in tests {
        if !words.is_empty() && !words.iter().any(|word| name.contains(word.as_str())) {
            continue;
        }
        let began = Instant::now();
        let is_ok = catch_unwind(test).is_ok();
        println!(
            "{} {name} ({:.1} s)",
            if is_ok { "ok  " } else { "FAIL" },
            began.elapsed().as_secs_f64()
        );
        if !is_ok {
            failed.push(name);
        }
    }
    match failed.is_empty() {
        true => ExitCode::SUCCESS,
        false => {
            println!("failed: {}", failed.join(", "));
            ExitCode::FAILURE
        }
    }
}
