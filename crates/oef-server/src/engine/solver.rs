//! Shares, computed aside.

use super::message::Message;
use oef_core::Options;
use oef_sched::Question;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

/// A question, and whether its answer is still wanted.
pub(crate) struct Asked {
    pub question: Question,
    /// Nobody needs the answer any more: the computation may stop.
    pub superseded: Arc<AtomicBool>,
}

/// Answers questions until nobody asks any more.
pub(super) fn answer(questions: &Receiver<Asked>, engine: &Sender<Message>, limit: Duration) {
    while let Ok(Asked { question, superseded }) = questions.recv() {
        let began = Instant::now();
        let stop = || began.elapsed() > limit || superseded.load(Ordering::Relaxed);
        let options = Options { stop: Some(&stop), ..Options::default() };
        // A mistake in a solver must not stop everybody's rounds: the last shares are kept.
        let spare = question.clone();
        let answer = catch_unwind(AssertUnwindSafe(|| question.answer(&options)));
        let answer = Box::new(answer.unwrap_or_else(|_| {
            tracing::error!("the computation of shares panicked (please report it)");
            spare.keep_last("internal error in the solver")
        }));
        let took = began.elapsed();
        if engine.send(Message::Solved { answer, took }).is_err() {
            return;
        }
    }
}
