//! Control groups, where there are some (version 2): all processes of a job in one, whatever they call themselves.
//!
//! A group is killed and frozen as a whole; no process leaves it by forgetting its environment or its parent. Where
//! the system lends controllers as well, a job's memory, processors and processes are limited. Where there are no
//! groups (another system, a daemon without the right to make some) processes are found by their environment.

use oef_sched::{Generation, JobId};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

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
pub(crate) struct Groups {
    dir: PathBuf,
    controllers: Vec<String>,
}

/// The group of one start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group(PathBuf);

impl Groups {
    /// Finds where groups can be made, and makes one for all jobs of this state folder. An error says why not.
    pub(crate) fn open(state_dir: &Path) -> Result<Groups, String> {
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
        if !dir.join("cgroup.kill").exists() {
            return Err("the control groups of this system cannot be killed (Linux 5.14)".into());
        }
        let controllers = lend(&parent, &dir);
        Ok(Groups { dir, controllers })
    }

    /// Which of the limits cannot be kept here.
    pub(crate) fn missing(&self, limits: &JobLimits) -> Vec<&'static str> {
        let wanted = [
            ("memory", limits.memory_bytes.is_some()),
            ("cpu", limits.cpus.is_some()),
            ("pids", limits.processes.is_some()),
        ];
        let is_there = |name: &str| self.controllers.iter().any(|known| known == name);
        wanted
            .into_iter()
            .filter(|(name, on)| *on && !is_there(name))
            .map(|(name, _)| name)
            .collect()
    }

    /// Makes the group of a start, with its limits.
    pub(crate) fn make(
        &self,
        job: JobId,
        generation: Generation,
        limits: &JobLimits,
    ) -> io::Result<Group> {
        let group = self.group(job, generation);
        group.make()?;
        let missing = self.missing(limits);
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

    pub(crate) fn group(&self, job: JobId, generation: Generation) -> Group {
        Group(self.dir.join(format!("{job}-{generation}")))
    }

    /// A group of another kind.
    pub(crate) fn named(&self, name: &str) -> Group {
        Group(self.dir.join(name))
    }

    /// Removes it, if no job of this folder has one any more.
    pub(crate) fn close(&self) {
        // One with processes stays.
        Group(self.dir.clone()).remove();
    }

    /// The groups that are there.
    pub(crate) fn all(&self) -> Vec<(JobId, Generation, Group)> {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let known = entries.filter_map(|entry| {
            let (job, generation) =
                entry.file_name().to_str()?.split_once('-').and_then(|(job, generation)| {
                    Some((job.parse().ok()?, generation.parse().ok()?))
                })?;
            Some((JobId(job), Generation(generation), Group(entry.path())))
        });
        known.collect()
    }
}

/// The part of its own group into which a daemon moves, so that controllers can be lent to its jobs.
const DAEMON: &str = "oef-daemon";

/// Microseconds over which processor time is counted.
const PERIOD: u64 = 100_000;

impl Group {
    pub(crate) fn at(path: PathBuf) -> Group {
        Group(path)
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

    /// Kills everything in it, at once: nothing is born meanwhile.
    pub(crate) fn kill(&self) {
        // It may be gone, with all that was in it.
        let _ = fs::write(self.0.join("cgroup.kill"), "1");
    }

    /// The processes in it.
    pub(crate) fn processes(&self) -> Vec<i32> {
        let text = fs::read_to_string(self.0.join("cgroup.procs")).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// Whether a process is left in it.
    pub(crate) fn is_occupied(&self) -> bool {
        let events = fs::read_to_string(self.0.join("cgroup.events")).unwrap_or_default();
        events.lines().any(|line| line == "populated 1")
    }

    /// Removes it, once it is empty. Groups that the job made in it go first.
    pub(crate) fn remove(&self) {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            Group(entry.path()).remove();
        }
        let _ = fs::remove_dir(&self.0);
    }
}

/// Lends every controller that limits a job; which of them that worked for.
fn lend(parent: &Path, dir: &Path) -> Vec<String> {
    let words = |path: PathBuf| fs::read_to_string(path).unwrap_or_default();
    let wanted = ["memory", "cpu", "pids"];
    let offered = words(parent.join("cgroup.controllers"));
    let offered: Vec<&str> =
        wanted.into_iter().filter(|name| offered.split_whitespace().any(|w| w == *name)).collect();
    if offered.is_empty() {
        return Vec::new();
    }
    let on =
        |name: &str, dir: &Path| fs::write(dir.join("cgroup.subtree_control"), format!("+{name}"));
    if offered.iter().any(|name| on(name, parent).is_err()) {
        // A group with processes of its own lends nothing: the daemon goes into a part of it.
        let own = Group(parent.join(DAEMON));
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
        let groups = Groups { dir: "/nowhere".into(), controllers: vec!["pids".into()] };
        let limits = JobLimits { memory_bytes: Some(1), cpus: None, processes: Some(9) };
        assert_eq!(groups.missing(&limits), ["memory"]);
        assert!(groups.missing(&JobLimits::default()).is_empty());
    }
}
