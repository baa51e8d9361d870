//! (e) Nobody would rather have another's share under the cooperative mechanism.

use super::claim::{Claim, Quantity, Rule, Spread};
use super::exhibit::{Cell, Column, Exhibit};
use super::finding::{Experiment, ExperimentError, Id};
use super::four::Four;
use super::models::SpeedupTable;
use super::setup::Setup;
use super::stage::{problem, shares};
use oef_core::{Mechanism, TenantId, envy_matrix};

/// Above 1 by more than this is envy.
const ENVY: f64 = 1e-6;

/// What each tenant makes of another's share, over what it makes of its own.
fn matrix(table: &SpeedupTable, seed: u64) -> Result<Vec<Vec<f64>>, ExperimentError> {
    let four = Four::by_speedup(table, seed);
    let problem = problem(&table.types, &four.parties)?;
    let outcome = shares(&problem, Mechanism::Cooperative)?;
    let matrix = envy_matrix(&problem, &outcome.shares);
    Ok(problem.tenant_ids().map(|t: TenantId| matrix.row(t).to_vec()).collect())
}

fn worst(matrix: &[Vec<f64>]) -> f64 {
    matrix.iter().flatten().copied().fold(0.0, f64::max)
}

/// Tenant 4's own throughput over what it would have with tenant 1's share.
fn fourth_over_first(matrix: &[Vec<f64>]) -> f64 {
    matrix.get(3).and_then(|row| row.first()).map_or(f64::NAN, |ratio| 1.0 / ratio)
}

pub(super) fn run(setup: &Setup) -> Result<Experiment, ExperimentError> {
    let table = SpeedupTable::paper();
    let of = |table: &SpeedupTable| -> Result<Vec<Vec<Vec<f64>>>, ExperimentError> {
        (0..setup.size.draws()).map(|d| matrix(table, setup.seed + d)).collect()
    };
    let found = of(&table)?;
    let claims = vec![
        Claim::new(
            "Most that any tenant would have with another's share, over its own",
            "nobody would have more",
            Some(1.0),
            Quantity::Ratio,
            Rule::AtMost { bound: 1.0 + ENVY, part: 1.01 },
            Spread::of([found.iter().map(|m| worst(m)).fold(0.0, f64::max)]),
        ),
        Claim::effect(
            "Tenant 4's throughput over what it would have with tenant 1's share",
            1.58,
            Quantity::Ratio,
            Spread::of(found.iter().map(|m| fourth_over_first(m))),
        ),
    ];
    let mut rows = Vec::new();
    for table in setup.all_tables() {
        let found = of(&table)?;
        let ratio = Spread::of(found.iter().map(|m| fourth_over_first(m)));
        let worst = found.iter().map(|m| worst(m)).fold(0.0, f64::max);
        let cells: Vec<Cell> = vec![
            table.name.into(),
            ratio.median.into(),
            ratio.low.into(),
            ratio.high.into(),
            worst.into(),
        ];
        rows.push(cells);
    }
    let why = "Freedom from envy is a constraint of the program, so it holds to the solver's precision. How much \
               less tenant 1's share is worth to tenant 4 follows from how unlike their speedups are.";
    let paper = "No tenant would have more throughput with another's share; tenant 4 has 1.58x what it would \
                 have with tenant 1's.";
    let names: Vec<String> = (1..=4).map(|t| format!("tenant {t}")).collect();
    Ok(Experiment::new(Id::E, paper, claims, why.into())
        .done(["The four tenants of (c), cooperative shares, estimated as in the paper."])
        .show(Exhibit::Heat {
            title: "What each tenant would have with another's share".into(),
            caption: "Over what it has with its own, one draw. Above 1 would be envy.".into(),
            rows: (names.clone(), "tenant".into()),
            columns: (names, "with the share of".into()),
            values: found.first().cloned().unwrap_or_default(),
        })
        .show(Exhibit::Table {
            caption: "Tenant 4's throughput over that with tenant 1's share, with other speedups"
                .into(),
            columns: vec![
                Column::Text("speedups"),
                Column::Number("median"),
                Column::Number("least"),
                Column::Number("greatest"),
                Column::Number("worst envy of anybody"),
            ],
            rows,
        }))
}
