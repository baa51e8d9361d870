//! What was seen of one workload.

use super::gangs::SeenGang;
use super::run::{OpenRun, Run, plain_middle};
use super::verdict::ProfileVerdict;
use crate::ids::JobId;
use std::collections::{BTreeMap, VecDeque};

/// Ended runs that are remembered of each gpu type, the last ones: enough for a tolerance of a quarter, and
/// what a workload was a month ago is forgotten.
pub(super) const RUNS_MAX: usize = 64;

/// What was seen of one workload.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Evidence {
    /// Runs that go on.
    pub open: BTreeMap<JobId, OpenRun>,
    /// Runs that ended, by gpu type, the oldest first.
    pub ended: BTreeMap<usize, VecDeque<Run>>,
    /// What did not fit its profile.
    pub found: Option<ProfileVerdict>,
    /// It was told that its profile is further off than good faith allows.
    #[cfg_attr(feature = "serde", serde(default))]
    pub told_false: bool,
    /// The weight of the evidence by which its profile was last written; `None`: somebody else wrote it.
    pub written: Option<f64>,
    /// Figures of gangs that were seen and written, or told.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub gangs: Vec<SeenGang>,
    /// It was said that its jobs wait for their data.
    pub told_waits: bool,
    /// Windows that were left out because others were in the way.
    pub crowded: u64,
    /// There is something new since it was last judged.
    pub fresh: bool,
}

impl Evidence {
    /// A run is over.
    pub fn close(&mut self, job: JobId) {
        let Some(run) = self.open.remove(&job) else { return };
        let Some(said) = run.says() else { return };
        let runs = self.ended.entry(run.place.gpu_type).or_default();
        if runs.len() >= RUNS_MAX {
            runs.pop_front();
        }
        runs.push_back(said);
        self.fresh = true;
    }

    /// Everything that says something, by gpu type.
    pub fn runs(&self) -> BTreeMap<usize, Vec<Run>> {
        let mut runs: BTreeMap<usize, Vec<Run>> = BTreeMap::new();
        for (&gpu, ended) in &self.ended {
            runs.entry(gpu).or_default().extend(ended);
        }
        for open in self.open.values() {
            if let Some(run) = open.says() {
                runs.entry(open.place.gpu_type).or_default().push(run);
            }
        }
        runs
    }

    /// Whether most of its runs waited for their data most of the time.
    pub fn waits(&self) -> bool {
        let runs = self.runs();
        let all = || runs.values().flatten();
        2 * all().filter(|run| run.waiting).count() > all().count()
    }

    /// The usual rate of ended runs that are alike on a type.
    pub fn usual(&self, like: &OpenRun) -> Option<f64> {
        let place = like.place;
        let alike = |run: &&Run| {
            (run.kind, run.workers, run.nodes) == (place.kind, place.workers, place.nodes)
        };
        let runs = self.ended.get(&place.gpu_type)?.iter().filter(alike);
        let rates: Vec<f64> = runs.map(|run| run.rate).collect();
        (!rates.is_empty()).then(|| plain_middle(rates))
    }
}
