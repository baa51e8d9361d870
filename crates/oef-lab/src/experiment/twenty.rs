//! The middle load: 20 tenants with more jobs than they get GPUs, under every mechanism.

use super::claim::Spread;
use super::finding::ExperimentError;
use super::models::SpeedupTable;
use super::setup::Setup;
use super::stage::{Stack, Stage, problem};
use super::tenants::{Party, backlogs, drawn};
use super::terms::{Key, compared};
use oef_core::{Mechanism, Options, solve};
use std::collections::BTreeMap;

/// The paper's number of tenants.
pub(super) const TENANTS: usize = 20;
/// GPUs that a tenant could use; several times its share.
const GPUS: f64 = 8.0;
/// GPUs of a tenant if all had the same number.
const GPUS_EACH: f64 = 24.0 / TENANTS as f64;

/// The figures of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Figures {
    pub estimated: f64,
    pub actual: f64,
    /// Workers in gangs across types, summed over rounds.
    pub stragglers: f64,
    pub utilisation: f64,
    /// GPUs granted beyond what there is, per round.
    pub overcommitted: f64,
    /// The least ratio of a tenant's promised throughput to its equal split.
    pub incentive: f64,
}

/// One draw of models, job sizes and durations.
pub(super) struct Draw {
    pub runs: BTreeMap<Key, Figures>,
    /// Estimated throughput of Gavel when no tenant may have more than its number of GPUs.
    pub capped_gavel: f64,
}

/// All draws with one table of speedups.
pub(super) struct Condition {
    pub name: String,
    pub draws: Vec<Draw>,
}

/// All runs with 20 tenants; the first condition is the paper's models as they are.
pub(super) struct Twenty {
    pub conditions: Vec<Condition>,
    pub hours: f64,
}

impl Twenty {
    pub fn run(setup: &Setup, watch: &mut dyn FnMut(&str)) -> Result<Self, ExperimentError> {
        let mut some = compared();
        some.push((Mechanism::Efficiency, Stack::Ours));
        let mut all = some.clone();
        all.extend(Mechanism::ALL.map(|m| (m, Stack::Ours)));
        all.push((Mechanism::MaxMin, Stack::Plain));
        all.sort();
        all.dedup();
        let mut plan = vec![(SpeedupTable::paper(), setup.size.twenty_draws(), &all)];
        let few = setup.size.range_draws();
        plan.extend(setup.other_tables().into_iter().map(|table| (table, few, &some)));
        let mut conditions = Vec::new();
        for (table, count, keys) in plan {
            watch(&format!("20 tenants: {}", table.name));
            let draws = (0..count).map(|draw| run_draw(setup, &table, setup.seed + draw, keys));
            let draws = draws.collect::<Result<_, _>>()?;
            conditions.push(Condition { name: table.name, draws });
        }
        Ok(Twenty { conditions, hours: setup.size.hours() })
    }

    /// The condition that verdicts are about.
    pub fn main(&self) -> Option<&Condition> {
        self.conditions.first()
    }
}

fn run_draw(
    setup: &Setup,
    table: &SpeedupTable,
    seed: u64,
    keys: &[Key],
) -> Result<Draw, ExperimentError> {
    let parties = drawn(table, TENANTS, seed);
    let stage = Stage::new(&table.types, &parties);
    let hours = setup.size.hours();
    let trace = backlogs(&parties, GPUS, hours, seed);
    let mut runs = BTreeMap::new();
    for &(mechanism, stack) in keys {
        let mut scenario = stage.scenario(mechanism, stack, seed);
        scenario.until_s = Some(hours * 3_600.0);
        let result = stage.run(&trace, &scenario)?;
        let figures = Figures {
            estimated: result.estimated,
            actual: result.actual,
            stragglers: result.straggler_workers as f64,
            utilisation: result.utilisation,
            overcommitted: result.overcommitted as f64 / result.rounds.max(1) as f64,
            incentive: result.worst_promised_incentive,
        };
        runs.insert((mechanism, stack), figures);
    }
    Ok(Draw { runs, capped_gavel: capped_gavel(&table.types, &parties)? })
}

fn capped_gavel(types: &[String], parties: &[Party]) -> Result<f64, ExperimentError> {
    let problem = problem(types, parties)?;
    let options = Options { gavel_cap: Some(GPUS_EACH), ..Options::default() };
    Ok(solve(&problem, Mechanism::Gavel, &options)?.shares.total(&problem))
}

impl Condition {
    /// How much more of a figure one has than another, over the draws.
    pub fn change(&self, (of, over): (Key, Key), figure: fn(&Figures) -> f64) -> Spread {
        Spread::of(self.draws.iter().filter_map(|draw| {
            let (of, over) = (figure(draw.runs.get(&of)?), figure(draw.runs.get(&over)?));
            (over > 0.0).then(|| of / over - 1.0)
        }))
    }

    /// A figure over the draws.
    pub fn figure(&self, of: Key, figure: fn(&Figures) -> f64) -> Spread {
        Spread::of(self.draws.iter().filter_map(|draw| draw.runs.get(&of).map(figure)))
    }

    /// The runs, by what stands between shares and GPUs.
    pub fn keys(&self) -> Vec<Key> {
        let mut keys: Vec<Key> =
            self.draws.first().map(|d| d.runs.keys().copied().collect()).unwrap_or_default();
        keys.sort_by_key(|key| (key.1, key.0));
        keys
    }
}
