//! Control groups, where there are some (version 2): all processes of a job in one, whatever they call themselves.
//!
//! A group is frozen and killed as a whole; no process leaves it by forgetting its environment or its parent. Where
//! the system lends controllers as well, a job's memory, processors and processes are limited. Where there are no
//! groups (another system, a daemon without the right to make some) processes are found by their environment.

use crate::family::Process;
use oef_sched::{Generation, JobId};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// What a job may use, where the system can limit it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JobLimits {
    /// Bytes of memory.
    pub memory_bytes: Option<u64>,
    /// Processors.
    pub cpus: Option<f64>,
    /// Processes and threads.
    pub processes: Option<u32>,
}

/// The group in which a daemon keeps those of its jobs.
#[derive(Clone, Debug)]
pub(crate) struct ControlGroups {
    dir: PathBuf,
    controllers: Vec<String>,
}

/// The group of one start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ControlGroup(PathBuf);

impl ControlGroups {
    /// Finds where groups can be made, and makes one for all jobs of this state folder. An error says why not.
    pub(crate) fn open(state_dir: &Path) -> Result<ControlGroups, String> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let mount = mount_point(&mounts).ok_or("this system has no cgroup v2")?;
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let own = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or("");
        // A daemon that was moved into its own part belongs to the whole.
        let parent = mount.join(own.strip_suffix(&format!("/{DAEMON}")).unwrap_or(own));
        let dir = parent.join(format!("oef-{:08x}", name_of(state_dir)));
        if let Err(error) = fs::create_dir(&dir).or_else(exists) {
            return Err(format!("no control group can be made in `{}`: {error}", parent.display()));
        }
        if !["cgroup.kill", "cgroup.freeze"].iter().any(|file| dir.join(file).exists()) {
            return Err(
                "the control groups of this system can be neither killed nor frozen (Linux 5.2)"
                    .into(),
            );
        }
        let controllers = lend(&parent, &dir);
        Ok(ControlGroups { dir, controllers })
    }

    /// What cannot be limited here, whatever is wanted.
    pub(crate) fn missing(&self) -> Vec<&'static str> {
        let is_there = |name: &&str| self.controllers.iter().any(|known| known == *name);
        CONTROLLERS.into_iter().filter(|name| !is_there(name)).collect()
    }

    /// Makes the group of a start, with its limits.
    pub(crate) fn make(
        &self,
        job: JobId,
        generation: Generation,
        limits: &JobLimits,
    ) -> io::Result<ControlGroup> {
        let group = self.group(job, generation);
        group.make()?;
        let missing = self.missing();
        let set = |name: &str, file: &str, value: Option<String>| match value {
            Some(value) if !missing.contains(&name) => fs::write(group.0.join(file), value),
            _ => Ok(()),
        };
        set("memory", "memory.max", limits.memory_bytes.map(|bytes| bytes.to_string()))?;
        set("pids", "pids.max", limits.processes.map(|count| count.to_string()))?;
        let quota = limits.cpus.map(|cpus| format!("{:.0} {PERIOD}", cpus * PERIOD as f64));
        set("cpu", "cpu.max", quota)?;
        Ok(group)
    }

    pub(crate) fn group(&self, job: JobId, generation: Generation) -> ControlGroup {
        ControlGroup(self.dir.join(format!("{job}-{generation}")))
    }

    /// A group of another kind.
    pub(crate) fn named(&self, name: &str) -> ControlGroup {
        ControlGroup(self.dir.join(name))
    }

    /// Removes it, if no job of this folder has one any more. One without processes may be that of a job that is about to
    /// start: without it, its job would fail, or run without limits.
    pub(crate) fn close(&self) {
        let _ = fs::remove_dir(&self.dir);
    }

    /// The groups that are there.
    pub(crate) fn all(&self) -> Vec<(JobId, Generation, ControlGroup)> {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let known = entries.filter_map(|entry| {
            let (job, generation) =
                entry.file_name().to_str()?.split_once('-').and_then(|(job, generation)| {
                    Some((job.parse().ok()?, generation.parse().ok()?))
                })?;
            Some((JobId(job), Generation(generation), ControlGroup(entry.path())))
        });
        known.collect()
    }
}

/// The part of its own group into which a daemon moves, so that controllers can be lent to its jobs.
const DAEMON: &str = "oef-daemon";

/// What limits a job: its memory, its processors, its processes.
const CONTROLLERS: [&str; 3] = ["memory", "cpu", "pids"];

/// A group that was told to freeze is waited for so long, and looked at so often.
const FREEZES_WITHIN: Duration = Duration::from_millis(50);
const FREEZING: Duration = Duration::from_millis(1);

/// Before Linux 5.14 processes are killed one by one. What is born while a group freezes is met the next time.
const ROUNDS_OF_KILLING: usize = 20;

/// Microseconds over which processor time is counted.
const PERIOD: u64 = 100_000;

impl ControlGroup {
    pub(crate) fn at(path: PathBuf) -> ControlGroup {
        ControlGroup(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn make(&self) -> io::Result<()> {
        fs::create_dir_all(&self.0).or_else(exists)
    }

    /// Puts this process into the group; what it starts is there too.
    pub(crate) fn enter(&self) -> io::Result<()> {
        fs::write(self.0.join("cgroup.procs"), "0")
    }

    /// Freezes everything in it and kills it: nothing is born meanwhile, and nothing acts on the death of another.
    pub(crate) fn kill(&self) {
        // It may be gone, with all that was in it.
        self.freeze(true);
        if fs::write(self.0.join("cgroup.kill"), "1").is_err() {
            self.kill_one_by_one();
        }
        // It is in the way of nobody who is dead, and in the way of whoever comes into the group later.
        self.freeze(false);
    }

    fn freeze(&self, is_frozen: bool) {
        let written = fs::write(self.0.join("cgroup.freeze"), if is_frozen { "1" } else { "0" });
        let begun = Instant::now();
        while written.is_ok() && is_frozen && !self.is("frozen") && begun.elapsed() < FREEZES_WITHIN
        {
            sleep(FREEZING);
        }
    }

    fn kill_one_by_one(&self) {
        for _ in 0..ROUNDS_OF_KILLING {
            let there = self.all_processes();
            if there.is_empty() {
                return;
            }
            // What is frozen dies all the same.
            there.into_iter().filter_map(Process::of).for_each(|process| process.kill());
            sleep(FREEZING);
        }
    }

    /// The processes in it and in groups that were made in it.
    fn all_processes(&self) -> Vec<i32> {
        let mut found = self.processes();
        self.below().iter().for_each(|group| found.extend(group.all_processes()));
        found
    }

    fn below(&self) -> Vec<ControlGroup> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        folders.map(|entry| ControlGroup(entry.path())).collect()
    }

    /// The processes in it.
    pub(crate) fn processes(&self) -> Vec<i32> {
        let text = fs::read_to_string(self.0.join("cgroup.procs")).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// Whether a process is left in it.
    pub(crate) fn is_occupied(&self) -> bool {
        self.is("populated")
    }

    fn is(&self, what: &str) -> bool {
        let events = fs::read_to_string(self.0.join("cgroup.events")).unwrap_or_default();
        events.lines().any(|line| line.strip_prefix(what) == Some(" 1"))
    }

    /// Removes it, once it is empty. Groups that the job made in it go first.
    pub(crate) fn remove(&self) {
        self.below().iter().for_each(ControlGroup::remove);
        let _ = fs::remove_dir(&self.0);
    }
}

/// Lends every controller that limits a job; which of them that worked for.
fn lend(parent: &Path, dir: &Path) -> Vec<String> {
    let words = |path: PathBuf| fs::read_to_string(path).unwrap_or_default();
    let offered = words(parent.join("cgroup.controllers"));
    let offered: Vec<&str> = CONTROLLERS
        .into_iter()
        .filter(|name| offered.split_whitespace().any(|w| w == *name))
        .collect();
    if offered.is_empty() {
        return Vec::new();
    }
    let on =
        |name: &str, dir: &Path| fs::write(dir.join("cgroup.subtree_control"), format!("+{name}"));
    if offered.iter().any(|name| on(name, parent).is_err()) {
        // A group with processes of its own lends nothing: the daemon goes into a part of it.
        let own = ControlGroup(parent.join(DAEMON));
        let _ = fs::create_dir(own.path()).and_then(|()| own.enter());
        for name in &offered {
            let _ = on(name, parent);
        }
    }
    for name in &offered {
        let _ = on(name, dir);
    }
    let lent = words(dir.join("cgroup.subtree_control"));
    lent.split_whitespace().map(str::to_string).collect()
}

fn exists(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::AlreadyExists => Ok(()),
        _ => Err(error),
    }
}

/// Where version 2 is mounted, alone or beside version 1.
fn mount_point(mountinfo: &str) -> Option<PathBuf> {
    mountinfo.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let is_ours = kind.split(' ').next() == Some("cgroup2");
        is_ours.then(|| PathBuf::from(place.split(' ').nth(4).unwrap_or_default()))
    })
}

/// FNV-1a over the path: several daemons on one machine have a group each.
fn name_of(path: &Path) -> u32 {
    let bytes = path.as_os_str().as_encoded_bytes();
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::Command;

    #[test]
    fn the_group_of_a_job_that_is_about_to_start_stays_when_the_daemon_ends() {
        let folder = tempfile::tempdir().expect("a folder");
        // Not every system lets a test make some.
        let Ok(groups) = ControlGroups::open(folder.path()) else { return };
        let group = groups.make(JobId(7), Generation(1), &JobLimits::default()).expect("made");
        groups.close();
        assert!(group.path().is_dir());
        group.remove();
        groups.close();
        assert!(!groups.dir.exists());
    }

    #[test]
    fn version_two_is_found_beside_version_one() {
        let mounts = "30 24 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n\
                      31 30 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                      32 30 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup rw\n";
        assert_eq!(mount_point(mounts), Some("/sys/fs/cgroup/unified".into()));
        assert_eq!(mount_point("31 30 0:27 / /x rw - cgroup cgroup rw\n"), None);
    }

    #[test]
    fn what_cannot_be_limited_is_named() {
        let groups = ControlGroups { dir: "/nowhere".into(), controllers: vec!["pids".into()] };
        assert_eq!(groups.missing(), ["memory", "cpu"]);
    }

    /// A group as the kernel of a version shows it: files alone, in which a test sees what was written.
    #[test]
    fn a_group_is_frozen_before_it_is_killed_and_thawed_after() {
        for has_kill in [true, false] {
            let folder = tempfile::tempdir().expect("a folder");
            let group = ControlGroup::at(folder.path().join("7-1"));
            let part = group.path().join("made by the job");
            fs::create_dir_all(&part).expect("made");
            let mut child = Command::new("sleep").arg("1000").spawn().expect("a process");
            let pid = child.id().to_string();
            fs::write(part.join("cgroup.procs"), &pid).expect("written");
            fs::write(group.path().join("cgroup.freeze"), "0").expect("written");
            fs::write(group.path().join("cgroup.events"), "populated 1\nfrozen 1\n")
                .expect("written");
            match has_kill {
                true => fs::write(group.path().join("cgroup.kill"), "").expect("written"),
                // Not a file that can be written.
                false => fs::create_dir(group.path().join("cgroup.kill")).expect("made"),
            }
            group.kill();
            let frozen = fs::read_to_string(group.path().join("cgroup.freeze")).expect("there");
            assert_eq!(frozen, "0", "it is thawed");
            if has_kill {
                let killed = fs::read_to_string(group.path().join("cgroup.kill")).expect("there");
                assert_eq!(killed, "1");
                child.kill().expect("killed");
            }
            assert_eq!(child.wait().expect("it ended").signal(), Some(9));
        }
    }

    #[test]
    fn everything_in_a_group_dies_with_and_without_the_kernels_own_way() {
        let folder = tempfile::tempdir().expect("a folder");
        let Ok(groups) = ControlGroups::open(folder.path()) else { return };
        for one_by_one in [false, true] {
            let group = groups.make(JobId(7), Generation(1), &JobLimits::default()).expect("made");
            let procs = group.path().join("cgroup.procs").display().to_string();
            // One that starts others for as long as it lives.
            let script = "echo 0 > \"$0\"; while :; do sleep 1000 & sleep 0.01; done";
            let mut child = Command::new("sh").args(["-c", script, &procs]).spawn().expect("sh");
            let begun = Instant::now();
            while group.processes().len() < 3 && begun.elapsed() < Duration::from_secs(30) {
                sleep(FREEZING);
            }
            match one_by_one {
                true => {
                    group.freeze(true);
                    group.kill_one_by_one();
                    group.freeze(false);
                }
                false => group.kill(),
            }
            child.wait().expect("it ended");
            while group.is_occupied() && begun.elapsed() < Duration::from_secs(30) {
                sleep(FREEZING);
            }
            assert!(!group.is_occupied(), "{one_by_one}");
            group.remove();
        }
        groups.close();
    }
}
