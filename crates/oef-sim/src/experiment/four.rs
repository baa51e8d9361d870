//! The small load: four tenants with more jobs than they get GPUs, for eighty minutes.

use super::exhibit::Line;
use super::finding::ExperimentError;
use super::models::SpeedupTable;
use super::stage::{Stack, Stage, mean_between};
use super::tenants::{Party, backlogs, named};
use crate::engine::{Detail, Happening, RunResult};
use crate::generate::Random;
use crate::input::Trace;
use crate::world::Lie;
use oef_core::Mechanism;

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
    /// Tenant 1 trains LSTM and tenant 4 VGG, as the paper says; it does not name the others, so two different
    /// ones of the remaining models are drawn.
    pub fn new(table: &SpeedupTable, seed: u64) -> Self {
        let [a, b] = others(table, seed);
        Four::of(table, &["LSTM", &a, &b, "VGG"], seed)
    }

    /// Tenant 1 trains what gains least and tenant 4 what gains most. Where the paper speaks of the cooperative
    /// mechanism, its tenant 4 is the one with the highest speedup.
    pub fn by_speedup(table: &SpeedupTable, seed: u64) -> Self {
        let [a, b] = others(table, seed);
        let mut four = Four::of(table, &["VGG", &a, &b, "LSTM"], seed);
        let gain = |p: &Party| p.speedup.last().copied().unwrap_or(1.0);
        let names: Vec<String> = four.parties.iter().map(|p| p.name.clone()).collect();
        four.parties.sort_by(|p, q| gain(p).total_cmp(&gain(q)));
        for (party, name) in four.parties.iter_mut().zip(names) {
            party.name = name;
        }
        Four::with(table, four.parties, seed)
    }

    fn of(table: &SpeedupTable, models: &[&str], seed: u64) -> Self {
        Four::with(table, named(table, models, seed), seed)
    }

    fn with(table: &SpeedupTable, parties: Vec<Party>, seed: u64) -> Self {
        let stage = Stage::new(&table.types, &parties);
        let trace = backlogs(&parties, GPUS, END_S / 3_600.0, seed);
        Four { parties, stage, trace, seed }
    }

    /// Runs the load for eighty minutes.
    pub fn run(
        &self,
        mechanism: Mechanism,
        stack: Stack,
        lies: Vec<Lie>,
        happenings: Vec<(f64, Happening)>,
    ) -> Result<RunResult, ExperimentError> {
        let mut scenario = self.stage.scenario(mechanism, stack, self.seed);
        scenario.until_s = Some(END_S);
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
        let series = &result.series;
        let mean = |party: &Party| {
            let index = result.tenants.iter().position(|t| t.name == party.name);
            let values = index.and_then(|t| series.tenants.get(t));
            values.map_or(0.0, |v| mean_between(&series.at_s, v, from_s, to_s))
        };
        self.parties.iter().map(mean).collect()
    }

    /// The throughput of each tenant over time.
    pub fn lines(&self, result: &RunResult) -> Vec<Line> {
        let line = |party: &Party| {
            let index = result.tenants.iter().position(|t| t.name == party.name);
            let values = index.and_then(|t| result.series.tenants.get(t));
            let values = values.map_or(&[][..], Vec::as_slice);
            let points = result.series.at_s.iter().zip(values);
            Line {
                name: format!("{} ({})", party.name, party.model),
                points: points.map(|(at, v)| (*at, f64::from(*v))).collect(),
            }
        };
        self.parties.iter().map(line).collect()
    }
}

/// Two different models that are neither LSTM nor VGG, by chance.
fn others(table: &SpeedupTable, seed: u64) -> [String; 2] {
    let named = |m: &str| !["LSTM", "VGG"].iter().any(|x| m.eq_ignore_ascii_case(x));
    let mut names: Vec<&str> =
        table.models.iter().map(|m| m.name.as_str()).filter(|m| named(m)).collect();
    let mut random = Random::named(seed, "tenants two and three");
    let mut draw = || {
        let at = random.below(names.len());
        if names.is_empty() { String::new() } else { names.swap_remove(at).to_string() }
    };
    [draw(), draw()]
}
