//! Shares, computed aside.

use super::message::Message;
use oef_core::Options;
use oef_sched::Question;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

/// Answers questions until nobody asks any more.
pub(super) fn answer(questions: &Receiver<Question>, engine: &Sender<Message>, limit: Duration) {
    while let Ok(question) = questions.recv() {
        let began = Instant::now();
        let stop = || began.elapsed() > limit;
        let options = Options { stop: Some(&stop), ..Options::default() };
        let answer = Box::new(question.answer(&options));
        let took = began.elapsed();
        if engine.send(Message::Solved { answer, took }).is_err() {
            return;
        }
    }
}
