//! How often somebody may ask: a bucket for each token that fills again with time.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Beyond so many, buckets that are full again are forgotten: they are as good as new. Where that makes no room, those who
/// are new share one.
const BUCKETS_MAX: usize = 10_000;
/// The one that they share.
const SHARED: u64 = u64::MAX;

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
        let is_known = levels.contains_key(&token) || levels.len() < BUCKETS_MAX;
        let token = if is_known { token } else { SHARED };
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

/// The bucket of somebody who is known by nothing but an address. Whoever has an IPv6 address has 2^64 of them, the
/// network that they are in. Numbers of tokens are small, and no bucket is both.
pub(super) fn of_address(address: Option<IpAddr>) -> u64 {
    let mut hasher = DefaultHasher::new();
    match address.map(|address| address.to_canonical()) {
        None => 0.hash(&mut hasher),
        Some(IpAddr::V4(address)) => address.octets().hash(&mut hasher),
        Some(IpAddr::V6(address)) => address.octets()[..8].hash(&mut hasher),
    }
    hasher.finish() | 1 << 63
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_on_the_internet_have_buckets_of_their_own() {
        let of = |text: &str| of_address(text.parse().ok());
        assert_ne!(of("10.0.0.1"), of("10.0.0.2"));
        assert_eq!(of("10.0.0.1"), of("::ffff:10.0.0.1"), "the same address on another socket");
        assert_eq!(of("2001:db8::1"), of("2001:db8::dead:beef"), "one network is one caller");
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert!(of_address(None) >= 1 << 63, "no token has such a number");
    }

    #[test]
    fn there_is_an_end_to_buckets() {
        let buckets = Buckets::new(1.0, 1);
        let start = Instant::now();
        for token in 0..2 * BUCKETS_MAX as u64 {
            let _ = buckets.take(token, 1, start);
        }
        assert_eq!(buckets.levels.lock().expect("not poisoned").len(), BUCKETS_MAX + 1);
        assert!(buckets.take(1, 1, start).is_err(), "who was there has their own");
    }

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
