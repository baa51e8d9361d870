//! A sign of life for whatever takes longer than one would wait without one.

use crate::printer::Printer;
use indicatif::{ProgressBar, ProgressStyle};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

/// Shorter work ends before anybody wonders.
const SHOWN_AFTER: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(120);

/// A spinner with the elapsed time on stderr; gone when dropped. Only where a terminal is watched.
#[derive(Debug)]
pub struct Progress {
    /// Dropping the sender ends the thread.
    done: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Starts to wait for the work called `what`.
    pub fn start(printer: &Printer, what: impl Into<String>) -> Progress {
        if !printer.is_watched() {
            return Progress { done: None, thread: None };
        }
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
                    spinner.set_message(format!("{what} ({:.0} s)", waited.as_secs_f64()));
                    spinner.tick();
                }
                spinner.finish_and_clear();
            }
        });
        // Without a thread there is no spinner, which is no reason not to do the work.
        Progress { done: Some(done), thread: thread.ok() }
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
