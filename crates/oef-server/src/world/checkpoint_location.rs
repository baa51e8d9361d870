//! Where a job's last good checkpoints are.

use super::JobEntry;
use oef_sched::Time;
use serde::{Deserialize, Serialize};

/// Where a job's last good checkpoints are. Written when its workers are seen to run: by then they are there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LastCheckpoints {
    /// The host; none: a folder that all hosts see.
    pub host: Option<String>,
    /// Since when.
    pub since: Time,
    /// The greatest step that a checkpoint was told to hold, ever...
    #[serde(default)]
    pub saved: f64,
    /// ... and when the job came here.
    #[serde(default)]
    pub saved_before: f64,
}

impl LastCheckpoints {
    /// Whether a newer checkpoint was told since the job came here.
    pub fn has_newer(&self) -> bool {
        self.saved > self.saved_before
    }
}

impl JobEntry {
    /// Its workers run, and its checkpoints are where it finds them from now on.
    pub(super) fn settle(&mut self, host: Option<&String>, at: Time) {
        if self.checkpoints.as_ref().is_some_and(|home| home.host.as_ref() == host) {
            return;
        }
        let told = self.telemetry.checkpoint.unwrap_or(0.0);
        let saved = self.checkpoints.as_ref().map_or(told, |home| home.saved.max(told));
        self.checkpoints =
            Some(LastCheckpoints { host: host.cloned(), since: at, saved, saved_before: saved });
    }

    /// It told which step its last checkpoint holds.
    pub(super) fn has_saved(&mut self, step: Option<f64>) {
        if let (Some(home), Some(step)) = (&mut self.checkpoints, step) {
            home.saved = home.saved.max(step);
        }
    }
}
