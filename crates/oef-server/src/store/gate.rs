//! Turns between those who write to the database.
//!
//! SQLite lets one write at a time; the others try again after a pause, and against somebody who commits
//! without a break they may try for ever. Here everybody has their turn in the order in which they came: the
//! journal waits for one short step of the archive at most, and the other way round.

use std::sync::{Condvar, Mutex, PoisonError};

/// Hands out turns, first come, first served.
#[derive(Debug, Default)]
pub(super) struct Gate {
    turns: Mutex<Turns>,
    over: Condvar,
}

#[derive(Debug, Default)]
struct Turns {
    /// The number that the next one to come gets.
    next: u64,
    /// The number whose turn it is.
    now: u64,
}

/// A turn; it is over when this is dropped.
#[derive(Debug)]
pub(super) struct Turn<'a>(&'a Gate);

impl Gate {
    /// Waits for a turn.
    pub fn enter(&self) -> Turn<'_> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let own = turns.next;
        turns.next = turns.next.wrapping_add(1);
        while turns.now != own {
            turns = self.over.wait(turns).unwrap_or_else(PoisonError::into_inner);
        }
        Turn(self)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut turns = self.0.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.now = turns.now.wrapping_add(1);
        self.0.over.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn one_at_a_time_and_nobody_is_passed_over() {
        let (gate, inside) = (Gate::default(), AtomicU32::new(0));
        let mut order = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for name in 0..3 {
                let (gate, inside, order) = (&gate, &inside, &order);
                scope.spawn(move || {
                    for _ in 0..200 {
                        let _turn = gate.enter();
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        order.lock().expect("no panic").push(name);
                        std::thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        let order = order.get_mut().expect("no panic");
        assert_eq!(order.len(), 600);
        assert!((0..3).all(|name| order.iter().filter(|n| **n == name).count() == 200));
    }
}
