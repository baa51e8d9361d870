//! Copies of checkpoints on nodes whose disks this machine does not see: the site removes them, when a job has ended for
//! good (all but the last good ones) or is forgotten (all of them).

use super::open::Inner;
use crate::error::ExecutorError;
use crate::launch::CheckpointLocation;
use crate::records::{Durability, RunSpec, read_json, write_json};
use oef_sched::JobId;
use std::collections::{BTreeMap, BTreeSet};

/// By this file in a job's folder it is known from which nodes its copies were removed.
const REMOVED: &str = "copies-removed.json";

impl Inner {
    /// Has the copies of a job removed that are on nodes, but for the last good ones where these are still wanted.
    pub(super) fn remove_remote(&self, job: JobId, keeps_last: bool) -> Result<(), ExecutorError> {
        let Some(site) = self.site.as_ref().filter(|_| self.locations.are_remote()) else {
            return Ok(());
        };
        let runs = self.runs.job(job);
        let file = runs.path().join(REMOVED);
        let known = read_json::<BTreeSet<String>>(&file);
        let mut removed = known.map_err(ExecutorError::file(&file, "read"))?.unwrap_or_default();
        let last = if keeps_last { self.last_location(job) } else { None };
        for (host, spec) in self.hosts_of(job)? {
            let location = CheckpointLocation::Host(host.clone());
            if last.as_ref() == Some(&location) || !removed.insert(host.clone()) {
                continue;
            }
            site.remove_copies(&spec, &host, &self.locations.folder(job, &location))?;
            let noted = write_json(&file, &removed, Durability::Process);
            noted.map_err(ExecutorError::file(&file, "written"))?;
        }
        Ok(())
    }

    /// The hosts on which starts of a job left their checkpoints, with the last start there.
    fn hosts_of(&self, job: JobId) -> Result<BTreeMap<String, RunSpec>, ExecutorError> {
        let runs = self.runs.job(job);
        let list = runs.runs().map_err(ExecutorError::file(runs.path(), "read"))?;
        let specs = list.iter().filter_map(|run| read_json::<RunSpec>(&run.launch_file()).ok()?);
        let mut hosts = BTreeMap::new();
        for spec in specs {
            if let Some(CheckpointLocation::Host(host)) = self.locations.location(&spec) {
                hosts.insert(host, spec);
            }
        }
        Ok(hosts)
    }
}
