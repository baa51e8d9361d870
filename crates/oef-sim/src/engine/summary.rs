//! The result of one run.

use super::days::TenantDay;
use super::guarding::Detection;
use super::record::{JobRecord, Segment, Series, TenantRecord, WorkloadRecord};
use super::standing::Standing;
use oef_core::{Mechanism, Outcome, Problem};
use serde::Serialize;

/// Mean and quantiles of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Quantiles {
    /// The mean.
    pub mean: f64,
    /// The median.
    pub p50: f64,
    /// Nine of ten are below.
    pub p90: f64,
    /// 99 of 100 are below.
    pub p99: f64,
}

impl Quantiles {
    /// Of a sample; all 0 of an empty one.
    pub fn of(sample: &[f64]) -> Self {
        let mut sorted = sample.to_vec();
        sorted.sort_by(f64::total_cmp);
        if sorted.is_empty() {
            return Quantiles::default();
        }
        // The smallest value that at least this part of the sample does not exceed.
        let at = |part: f64| {
            let rank = (part * sorted.len() as f64).ceil() as usize;
            sorted[rank.clamp(1, sorted.len()) - 1]
        };
        let mean = sorted.iter().sum::<f64>() / sorted.len() as f64;
        Quantiles { mean, p50: at(0.5), p90: at(0.9), p99: at(0.99) }
    }
}

/// What one mechanism made of a trace.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// The mechanism.
    pub mechanism: Mechanism,
    /// Rounds that were planned.
    pub rounds: u64,
    /// Simulated seconds.
    pub seconds: f64,
    /// Jobs that did all their work.
    pub finished: usize,
    /// Jobs that did not.
    pub unfinished: usize,
    /// Job completion times in seconds, of the finished ones.
    pub jct: Quantiles,
    /// Waiting times until the first start, in seconds, of those that started.
    pub wait: Quantiles,
    /// From the first submission to the last finish, in seconds.
    pub makespan: f64,
    /// Mean normalised throughput that the shares promise, over the time with live jobs.
    pub estimated: f64,
    /// Mean normalised throughput of the jobs.
    pub actual: f64,
    /// Mean normalised throughput of the GPUs that jobs held, had every gang stood on as few hosts as it can, and
    /// without restarts.
    pub possible: f64,
    /// How gangs stood, and what restarts cost.
    pub standing: Standing,
    /// Restarts of all jobs for each day of a GPU that was held.
    pub restarts_per_gpu_day: f64,
    /// The part of its promise that the tenant with the least got, among those that were there long enough.
    pub worst_delivered: f64,
    /// The part of the healthy GPU time, over the time with live jobs, in which somebody held the GPU.
    pub utilisation: f64,
    /// Workers in gangs across types, summed over rounds.
    pub straggler_workers: u64,
    /// Jobs that were stopped to go on elsewhere.
    pub migrations: u64,
    /// Jobs that were stopped for others.
    pub preemptions: u64,
    /// GPUs that were granted beyond what there is, summed over rounds (only the paper's rounding does that).
    pub overcommitted: u64,
    /// The least ratio, over tenants, of throughput to that of an equal split.
    pub worst_sharing_incentive: f64,
    /// The same for what the shares promised.
    pub worst_promised_incentive: f64,
    /// Every tenant on every day that it was there for at least twelve whole rounds: what it got over its equal split,
    /// and what the GPUs of the tenant that it would rather have been would have given it.
    pub days: Vec<TenantDay>,
    /// The greatest deficit of any workload at any round, in GPU-rounds.
    pub deficit_max: f64,
    /// How often shares were computed.
    pub solves: u64,
    /// The first time that shares could not be computed, if there was one: why, and what was used instead.
    pub trouble: Option<String>,
    /// By tenant.
    pub tenants: Vec<TenantRecord>,
    /// Every workload, in the order of its first job.
    pub workloads: Vec<WorkloadRecord>,
    /// By job of the trace.
    pub jobs: Vec<JobRecord>,
    /// By round; as much as the detail asks for.
    pub series: Series,
    /// Who held which GPU when; with full detail only.
    pub segments: Vec<Segment>,
    /// Profiles that were not what jobs showed, in the order in which they were found; `None`: nobody looked.
    pub found: Option<Vec<Detection>>,
    /// Problem and shares of the round with the most tenants.
    pub busiest: Option<(Problem, Outcome)>,
}

impl RunResult {
    /// The least that any tenant got on any day, over its equal split; `None` where nobody was there for long enough.
    pub fn worst_day_incentive(&self) -> Option<f64> {
        self.days.iter().map(|day| day.incentive).reduce(f64::min)
    }

    /// The part of the tenants' days on which a tenant got at least this part of its equal split.
    pub fn days_at_least(&self, part: f64) -> Option<f64> {
        let reached = self.days.iter().filter(|day| day.incentive >= part).count();
        (!self.days.is_empty()).then(|| reached as f64 / self.days.len() as f64)
    }

    /// The mean over the tenants' days of the envy towards the most envied tenant: 0 where nobody had it better.
    pub fn mean_day_envy(&self) -> Option<f64> {
        let envy: Vec<f64> =
            self.days.iter().filter_map(|day| Some((day.envy? - 1.0).max(0.0))).collect();
        (!envy.is_empty()).then(|| envy.iter().sum::<f64>() / envy.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_small_samples() {
        assert_eq!(Quantiles::of(&[]), Quantiles::default());
        assert_eq!(Quantiles::of(&[3.0]), Quantiles { mean: 3.0, p50: 3.0, p90: 3.0, p99: 3.0 });
        let ten: Vec<f64> = (1..=10).rev().map(f64::from).collect();
        let q = Quantiles::of(&ten);
        assert_eq!((q.mean, q.p50, q.p90, q.p99), (5.5, 5.0, 9.0, 10.0));
    }
}
