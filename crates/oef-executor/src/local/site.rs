//! Where runners run, if that is not this machine: the few things that are done differently there.

use crate::device::{Device, DeviceId};
use crate::error::ExecutorError;
use crate::launch::Launch;
use crate::records::{RunFolder, RunSpec};
use crate::users::User;
use oef_sched::{Generation, JobId};
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::Path;
use std::time::Instant;

/// A cluster that starts runners and knows what becomes of them. Orders, files and words are the same as on this
/// machine; the state folder lies where all its nodes see it.
pub(crate) trait Site: Send + Sync + Debug {
    /// The user that a launch runs as there, if it is another than the daemon's. An error: why that can never be.
    fn user(&self, launch: &Launch) -> Result<Option<User>, String>;

    /// The GPUs of a launch; a sentence: why they are no longer available. An error: it is not known yet.
    fn devices(&self, wanted: &[DeviceId]) -> Result<Result<Vec<Device>, String>, ExecutorError>;

    /// The names of all nodes.
    fn hosts(&self) -> BTreeSet<String>;

    /// Adds to a start what only the site knows.
    fn complete(&self, spec: &mut RunSpec, launch: &Launch);

    /// Has the runner of a start begin. May come twice for the same start: then it is looked for first.
    fn spawn(&self, run: &RunFolder, give_up: &dyn Fn() -> bool) -> Result<(), ExecutorError>;

    /// An order to stop was written for a start.
    fn stop(&self, run: &RunFolder);

    /// What is known of a start that is watched since then, and has begun or not.
    fn fate(&self, run: &RunFolder, since: Instant, has_begun: bool) -> Fate;

    /// Ends every start that nobody holds, and comes back when they are gone, or soon.
    fn kill_unheld(&self, held: &BTreeSet<(JobId, Generation)>);

    /// Ends a start at once.
    fn kill(&self, run: &RunFolder);

    /// Removes the checkpoints that a start of a job left in a folder on a node, with what lies beside it. Done, or in the
    /// site's hands, when it comes back.
    fn remove_copies(&self, spec: &RunSpec, host: &str, folder: &Path)
    -> Result<(), ExecutorError>;

    /// Nobody asks for this start any more.
    fn forget(&self, job: JobId, generation: Generation);
}

/// What is known of a start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It may run, as far as is known.
    Alive,
    /// It has not begun, and this is what it waits for.
    Waits(String),
    /// It is over there, and why.
    Over(String),
    /// It was taken, never began, and is not known any more: it is to be started again.
    Lost,
}
