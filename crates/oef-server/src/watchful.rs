//! A thread that panics ends the process: a daemon that answers and starts no jobs is worse than one that a service
//! manager starts again.

use std::panic;
use std::process::exit;
use std::thread;

/// What a service manager sees of a daemon that ended by a mistake of its own (`EX_SOFTWARE`).
pub const EXIT_INTERNAL: i32 = 70;

/// The threads without which a daemon is none; `job-` has the orders of one job.
const NEEDED: [&str; 7] =
    ["engine", "watcher", "solver", "archiver", "notifier", "cleaner", "oef-fold"];

/// From now on a panic of a thread that the daemon needs ends the process with a code. Those of requests are answered.
pub fn begin() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        usual(info);
        let thread = thread::current();
        let name = thread.name().unwrap_or_default();
        if NEEDED.contains(&name) || name.starts_with("job-") {
            tracing::error!(
                thread = name,
                "internal error: a thread has ended; the daemon ends with it"
            );
            exit(EXIT_INTERNAL);
        }
    }));
}
