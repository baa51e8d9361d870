//! What is written down while a simulation runs.

use super::days::Days;
use super::jobs::SimJob;
use super::scenario::Detail;
use super::standing::{Standing, Stood};
use oef_core::audit::Presence;
use oef_core::{Outcome, Problem, equal_split};
use oef_sched::{PastUsage, Profile, State, TenantKey, Time, WorkloadKey};
use std::rc::Rc;

/// The end of one job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobRecord {
    /// Its number in the trace, from 0.
    pub job: usize,
    /// Who owned it, by its position among the tenants of the result.
    pub tenant: usize,
    /// Its gang.
    pub workers: u32,
    /// When it was submitted, in seconds.
    pub submit_s: f64,
    /// When it first ran.
    pub start_s: Option<f64>,
    /// When it did its last step.
    pub finish_s: Option<f64>,
    /// How often it was stopped and started again.
    pub restarts: u32,
}

/// Somebody held a GPU for a while.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// The node, by its position in the cluster.
    pub node: usize,
    /// The GPU's index on it.
    pub gpu: u32,
    /// From when, in seconds.
    pub from_s: f64,
    /// Until when.
    pub to_s: f64,
    /// Who, by its position among the tenants of the result.
    pub tenant: usize,
}

/// Figures of each round, as far as they are kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Begin of each round, in seconds.
    pub at_s: Vec<f64>,
    /// Normalised throughput of all jobs in the round.
    pub actual: Vec<f64>,
    /// Normalised throughput that the shares promise.
    pub estimated: Vec<f64>,
    /// The part of the healthy GPUs that somebody held.
    pub utilisation: Vec<f64>,
    /// Jobs waiting at the begin of the round.
    pub waiting: Vec<u32>,
    /// Jobs running at the begin of the round.
    pub running: Vec<u32>,
    /// The greatest deficit of any workload, in GPU-rounds.
    pub deficit_max: Vec<f64>,
    /// By tenant: normalised throughput in each round (empty without full detail).
    pub tenants: Vec<Vec<f32>>,
    /// By workload of the result: normalised throughput in each round.
    pub workloads: Vec<Vec<f32>>,
    /// By tenant: normalised throughput that its share promises.
    pub promised: Vec<Vec<f32>>,
    /// By tenant: its deficits summed over types and workloads, in GPU-rounds.
    pub deficits: Vec<Vec<f32>>,
}

/// A kind of job of a tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadRecord {
    /// Its name.
    pub name: String,
    /// Whose it is, by its position among the tenants of the result.
    pub tenant: usize,
}

/// One tenant over the whole run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TenantRecord {
    /// Its name.
    pub name: String,
    /// Its weight at the end.
    pub weight: f64,
    /// Rounds in which it had live jobs from begin to end.
    pub rounds: u64,
    /// Sums over those rounds of normalised throughput: what it had, what its share promised, and what an equal
    /// split would have promised.
    pub delivered: f64,
    /// What the GPUs that it held would have given, had every gang stood on as few hosts as it can, and without
    /// restarts.
    pub possible: f64,
    /// See `delivered`.
    pub promised: f64,
    /// See `delivered`.
    pub equal_split: f64,
    /// Sums over the rounds of GPUs: of its share, and held.
    pub share_gpus: f64,
    /// See `share_gpus`.
    pub held_gpus: f64,
    /// What is remembered of its usage at the end, where that counts.
    pub past: Option<PastUsage>,
}

/// How fast a workload truly is.
#[derive(Clone, Debug)]
pub(crate) struct Truth {
    /// Per GPU, in units of work per second.
    pub profile: Rc<Profile>,
    /// Units of work per second that count as one reference GPU.
    pub unit: f64,
}

impl Truth {
    /// Normalised, by type; of gangs: as they can stand on the hosts that there are.
    fn of(truths: &[Truth], state: &State, key: WorkloadKey) -> Vec<f64> {
        let row = &state.workloads()[key.0];
        let (of, workers) = (row.gang_of().unwrap_or(key), row.gang_workers().unwrap_or(1));
        let Some(Truth { profile, unit }) = truths.get(of.0) else { return Vec::new() };
        let cluster = state.cluster();
        let on = |j: usize| profile.of_gang(j, workers, cluster.hosts_needed(j, workers)) / unit;
        (0..cluster.types().len()).map(on).collect()
    }
}

/// Collects figures round by round.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    pub detail: Detail,
    /// True speeds of every workload that jobs are submitted to: promises are counted in the truth, whatever was told.
    pub truths: Vec<Truth>,
    pub series: Series,
    pub tenants: Vec<TenantRecord>,
    pub segments: Vec<Segment>,
    pub deficit_max: f64,
    pub straggler_workers: u64,
    pub overcommitted: u64,
    /// GPU-seconds held, and there, while there were live jobs.
    pub held: f64,
    pub capacity: f64,
    /// Normalised throughput times seconds, while there were live jobs.
    pub actual: f64,
    pub estimated: f64,
    pub live_seconds: f64,
    /// The round with the most tenants at once.
    pub busiest: Option<(Problem, Outcome)>,
    /// Figures of the current round, by tenant: promised, equal split, GPUs of the share.
    current: Vec<Promise>,
    estimated_now: f64,
    solves_seen: u64,
    /// Since the begin of the round, by tenant.
    worked: Vec<f64>,
    /// The same had gangs stood as well as they can.
    possible: Vec<f64>,
    /// How gangs stood.
    pub standing: Standing,
    /// The same by workload.
    workload_worked: Vec<f64>,
    /// The same by tenant and gpu type.
    gpu_seconds: Vec<Vec<f64>>,
    round_began: Time,
    /// What every day delivered.
    pub days: Days,
}

#[derive(Clone, Debug, Default)]
struct Promise {
    live: bool,
    weight: f64,
    /// GPUs that it can use, and what one of each type is worth to it: the mean over its workloads, by their weights.
    demand: f64,
    speedup: Vec<f64>,
    throughput: f64,
    equal_split: f64,
    gpus: f64,
    /// What one unit of the problem's throughput is in ours: they differ for workloads that cannot run on
    /// the reference type, whose speeds the problem normalises by those of the others.
    unit: f64,
}

impl Recorder {
    pub fn new(detail: Detail) -> Self {
        Recorder { detail, solves_seen: u64::MAX, ..Recorder::default() }
    }

    /// A job has worked.
    pub fn worked(&mut self, tenant: TenantKey, workload: WorkloadKey, amount: f64) {
        widen(&mut self.worked, tenant.0);
        self.worked[tenant.0] += amount;
        widen(&mut self.workload_worked, workload.0);
        self.workload_worked[workload.0] += amount;
    }

    /// How a job stood while it held GPUs.
    pub fn stood(&mut self, tenant: TenantKey, stood: &Stood) {
        widen(&mut self.possible, tenant.0);
        self.possible[tenant.0] += stood.possible * stood.seconds;
        self.standing.add(stood);
    }

    /// A job has held GPUs.
    pub fn held(&mut self, tenant: TenantKey, gpus: &[u32], seconds: f64) {
        if self.gpu_seconds.len() <= tenant.0 {
            self.gpu_seconds.resize(tenant.0 + 1, Vec::new());
        }
        let held = &mut self.gpu_seconds[tenant.0];
        held.resize(gpus.len().max(held.len()), 0.0);
        held.iter_mut().zip(gpus).for_each(|(held, &gpus)| *held += f64::from(gpus) * seconds);
    }

    /// A round is over, at `now`; its jobs' work has been counted.
    pub fn end_round(&mut self, state: &State, now: Time) {
        let seconds = now.since(self.round_began).seconds();
        if seconds <= 0.0 {
            return;
        }
        let round = state.settings().round.seconds().max(1e-3);
        self.tenants.resize(state.tenants().len(), TenantRecord::default());
        self.current.resize(self.tenants.len(), Promise::default());
        self.worked.resize(self.tenants.len(), 0.0);
        self.possible.resize(self.tenants.len(), 0.0);
        self.gpu_seconds.resize(self.tenants.len(), Vec::new());
        let any_live = self.current.iter().any(|p| p.live);
        let actual: f64 = self.worked.iter().sum();
        let held: f64 = self.gpu_seconds.iter().flatten().sum();
        let there = f64::from(state.cluster().total()) * seconds;
        if any_live || actual > 0.0 {
            self.actual += actual;
            self.estimated += self.estimated_now * seconds;
            self.held += held;
            self.capacity += there;
            self.live_seconds += seconds;
        }
        // Only whole rounds count: a job that ends in mid-round would make its tenant look short of GPUs.
        let mut still = vec![false; self.tenants.len()];
        for w in state.active() {
            still[state.workloads()[w.0].tenant.0] = true;
        }
        for (t, record) in self.tenants.iter_mut().enumerate() {
            let promise = &self.current[t];
            if promise.live && still[t] {
                record.rounds += 1;
                record.delivered += self.worked[t] / round;
                record.possible += self.possible[t] / round;
                record.promised += promise.throughput * seconds / round;
                record.equal_split += promise.equal_split * seconds / round;
                record.share_gpus += promise.gpus * seconds / round;
                record.held_gpus += self.gpu_seconds[t].iter().sum::<f64>() / round;
            }
        }
        self.count_day(&still, seconds, now);
        self.push_series(state, seconds, actual, held, there);
        self.worked.fill(0.0);
        self.possible.fill(0.0);
        self.workload_worked.fill(0.0);
        self.gpu_seconds.iter_mut().for_each(|held| held.fill(0.0));
    }

    /// Adds the round to its day.
    fn count_day(&mut self, still: &[bool], seconds: f64, now: Time) {
        let held: Vec<Vec<f64>> = self
            .gpu_seconds
            .iter()
            .map(|held| held.iter().map(|gpu_seconds| gpu_seconds / seconds).collect())
            .collect();
        let there = (0..self.tenants.len()).filter(|&t| self.current[t].live && still[t]);
        let present: Vec<Presence<'_>> = there
            .map(|t| {
                let promise = &self.current[t];
                Presence {
                    tenant: t,
                    length: seconds,
                    weight: promise.weight,
                    delivered: self.worked[t] / seconds,
                    equal_split: promise.equal_split,
                    demand: promise.demand,
                    speedup: &promise.speedup,
                    held: &held[t],
                }
            })
            .collect();
        self.days.add(now.seconds(), seconds, self.tenants.len(), &present);
    }

    fn push_series(&mut self, state: &State, seconds: f64, actual: f64, held: f64, there: f64) {
        if self.detail != Detail::Full {
            return;
        }
        let series = &mut self.series;
        series.at_s.push(self.round_began.seconds());
        series.actual.push(actual / seconds);
        series.estimated.push(self.estimated_now);
        series.utilisation.push(if there > 0.0 { held / there } else { 0.0 });
        let rounds = series.at_s.len();
        for lists in [&mut series.tenants, &mut series.promised, &mut series.deficits] {
            lists.resize(self.tenants.len(), Vec::new());
            for list in lists {
                list.resize(rounds, 0.0);
            }
        }
        self.workload_worked.resize(state.workloads().len(), 0.0);
        series.workloads.resize(state.workloads().len(), Vec::new());
        for (list, worked) in series.workloads.iter_mut().zip(&self.workload_worked) {
            list.resize(rounds - 1, 0.0);
            list.push((worked / seconds) as f32);
        }
        for t in 0..self.tenants.len() {
            series.tenants[t][rounds - 1] = (self.worked[t] / seconds) as f32;
            series.promised[t][rounds - 1] = self.current[t].throughput as f32;
        }
        for w in state.active() {
            let workload = &state.workloads()[w.0];
            let owed: f64 = workload.deficits().iter().sum();
            series.deficits[workload.tenant.0][rounds - 1] += owed as f32;
        }
    }

    /// A round has begun and is planned.
    pub fn begin_round(&mut self, state: &State, jobs: &[SimJob], waiting: u32, running: &[usize]) {
        self.round_began = state.now();
        self.refresh(state);
        let owed = state.active().flat_map(|w| state.workloads()[w.0].deficits().iter());
        let deficit = owed.fold(0.0, |most: f64, d| most.max(d.abs()));
        self.deficit_max = self.deficit_max.max(deficit);
        self.overcommitted += u64::from(state.plan().overcommitted);
        let across = |&&job: &&usize| jobs[job].run.as_ref().is_some_and(|run| run.across);
        let stragglers = running.iter().filter(across).map(|&job| u64::from(jobs[job].workers));
        self.straggler_workers += stragglers.sum::<u64>();
        if self.detail == Detail::Full {
            self.series.waiting.push(waiting);
            self.series.running.push(running.len() as u32);
            self.series.deficit_max.push(deficit);
        }
    }

    fn unit(problem: &Problem, workload: usize, truth: &[f64]) -> f64 {
        let speedups = problem.workloads()[workload].speedup.iter().zip(truth);
        // The slowest type that it runs on: an error or a lie is told about the faster ones.
        let runs = speedups.filter(|(told, truth)| **told > 0.0 && **truth > 0.0);
        runs.min_by(|a, b| a.0.total_cmp(b.0)).map_or(1.0, |(told, truth)| truth / told)
    }

    /// What the shares promise, if they have changed.
    fn refresh(&mut self, state: &State) {
        let entitlement = state.entitlement();
        if entitlement.solves() == self.solves_seen {
            return;
        }
        self.solves_seen = entitlement.solves();
        self.current.clear();
        self.current.resize(state.tenants().len(), Promise::default());
        self.estimated_now = 0.0;
        let Some((problem, outcome)) = entitlement.answer() else { return };
        for (l, &key) in entitlement.workloads().iter().enumerate() {
            let tenant = state.workloads()[key.0].tenant.0;
            let truth = Truth::of(&self.truths, state, key);
            let unit = Recorder::unit(problem, l, &truth);
            let promise = &mut self.current[tenant];
            (promise.live, promise.unit) = (true, unit);
            let workload = &problem.workloads()[l];
            promise.weight += workload.weight;
            promise.demand += workload.demand.unwrap_or(f64::INFINITY);
            promise.speedup.resize(truth.len(), 0.0);
            for (mean, truth) in promise.speedup.iter_mut().zip(&truth) {
                *mean += workload.weight * truth;
            }
            for (j, &gpus) in outcome.shares.of_workload(oef_core::WorkloadId(l)).iter().enumerate()
            {
                promise.throughput += gpus * truth[j];
                promise.gpus += gpus;
            }
        }
        for (t, &tenant) in entitlement.tenants().iter().enumerate() {
            let split = equal_split(problem, oef_core::TenantId(t));
            let promise = &mut self.current[tenant.0];
            promise.equal_split = split * promise.unit;
            promise.speedup.iter_mut().for_each(|speedup| *speedup /= promise.weight);
        }
        self.estimated_now = self.current.iter().map(|p| p.throughput).sum();
        let most = self.busiest.as_ref().map_or(0, |(p, _)| p.tenants().len());
        if problem.tenants().len() > most {
            self.busiest = Some((problem.clone(), outcome.clone()));
        }
    }
}

fn widen(list: &mut Vec<f64>, index: usize) {
    if list.len() <= index {
        list.resize(index + 1, 0.0);
    }
}
