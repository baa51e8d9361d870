//! The guard in the simulated world: jobs tell how far they are, and every round what they told is judged.

use super::run::{Run, SimulationError};
use oef_sched::guard::{News, Policy, ProfileVerdict, Word};
use oef_sched::{EventKind, JobId, Profile, Provenance, Time, WorkloadKey};

/// Words of a job between two rounds.
const WORDS: u64 = 10;

/// A profile that was not what jobs showed.
#[derive(Clone, Debug, PartialEq)]
pub struct Detection {
    /// The workload, by its position in the result.
    pub workload: usize,
    /// In which round.
    pub round: u64,
    /// When, in seconds.
    pub at_s: f64,
    /// What did not fit.
    pub verdict: ProfileVerdict,
    /// Whether what was seen counts from then on.
    pub corrected: bool,
}

impl Run<'_> {
    /// A job's words since the work was last counted, as evenly as it worked.
    pub(super) fn listen(&mut self, index: usize, since: Time) {
        if self.scenario.guard == Policy::Off {
            return;
        }
        let job = &self.jobs[index];
        let Some((run, place)) = job.run.as_ref().and_then(|run| Some((run, run.place?))) else {
            return;
        };
        let from = since.max(run.from);
        let length = self.now.since(from);
        for part in 0..=WORDS {
            let at = Time(from.0 + length.0 * part / WORDS);
            let word = Word {
                job: JobId(index as u64),
                generation: run.generation,
                workload: job.workload,
                place,
                steps: (job.done - run.rate * self.now.since(at).seconds()).max(0.0),
                checkpoint: None,
                wait: None,
                clock_ms: Some(at.0),
            };
            if at <= self.now && run.from < self.now {
                self.guard.word(at, &word);
            }
        }
    }

    /// Looks at what was seen of every workload.
    pub(super) fn judge(&mut self) -> Result<(), SimulationError> {
        let policy = self.scenario.guard;
        if policy == Policy::Off {
            return Ok(());
        }
        for index in 0..self.state.workloads().len() {
            let workload = WorkloadKey(index);
            let told = &self.state.workloads()[index].profile;
            let judged = self.guard.judge(workload, told, policy);
            if let Some(News::Found(verdict)) = judged.news {
                let (round, at_s) = (self.state.round().0, self.now.seconds());
                let corrected = judged.profile.is_some();
                self.found.push(Detection { workload: index, round, at_s, verdict, corrected });
            }
            if let Some(seen) = judged.profile {
                let provenance = Provenance::Measured;
                let gangs = self.state.workloads()[index].profile.gangs.clone();
                let profile = Profile { gangs, ..Profile::new(seen.throughput, provenance) };
                self.tell(EventKind::Profiled { workload, profile })?;
            }
        }
        Ok(())
    }
}
