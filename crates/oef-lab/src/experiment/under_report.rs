//! (l) Under-reporting, which the paper does not test.

use super::claim::{Claim, Quantity, Spread};
use super::exhibit::{Bar, Cell, Column, Exhibit, Group};
use super::finding::{Experiment, ExperimentError, Id};
use super::four::{END_S, Four};
use super::models::SpeedupTable;
use super::setup::Setup;
use super::stage::{Stack, problem};
use oef_core::lie::{Attempt, Effort, search};
use oef_core::{Mechanism, Options, Problem, TenantId, WorkloadId};
use oef_sim::world::Lie;

/// A gain below this is rounding.
const PAYS: f64 = 1e-6;
/// Reports that are tried per tenant.
const EFFORT: Effort = Effort { evaluations: 120 };

/// What lies bring one tenant.
struct Gain {
    under: f64,
    over: f64,
    /// What the best under-report brings in the simulation; only for the tenant that it pays most.
    simulated: Option<f64>,
}

/// All tenants of a draw, under one mechanism.
fn draw(
    table: &SpeedupTable,
    mechanism: Mechanism,
    seed: u64,
) -> Result<Vec<Gain>, ExperimentError> {
    let four = Four::new(table, seed);
    let problem = problem(&table.types, &four.parties)?;
    let mut gains = Vec::new();
    let mut best: Option<(f64, usize, Attempt)> = None;
    for tenant in problem.tenant_ids() {
        let lie = search(&problem, mechanism, tenant, &Options::default(), EFFORT)?;
        let gain = |a: &Option<Attempt>| {
            a.as_ref().map_or(0.0, |a| (a.throughput / lie.honest - 1.0).max(0.0))
        };
        let (under, over) = (gain(&lie.under), gain(&lie.over));
        if let Some(attempt) = &lie.under
            && under > best.as_ref().map_or(PAYS, |b| b.0)
        {
            best = Some((under, tenant.0, attempt.clone()));
        }
        gains.push(Gain { under, over, simulated: None });
    }
    if let Some((_, tenant, attempt)) = best {
        gains[tenant].simulated = Some(simulated(&four, &problem, mechanism, tenant, &attempt)?);
    }
    Ok(gains)
}

/// What a report brings in the simulation.
fn simulated(
    four: &Four,
    problem: &Problem,
    mechanism: Mechanism,
    tenant: usize,
    attempt: &Attempt,
) -> Result<f64, ExperimentError> {
    let truth = &problem.workloads()[WorkloadId(tenant).0].speedup;
    let said = attempt.report.first().map_or(&[][..], |r| &r.speedup);
    let factors = said.iter().zip(truth).map(|(s, t)| s / t).collect();
    let lie = Lie { tenant: problem.tenants()[TenantId(tenant).0].name.clone(), factors };
    let mean = |lies| -> Result<f64, ExperimentError> {
        let result = four.run((mechanism, Stack::Ours), END_S, lies, Vec::new())?;
        Ok(four.means(&result, 0.0, END_S)[tenant])
    };
    Ok(mean(vec![lie])? / mean(Vec::new())? - 1.0)
}

pub(super) fn run(setup: &Setup) -> Result<Experiment, ExperimentError> {
    let table = SpeedupTable::paper();
    let draws = setup.size.draws().div_ceil(2);
    let (mut claims, mut groups, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    for mechanism in Mechanism::ALL {
        let mut gains = Vec::new();
        for d in 0..draws {
            gains.extend(draw(&table, mechanism, setup.seed + d)?);
        }
        let under = Spread::of(gains.iter().map(|g| g.under));
        let over = Spread::of(gains.iter().map(|g| g.over));
        let simulated = Spread::of(gains.iter().filter_map(|g| g.simulated));
        let part = |pick: &dyn Fn(&Gain) -> f64| {
            gains.iter().filter(|g| pick(g) > PAYS).count() as f64 / gains.len().max(1) as f64
        };
        let text = format!("Gain by under-reporting under {mechanism}");
        claims.push(Claim::beyond(text, Quantity::Change, under));
        groups.push(Group {
            name: mechanism.name().into(),
            bars: vec![Bar::new(under), Bar::new(simulated), Bar::new(over)],
        });
        let cells: Vec<Cell> = vec![
            mechanism.name().into(),
            part(&|g| g.under).into(),
            under.median.into(),
            under.high.into(),
            simulated.median.into(),
            part(&|g| g.over).into(),
            over.high.into(),
        ];
        rows.push(cells);
    }
    let why = "Under the noncooperative mechanism over-reporting never pays, but under-reporting does: whoever says \
               that fast GPUs help it little is given more GPUs to reach the same throughput on paper. Max-min \
               listens to nobody, so nothing pays there. No mechanism that uses reports closes this door; \
               measuring does, which is why declared profiles are compared with observed throughput.";
    let paper =
        "The paper calls the noncooperative mechanism strategy-proof and tests only exaggeration.";
    Ok(Experiment::new(Id::L, paper, claims, why.into())
        .done([
            "The four tenants of (a); for each tenant and mechanism a search for the report that pays most, everybody else telling the truth, counted by true speedups.",
            "The best under-report of each draw is also run in the simulator: its gain there has whole GPUs and gangs in it.",
        ])
        .show(Exhibit::Bars {
            title: "What a false report brings".into(),
            caption: "Median over tenants and draws, whiskers from least to most. Simulated: only the tenant that it pays most.".into(),
            axis: "gain of the liar".into(),
            fraction: true,
            series: ["under-reporting, shares", "best under-report, simulated", "over-reporting, shares"].map(String::from).to_vec(),
            groups,
        })
        .show(Exhibit::Table {
            caption: "Who gains by lying".into(),
            columns: vec![
                Column::Text("mechanism"),
                Column::Fraction("tenants that gain by under-reporting"),
                Column::Fraction("gain, median"),
                Column::Fraction("gain, greatest"),
                Column::Fraction("simulated gain of the keenest, median"),
                Column::Fraction("tenants that gain by over-reporting"),
                Column::Fraction("gain, greatest "),
            ],
            rows,
        }))
}
