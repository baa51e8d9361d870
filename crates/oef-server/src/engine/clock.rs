//! The time, which never goes back and never stands still.

use oef_sched::Time;
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How much faster or slower than time itself this clock goes to meet the system's: rounds that are a tenth longer are
/// no harm, rounds that do not come are.
const SLEW: u64 = 10;
/// A system's clock that is further ahead than this was wrong before: it is followed at once.
const STEP_MIN: Duration = Duration::from_secs(24 * 3600);

/// Counts by a monotonic clock (and that goes on while the machine sleeps), and drifts towards the system's
/// clock. A clock that is set an hour ahead and back again changes nothing but some milliseconds.
pub struct Clock {
    source: Box<dyn ClockSource>,
    last: Time,
    /// When that was, by the monotonic clock: to the millisecond, so that parts of one count the next time.
    at: Duration,
    /// Milliseconds that passed since it last drifted.
    undrifted: u64,
}

impl Clock {
    /// A clock that starts no earlier than what is known.
    pub fn new(last: Time, source: Box<dyn ClockSource>) -> Clock {
        Clock { last: last.max(source.wall()), at: source.since_boot(), undrifted: 0, source }
    }

    /// The time. Never earlier than before. However often it is read, it goes at the same pace.
    pub fn now(&mut self) -> Time {
        let passed = self.source.since_boot().saturating_sub(self.at).as_millis();
        let passed = u64::try_from(passed).unwrap_or(u64::MAX);
        self.at = self.at.saturating_add(Duration::from_millis(passed));
        let undrifted = self.undrifted.saturating_add(passed);
        self.undrifted = undrifted % SLEW;
        self.last = advance(self.last, passed, undrifted / SLEW, self.source.wall());
        self.last
    }
}

/// The time so many milliseconds later than the last, with the system's clock in view: towards it by `slew` at most.
fn advance(last: Time, passed: u64, slew: u64, wall: Time) -> Time {
    let now = last.0.saturating_add(passed);
    // A millisecond in which none has passed yet must not go back.
    let slew = slew.min(passed);
    if wall.0 > now {
        let ahead = wall.0 - now;
        let step = u128::from(ahead) > STEP_MIN.as_millis();
        return Time(if step { wall.0 } else { now + ahead.min(slew) });
    }
    Time(now - (now - wall.0).min(slew))
}

/// Where the time comes from.
pub trait ClockSource: Send {
    /// The system's clock, which anybody may set.
    fn wall(&self) -> Time;

    /// A monotonic clock.
    fn since_boot(&self) -> Duration;
}

/// The clocks of this machine.
pub(super) struct SystemClock;

impl ClockSource for SystemClock {
    fn wall(&self) -> Time {
        wall()
    }

    fn since_boot(&self) -> Duration {
        boot()
    }
}

/// The time of day.
pub(crate) fn wall() -> Time {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX))
}

fn boot() -> Duration {
    let now = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(now.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    const HOUR: u64 = 3_600_000;

    fn run(mut now: Time, seconds: u64, wall: impl Fn(u64) -> u64) -> Time {
        for second in 1..=seconds {
            let next = advance(now, 1000, 100, Time(wall(second * 1000)));
            assert!(next > now, "it never stands still");
            now = next;
        }
        now
    }

    #[test]
    fn a_clock_that_is_set_ahead_and_back_stops_nothing() {
        let start = 1_000 * HOUR;
        // An hour ahead for a minute, and back.
        let wall = |ms: u64| start + ms + if ms < 60_000 { HOUR } else { 0 };
        let after = run(Time(start), 600, wall);
        assert!(after.0.abs_diff(start + 600_000) <= 7_000, "{}", after.0 - start);
        // A journal that ends an hour ahead: time goes on from there, a little slower.
        let after = run(Time(start + HOUR), 600, |ms| start + ms);
        assert!(after.0 > start + HOUR + 500_000 && after.0 < start + HOUR + 600_000);
    }

    #[test]
    fn a_true_clock_is_followed_exactly_and_a_wrong_year_at_once() {
        assert_eq!(run(Time(5 * HOUR), 60, |ms| 5 * HOUR + ms), Time(5 * HOUR + 60_000));
        let years = 400_000 * HOUR;
        assert_eq!(advance(Time(0), 1000, 100, Time(years)), Time(years));
    }

    /// Clocks that step by so many microseconds whenever they are read; the system's is wrong by some milliseconds.
    struct Stepping {
        step_us: u64,
        wrong_ms: u64,
        reads: Arc<AtomicU64>,
    }

    impl Stepping {
        fn elapsed(&self) -> Duration {
            Duration::from_micros(self.step_us * self.reads.load(Ordering::Relaxed))
        }
    }

    impl ClockSource for Stepping {
        fn wall(&self) -> Time {
            Time(HOUR + self.wrong_ms + self.elapsed().as_millis() as u64)
        }

        fn since_boot(&self) -> Duration {
            self.reads.fetch_add(1, Ordering::Relaxed);
            self.elapsed()
        }
    }

    /// A busy daemon reads its clock hundreds of times a second.
    #[test]
    fn a_clock_that_is_read_often_goes_no_slower() {
        for (step_us, wrong_ms) in [(130, 0), (1_700, 0), (1_700, 500), (4_999, 0), (250_000, 500)]
        {
            let reads = Arc::new(AtomicU64::new(0));
            let source = Stepping { step_us, wrong_ms, reads: Arc::clone(&reads) };
            let mut clock = Clock::new(Time(0), Box::new(source));
            // Behind the system's clock where that is wrong.
            clock.last = Time(HOUR);
            let mut last = clock.last;
            for _ in 0..60_000_000 / step_us {
                let now = clock.now();
                assert!(now >= last, "read every {step_us} us: it never goes back");
                last = now;
            }
            let off = last.0.abs_diff(clock.source.wall().0);
            assert!(off <= 1, "read every {step_us} us, wrong by {wrong_ms} ms: {off} ms off");
        }
    }
}
