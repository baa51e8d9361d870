//! The large load: 50 tenants with 20 jobs each over three days.

use super::finding::ExperimentError;
use super::models::SpeedupTable;
use super::setup::Setup;
use super::stage::Stage;
use super::tenants::{Party, drawn};
use super::terms::{Condition, Figures, Key, compared, compared_and_all};
use oef_sim::generate::{Load, TraceLike, TraceSpec, trace};
use oef_sim::input::{ProfileTable, Trace, Work};
use std::collections::BTreeMap;

/// The paper's number of tenants.
const TENANTS: u32 = 50;
/// Philly's request sizes that fit the eight GPUs of a type.
const GANGS: [(u32, f64); 4] = [(1, 93.0), (2, 2.0), (4, 2.0), (8, 3.0)];
/// Work over what 24 GPUs of the fastest type could do in the time. The paper does not print Philly's
/// contention; 1 is more than this cluster can do, since two thirds of it are slower.
pub(super) const LOAD: f64 = 1.0;
/// Other loads, to see how the conclusion moves.
const LOADS: [f64; 2] = [0.6, 0.8];
/// No job runs longer than two days before the load is scaled.
const LONGEST_S: f64 = 2.0 * 86_400.0;
const GPUS: u64 = 24;

/// All runs; the first condition is the load that the verdict is about.
pub(super) struct ThreeDays {
    pub conditions: Vec<Condition>,
    /// Job completion times of the first draw, by mechanism.
    pub samples: Vec<(Key, Vec<f64>)>,
    pub source: String,
    pub jobs: usize,
    pub days: f64,
}

impl ThreeDays {
    pub fn run(setup: &Setup, watch: &mut dyn FnMut(&str)) -> Result<Self, ExperimentError> {
        let some = compared();
        let all = compared_and_all();
        let paper = SpeedupTable::paper();
        let mut plan = vec![(LOAD, paper.clone(), setup.size.three_day_draws(), &all)];
        let few = setup.size.three_day_range_draws();
        plan.extend(LOADS.map(|load| (load, paper.clone(), few, &some)));
        plan.extend(setup.other_tables().into_iter().map(|table| (LOAD, table, few, &some)));
        let (mut conditions, mut samples, mut jobs) = (Vec::new(), Vec::new(), 0);
        for (load, table, draws, keys) in plan {
            let name = match load {
                LOAD => table.name.clone(),
                _ => format!("load {load}"),
            };
            let mut condition = Condition { name, draws: Vec::new() };
            for draw in 0..draws {
                watch(&format!("three days: {}, draw {}", condition.name, draw + 1));
                let day = Day::new(setup, &table, load, setup.seed + draw);
                jobs = jobs.max(day.trace.jobs.len());
                let keep = samples.is_empty();
                let runs = day.run(keys, if keep { Some(&mut samples) } else { None })?;
                condition.draws.push(runs);
            }
            conditions.push(condition);
        }
        let source = match &setup.trace {
            Some((name, _)) => name.clone(),
            None => "generated after Philly's published statistics".into(),
        };
        Ok(ThreeDays { conditions, samples, source, jobs, days: setup.size.days() })
    }

    /// The condition that verdicts are about.
    pub fn main(&self) -> &Condition {
        &self.conditions[0]
    }
}

/// One draw of the load.
struct Day {
    stage: Stage,
    trace: Trace,
    seed: u64,
}

impl Day {
    fn new(setup: &Setup, table: &SpeedupTable, load: f64, seed: u64) -> Self {
        let mut trace = match &setup.trace {
            Some((_, trace)) => real(trace, setup.size.days(), load),
            None => generated(setup, load, seed),
        };
        let parties = give_models(&mut trace, table, seed);
        let stage = Stage::new(&table.types, &parties);
        Day { stage, trace, seed }
    }

    fn run(
        &self,
        keys: &[Key],
        mut samples: Option<&mut Vec<(Key, Vec<f64>)>>,
    ) -> Result<BTreeMap<Key, Figures>, ExperimentError> {
        let mut runs = BTreeMap::new();
        for &key in keys {
            let scenario = self.stage.scenario(key.0, key.1, self.seed);
            let result = self.stage.run(&self.trace, &scenario)?;
            if let Some(samples) = &mut samples {
                let times = result.jobs.iter().filter_map(|j| Some(j.finish_s? - j.submit_s));
                samples.push((key, times.collect()));
            }
            runs.insert(key, Figures::from(&result));
        }
        Ok(runs)
    }
}

fn generated(setup: &Setup, load: f64, seed: u64) -> Trace {
    let spec = TraceSpec {
        tenants: Some(TENANTS),
        jobs: TENANTS * setup.size.jobs_per_tenant(),
        days: setup.size.days(),
        gpus: Some(GANGS.to_vec()),
        load: Some(Load { gpus: GPUS, load }),
        longest_s: Some(LONGEST_S),
        ..TraceSpec::new(TraceLike::Philly, seed)
    };
    // Any model will do: the tenants get theirs afterwards.
    let table = SpeedupTable::paper();
    let any = ProfileTable {
        rows: Stage::new(&table.types, &drawn(&table, 1, seed)).profiles.rows,
        types: table.types,
    };
    trace(&spec, &any).unwrap_or_default()
}

/// The first days of a real trace, its durations scaled to the load.
fn real(trace: &Trace, days: f64, load: f64) -> Trace {
    let inside = |submit_s: f64| submit_s < days * 86_400.0;
    let mut jobs: Vec<_> = trace.jobs.iter().filter(|j| inside(j.submit_s)).cloned().collect();
    let work = |work: &Work| match work {
        Work::DurationOnFastest(s) | Work::Steps(s) | Work::DurationOn { seconds: s, .. } => *s,
    };
    let offered: f64 = jobs.iter().map(|j| work(&j.work) * f64::from(j.gpus)).sum();
    let factor = load * GPUS as f64 * days * 86_400.0 / offered.max(1.0);
    for job in &mut jobs {
        // No gang is larger than a type has GPUs.
        job.gpus = job.gpus.min(8);
        job.work = Work::DurationOnFastest((work(&job.work) * factor).max(1.0));
    }
    Trace { jobs }
}

/// Every tenant trains one model of the table, as in the paper.
fn give_models(trace: &mut Trace, table: &SpeedupTable, seed: u64) -> Vec<Party> {
    let names: Vec<String> = trace.tenants().into_iter().map(String::from).collect();
    let mut parties = drawn(table, names.len(), seed);
    let mut models = BTreeMap::new();
    for (party, name) in parties.iter_mut().zip(names) {
        party.name = name.clone();
        models.insert(name, party.workload());
    }
    for job in &mut trace.jobs {
        job.model = models.get(&job.tenant).cloned();
        job.batch_size = None;
    }
    parties
}
