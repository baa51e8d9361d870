//! The middle load: 20 tenants with more jobs than they get GPUs, under every mechanism.

use super::finding::ExperimentError;
use super::models::SpeedupTable;
use super::setup::Setup;
use super::stage::{Stack, Stage, problem};
use super::tenants::{backlogs, drawn};
use super::terms::{Condition, Figures, Key, compared, compared_and_all};
use oef_core::{Mechanism, Options, solve};
use std::collections::BTreeMap;

/// The paper's number of tenants.
pub(super) const TENANTS: usize = 20;
/// GPUs that a tenant could use; several times its share.
const GPUS: f64 = 8.0;
/// GPUs of a tenant if all had the same number.
const GPUS_EACH: f64 = 24.0 / TENANTS as f64;

/// All runs with 20 tenants; the first condition is the paper's models as they are.
pub(super) struct Twenty {
    pub conditions: Vec<Condition>,
    /// Estimated throughput of Gavel in each draw of the first when no tenant may have more than its number of GPUs.
    pub capped_gavel: Vec<f64>,
    pub hours: f64,
}

impl Twenty {
    pub fn run(setup: &Setup, watch: &mut dyn FnMut(&str)) -> Result<Self, ExperimentError> {
        let mut some = compared();
        some.push((Mechanism::Efficiency, Stack::Ours));
        let all = compared_and_all();
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
        let seeds = (0..setup.size.twenty_draws()).map(|draw| setup.seed + draw);
        let capped_gavel = seeds.map(capped_gavel).collect::<Result<_, _>>()?;
        Ok(Twenty { conditions, capped_gavel, hours: setup.size.hours() })
    }

    /// The condition that verdicts are about.
    pub fn main(&self) -> &Condition {
        &self.conditions[0]
    }
}

fn run_draw(
    setup: &Setup,
    table: &SpeedupTable,
    seed: u64,
    keys: &[Key],
) -> Result<BTreeMap<Key, Figures>, ExperimentError> {
    let parties = drawn(table, TENANTS, seed);
    let stage = Stage::new(&table.types, &parties);
    let hours = setup.size.hours();
    let trace = backlogs(&parties, GPUS, hours, seed);
    let mut runs = BTreeMap::new();
    for &(mechanism, stack) in keys {
        let mut scenario = stage.scenario(mechanism, stack, seed);
        scenario.until_s = Some(hours * 3_600.0);
        let result = stage.run(&trace, &scenario)?;
        runs.insert((mechanism, stack), Figures::from(&result));
    }
    Ok(runs)
}

fn capped_gavel(seed: u64) -> Result<f64, ExperimentError> {
    let table = SpeedupTable::paper();
    let problem = problem(&table.types, &drawn(&table, TENANTS, seed))?;
    let options = Options { gavel_cap: Some(GPUS_EACH), ..Options::default() };
    Ok(solve(&problem, Mechanism::Gavel, &options)?.shares.total(&problem))
}
