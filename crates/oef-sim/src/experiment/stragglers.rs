//! (i) Workers in gangs across gpu types, which wait for the slowest.

use super::claim::{Claim, Quantity, Spread};
use super::exhibit::{Bar, Cell, Column, Exhibit, Group};
use super::finding::{Experiment, Id};
use super::jct::run_name;
use super::stage::Stack;
use super::three_days::ThreeDays;
use super::twenty::{Key, Twenty};
use oef_core::Mechanism;

const OEF: [Mechanism; 2] = [Mechanism::Noncooperative, Mechanism::Cooperative];
/// The baselines with the paper's reductions.
const AGAINST: [(Mechanism, f64); 2] = [(Mechanism::GandivaFair, -0.14), (Mechanism::Gavel, -0.26)];

/// Changes as in the paper: with 20 tenants, and over three days.
fn changes(
    twenty: Option<&Twenty>,
    days: Option<&ThreeDays>,
    oef: Mechanism,
    baseline: Mechanism,
) -> [Spread; 2] {
    let (of, over): (Key, Key) = ((oef, Stack::Paper), (baseline, Stack::Plain));
    let twenty = twenty.and_then(|t| t.conditions.first());
    let days = days.and_then(|d| d.conditions.first());
    let none = || Spread::of([]);
    [
        twenty.map_or_else(none, |c| c.change(of, over, |f| f.stragglers)),
        days.map_or_else(none, |c| c.change(of, over, |f| f.stragglers)),
    ]
}

pub(super) fn experiment(twenty: Option<&Twenty>, days: Option<&ThreeDays>) -> Experiment {
    let mut claims = Vec::new();
    let mut groups = Vec::new();
    for oef in OEF {
        for (baseline, paper) in AGAINST {
            let [small, large] = changes(twenty, days, oef, baseline);
            for (load, ours) in [("20 tenants", small), ("three days", large)] {
                let text =
                    format!("Workers that wait for slower ones, {oef} against {baseline}, {load}");
                claims.push(Claim::effect(text, paper, Quantity::Change, ours));
            }
            let bars = vec![
                Bar { ours: small, paper: Some(paper) },
                Bar { ours: large, paper: Some(paper) },
            ];
            groups.push(Group { name: format!("{oef} against {baseline}"), bars });
        }
    }
    let ours = twenty.and_then(|t| t.conditions.first()).map_or(f64::NAN, |c| {
        c.figure((Mechanism::Cooperative, Stack::Ours), |f| f.stragglers).median
    });
    let why = format!(
        "A gang runs across types when its tenant's grants of one type are too few for it. That depends on how many \
         types a tenant's share spans and on the rounding: with the paper's rule a gang takes whatever mix it is \
         granted. Our selection reaches across types only when nothing else fits: {} such worker-rounds with 20 \
         tenants under the cooperative mechanism.",
        if ours.is_finite() { format!("{ours:.0}") } else { "unknown".into() }
    );
    let paper = "Against Gandiva-fair and Gavel, OEF has 14 % and 26 % fewer workers in gangs across gpu types.";
    Experiment::new(Id::I, paper, claims, why)
        .done([
            "Counted in the runs of (f) to (h): workers of gangs across types at the beginning of each round, summed over the rounds.",
            "As in the paper: OEF with its rounding and packed gangs, the baselines with the same rounding and the first free GPUs.",
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
        .show(counts(twenty, days))
}

fn counts(twenty: Option<&Twenty>, days: Option<&ThreeDays>) -> Exhibit {
    let twenty = twenty.and_then(|t| t.conditions.first());
    let days = days.and_then(|d| d.conditions.first());
    let mut keys: Vec<Key> = twenty
        .and_then(|c| c.draws.first())
        .map(|d| d.keys().copied().collect())
        .unwrap_or_default();
    keys.sort_by_key(|key| (key.1, key.0));
    let row = |key: Key| -> Vec<Cell> {
        vec![
            run_name(key).into(),
            twenty.map_or(f64::NAN, |c| c.figure(key, |f| f.stragglers).median).into(),
            days.map_or(f64::NAN, |c| c.figure(key, |f| f.stragglers).median).into(),
        ]
    };
    Exhibit::Table {
        caption: "Workers in gangs across types, summed over rounds, medians".into(),
        columns: vec![
            Column::Text("run"),
            Column::Number("20 tenants"),
            Column::Number("three days"),
        ],
        rows: keys.into_iter().map(row).collect(),
    }
}
