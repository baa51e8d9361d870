//! A sign of life for whatever takes longer than one would wait without one.

use crate::Printer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Shorter work ends before anybody wonders.
const SHOWN_AFTER: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(120);

/// A spinner with the elapsed time on stderr; gone when dropped. Only where a terminal is watched.
#[derive(Debug)]
pub struct Progress {
    /// Dropping the sender ends the thread.
    done: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    /// Solves so far; shown where there are several.
    solves: Arc<AtomicUsize>,
}

impl Progress {
    /// Starts to wait for the work called `what`.
    pub fn start(printer: &Printer, what: impl Into<String>) -> Progress {
        let solves = Arc::new(AtomicUsize::new(0));
        if !printer.is_watched() {
            return Progress { done: None, thread: None, solves };
        }
        let counter = Arc::clone(&solves);
        let (done, ended) = mpsc::channel();
        let what = what.into();
        let thread = std::thread::Builder::new().spawn(move || {
            if ended.recv_timeout(SHOWN_AFTER) == Err(RecvTimeoutError::Timeout) {
                let spinner = ProgressBar::new_spinner();
                if let Ok(style) = ProgressStyle::with_template("{spinner:.cyan} {msg}") {
                    spinner.set_style(style);
                }
                let mut waited = SHOWN_AFTER;
                while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                    waited += TICK;
                    let seconds = waited.as_secs_f64();
                    spinner.set_message(match counter.load(Ordering::Relaxed) {
                        0 | 1 => format!("{what} ({seconds:.0} s)"),
                        solves => format!("{what} ({seconds:.0} s, solve {solves})"),
                    });
                    spinner.tick();
                }
                spinner.finish_and_clear();
            }
        });
        // Without a thread there is no spinner, which is no reason not to do the work.
        Progress { done: Some(done), thread: thread.ok(), solves }
    }

    /// Tells which solve it is at.
    pub fn count(&self, solves: usize) {
        self.solves.store(solves, Ordering::Relaxed);
    }
}

/// A bar for work whose size is known; shown after a while, gone when dropped.
#[derive(Debug)]
pub struct CountBar {
    bar: ProgressBar,
    started: Instant,
    is_watched: bool,
}

impl CountBar {
    /// A bar for so many steps of the work called `what`.
    pub fn new(printer: &Printer, steps: u64, what: &str) -> CountBar {
        let bar = ProgressBar::hidden();
        bar.set_length(steps);
        let form = "{msg} {bar:40.cyan/dim} {percent:>3} % ({elapsed} gone, about {eta} to go)";
        if let Ok(style) = ProgressStyle::with_template(form) {
            bar.set_style(style);
        }
        bar.set_message(what.to_string());
        CountBar { bar, started: Instant::now(), is_watched: printer.is_watched() }
    }

    /// So many steps are done.
    pub fn set(&self, done: u64) {
        self.appear();
        self.bar.set_position(done);
    }

    /// Says what is being done.
    pub fn say(&self, what: &str) {
        self.appear();
        self.bar.set_message(what.to_string());
    }

    fn appear(&self) {
        if self.is_watched && self.bar.is_hidden() && self.started.elapsed() >= SHOWN_AFTER {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

impl Drop for CountBar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.done.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
