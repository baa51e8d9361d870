//! (a) Four tenants under the noncooperative mechanism; the fourth leaves at the 40th minute.

use super::claim::{Claim, Quantity, Rule, Spread};
use super::exhibit::{Cell, Column, Exhibit};
use super::finding::{Experiment, ExperimentError, Id};
use super::four::{END_S, Four, MIDDLE_S};
use super::models::SpeedupTable;
use super::setup::Setup;
use super::stage::Stack;
use oef_core::Mechanism;

/// Throughputs count as the same within this, and in part within this.
const SAME: Rule = Rule::AtMost { bound: 0.1, part: 0.25 };
/// How long a look has to be for whole gangs to even out.
const LONG_S: f64 = 8.0 * 3_600.0;
const STACKS: [Stack; 2] = [Stack::Paper, Stack::Ours];

/// What one draw shows under one rounding.
struct Draw {
    before: Vec<f64>,
    after: Vec<f64>,
    /// The gap over eight hours in which nobody leaves.
    long: f64,
}

impl Draw {
    fn run(table: &SpeedupTable, stack: Stack, seed: u64) -> Result<Self, ExperimentError> {
        let four = Four::new(table, seed);
        let key = (Mechanism::Noncooperative, stack);
        let result = four.run(key, END_S, Vec::new(), four.fourth_leaves())?;
        let long = four.clone().lasting(table, LONG_S);
        let lasting = long.run(key, LONG_S, Vec::new(), Vec::new())?;
        Ok(Draw {
            before: four.means(&result, 0.0, MIDDLE_S),
            after: four.means(&result, MIDDLE_S, END_S),
            long: gap(&long.means(&lasting, 0.0, LONG_S)),
        })
    }

    /// The gaps of all before, and of those that stay after, the 40th minute.
    fn gaps(&self) -> [f64; 2] {
        let stay = self.after.len().saturating_sub(1);
        [gap(&self.before), gap(&self.after[..stay])]
    }
}

/// The gap between the best and the worst, over the mean.
fn gap(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    if mean > 0.0 { (high - low) / mean } else { f64::NAN }
}

pub(super) fn run(setup: &Setup) -> Result<Experiment, ExperimentError> {
    let table = SpeedupTable::paper();
    let mut found: Vec<Vec<Draw>> = Vec::new();
    for stack in STACKS {
        let draws = (0..setup.size.draws()).map(|d| Draw::run(&table, stack, setup.seed + d));
        found.push(draws.collect::<Result<_, _>>()?);
    }
    let paper = "Four tenants get almost the same normalised throughput; when the fourth leaves at the 40th \
                 minute, the other three still do.";
    let mut experiment = Experiment::new(Id::A, paper, claims(&found), why(&found)).done([
        "Tenant 1 trains LSTM and tenant 4 VGG, as the paper says; the models of tenants 2 and 3 are drawn from the other four.",
        "Jobs of one to four GPUs, more of them than there are GPUs; mechanism noncooperative, gangs packed on hosts.",
    ]);
    for (stack, name) in STACKS.into_iter().zip(["the paper's rounding", "our rounding"]) {
        let four = Four::new(&table, setup.seed);
        let key = (Mechanism::Noncooperative, stack);
        let shown = four.run(key, END_S, Vec::new(), four.fourth_leaves())?;
        experiment = experiment.show(Exhibit::Lines {
            title: format!("Throughput of four tenants, {name}"),
            caption: "One draw, round by round. Tenant 4 leaves in the middle.".into(),
            x: None,
            y: "normalised throughput".into(),
            log: (false, false),
            lines: four.lines(&shown),
            markers: vec![(MIDDLE_S, "tenant 4 leaves".into())],
        });
    }
    Ok(experiment.show(means_table(&found)))
}

fn claims(found: &[Vec<Draw>]) -> Vec<Claim> {
    let phase = |stack: usize, i: usize| Spread::of(found[stack].iter().map(|d| d.gaps()[i]));
    let long = |stack: usize| Spread::of(found[stack].iter().map(|d| d.long));
    let claim = |text: &str, ours| {
        Claim::new(text, "almost identical", None, Quantity::Fraction, SAME, ours)
    };
    vec![
        claim("Gap between the best and the worst of four tenants, first 40 minutes", phase(0, 0)),
        claim("The same of the three that stay, next 40 minutes", phase(0, 1)),
        claim("First 40 minutes, with our rounding", phase(1, 0)).beside(),
        claim("Next 40 minutes, with our rounding", phase(1, 1)).beside(),
        claim("Over eight hours, with the paper's rounding", long(0)).beside(),
        claim("Over eight hours, with our rounding", long(1)).beside(),
    ]
}

fn why(found: &[Vec<Draw>]) -> String {
    let show = |stack: usize, pick: &dyn Fn(&Draw) -> f64| {
        Quantity::Fraction.show(Spread::of(found[stack].iter().map(pick)).median)
    };
    format!(
        "The shares give every tenant exactly the same throughput; what is left is whole GPUs and whole gangs. The \
         paper's rounding takes jobs out and puts others in every round, so it is even within minutes. Ours lets a \
         running job keep its GPUs until somebody is owed a gang's worth more, which saves restarts: the gap is {} in \
         the first 40 minutes and {} over eight hours.",
        show(1, &|d| d.gaps()[0]),
        show(1, &|d| d.long)
    )
}

fn means_table(found: &[Vec<Draw>]) -> Exhibit {
    let row = |t: usize| {
        let over = |stack: usize, pick: &dyn Fn(&Draw) -> f64| {
            Cell::Number(Spread::of(found[stack].iter().map(pick)).median)
        };
        vec![
            format!("tenant {}", t + 1).into(),
            over(0, &|d| d.before[t]),
            over(0, &|d| d.after[t]),
            over(1, &|d| d.before[t]),
            over(1, &|d| d.after[t]),
        ]
    };
    Exhibit::Table {
        caption: "Mean normalised throughput, median over the draws".into(),
        columns: vec![
            Column::Text("tenant"),
            Column::Number("paper's rounding, 0 to 40 min"),
            Column::Number("40 to 80 min"),
            Column::Number("our rounding, 0 to 40 min"),
            Column::Number("40 to 80 min "),
        ],
        rows: (0..4).map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_relative_to_the_mean() {
        assert_eq!(gap(&[2.0, 1.0, 3.0]), 1.0);
        assert_eq!(gap(&[5.0, 5.0]), 0.0);
        assert!(gap(&[]).is_nan());
    }
}
