//! What stands between a job and everything else on the machine.

use super::open::Inner;
use crate::cgroup::{ControlGroups, JobLimits};
use crate::family;
use crate::launch::RunAs;
use crate::processes;
use crate::records::{Durability, Reader, RunFolder, RunSpec, write_json_for};
use crate::untrusted;
use crate::users::{User, job_user};
use rustix::process::{Gid, Uid};
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _, fchown};
use std::path::Path;
use std::time::Duration;
use tracing::{info, warn};

/// How jobs are kept apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Isolation {
    /// Each job in a control group of its own, where the system has them.
    pub groups: bool,
    /// What each may use, where the system can limit it.
    pub limits: JobLimits,
    /// A job that was told to stop and has not ended so long after its grace time is killed as a whole, whatever
    /// its runner does.
    pub stop_margin: Duration,
    /// What a job leaves behind when its runner was killed becomes a child of this process, and is killed. For a
    /// process that has no children but those of the executor.
    pub adopt_orphans: bool,
}

impl Default for Isolation {
    fn default() -> Isolation {
        Isolation {
            groups: true,
            limits: JobLimits::default(),
            // The runner looks every 50 ms and kills by itself; a machine that swaps needs longer.
            stop_margin: Duration::from_secs(15),
            adopt_orphans: false,
        }
    }
}

/// Others may pass through a folder, and see nothing of it.
const PASSABLE: u32 = 0o711;

/// In the environment of what the daemon itself keeps running beside jobs.
pub(crate) const SERVICE: &str = "OEF_SERVICE";

impl Isolation {
    /// Opens the control groups, if they are wanted and there are some; says what cannot be limited.
    pub(super) fn begin(&self, dir: &Path) -> Option<ControlGroups> {
        if self.adopt_orphans
            && let Err(error) =
                rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        {
            warn!(%error, "orphans of killed runners cannot be adopted");
        }
        if !self.groups {
            return None;
        }
        match ControlGroups::open(dir) {
            Ok(groups) => {
                if let Some(said) = self.unlimited(&groups.missing()) {
                    warn!("{said}");
                }
                Some(groups)
            }
            Err(why) => {
                let all = ["memory", "cpu", "pids"];
                info!(%why, "jobs run without control groups: their processes are found by their environment");
                if let Some(said) = self.unlimited(&all) {
                    warn!("{said}");
                }
                None
            }
        }
    }

    /// What cannot be limited, whether or not somebody asks for it: what is not said is taken for there.
    fn unlimited(&self, missing: &[&str]) -> Option<String> {
        let asked = [
            ("memory", "memory", self.limits.memory_bytes.is_some()),
            ("cpu", "processors", self.limits.cpus.is_some()),
            ("pids", "processes", self.limits.processes.is_some()),
        ];
        let missing = asked.into_iter().filter(|(name, ..)| missing.contains(name));
        let (mut named, mut unkept) = (Vec::new(), Vec::new());
        for (name, what, is_asked) in missing {
            named.push(format!("{what} ({name})"));
            if is_asked {
                unkept.push(what);
            }
        }
        if named.is_empty() {
            return None;
        }
        let but = match unkept.is_empty() {
            true => String::new(),
            false => format!(
                "; the settings ask for limits of {}, which are not kept",
                unkept.join(", ")
            ),
        };
        Some(format!("this system cannot limit what jobs use of {}{but}", named.join(", ")))
    }
}

impl Inner {
    /// The user that a job runs as; an error can never be helped.
    pub(super) fn user_of(&self, run_as: &RunAs) -> Result<Option<User>, String> {
        let RunAs::User(name) = run_as else { return Ok(None) };
        let user = job_user(name)?;
        let closed =
            |path: &&Path| !fs::metadata(path).is_ok_and(|m| m.permissions().mode() & 1 == 1);
        let above = self.config.dir.ancestors().skip(1);
        match above.into_iter().find(closed).filter(|_| user.is_some()) {
            Some(path) => Err(format!(
                "user `{name}` cannot enter `{}`; put the state folder where every user may pass \
                 (state_dir = \"/var/lib/oef\")",
                path.display()
            )),
            None => Ok(user),
        }
    }

    /// Makes the part of the folder of a start that is the job's own, and lets its user reach it.
    pub(super) fn make_jobs_part(&self, run: &RunFolder, user: Option<&User>) -> io::Result<()> {
        let part = run.jobs_part();
        DirBuilder::new().recursive(true).mode(0o700).create(&part)?;
        let Some(user) = user else { return Ok(()) };
        self.let_pass(&part)?;
        give(&part, user)
    }

    /// Gives a folder that the executor keeps for a job to the job's user.
    pub(super) fn hand_over(&self, folder: &Path, user: &User) -> io::Result<()> {
        self.let_pass(folder)?;
        if !fs::symlink_metadata(folder)?.is_dir() {
            // Of a time when the folder above was the user's: a link to where it likes, to follow with its own rights.
            return Ok(());
        }
        fs::set_permissions(folder, Permissions::from_mode(0o700))?;
        give(folder, user)
    }

    /// Lets users pass through the folders above one in the state folder.
    pub(super) fn let_pass(&self, below: &Path) -> io::Result<()> {
        let dir = &self.config.dir;
        let between = below.ancestors().skip(1).take_while(|path| path.starts_with(dir));
        for folder in between {
            let mode = fs::metadata(folder)?.permissions().mode() & 0o777;
            if mode != PASSABLE {
                fs::set_permissions(folder, Permissions::from_mode(PASSABLE))?;
            }
        }
        Ok(())
    }

    /// Kills orphans of runners that were killed: what nobody knows any more and was given to this process.
    pub(super) fn kill_orphans(&self) {
        if !self.config.isolation.adopt_orphans {
            return;
        }
        for orphan in family::adopted() {
            if !processes::is_marked(orphan.pid, &self.config.dir) {
                warn!(pid = orphan.pid, "a process that a job left behind is killed");
                orphan.kill();
            }
        }
        // The dead among them are nobody else's to wait for.
        processes::reap_adopted();
    }
}

/// Refuses a place for a folder where others could put something else into its place.
pub(super) fn closed_to_others(folder: &Path) -> io::Result<()> {
    const STICKY: u32 = 0o1000;
    let own = rustix::process::geteuid().as_raw();
    let there = folder.ancestors().skip(1).find(|above| above.exists());
    let folder = there.unwrap_or(Path::new("/")).canonicalize()?;
    for above in folder.ancestors() {
        let known = fs::metadata(above)?;
        let (owner, mode) = (known.uid(), known.permissions().mode());
        // Where only owners move things, as in /tmp, the way there is safe.
        let is_open = mode & 0o022 != 0 && (above == folder || mode & STICKY == 0);
        if is_open || (owner != own && owner != 0) {
            let why = format!("other users may change `{}`", above.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
    }
    Ok(())
}

/// Makes a folder of the daemon's own, in a folder of its own. What an earlier version gave to a user is taken back.
pub(super) fn own_folder(path: &Path, user: Option<&User>) -> io::Result<()> {
    let own = rustix::process::geteuid();
    match fs::symlink_metadata(path) {
        Ok(known) if known.is_dir() && known.uid() == own.as_raw() => return Ok(()),
        Ok(known) if known.is_dir() => {
            let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
            let taken = rustix::fs::chownat(rustix::fs::CWD, path, Some(own), None, flags);
            // Where all run as one user, a file system that names another owner does no harm.
            return if user.is_some() { Ok(taken?) } else { Ok(()) };
        }
        Ok(_) => untrusted::clear(path)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Makes the part of the folder of a start in which a runner writes that runs as another user, with what it is to run,
/// and gives it the locks. Nothing else in the folder of a job is the user's.
pub(super) fn make_runners_part(run: &RunFolder, spec: &RunSpec, user: &User) -> io::Result<()> {
    for lock in [run.job_folder().lock_file(), run.lock_file()] {
        fchown(&untrusted::open_or_create(&lock)?, Some(user.uid), Some(user.gid))?;
    }
    if run.runners_user() == Some((user.uid, user.gid)) {
        return Ok(());
    }
    let part = run.runners_part();
    untrusted::clear(&part)?;
    DirBuilder::new().mode(0o700).create(&part)?;
    let reader = Reader::User(user.uid, user.gid);
    write_json_for(&part.join("launch.json"), spec, Durability::Disk, reader)?;
    give(&part, user)
}

fn give(path: &Path, user: &User) -> io::Result<()> {
    let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
    let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
    Ok(rustix::fs::chownat(rustix::fs::CWD, path, Some(uid), Some(gid), flags)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_limited_is_said_whether_or_not_it_is_asked_for() {
        let mut isolation = Isolation::default();
        assert_eq!(isolation.unlimited(&[]), None);
        let said = isolation.unlimited(&["pids"]).expect("said");
        assert_eq!(said, "this system cannot limit what jobs use of processes (pids)");
        isolation.limits.memory_bytes = Some(1);
        let said = isolation.unlimited(&["memory", "cpu"]).expect("said");
        let expected = "this system cannot limit what jobs use of memory (memory), processors (cpu); the settings ask \
                        for limits of memory, which are not kept";
        assert_eq!(said, expected);
        isolation.limits.processes = Some(1);
        assert!(!isolation.unlimited(&["memory"]).expect("said").contains("processes"));
    }
}
