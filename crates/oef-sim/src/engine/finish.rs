//! The end of a run, and what is told of it.

use super::record::{JobRecord, TenantRecord, WorkloadRecord};
use super::run::Run;
use super::summary::{Quantiles, RunResult};
use oef_sched::guard::Policy;
use oef_sched::{State, TenantKey, Time, Workload};

impl Run<'_> {
    /// Counts what still runs, and sums up.
    pub(super) fn finish(mut self) -> RunResult {
        if let Some(end) = self.scenario.until_s {
            self.now = Time::from_seconds(end).max(self.now);
        }
        let running = std::mem::take(&mut self.running);
        for &index in &running {
            self.count(index);
            self.close_segment(index);
        }
        self.recorder.end_round(&self.state, self.now);
        summarise(self)
    }
}

fn summarise(run: Run<'_>) -> RunResult {
    let mut recorder = run.recorder;
    recorder
        .segments
        .sort_by(|a, b| (a.node, a.gpu).cmp(&(b.node, b.gpu)).then(a.from_s.total_cmp(&b.from_s)));
    for (t, (record, tenant)) in recorder.tenants.iter_mut().zip(run.state.tenants()).enumerate() {
        (record.name, record.weight) = (tenant.name.clone(), tenant.weight);
        record.past = run.state.past_usage(TenantKey(t));
    }
    let seconds = |t: Option<Time>| t.map(Time::seconds);
    let jobs: Vec<JobRecord> = (run.jobs.iter())
        .map(|job| JobRecord {
            job: job.index,
            tenant: job.tenant.0,
            workers: job.workers,
            submit_s: job.submit.seconds(),
            start_s: seconds(job.first_start),
            finish_s: seconds(job.finish),
            restarts: job.starts.saturating_sub(1),
        })
        .collect();
    let jct: Vec<f64> = jobs.iter().filter_map(|j| Some(j.finish_s? - j.submit_s)).collect();
    let wait: Vec<f64> = jobs.iter().filter_map(|j| Some(j.start_s? - j.submit_s)).collect();
    let first = jobs.iter().map(|j| j.submit_s).fold(f64::INFINITY, f64::min);
    let live = recorder.live_seconds.max(f64::MIN_POSITIVE);
    RunResult {
        mechanism: run.scenario.settings.mechanism,
        rounds: run.state.round().0,
        seconds: run.now.seconds(),
        finished: jct.len(),
        unfinished: jobs.len() - jct.len(),
        jct: Quantiles::of(&jct),
        wait: Quantiles::of(&wait),
        makespan: if jct.is_empty() { 0.0 } else { run.last_finish.seconds() - first },
        estimated: recorder.estimated / live,
        actual: recorder.actual / live,
        possible: recorder.standing.possible / live,
        standing: recorder.standing,
        restarts_per_gpu_day: restarts_per_gpu_day(&jobs, recorder.standing.held()),
        worst_delivered: least_over(&recorder.tenants, |t| t.delivered, |t| t.promised),
        utilisation: recorder.held / recorder.capacity.max(f64::MIN_POSITIVE),
        straggler_workers: recorder.straggler_workers,
        migrations: run.migrations,
        preemptions: run.preemptions,
        overcommitted: recorder.overcommitted,
        worst_sharing_incentive: least(&recorder.tenants, |t| t.delivered),
        worst_promised_incentive: least(&recorder.tenants, |t| t.promised),
        days: recorder.days.finish(),
        deficit_max: recorder.deficit_max,
        solves: run.state.entitlement().solves(),
        trouble: run.trouble,
        tenants: recorder.tenants,
        workloads: workloads(&run.state),
        jobs,
        series: recorder.series,
        segments: recorder.segments,
        found: (run.scenario.guard != Policy::Off).then_some(run.found),
        busiest: recorder.busiest,
    }
}

fn workloads(state: &State) -> Vec<WorkloadRecord> {
    let record = |w: &Workload| WorkloadRecord { name: w.name.clone(), tenant: w.tenant.0 };
    state.workloads().iter().map(record).collect()
}

/// Rounds that a tenant must have been there before its throughput is compared with its equal split: a gang
/// that saves up for its turn gets nothing at first, and all of it later.
const COMPARED_ROUNDS_MIN: u64 = 12;

/// The least ratio to the equal split among tenants that were there long enough; where none was, among all that
/// were there for a whole round; 1 where nobody was.
fn least(tenants: &[TenantRecord], figure: impl Fn(&TenantRecord) -> f64) -> f64 {
    least_over(tenants, figure, |t| t.equal_split)
}

/// The same of any figure over another.
fn least_over(
    tenants: &[TenantRecord],
    figure: impl Fn(&TenantRecord) -> f64,
    over: impl Fn(&TenantRecord) -> f64,
) -> f64 {
    let among = |rounds: u64| {
        let there = tenants.iter().filter(|t| t.rounds >= rounds && over(t) > 0.0);
        there.map(|t| figure(t) / over(t)).reduce(f64::min)
    };
    among(COMPARED_ROUNDS_MIN).or_else(|| among(1)).unwrap_or(1.0)
}

/// Restarts for each day of a GPU that was held.
fn restarts_per_gpu_day(jobs: &[JobRecord], gpu_seconds: f64) -> f64 {
    let restarts: f64 = jobs.iter().map(|job| f64::from(job.restarts)).sum();
    restarts / (gpu_seconds / 86_400.0).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_is_of_those_who_were_there_long_enough() {
        let tenant = |rounds: u64, delivered: f64| TenantRecord {
            rounds,
            delivered,
            equal_split: 2.0,
            ..TenantRecord::default()
        };
        let of = |tenants: &[TenantRecord]| least(tenants, |t| t.delivered);
        assert_eq!(of(&[tenant(20, 1.0), tenant(12, 3.0), tenant(2, 0.2)]), 0.5);
        assert_eq!(of(&[tenant(3, 1.0), tenant(2, 0.2)]), 0.1);
        assert_eq!(of(&[tenant(0, 0.0)]), 1.0);
    }
}
