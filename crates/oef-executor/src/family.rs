//! Who descends from whom: what a job starts without its environment is still its child, or of its session.

use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// A process that no other is taken for, even after its number was given to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    parent: i32,
    session: i32,
    /// In ticks since the machine started.
    began: u64,
}

impl Process {
    pub(crate) fn of(pid: i32) -> Option<Process> {
        parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Sends `SIGKILL`, if it is still the same process.
    pub(crate) fn kill(&self) {
        let Some(pid) = Pid::from_raw(self.pid) else { return };
        let is_same = || Process::of(self.pid).is_some_and(|now| now.began == self.began);
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(fd) if is_same() => drop(pidfd_send_signal(&fd, Signal::KILL)),
            // Kernels before 5.3.
            Err(rustix::io::Errno::NOSYS) if is_same() => drop(kill_process(pid, Signal::KILL)),
            _ => {}
        }
    }
}

/// Every process that is alive.
pub(crate) fn all() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(Process::of).collect()
}

/// The descendants of some processes, and all that share a session with one of both; never this process, nor
/// anything of its own session.
pub(crate) fn relatives(roots: &BTreeSet<i32>, all: &[Process]) -> Vec<Process> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let own_session = all.iter().find(|process| process.pid == own).map_or(0, |p| p.session);
    let mut children: BTreeMap<i32, Vec<&Process>> = BTreeMap::new();
    for process in all {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found: BTreeSet<i32> = roots.clone();
    let mut sessions: BTreeSet<i32> = BTreeSet::new();
    let mut next: Vec<i32> = roots.iter().copied().collect();
    while let Some(pid) = next.pop() {
        let below = children.get(&pid).into_iter().flatten().copied();
        let session = all.iter().find(|process| process.pid == pid).map(|process| process.session);
        let is_new = session.is_some_and(|s| s != own_session && s != 0 && sessions.insert(s));
        let beside = all.iter().filter(|other| is_new && Some(other.session) == session);
        for process in below.chain(beside) {
            if process.pid != own && process.session != own_session && found.insert(process.pid) {
                next.push(process.pid);
            }
        }
    }
    all.iter().filter(|p| found.contains(&p.pid) && !roots.contains(&p.pid)).copied().collect()
}

/// Children of this process in a session of their own: orphans that it was given, and what it let go of.
pub(crate) fn adopted() -> Vec<Process> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let Some(me) = Process::of(own) else { return Vec::new() };
    let children = crate::processes::children();
    let known = children.iter().filter_map(|pid| Process::of(pid.as_raw_nonzero().get()));
    known.filter(|child| child.parent == own && child.session != me.session).collect()
}

/// The session of a process, ended or not; zero: its leader is outside this container. `getsid` of rustix
/// cannot say zero (it panics, or worse).
pub(crate) fn session_of(pid: i32) -> Option<i32> {
    session(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The user who started a process, whatever it may do: a program may run with the rights of another.
pub(crate) fn user_of(pid: i32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    users.split_ascii_whitespace().next()?.parse().ok()
}

fn session(stat: &str) -> Option<i32> {
    fields(stat)?.nth(3)?.parse().ok()
}

/// The fields of `stat` from the state on. The name of the program is in brackets, and may have any.
fn fields(stat: &str) -> Option<std::str::SplitAsciiWhitespace<'_>> {
    Some(stat.rsplit_once(')')?.1.split_ascii_whitespace())
}

fn parse(pid: i32, stat: &str) -> Option<Process> {
    let mut fields = fields(stat)?;
    // A zombie is gone but for its number.
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    let began = fields.nth(15)?.parse().ok()?;
    Some(Process { pid, parent, session, began })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_is_read_whatever_a_program_is_called() {
        let tail = "1 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 991 2 3";
        let found = parse(9, &format!("9 (a) R ) b) S 4 {tail}")).expect("read");
        assert_eq!(found, Process { pid: 9, parent: 4, session: 7, began: 991 });
        assert_eq!(parse(9, &format!("9 (x) Z 4 {tail}")), None);
        assert_eq!(parse(9, "9 x"), None);
        assert_eq!(session(&format!("9 (x) Z 4 {tail}")), Some(7));
        // In a container that was entered, the leader of the session is outside.
        assert_eq!(session("9 (x) S 4 1 0 0 -1"), Some(0));
    }

    #[test]
    fn descendants_and_those_of_their_sessions() {
        let process = |pid, parent, session| Process { pid, parent, session, began: 1 };
        let table = [
            process(10, 1, 10),
            process(11, 10, 11),
            process(12, 11, 12),
            // Its parent is gone, its session is not.
            process(13, 1, 11),
            process(14, 13, 14),
            process(20, 1, 20),
        ];
        let found = relatives(&BTreeSet::from([10]), &table);
        let pids: Vec<i32> = found.iter().map(|process| process.pid).collect();
        assert_eq!(pids, [11, 12, 13, 14]);
    }
}
