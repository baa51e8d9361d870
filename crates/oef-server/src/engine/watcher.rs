//! The thread that hears what the executor tells.

use super::health::Health;
use super::message::Message;
use oef_executor::{Cursor, Executor};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

/// How soon the thread hears that it is to end.
const WAKE: Duration = Duration::from_millis(200);

/// Passes events on until it is told to stop, or nobody listens.
pub(super) fn watch(
    executor: &dyn Executor,
    mut after: Cursor,
    engine: &Sender<Message>,
    stop: &Arc<AtomicBool>,
    health: &Health,
) {
    while !stop.load(Ordering::Relaxed) {
        health.passed();
        let events = executor.events(after, WAKE);
        let Some((last, _)) = events.last() else { continue };
        after = *last;
        if engine.send(Message::Happened(events)).is_err() {
            return;
        }
    }
}
