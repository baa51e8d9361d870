//! Copies of checkpoints that nobody needs any more are removed.
//!
//! A copy is put aside by a rename while nobody can change the world, and removed after that: a job that is
//! started on the host in the next moment finds no folder, and never one that is being removed.

use super::places::Places;
use crate::engine::Shared;
use crate::world::World;
use oef_executor::checkpoints::{is_leftover, remove_folder};
use oef_sched::{JobId, Time};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

/// Often enough that disks do not fill, seldom enough that listing folders costs nothing.
const SWEEP_EVERY: Duration = Duration::from_secs(10);

/// How soon the thread hears that it is to end.
const WAKE: Duration = Duration::from_millis(200);

/// What jobs left that nobody knows is kept so long: somebody may put another backup in place.
const UNKNOWN_AGE: Duration = Duration::from_secs(30 * 86_400);

/// What is put aside is called so.
const TRASH: &str = ".oef-trash";

/// The thread that removes what nobody needs.
pub(crate) struct Sweeper {
    pub places: Places,
    /// The host of each node that is here.
    pub hosts: std::collections::BTreeMap<String, String>,
    pub shared: Arc<Shared>,
}

/// One folder on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Copy {
    path: PathBuf,
    host: String,
    job: JobId,
    /// Half a transfer, or what it replaced.
    is_leftover: bool,
}

/// What becomes of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// The last good one, or one that is in use.
    Keep,
    /// An older one; since when.
    Stale(Time),
    /// Nobody knows its job.
    Unknown,
    Remove,
}

impl Sweeper {
    /// Sweeps until it is told to stop.
    pub fn run(&self, stop: &AtomicBool) {
        loop {
            self.sweep(stop);
            let mut waited = Duration::ZERO;
            while waited < SWEEP_EVERY {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                std::thread::sleep(WAKE);
                waited += WAKE;
            }
        }
    }

    fn sweep(&self, stop: &AtomicBool) {
        let hosts = {
            let world = self.shared.world();
            let nodes = world.sched.cluster().nodes();
            nodes.iter().map(|node| self.host_of(node.name()).to_string()).collect::<BTreeSet<_>>()
        };
        let mut copies = Vec::new();
        for host in hosts {
            list(&self.places.host_dir(&host), &host, &mut copies);
        }
        if copies.is_empty() {
            return;
        }
        let aside = self.put_aside(&self.shared.world(), copies);
        for path in aside {
            // What is left has its name, and goes with the next start.
            if stop.load(Ordering::Relaxed) {
                return;
            }
            tracing::info!(path = %path.display(), "a copy of a checkpoint is not needed any more");
            remove(&path);
        }
    }

    fn host_of<'a>(&'a self, node: &'a str) -> &'a str {
        self.hosts.get(node).map_or_else(|| host_of_gone(node), String::as_str)
    }

    /// Renames what is not needed. The world stands still meanwhile.
    fn put_aside(&self, world: &World, copies: Vec<Copy>) -> Vec<PathBuf> {
        let mut stale = Vec::new();
        let mut going = Vec::new();
        for copy in copies {
            match self.judge(world, &copy) {
                Verdict::Keep => {}
                Verdict::Stale(since) => stale.push((since, copy)),
                Verdict::Unknown if age(&copy.path) < UNKNOWN_AGE => {}
                Verdict::Unknown | Verdict::Remove => going.push(copy),
            }
        }
        // The jobs that moved last are the likeliest to come back.
        stale.sort_by_key(|(since, copy)| (std::cmp::Reverse(*since), copy.job));
        going.extend(stale.into_iter().skip(self.places.stale_max()).map(|(_, copy)| copy));
        going.into_iter().filter_map(|copy| renamed(&copy)).collect()
    }

    fn judge(&self, world: &World, copy: &Copy) -> Verdict {
        let Some(job) = world.jobs.get(&copy.job) else { return Verdict::Unknown };
        let first = job.run().and_then(|run| run.gpus.first());
        if first.is_some_and(|gpu| self.host_of(&gpu.node) == copy.host) {
            return Verdict::Keep;
        }
        let home = job.home.as_ref();
        let is_home = home.is_some_and(|home| home.host.as_deref() == Some(&copy.host));
        match home {
            _ if is_home && !(copy.is_leftover && job.state.is_final()) => Verdict::Keep,
            _ if job.state.is_final() => Verdict::Remove,
            // Not before the new host has a newer one: until then this is what can be gone back to.
            Some(home) if home.has_newer() => Verdict::Stale(home.since),
            _ => Verdict::Keep,
        }
    }
}

/// The host of a node that is not here any more. One that was known with other GPUs has them in its name.
pub(crate) fn host_of_gone(node: &str) -> &str {
    node.split(':').next().unwrap_or(node)
}

/// Every copy in the folder of a host. What was put aside before a crash goes at once.
fn list(folder: &Path, host: &str, copies: &mut Vec<Copy>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        if name.ends_with(TRASH) {
            remove(&entry.path());
            continue;
        }
        let leftover = is_leftover(name);
        let Ok(number) = leftover.unwrap_or(name).parse() else { continue };
        copies.push(Copy {
            path: entry.path(),
            host: host.into(),
            job: JobId(number),
            is_leftover: leftover.is_some(),
        });
    }
    copies.sort_by(|a, b| a.path.cmp(&b.path));
}

fn renamed(copy: &Copy) -> Option<PathBuf> {
    let name = copy.path.file_name()?.to_str()?;
    let aside = copy.path.with_file_name(format!(".{name}{TRASH}"));
    match fs::rename(&copy.path, &aside) {
        Ok(()) => Some(aside),
        Err(error) => {
            tracing::debug!(path = %copy.path.display(), %error, "not put aside");
            None
        }
    }
}

fn remove(path: &Path) {
    if let Err(error) = remove_folder(path) {
        tracing::warn!(path = %path.display(), %error, "a copy of a checkpoint could not be removed");
    }
}

/// How long nothing has changed in a folder, as far as can be seen from it.
fn age(folder: &Path) -> Duration {
    let changed = |path: &Path| fs::symlink_metadata(path).and_then(|m| m.modified()).ok();
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let newest = entries.filter_map(|entry| changed(&entry.path())).chain(changed(folder)).max();
    let newest = newest.unwrap_or(SystemTime::now());
    SystemTime::now().duration_since(newest).unwrap_or(Duration::ZERO)
}

#[cfg(test)]
mod tests;
