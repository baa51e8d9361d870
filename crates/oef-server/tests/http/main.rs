//! The whole daemon over HTTP: a real journal, real processes, emulated GPUs, a real socket.
//!
//! Jobs need a program that is their runner, and starting and stopping needs a program that is the daemon.
//! This test is both: called with `runner`, `demo-job` or `serve` it is one of those, otherwise it runs the
//! tests one after the other. Words on the command line choose tests by a part of their name.

mod auth;
mod budgets;
mod common;
mod events;
mod jobs;
mod limits;
mod login;
mod luck;
mod notify;
mod page;
mod problems;
mod starting;
mod tls;
mod trust;

use std::ffi::OsString;
use std::panic::catch_unwind;
use std::process::ExitCode;
use std::time::Instant;

/// A test with its name.
type Test = (&'static str, fn());

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    match args.split_first() {
        Some((first, rest)) if first == "runner" => oef_executor::runner::run(rest),
        Some((first, rest)) if first == "demo-job" => oef_executor::demo_job::run(rest),
        Some((first, rest)) if first == "serve" => starting::serve(rest),
        Some((first, _)) if first == "panicking" => luck::panicking(),
        Some((first, _)) if first == "deaf" => luck::deaf(),
        Some((first, _)) if first == "full-disk" => luck::full_disk_inside(),
        Some((first, _)) if first == "read-only-disk" => luck::read_only_disk_inside(),
        Some((first, _)) if first == "few-descriptors" => luck::few_descriptors_inside(),
        _ => run(&args),
    }
}

#[expect(clippy::print_stdout, reason = "a test's output is for whoever runs it")]
fn run(args: &[OsString]) -> ExitCode {
    let words: Vec<&str> =
        args.iter().filter_map(|a| a.to_str()).filter(|a| !a.starts_with('-')).collect();
    let all = [
        auth::TESTS,
        problems::TESTS,
        jobs::TESTS,
        events::TESTS,
        limits::TESTS,
        login::TESTS,
        notify::TESTS,
        page::TESTS,
        tls::TESTS,
        trust::TESTS,
        budgets::TESTS,
        luck::TESTS,
        starting::TESTS,
    ];
    let chosen = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word));
    let mut failed = Vec::new();
    for (name, test) in all.concat().into_iter().filter(|(name, _)| chosen(name)) {
        let began = Instant::now();
        let is_ok = catch_unwind(test).is_ok();
        let word = if is_ok { "ok  " } else { "FAIL" };
        println!("{word} {name} ({:.1} s)", began.elapsed().as_secs_f64());
        if !is_ok {
            failed.push(name);
        }
    }
    if failed.is_empty() {
        return ExitCode::SUCCESS;
    }
    println!("failed: {}", failed.join(", "));
    ExitCode::FAILURE
}
