//! How long something took this thread: what it would take on a core of its own, whoever else is on the machine.

use std::fs;
use std::time::Instant;

/// Measures from when it was started.
#[derive(Debug)]
pub struct Stopwatch {
    wall: Instant,
    cpu: Option<u64>,
}

/// What was measured, in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Elapsed {
    /// On the processor; the time on the wall where the system does not tell.
    pub cpu: f64,
    /// On the wall.
    pub wall: f64,
}

impl Stopwatch {
    /// Starts.
    pub fn start() -> Self {
        Stopwatch { cpu: on_cpu(), wall: Instant::now() }
    }

    /// The time until now.
    pub fn elapsed(&self) -> Elapsed {
        let wall = self.wall.elapsed().as_secs_f64();
        let cpu = self.cpu.zip(on_cpu()).map(|(from, to)| to.saturating_sub(from) as f64 / 1e9);
        Elapsed { cpu: cpu.unwrap_or(wall), wall }
    }
}

/// Nanoseconds that this thread was on a processor.
fn on_cpu() -> Option<u64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}
