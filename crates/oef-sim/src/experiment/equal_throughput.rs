//! (a) Four tenants under the noncooperative mechanism; the fourth leaves at the 40th minute.

use super::claim::{Claim, Quantity, Rule, Spread};
use super::exhibit::{Cell, Column, Exhibit};
use super::finding::{Experiment, ExperimentError, Id};
use super::four::{END_S, Four, MIDDLE_S};
use super::models::SpeedupTable;
use super::setup::Setup;
use super::stage::Stack;
use oef_core::Mechanism;

/// Throughputs count as the same within this...
const SAME: f64 = 0.1;
/// ... and as nearly the same within this.
const NEARLY: f64 = 0.25;

/// The gap between the best and the worst tenant, over their mean, before and after the 40th minute.
fn gaps(four: &Four, stack: Stack) -> Result<([f64; 2], Vec<f64>, Vec<f64>), ExperimentError> {
    let happenings = four.fourth_leaves();
    let result = four.run(Mechanism::Noncooperative, stack, Vec::new(), happenings)?;
    let before = four.means(&result, 0.0, MIDDLE_S);
    let after = four.means(&result, MIDDLE_S, END_S);
    let stay = after.len().saturating_sub(1);
    Ok(([gap(&before), gap(&after[..stay])], before, after))
}

pub(super) fn gap(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    if mean > 0.0 { (high - low) / mean } else { f64::NAN }
}

pub(super) fn run(setup: &Setup) -> Result<Experiment, ExperimentError> {
    let table = SpeedupTable::paper();
    let mut found = Vec::new();
    for draw in 0..setup.size.draws() {
        let four = Four::new(&table, setup.seed + draw);
        found.push((gaps(&four, Stack::Ours)?, gaps(&four, Stack::Paper)?));
    }
    let phase = |i: usize, ours: bool| {
        Spread::of(found.iter().map(|(a, b)| if ours { a.0[i] } else { b.0[i] }))
    };
    let rule = Rule::AtMost { bound: SAME, part: NEARLY };
    let claim = |text: &str, spread| {
        Claim::new(text, "almost identical", None, Quantity::Fraction, rule, spread)
    };
    let claims = vec![
        claim(
            "Gap between the best and the worst of four tenants, first 40 minutes",
            phase(0, true),
        ),
        claim("The same of the three that stay, next 40 minutes", phase(1, true)),
        claim("First 40 minutes, with the paper's rounding", phase(0, false)).beside(),
        claim("Next 40 minutes, with the paper's rounding", phase(1, false)).beside(),
    ];
    let four = Four::new(&table, setup.seed);
    let happenings = four.fourth_leaves();
    let shown = four.run(Mechanism::Noncooperative, Stack::Ours, Vec::new(), happenings)?;
    let why = "The shares give every tenant exactly the same throughput. What is left is whole GPUs and whole \
               gangs: over eight rounds a gang of four more or less is several per cent of a tenant's six GPUs, \
               and the deficits even it out the longer one looks.";
    let paper = "Four tenants get almost the same normalised throughput; when the fourth leaves at the 40th \
                 minute, the other three still do.";
    Ok(Experiment::new(Id::A, paper, claims, why.into())
        .done([
            "Tenant 1 trains LSTM and tenant 4 VGG, as the paper says; the models of tenants 2 and 3 are drawn from the other four.",
            "Jobs of one to four GPUs, more of them than there are GPUs; mechanism noncooperative.",
        ])
        .show(Exhibit::Lines {
            title: "Throughput of four tenants".into(),
            caption: "One draw, our rounding, round by round. Tenant 4 leaves in the middle.".into(),
            x: None,
            y: "normalised throughput".into(),
            log: (false, false),
            lines: four.lines(&shown),
            markers: vec![(MIDDLE_S, "tenant 4 leaves".into())],
        })
        .show(means_table(&found.iter().map(|(ours, _)| ours.clone()).collect::<Vec<_>>())))
}

fn means_table(found: &[([f64; 2], Vec<f64>, Vec<f64>)]) -> Exhibit {
    let row = |t: usize| {
        let over = |pick: &dyn Fn(&([f64; 2], Vec<f64>, Vec<f64>)) -> f64| {
            Cell::Number(Spread::of(found.iter().map(pick)).median)
        };
        let name = format!("tenant {}", t + 1).into();
        vec![name, over(&|f| f.1[t]), over(&|f| f.2[t])]
    };
    Exhibit::Table {
        caption: "Mean normalised throughput, median over the draws".into(),
        columns: vec![
            Column::Text("tenant"),
            Column::Number("0 to 40 min"),
            Column::Number("40 to 80 min"),
        ],
        rows: (0..4).map(row).collect(),
    }
}
