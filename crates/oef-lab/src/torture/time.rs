//! The simulated clocks.

use oef_sched::Time;
use oef_server::core::ClockSource;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

/// When every story begins, by the wall: some day of 2024.
const EPOCH_MS: u64 = 1_710_000_000_000;

/// True time, and a wall clock that anybody sets.
#[derive(Clone, Debug, Default)]
pub(super) struct SimTime {
    now_ms: Arc<AtomicU64>,
    wall_off_ms: Arc<AtomicI64>,
    /// What a planted mistake does to the monotonic clock.
    stands_still: bool,
}

impl SimTime {
    pub fn with_still_clock(stands_still: bool) -> SimTime {
        SimTime { stands_still, ..SimTime::default() }
    }

    /// Milliseconds since the story began.
    pub fn now(&self) -> u64 {
        self.now_ms.load(Ordering::Relaxed)
    }

    pub fn advance(&self, ms: u64) {
        self.now_ms.fetch_add(ms, Ordering::Relaxed);
    }

    /// The wall clock is set so far from the truth.
    pub fn set_wall(&self, off_ms: i64) {
        self.wall_off_ms.store(off_ms, Ordering::Relaxed);
    }

    /// The instant as the cluster's machines have it.
    pub fn stamp(&self) -> u64 {
        EPOCH_MS + self.now()
    }
}

impl ClockSource for SimTime {
    fn wall(&self) -> Time {
        let off = self.wall_off_ms.load(Ordering::Relaxed);
        Time((EPOCH_MS + self.now()).saturating_add_signed(off))
    }

    fn since_boot(&self) -> Duration {
        match self.stands_still {
            // As it was once: the time by the wall, which stands still while that is behind.
            true => Duration::ZERO,
            false => Duration::from_millis(self.now()),
        }
    }
}
