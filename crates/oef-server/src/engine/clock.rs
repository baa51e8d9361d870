//! The time, which never goes back and never stands still.

use oef_sched::Time;
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How much faster or slower than time itself this clock goes to meet the system's: rounds that are a tenth longer are
/// no harm, rounds that do not come are.
const SLEW: u32 = 10;
/// A system's clock that is further ahead than this was wrong before: it is followed at once.
const STEP_MIN: Duration = Duration::from_secs(24 * 3600);

/// Counts by a monotonic clock (and that goes on while the machine sleeps), and drifts towards the system's
/// clock. A clock that is set an hour ahead and back again changes nothing but some milliseconds.
pub struct Clock {
    source: Box<dyn ClockSource>,
    last: Time,
    /// When that was read, by the monotonic clock.
    at: Duration,
}

impl Clock {
    /// A clock that starts no earlier than what is known.
    pub fn new(last: Time, source: Box<dyn ClockSource>) -> Clock {
        Clock { last: last.max(source.wall()), at: source.since_boot(), source }
    }

    /// The time. Never earlier than before.
    pub fn now(&mut self) -> Time {
        let at = self.source.since_boot();
        self.last = advance(self.last, at.saturating_sub(self.at), self.source.wall());
        self.at = at;
        self.last
    }
}

/// The time so much later than the last, with the system's clock in view.
fn advance(last: Time, passed: Duration, wall: Time) -> Time {
    let passed = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX);
    let now = last.0.saturating_add(passed);
    let slew = passed / u64::from(SLEW);
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

fn wall() -> Time {
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

    const HOUR: u64 = 3_600_000;

    fn run(mut now: Time, seconds: u64, wall: impl Fn(u64) -> u64) -> Time {
        for second in 1..=seconds {
            let next = advance(now, Duration::from_secs(1), Time(wall(second * 1000)));
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
        assert_eq!(advance(Time(0), Duration::from_secs(1), Time(years)), Time(years));
    }
}
