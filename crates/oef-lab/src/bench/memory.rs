//! How much memory a process has, or had at most.

use std::fs;

/// Begins to count anew, where the system lets us: a case is not blamed for the one before.
pub fn forget_peak() {
    // `5` resets the peak; where that is not possible the peak of all cases so far is shown.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The peak of the resident memory in bytes; none where the system does not tell.
pub fn peak() -> Option<u64> {
    of("self", "VmHWM:")
}

/// A figure about the memory of a process, in bytes.
pub fn of(pid: &str, figure: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(figure))?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib * 1024)
}
