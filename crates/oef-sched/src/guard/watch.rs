//! Listening to jobs.

use super::evidence::Evidence;
use super::link::links;
use super::pace::{OTHER_RUN, Pace, SLOW};
use super::run::{OpenRun, Run, Window, plain_middle};
use super::verdict::ProfileVerdict;
use super::window::{Mark, Word};
use crate::ids::{JobId, WorkloadKey};
use crate::profile::{Profile, Provenance};
use crate::time::Time;
use std::collections::BTreeMap;

/// After so many windows in a row that were slow together with others they count: that is how it is now.
const CROWDED_MAX: u32 = 50;

/// What was seen of every workload.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
pub struct Guard {
    pub(super) seen: BTreeMap<WorkloadKey, Evidence>,
    pace: Pace,
}

/// Something that was noticed for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Jobs of this workload wait for their data most of the time.
    HostBound(WorkloadKey),
    /// Most jobs on this node, by its position, or everywhere became slow together.
    Crowded(Option<usize>),
}

impl Guard {
    /// A job told how far it is.
    pub fn word(&mut self, at: Time, word: &Word) -> Option<Notice> {
        let evidence = self.seen.entry(word.workload).or_default();
        let is_known = (evidence.open.get(&word.job))
            .is_some_and(|run| (run.generation, run.place) == (word.generation, word.place));
        if !is_known {
            evidence.close(word.job);
            self.pace.remove(word.job);
            let run = OpenRun::new(word.generation, word.place, Mark::of(at, word));
            evidence.open.insert(word.job, run);
            return None;
        }
        let run = evidence.open.get_mut(&word.job)?;
        let window = Window::closed(run, at, word)?;
        let (own, place) = (run.usual(), run.place);
        let before = evidence.open.get(&word.job).and_then(|run| evidence.usual(run));
        let before = before.map(|usual| usual + OTHER_RUN);
        let usual = own.into_iter().chain(before).reduce(f64::max);
        // A job that waits for its data is slow for a reason that is known.
        if let Some(usual) = usual.filter(|_| !window.waiting) {
            let slow = window.rate < usual + SLOW;
            let crowd = self.pace.set(word.job, place.node, slow);
            let run = evidence.open.get_mut(&word.job)?;
            run.crowded = if crowd.is_some() { run.crowded.saturating_add(1) } else { 0 };
            if let Some(crowd) = crowd.filter(|_| run.crowded <= CROWDED_MAX) {
                evidence.crowded += 1;
                return crowd.is_new.then_some(Notice::Crowded(crowd.node));
            }
        }
        let run = evidence.open.get_mut(&word.job)?;
        run.add(window);
        evidence.fresh = true;
        let is_new = run.waits() && !evidence.told_waits;
        evidence.told_waits |= is_new;
        is_new.then_some(Notice::HostBound(word.workload))
    }

    /// A job's run is over, or about to be: what comes now counts no more.
    pub fn ended(&mut self, workload: WorkloadKey, job: JobId) {
        self.pace.remove(job);
        if let Some(evidence) = self.seen.get_mut(&workload) {
            evidence.close(job);
        }
    }

    /// A workload is gone.
    pub fn forget(&mut self, workload: WorkloadKey) {
        if let Some(evidence) = self.seen.remove(&workload) {
            for job in evidence.open.keys() {
                self.pace.remove(*job);
            }
        }
    }

    /// Steps per second and worker that were seen of a workload, by gpu type.
    pub fn observed(&self, workload: WorkloadKey) -> BTreeMap<usize, f64> {
        let runs = self.seen.get(&workload).map(Evidence::runs).unwrap_or_default();
        let rate = |runs: &[Run]| plain_middle(runs.iter().map(|run| run.rate)).exp();
        runs.iter().map(|(&gpu, runs)| (gpu, rate(runs))).collect()
    }

    /// What did not fit the profile of a workload when it was last compared.
    pub fn found(&self, workload: WorkloadKey) -> Option<&ProfileVerdict> {
        self.seen.get(&workload)?.found.as_ref()
    }

    /// Whether the profile of a workload was written from what was seen.
    pub fn is_written(&self, workload: WorkloadKey) -> bool {
        self.seen.get(&workload).is_some_and(|evidence| evidence.written.is_some())
    }

    /// Whether jobs of a workload were seen to wait for their data most of the time.
    pub fn is_host_bound(&self, workload: WorkloadKey) -> bool {
        self.seen.get(&workload).is_some_and(Evidence::waits)
    }

    /// Windows of a workload that were left out because others were in its way.
    pub fn crowded(&self, workload: WorkloadKey) -> u64 {
        self.seen.get(&workload).map_or(0, |evidence| evidence.crowded)
    }

    /// The workloads of which something was seen since they were last judged.
    pub fn fresh(&self) -> Vec<WorkloadKey> {
        self.seen.iter().filter(|(_, e)| e.fresh).map(|(&key, _)| key).collect()
    }

    /// Whether alike runs of a workload were seen on two gpu types: without that nothing can be compared.
    pub fn can_compare(&self, workload: WorkloadKey) -> bool {
        self.seen.get(&workload).is_some_and(|evidence| {
            let any = Profile::new(Vec::new(), Provenance::Declared);
            !links(evidence, &any).is_empty()
        })
    }
}
