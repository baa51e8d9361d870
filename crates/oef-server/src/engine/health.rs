//! Whether the daemon does what it is there for: journals, hears its executor, begins its rounds.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A thread that has not come by for so long is blocked: a pass takes milliseconds, a slow disk some seconds.
const PASS_MAX: Duration = Duration::from_secs(30);
/// A round may be late by this, beyond its own length.
const ROUND_SLACK: Duration = Duration::from_secs(60);

/// What the engine's threads tell of themselves, by a monotonic clock.
pub(crate) struct Health {
    began: Instant,
    /// Why the journal could not be written the last time it was tried.
    journal: Mutex<Option<String>>,
    turn_ms: AtomicU64,
    pass_ms: AtomicU64,
    round_ms: AtomicU64,
    round_length_ms: AtomicU64,
}

impl Default for Health {
    fn default() -> Health {
        Health {
            began: Instant::now(),
            journal: Mutex::default(),
            turn_ms: AtomicU64::new(0),
            pass_ms: AtomicU64::new(0),
            round_ms: AtomicU64::new(0),
            round_length_ms: AtomicU64::new(0),
        }
    }
}

impl Health {
    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// The engine has come by.
    pub fn turned(&self) {
        self.turn_ms.store(self.now_ms(), Ordering::Relaxed);
    }

    /// The executor was asked what is new.
    pub fn passed(&self) {
        self.pass_ms.store(self.now_ms(), Ordering::Relaxed);
    }

    /// A round of this length began.
    pub fn round_began(&self, length_ms: u64) {
        self.round_ms.store(self.now_ms(), Ordering::Relaxed);
        self.round_length_ms.store(length_ms, Ordering::Relaxed);
    }

    /// The journal was written, or could not be.
    pub fn journal(&self, error: Option<String>) {
        *self.journal.lock().unwrap_or_else(PoisonError::into_inner) = error;
    }

    /// Why the journal could not be written the last time it was tried.
    pub fn journal_error(&self) -> Option<String> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What is wrong, a sentence each; `executor`: how long ago its own last pass was, where it tells.
    pub fn problems(&self, executor: Option<Duration>) -> Vec<String> {
        self.problems_at(self.now_ms(), executor)
    }

    fn problems_at(&self, now_ms: u64, executor: Option<Duration>) -> Vec<String> {
        let mut wrong = Vec::new();
        if let Some(error) = self.journal_error() {
            wrong.push(format!("the journal cannot be written: {error}"));
        }
        let age = |at: &AtomicU64| {
            Duration::from_millis(now_ms.saturating_sub(at.load(Ordering::Relaxed)))
        };
        let threads = [
            ("the engine's last turn", Some(age(&self.turn_ms))),
            ("the last question to the executor", Some(age(&self.pass_ms))),
            ("the executor's last pass", executor),
        ];
        for (what, age) in threads {
            if let Some(age) = age.filter(|age| *age > PASS_MAX) {
                wrong.push(format!("{what} was {} s ago", age.as_secs()));
            }
        }
        let length = Duration::from_millis(self.round_length_ms.load(Ordering::Relaxed));
        let round = age(&self.round_ms);
        if round > length * 2 + ROUND_SLACK {
            wrong.push(format!("the last round began {} s ago", round.as_secs()));
        }
        wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each thread that stands still is named by what it did not do.
    #[test]
    fn a_blocked_thread_is_noticed() {
        let health = Health::default();
        let late = u64::try_from(PASS_MAX.as_millis()).expect("a number") + 1_000;
        let words = |now_ms, wrong: &[&str]| {
            let problems = health.problems_at(now_ms, None);
            assert_eq!(problems.len(), wrong.len(), "{problems:?}");
            assert!(problems.iter().zip(wrong).all(|(p, w)| p.contains(w)), "{problems:?}");
        };
        words(late - 2_000, &[]);
        words(late, &["the engine's last turn was 31 s ago", "the last question to the executor"]);
        health.turn_ms.store(late, Ordering::Relaxed);
        words(late, &["the last question to the executor was 31 s ago"]);
        health.pass_ms.store(late, Ordering::Relaxed);
        words(late, &[]);
        health.round_length_ms.store(10_000, Ordering::Relaxed);
        let stuck = 90_000;
        health.turn_ms.store(stuck, Ordering::Relaxed);
        health.pass_ms.store(stuck, Ordering::Relaxed);
        words(stuck, &["the last round began 90 s ago"]);
        health.round_ms.store(stuck, Ordering::Relaxed);
        words(stuck, &[]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let health = Health::default();
        assert!(health.problems(None).is_empty());
        assert!(health.problems(Some(Duration::from_secs(1))).is_empty());
        let late = health.problems(Some(Duration::from_secs(31)));
        assert!(late[0].contains("executor's last pass was 31 s ago"), "{late:?}");
        health.journal(Some("the disk is full".into()));
        assert!(health.problems(None)[0].contains("the disk is full"));
        health.journal(None);
        assert!(health.problems(None).is_empty());
    }
}
