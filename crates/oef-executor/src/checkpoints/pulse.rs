//! Whether anything comes any more.
//!
//! rsync's own limit (`--timeout`) is not enough: the side that receives sends a sign of life every now and then, and
//! counts it as life that the system took it, although nobody may be there to read it.

use std::fs;
use std::time::{Duration, Instant};

/// How often it is looked: small against any limit, and no work.
const LOOK: Duration = Duration::from_millis(500);

/// rsync has a second process, and one of ssh; of a copy within a machine, a third.
const DEPTH_MAX: usize = 4;

/// Watches what rsync and its helpers have read, from the line or from a disk.
pub(super) struct Pulse {
    process: u32,
    limit: Duration,
    looked: Instant,
    /// What it had read, and of how much it had told, when that last changed.
    last: (u64, u64),
    since: Instant,
}

impl Pulse {
    pub(super) fn new(process: u32, limit: Duration) -> Pulse {
        let now = Instant::now();
        Pulse { process, limit, looked: now, last: (0, 0), since: now }
    }

    /// Whether nothing was read for too long; `told` is how far rsync says that it is.
    pub(super) fn is_gone(&mut self, told: u64) -> bool {
        if self.looked.elapsed() < LOOK {
            return false;
        }
        self.looked = Instant::now();
        let now = (read_by(self.process, DEPTH_MAX), told);
        if now != self.last {
            (self.last, self.since) = (now, self.looked);
        }
        self.since.elapsed() >= self.limit
    }
}

/// Bytes that a process and those that it started have read; 0 where the system does not say.
fn read_by(process: u32, depth: usize) -> u64 {
    let io = fs::read_to_string(format!("/proc/{process}/io")).unwrap_or_default();
    let own = io.lines().find_map(|line| line.strip_prefix("rchar: ")?.parse().ok());
    let own: u64 = own.unwrap_or(0);
    let Some(depth) = depth.checked_sub(1) else { return own };
    let children = format!("/proc/{process}/task/{process}/children");
    let children = fs::read_to_string(children).unwrap_or_default();
    let children = children.split_ascii_whitespace().filter_map(|word| word.parse().ok());
    children.fold(own, |sum, child| sum.wrapping_add(read_by(child, depth)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    #[test]
    fn what_children_read_counts() {
        let mut child = Command::new("sh")
            .args(["-c", "cat; true"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("a shell");
        let mut pipe = child.stdin.take().expect("a pipe");
        let before = read_by(child.id(), DEPTH_MAX);
        pipe.write_all(&[0; 100_000]).expect("written");
        let began = Instant::now();
        while read_by(child.id(), DEPTH_MAX) < before + 100_000 {
            assert!(began.elapsed() < Duration::from_secs(30), "nothing was read");
            std::thread::sleep(Duration::from_millis(10));
        }
        drop(pipe);
        let _ = child.wait();
    }

    #[test]
    fn a_pulse_is_gone_when_nothing_changes() {
        // No process has this number.
        let mut pulse = Pulse::new(u32::MAX, Duration::from_secs(1000));
        for (told, later, is_gone) in
            [(0, 0, false), (0, 999, false), (5, 999, false), (5, 1001, true)]
        {
            pulse.looked -= LOOK;
            pulse.since -= Duration::from_secs(later);
            assert_eq!(pulse.is_gone(told), is_gone, "{told} after {later}");
            assert!(!pulse.is_gone(told), "it was looked at just now");
        }
    }
}
