//! (i) Workers in gangs across gpu types, which wait for the slowest.

use super::claim::{Claim, Quantity, Spread};
use super::exhibit::{Bar, Cell, Column, Exhibit, Group};
use super::finding::{Experiment, Id};
use super::stage::Stack;
use super::terms::{Condition, Key, OEF, Terms, run_name};
use super::three_days::ThreeDays;
use super::twenty::Twenty;
use oef_core::Mechanism;

/// The baselines with the paper's reductions.
const AGAINST: [(Mechanism, f64); 2] = [(Mechanism::GandivaFair, -0.14), (Mechanism::Gavel, -0.26)];

/// The runs to count in: with 20 tenants, and over three days.
type Runs<'a> = [&'a Condition; 2];

fn changes(runs: Runs<'_>, keys: (Key, Key)) -> [Spread; 2] {
    runs.map(|runs| runs.change(keys, |f| f.stragglers))
}

fn medians(runs: Runs<'_>, key: Key) -> [f64; 2] {
    runs.map(|runs| runs.figure(key, |f| f.stragglers).median)
}

pub(super) fn experiment(twenty: &Twenty, days: &ThreeDays) -> Experiment {
    let runs = [twenty.main(), days.main()];
    let mut claims = Vec::new();
    let mut groups = Vec::new();
    for oef in OEF {
        for (baseline, paper) in AGAINST {
            let changes = changes(runs, Terms::AsInPaper.keys(oef, baseline));
            for (load, ours) in ["20 tenants", "three days"].into_iter().zip(changes) {
                let text = format!("{oef} against {baseline}, {load}");
                claims.push(Claim::effect(text, paper, Quantity::Change, ours));
            }
            let bars = changes.map(|ours| Bar { ours, paper: Some(paper) }).into();
            groups.push(Group { name: format!("{oef}: {baseline}"), bars });
        }
    }
    let paper = "Against Gandiva-fair and Gavel, OEF has 14 % and 26 % fewer workers in gangs across gpu types.";
    Experiment::new(Id::I, paper, claims, why(runs))
        .done([
            "Counted in the runs of (f) to (h), as in the paper: workers of gangs across types at the beginning of each round, summed over the rounds.",
            "The paper does not say which load or which of its mechanisms it counted; all four combinations count.",
        ])
        .show(Exhibit::Bars {
            title: "Change of the number of workers that wait".into(),
            caption: "Negative is better. Whiskers span the draws; diamonds are the paper's figures.".into(),
            axis: "change".into(),
            fraction: true,
            series: ["20 tenants", "three days"].map(String::from).to_vec(),
            groups,
        })
        .show(counts(runs))
}

fn why(runs: Runs<'_>) -> String {
    let show = |key: Key| medians(runs, key).map(|n| format!("{n:.0}")).join(" and ");
    let coop = Mechanism::Cooperative;
    format!(
        "A gang runs across types when its tenant's grants of one type are too few for it. With shares of about one \
         GPU, that is decided by how the rounding falls, and the range over the draws is wide. Shares on adjacent types \
         only, which the paper counts on, do not prevent it: two adjacent types are enough to be across. The rounding \
         does: with the paper's, cooperative has {} such worker-rounds (20 tenants and three days), with ours {}. What the \
         paper's prototype did with its baselines may explain its figures: shares of an interior-point solver are spread \
         over all types, ours sit on few; max-min, which gives everybody some of every type, has {}.",
        show((coop, Stack::Paper)),
        show((coop, Stack::Ours)),
        show((Mechanism::MaxMin, Stack::Plain)),
    )
}

fn counts(runs: Runs<'_>) -> Exhibit {
    let row = |key: Key| -> Vec<Cell> {
        let [twenty, days] = medians(runs, key);
        vec![run_name(key).into(), twenty.into(), days.into()]
    };
    Exhibit::Table {
        caption: "Workers in gangs across types, summed over rounds, medians".into(),
        columns: vec![
            Column::Text("run"),
            Column::Number("20 tenants"),
            Column::Number("three days"),
        ],
        rows: runs[0].keys().into_iter().map(row).collect(),
    }
}
