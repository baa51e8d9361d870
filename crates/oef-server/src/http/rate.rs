//! How often somebody may ask: a bucket for each token that fills again with time.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Beyond so many, buckets that are full again are forgotten: they are as good as new.
const BUCKETS_MAX: usize = 10_000;

/// Buckets by token.
pub(super) struct Buckets {
    per_second: f64,
    burst: f64,
    levels: Mutex<HashMap<u64, Level>>,
}

#[derive(Clone, Copy)]
struct Level {
    left: f64,
    at: Instant,
}

impl Buckets {
    pub fn new(per_second: f64, burst: u32) -> Self {
        Buckets { per_second, burst: f64::from(burst), levels: Mutex::default() }
    }

    /// Takes so many; an error says how long to wait. More than fit at once are taken when the bucket is
    /// full, and have to be waited for afterwards.
    pub fn take(&self, token: u64, count: u32, now: Instant) -> Result<(), Duration> {
        let mut levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        if levels.len() >= BUCKETS_MAX {
            levels.retain(|_, level| self.filled(*level, now) < self.burst);
        }
        let level = levels.entry(token).or_insert(Level { left: self.burst, at: now });
        let left = self.filled(*level, now);
        let needed = f64::from(count).min(self.burst);
        if left < needed {
            *level = Level { left, at: now };
            return Err(Duration::from_secs_f64(((needed - left) / self.per_second).min(86_400.0)));
        }
        *level = Level { left: left - f64::from(count), at: now };
        Ok(())
    }

    fn filled(&self, level: Level, now: Instant) -> f64 {
        let passed = now.saturating_duration_since(level.at).as_secs_f64();
        (level.left + passed * self.per_second).min(self.burst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_empties_and_fills() {
        let buckets = Buckets::new(2.0, 3);
        let start = Instant::now();
        let after = |ms| start + Duration::from_millis(ms);
        for _ in 0..3 {
            assert_eq!(buckets.take(1, 1, start), Ok(()));
        }
        assert_eq!(buckets.take(1, 1, start), Err(Duration::from_millis(500)));
        assert_eq!(buckets.take(2, 1, start), Ok(()), "another token has its own");
        assert_eq!(buckets.take(1, 1, after(500)), Ok(()));
        assert!(buckets.take(1, 1, after(600)).is_err());
        assert_eq!(buckets.take(1, 3, after(60_000)), Ok(()), "it never holds more than its burst");
        assert!(buckets.take(1, 1, after(60_000)).is_err());
    }

    #[test]
    fn more_than_the_burst_is_taken_once_and_paid_back() {
        let buckets = Buckets::new(1.0, 2);
        let start = Instant::now();
        assert_eq!(buckets.take(1, 4, start), Ok(()));
        assert_eq!(buckets.take(1, 1, start), Err(Duration::from_secs(3)));
    }

    #[test]
    fn what_is_full_again_is_forgotten() {
        let buckets = Buckets::new(1000.0, 1);
        let start = Instant::now();
        for token in 0..BUCKETS_MAX as u64 {
            let _ = buckets.take(token, 1, start);
        }
        let _ = buckets.take(u64::MAX, 1, start + Duration::from_secs(1));
        assert_eq!(buckets.levels.lock().expect("not poisoned").len(), 1);
    }
}
