//! A thread that panics ends the process: a daemon that answers and starts no jobs is worse than one that a service
//! manager starts again.

use std::fmt::Display;
use std::panic;
use std::process::exit;
use std::thread;
use tokio::task::JoinHandle;

/// What a service manager sees of a daemon that ended by a mistake of its own (`EX_SOFTWARE`).
pub const EXIT_INTERNAL: i32 = 70;

/// Threads that the daemon can do without: those of requests, which are answered all the same; deliveries of notices, which
/// are tried again; and figures of GPUs. With the first one the process ends anyway.
const SPARED: [&str; 3] = ["notify", "gpu figures", "main"];
const REQUESTS: &str = "tokio-";

/// From now on a panic of a thread that the daemon needs ends the process with a code. Those of requests are answered.
pub fn begin() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        usual(info);
        let thread = thread::current();
        if is_needed(thread.name()) {
            tracing::error!(
                thread = thread.name(),
                "internal error: a thread has ended; the daemon ends with it"
            );
            exit(EXIT_INTERNAL);
        }
    }));
}

/// Ends the process: something has ended without which a daemon only seems to be there.
pub fn end(what: &str, why: &str) -> ! {
    tracing::error!(why, "internal error: {what} has ended; the daemon ends with it");
    exit(EXIT_INTERNAL)
}

/// Waits for the end of a task that goes on for as long as the daemon; how it ended.
pub async fn end_of<T, E: Display>(task: &mut JoinHandle<Result<T, E>>) -> String {
    match task.await {
        Ok(Ok(_)) => "it returned".into(),
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    }
}

/// Whoever starts a thread without a name waits for it, and sees how it ends.
fn is_needed(name: Option<&str>) -> bool {
    name.is_some_and(|name| !SPARED.contains(&name) && !name.starts_with(REQUESTS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_end_of_a_task_is_seen_however_it_ends() {
        let mut returned = tokio::spawn(async { Ok::<(), String>(()) });
        let mut failed = tokio::spawn(async { Err::<(), String>("no more files".into()) });
        let mut panicked = tokio::spawn(async {
            assert!(std::hint::black_box(false), "a mistake, made on purpose");
            Ok::<(), String>(())
        });
        assert_eq!(end_of(&mut returned).await, "it returned");
        assert_eq!(end_of(&mut failed).await, "no more files");
        assert!(end_of(&mut panicked).await.contains("panicked"));
    }

    #[test]
    fn a_thread_is_needed_unless_something_else_is_known_of_it() {
        for name in ["engine", "watcher", "job-7", "cleaner", "slurm", "rounds"] {
            assert!(is_needed(Some(name)), "{name}");
        }
        let requests = tokio::runtime::Runtime::new().expect("threads");
        let name = || thread::current().name().map(String::from);
        let names = requests.block_on(async move {
            [tokio::spawn(async move { name() }).await, tokio::task::spawn_blocking(name).await]
        });
        for name in names.map(|name| name.expect("a name")) {
            assert!(name.is_some() && !is_needed(name.as_deref()), "{name:?}");
        }
        assert!(!is_needed(Some("notify")) && !is_needed(None));
    }
}
