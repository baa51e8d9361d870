//! The middle load: 20 tenants with more jobs than they get GPUs, under every mechanism.

use super::claim::Spread;
use super::finding::ExperimentError;
use super::models::SpeedupTable;
use super::setup::Setup;
use super::stage::{Stack, Stage};
use super::tenants::{backlogs, drawn};
use oef_core::Mechanism;
use std::collections::BTreeMap;

/// The paper's number of tenants.
pub(super) const TENANTS: usize = 20;
/// GPUs that a tenant could use; several times its share.
const GPUS: f64 = 8.0;
/// Factors by which the gains of all models are scaled.
const SPREADS: [f64; 3] = [0.5, 1.5, 2.0];

/// A mechanism, and what stands between its shares and the GPUs.
pub(super) type Key = (Mechanism, Stack);

/// What the paper compares.
pub(super) const AS_IN_PAPER: [Key; 4] = [
    (Mechanism::Noncooperative, Stack::Paper),
    (Mechanism::Cooperative, Stack::Paper),
    (Mechanism::Gavel, Stack::Plain),
    (Mechanism::GandivaFair, Stack::Plain),
];

/// What the ranges need beside it.
const ALIKE: [Key; 5] = [
    (Mechanism::Noncooperative, Stack::Ours),
    (Mechanism::Cooperative, Stack::Ours),
    (Mechanism::Gavel, Stack::Ours),
    (Mechanism::GandivaFair, Stack::Ours),
    (Mechanism::Efficiency, Stack::Ours),
];

/// The figures of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Figures {
    pub estimated: f64,
    pub actual: f64,
    /// Workers in gangs across types, summed over rounds.
    pub stragglers: f64,
    pub utilisation: f64,
    /// The least ratio of a tenant's promised throughput to its equal split.
    pub incentive: f64,
}

/// Runs by mechanism, draw by draw.
pub(super) struct Condition {
    pub name: String,
    pub draws: Vec<BTreeMap<Key, Figures>>,
}

/// All runs with 20 tenants; the first condition is the paper's models as they are.
pub(super) struct Twenty {
    pub conditions: Vec<Condition>,
    pub hours: f64,
}

impl Twenty {
    pub fn run(setup: &Setup, watch: &mut dyn FnMut(&str)) -> Result<Self, ExperimentError> {
        let mut all: Vec<Key> = AS_IN_PAPER.to_vec();
        all.extend(Mechanism::ALL.map(|m| (m, Stack::Ours)));
        let mut some: Vec<Key> = AS_IN_PAPER.to_vec();
        some.extend(ALIKE);
        let paper = SpeedupTable::paper();
        let mut plan = vec![(paper.clone(), setup.size.twenty_draws(), all)];
        let few = setup.size.range_draws();
        plan.extend(SPREADS.map(|s| (paper.spread(s), few, some.clone())));
        let measured = SpeedupTable::measured().into_iter().chain(setup.tables.iter().cloned());
        plan.extend(measured.map(|table| (table, few, some.clone())));
        let mut conditions = Vec::new();
        for (table, count, keys) in plan {
            watch(&format!("20 tenants: {}", table.name));
            let draws = (0..count).map(|draw| run_draw(setup, &table, setup.seed + draw, &keys));
            let draws = draws.collect::<Result<_, _>>()?;
            conditions.push(Condition { name: table.name, draws });
        }
        Ok(Twenty { conditions, hours: setup.size.hours() })
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
        let figures = Figures {
            estimated: result.estimated,
            actual: result.actual,
            stragglers: result.straggler_workers as f64,
            utilisation: result.utilisation,
            incentive: result.worst_promised_incentive,
        };
        runs.insert((mechanism, stack), figures);
    }
    Ok(runs)
}

impl Condition {
    /// How much more of a figure one has than another, over the draws.
    pub fn change(&self, of: Key, over: Key, figure: fn(&Figures) -> f64) -> Spread {
        Spread::of(self.draws.iter().filter_map(|draw| {
            let (of, over) = (figure(draw.get(&of)?), figure(draw.get(&over)?));
            (over > 0.0).then(|| of / over - 1.0)
        }))
    }

    /// A figure over the draws.
    pub fn figure(&self, of: Key, figure: fn(&Figures) -> f64) -> Spread {
        Spread::of(self.draws.iter().filter_map(|draw| draw.get(&of).map(figure)))
    }
}
