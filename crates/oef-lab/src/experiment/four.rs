//! The small load: four tenants with more jobs than they get GPUs, for eighty minutes.

use super::exhibit::Line;
use super::finding::ExperimentError;
use super::models::{ModelSpeeds, SpeedupTable};
use super::stage::{Stack, Stage, mean_between};
use super::tenants::{Party, backlogs, with_models};
use oef_core::Mechanism;
use oef_sim::engine::{Detail, Happening, RunResult};
use oef_sim::generate::Random;
use oef_sim::input::Trace;
use oef_sim::world::Lie;

/// When something happens in the small experiments: the paper's 40th minute.
pub(super) const MIDDLE_S: f64 = 2_400.0;
/// The end of the small experiments.
pub(super) const END_S: f64 = 4_800.0;
/// GPUs that a tenant could use: all of them.
const GPUS: f64 = 24.0;

/// Four tenants on the cluster.
#[derive(Clone, Debug)]
pub(super) struct Four {
    pub parties: Vec<Party>,
    pub stage: Stage,
    pub trace: Trace,
    pub seed: u64,
}

impl Four {
    /// Tenant 1 trains the model of the table that gains most from the fastest type and tenant 4 the one that
    /// gains least: LSTM and VGG, as the paper says. It does not name the others, so two are drawn.
    pub fn new(table: &SpeedupTable, seed: u64) -> Self {
        let [least, a, b, most] = models(table, seed);
        Four::with(table, with_models([most, a, b, least], table.jitter, seed), END_S, seed)
    }

    /// Tenant 1 trains what gains least and tenant 4 what gains most. Where the paper speaks of the cooperative
    /// mechanism, its tenant 4 is the one with the highest speedup.
    pub fn by_speedup(table: &SpeedupTable, seed: u64) -> Self {
        let mut parties = with_models(models(table, seed), table.jitter, seed);
        let names: Vec<String> = parties.iter().map(|p| p.name.clone()).collect();
        // Hyperparameters may have changed the order.
        parties.sort_by(|p, q| last(&p.speedup).total_cmp(&last(&q.speedup)));
        for (party, name) in parties.iter_mut().zip(names) {
            party.name = name;
        }
        Four::with(table, parties, END_S, seed)
    }

    /// The same tenants with jobs for so long.
    pub fn lasting(self, table: &SpeedupTable, seconds: f64) -> Self {
        Four::with(table, self.parties, seconds, self.seed)
    }

    fn with(table: &SpeedupTable, parties: Vec<Party>, seconds: f64, seed: u64) -> Self {
        let stage = Stage::new(&table.types, &parties);
        let trace = backlogs(&parties, GPUS, seconds / 3_600.0, seed);
        Four { parties, stage, trace, seed }
    }

    /// Runs the load for so many seconds.
    pub fn run(
        &self,
        (mechanism, stack): (Mechanism, Stack),
        until_s: f64,
        lies: Vec<Lie>,
        happenings: Vec<(f64, Happening)>,
    ) -> Result<RunResult, ExperimentError> {
        let mut scenario = self.stage.scenario(mechanism, stack, self.seed);
        scenario.until_s = Some(until_s);
        scenario.detail = Detail::Full;
        (scenario.lies, scenario.happenings) = (lies, happenings);
        self.stage.run(&self.trace, &scenario)
    }

    /// Tenant 4 leaves at the 40th minute.
    pub fn fourth_leaves(&self) -> Vec<(f64, Happening)> {
        let tenant = self.parties.last().map(|p| p.name.clone());
        tenant.into_iter().map(|tenant| (MIDDLE_S, Happening::Leaves { tenant })).collect()
    }

    /// Mean throughput of each tenant between two instants.
    pub fn means(&self, result: &RunResult, from_s: f64, to_s: f64) -> Vec<f64> {
        let at = &result.series.at_s;
        let mean = |party| mean_between(at, values(result, party), from_s, to_s);
        self.parties.iter().map(mean).collect()
    }

    /// The throughput of each tenant over time.
    pub fn lines(&self, result: &RunResult) -> Vec<Line> {
        let of = |party: &Party| {
            line(format!("{} ({})", party.name, party.model), result, values(result, party))
        };
        self.parties.iter().map(of).collect()
    }
}

/// Values round by round, the last one up to the end.
pub(super) fn line(name: String, result: &RunResult, values: &[f32]) -> Line {
    let points = result.series.at_s.iter().zip(values).map(|(at, v)| (*at, f64::from(*v)));
    let mut points: Vec<(f64, f64)> = points.collect();
    points.extend(points.last().map(|&(_, v)| (result.seconds, v)));
    Line { name, points }
}

/// The throughput of a tenant, round by round.
fn values<'a>(result: &'a RunResult, party: &Party) -> &'a [f32] {
    let index = result.tenants.iter().position(|t| t.name == party.name);
    index.and_then(|t| result.series.tenants.get(t)).map_or(&[], Vec::as_slice)
}

fn last(speedup: &[f64]) -> f64 {
    speedup.last().copied().unwrap_or(1.0)
}

/// The model that gains least, two by chance, and the one that gains most. Tables have at least one model;
/// with fewer than four some come twice.
fn models(table: &SpeedupTable, seed: u64) -> [ModelSpeeds; 4] {
    let mut sorted = table.models.clone();
    sorted.sort_by(|a, b| last(&a.speedup).total_cmp(&last(&b.speedup)));
    let none = || ModelSpeeds { name: "none".into(), speedup: vec![1.0; table.types.len()] };
    let least = sorted.first().cloned().unwrap_or_else(none);
    let most = sorted.last().cloned().unwrap_or_else(none);
    let end = sorted.len().saturating_sub(1).max(1);
    let mut between: Vec<ModelSpeeds> = sorted.get(1..end).unwrap_or_default().to_vec();
    let mut random = Random::named(seed, "tenants two and three");
    let mut draw = || {
        let at = random.below(between.len());
        if between.is_empty() { least.clone() } else { between.swap_remove(at) }
    };
    let (a, b) = (draw(), draw());
    [least, a, b, most]
}
