//! What jobs told of their progress since the daemon was started: the curves on their pages. They are kept in memory
//! only, and thinned out as they grow.

use crate::daemon::{Daemon, Sample};
use crate::engine::wall;
use oef_api::types::JobCurve;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How often is looked: a curve that grows while one watches.
pub(in crate::http) const EVERY: Duration = Duration::from_secs(2);
/// Points of one job. When they are as many, every other one is dropped.
const POINTS_MAX: usize = 240;
/// Jobs that are remembered: with all their points some thirty megabytes.
const JOBS_MAX: usize = 4_000;

/// Points by job.
#[derive(Default)]
pub(in crate::http) struct Samples {
    jobs: Mutex<BTreeMap<u64, Points>>,
}

#[derive(Default)]
struct Points {
    /// Looks between two points.
    stride: u32,
    skipped: u32,
    points: Vec<(u64, Sample)>,
}

impl Samples {
    /// Looks at all jobs that run.
    pub fn look(&self, daemon: &Daemon) {
        self.add(wall().0, daemon.samples());
    }

    fn add(&self, at_ms: u64, samples: Vec<Sample>) {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        for sample in samples {
            jobs.entry(sample.job).or_default().add(at_ms, sample);
        }
        // The oldest jobs are forgotten first.
        while jobs.len() > JOBS_MAX {
            jobs.pop_first();
        }
    }

    /// The curve of a job; empty: nothing was seen of it.
    pub fn curve(&self, job: u64) -> JobCurve {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let points = jobs.get(&job).map_or(&[][..], |points| &points.points);
        JobCurve {
            at_ms: points.iter().map(|(at, _)| *at).collect(),
            steps: points.iter().map(|(_, s)| s.steps).collect(),
            throughput: points.iter().map(|(_, s)| s.throughput).collect(),
            loss: points.iter().map(|(_, s)| s.loss).collect(),
        }
    }
}

impl Points {
    fn add(&mut self, at_ms: u64, sample: Sample) {
        // What is not new is no point: a job that says nothing has a straight line anyway.
        if self.points.last().is_some_and(|(_, last)| *last == sample) {
            return;
        }
        self.skipped += 1;
        if self.skipped < self.stride {
            return;
        }
        self.skipped = 0;
        self.points.push((at_ms, sample));
        if self.points.len() >= POINTS_MAX {
            let mut at = 0_usize;
            self.points.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.stride = (self.stride.max(1)).saturating_mul(2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_curve_keeps_its_ends_and_its_size() {
        let samples = Samples::default();
        for step in 0..10_000u32 {
            let sample =
                Sample { job: 1, steps: f64::from(step), throughput: None, loss: Some(0.5) };
            samples.add(u64::from(step) * 2_000, vec![sample, sample]);
        }
        let curve = samples.curve(1);
        assert!((POINTS_MAX / 2 - 1..POINTS_MAX).contains(&curve.steps.len()));
        assert!(curve.steps.is_sorted() && curve.steps.first().is_some_and(|s| *s < 200.0));
        assert!(curve.steps.last().is_some_and(|s| *s > 9_800.0));
        assert_eq!(samples.curve(2), JobCurve::default());
    }

    #[test]
    fn the_oldest_jobs_go_first() {
        let samples = Samples::default();
        let many = (1..=JOBS_MAX as u64 + 5).map(|job| Sample {
            job,
            steps: 1.0,
            throughput: None,
            loss: None,
        });
        samples.add(0, many.collect());
        assert!(samples.curve(5).steps.is_empty() && !samples.curve(6).steps.is_empty());
    }
}
