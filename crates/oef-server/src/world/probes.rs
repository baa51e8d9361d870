//! Profile runs: what they measured becomes the profile of their workload.
//!
//! A profile run is a job like any other. When it ends well, its gpu type has a measured figure; when it crashed,
//! the type counts as one on which the workload cannot run. Types that nobody has measured yet are estimated in
//! the same unit, steps per second of one worker.

use super::reason::LAST_LINE;
use super::texts::end_of;
use super::{GangEntry, Mark, ProfileEntry, Rejection, RunEnd, RunEnding, World};
use oef_api::types::{EventTopic, FigureSource, JobState, Measured, Provenance};
use oef_report::format::number as figure;
use oef_sched::{JobId, Stands, Time, WorkloadKey};
use std::collections::BTreeSet;

/// Of a failed run's output, so much is kept with the profile: the rest is in its log.
const LAST_LINES_KEPT: usize = 1000;

/// A profile run that has ended, and where.
struct Run {
    job: JobId,
    workload: WorkloadKey,
    gpu: String,
    workers: u32,
    /// On how many hosts it stood.
    hosts: u32,
    /// GPU-seconds over all its starts.
    cost_s: f64,
}

impl World {
    /// A run of a job has ended and its state is known: if it was a profile run, its workload's profile follows.
    pub(super) fn probed(&mut self, id: JobId, end: &RunEnd) -> Result<(), Rejection> {
        let Some(job) = self.jobs.get(&id).filter(|job| job.spec.probe.is_some()) else {
            return Ok(());
        };
        let Some(gpu) = job.spec.types.first().cloned() else { return Ok(()) };
        let (workload, workers) = (job.workload, *job.spec.workers);
        if !self.workloads.contains_key(&workload) {
            // Its tenant was removed meanwhile.
            return Ok(());
        }
        let cost_s = job.ran_ms as f64 / 1000.0 * f64::from(workers);
        let nodes = job.runs.last().into_iter().flat_map(|run| &run.gpus).map(|gpu| &gpu.node);
        let hosts = nodes.collect::<BTreeSet<_>>().len().max(1) as u32;
        let run = Run { job: id, workload, gpu, workers, hosts, cost_s };
        match (job.state, job.telemetry.measured) {
            (JobState::Finished, Some(measured)) => self.take_figure(&run, &measured),
            (JobState::Failed, _) => self.take_failure(&run, end),
            _ => Ok(()),
        }
    }

    fn take_figure(&mut self, run: &Run, measured: &Measured) -> Result<(), Rejection> {
        let Some(entry) = self.workloads.get(&run.workload) else { return Ok(()) };
        let name = format!("{}/{}", entry.tenant, entry.name);
        if measured.timed && self.guard.found(run.workload).is_some() {
            // The program of a profile run is its tenant's: it clears no verdict on what all its jobs showed.
            let message = format!(
                "workload {name} was measured on {}; its jobs have shown another profile, which goes on to count",
                run.gpu
            );
            self.note_of_workload(run.workload, message);
            return Ok(());
        }
        let mut profile = entry.profile.clone();
        let rate = 1.0 / measured.batch_seconds;
        let mut completes = true;
        if run.workers > 1 {
            profile.set_gang(GangEntry {
                gpu_type: run.gpu.clone(),
                workers: run.workers,
                stands: Stands::on(run.hosts),
                kept: None,
                steps: Some(rate),
                source: FigureSource::Measured,
                since_ms: self.at.0,
                detail: Some(format!("job {}, over {}", run.job, hosts(run.hosts))),
            });
        } else {
            completes = profile.has_measured() && !profile.is_measured(&run.gpu);
            let before = profile.clone();
            profile.throughput.insert(run.gpu.clone(), rate);
            profile.marks.insert(run.gpu.clone(), mark(self.at, run, measured));
            (profile.provenance, profile.since_ms) = (Provenance::Measured, self.at.0);
            profile.source = format!("profile runs, the last one job {}", run.job);
            self.estimate_rest(self.at, run.workload, &mut profile, &before, &run.gpu);
        }
        profile.count_gangs();
        // A profile that is measured type by type is one profile.
        self.replace_profile(run.workload, profile, !completes)?;
        self.guard.trusted(run.workload);
        let gang = match run.workers {
            1 => String::new(),
            workers => format!(" with {workers} workers over {}", hosts(run.hosts)),
        };
        let message = format!(
            "workload {name} was measured on {}{gang}: {} steps/s, spread {:.1} %",
            run.gpu,
            figure(rate),
            measured.spread * 100.0
        );
        self.note_of_workload(run.workload, message);
        Ok(())
    }

    fn take_failure(&mut self, run: &Run, end: &RunEnd) -> Result<(), Rejection> {
        let Some(entry) = self.workloads.get(&run.workload) else { return Ok(()) };
        let (gpu, name) = (&run.gpu, format!("{}/{}", entry.tenant, entry.name));
        // Only a worker that ended badly says something about the type; a missing program or line does not.
        let crashed = end.ending == RunEnding::Failed && end.last_lines.is_some();
        if !crashed || run.workers > 1 {
            let message =
                format!("the profile run of workload {name} on {gpu} failed: {}", end.detail);
            self.note_of_workload(run.workload, message);
            return Ok(());
        }
        let mut profile = entry.profile.clone();
        let was = profile.throughput.insert(gpu.clone(), 0.0);
        let was = profile.marks.get(gpu).and_then(|mark| mark.was).or(was);
        let output = end.last_lines.as_deref().map(str::trim_end).filter(|lines| !lines.is_empty());
        let output = output
            .map(|lines| format!("{LAST_LINE}{}", end_of(lines, LAST_LINES_KEPT)))
            .unwrap_or_default();
        let detail = format!("its profile run failed (job {}): {}{output}", run.job, end.detail);
        let mark = Mark {
            provenance: Provenance::Measured,
            since_ms: self.at.0,
            spread: None,
            batches: None,
            cost_s: Some(run.cost_s),
            detail: Some(detail),
            was,
        };
        profile.marks.insert(gpu.clone(), mark);
        let types = self.sched.cluster().types();
        let runs = |gpu: &String| profile.throughput.get(gpu).is_some_and(|on| *on > 0.0);
        let message = if types.iter().any(runs) {
            format!("workload {name} cannot run on {gpu}: {}", end.detail)
        } else {
            profile.take_back_failures();
            format!("every profile run of workload {name} failed: its profile stays as it was")
        };
        self.replace_profile(run.workload, profile, false)?;
        self.note_of_workload(run.workload, message);
        Ok(())
    }

    /// Figures for the types that nobody has measured, in the unit of those that are.
    pub(super) fn estimate_rest(
        &self,
        at: Time,
        key: WorkloadKey,
        profile: &mut ProfileEntry,
        before: &ProfileEntry,
        measured: &str,
    ) {
        let types = self.sched.cluster().types();
        let own: Vec<Option<f64>> = types
            .iter()
            .map(|gpu| profile.throughput.get(gpu).copied().filter(|_| profile.is_measured(gpu)))
            .collect();
        let tenant = self.workloads.get(&key).map_or("", |entry| entry.tenant.as_str());
        let others = self.relatives(tenant, Some(key));
        let unit = Unit::new(profile, before, measured);
        for (gpu, guess) in types.iter().zip(oef_sched::estimate(&own, &others)) {
            let failed = profile.marks.get(gpu).is_some_and(|mark| mark.was.is_some());
            if profile.is_measured(gpu) || failed || before.is_ruled_out(gpu) {
                continue;
            }
            let (throughput, detail) = match guess {
                Some(guess) => (guess.throughput, from(guess.from)),
                None => unit.of(before, gpu, measured),
            };
            let mark = Mark::estimated(at.0, detail);
            profile.throughput.insert(gpu.clone(), throughput);
            profile.marks.insert(gpu.clone(), mark);
        }
    }

    fn note_of_workload(&mut self, key: WorkloadKey, message: String) {
        let tenant = self.workloads.get(&key).map(|entry| entry.tenant.clone());
        self.note(EventTopic::Tenant, tenant.as_deref(), message);
    }
}

/// What an old figure counts in the unit of the measured ones.
struct Unit(Option<f64>);

impl Unit {
    fn new(profile: &ProfileEntry, before: &ProfileEntry, measured: &str) -> Unit {
        if before.has_measured() {
            return Unit(Some(1.0));
        }
        let old = before.throughput.get(measured).copied().filter(|old| *old > 0.0);
        let new = profile.throughput.get(measured).copied();
        Unit(old.zip(new).map(|(old, new)| new / old))
    }

    /// The figure for a type of which no other workload tells anything.
    fn of(&self, before: &ProfileEntry, gpu: &str, measured: &str) -> (f64, String) {
        let old = before.throughput.get(gpu).copied().filter(|old| *old > 0.0);
        match (self.0, old, before.provenance_on(gpu)) {
            (Some(unit), Some(old), Provenance::Estimated) => {
                (old * unit, "from what was estimated before".into())
            }
            (Some(unit), Some(old), _) => {
                (old * unit, "from the profile that it had before".into())
            }
            _ => {
                let same = before.throughput.get(measured).copied().unwrap_or(1.0);
                (same * self.0.unwrap_or(1.0), format!("nothing is known: as on {measured}"))
            }
        }
    }
}

fn from(workloads: usize) -> String {
    match workloads {
        1 => "from the one workload that is known".into(),
        n => format!("from the {n} nearest workloads"),
    }
}

fn mark(at: Time, run: &Run, measured: &Measured) -> Mark {
    Mark {
        provenance: Provenance::Measured,
        since_ms: at.0,
        spread: Some(measured.spread),
        batches: Some(measured.batches),
        cost_s: Some(run.cost_s),
        detail: Some(format!("job {}", run.job)),
        was: None,
    }
}

fn hosts(count: u32) -> String {
    match count {
        1 => "one host".into(),
        n => format!("{n} hosts"),
    }
}
