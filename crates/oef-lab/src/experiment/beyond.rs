//! (m) The same comparisons with the mechanisms that the paper does not have.

use super::claim::{Claim, Quantity};
use super::exhibit::{Bar, Cell, Column, Exhibit, Group};
use super::finding::{Experiment, Id};
use super::stage::Stack;
use super::terms::Key;
use super::three_days::ThreeDays;
use super::twenty::Twenty;
use oef_core::Mechanism;

const NEW: [Mechanism; 2] = [Mechanism::Nash, Mechanism::Incentive];
/// All are compared with this one.
const BASE: Key = (Mechanism::Gavel, Stack::Ours);

pub(super) fn experiment(twenty: &Twenty, days: &ThreeDays) -> Experiment {
    let (twenty, days) = (twenty.main(), days.main());
    let (mut claims, mut groups, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    for mechanism in Mechanism::ALL {
        let key = (mechanism, Stack::Ours);
        let estimated = twenty.change((key, BASE), |f| f.estimated);
        let actual = twenty.change((key, BASE), |f| f.actual);
        let jct = days.change((key, BASE), |f| f.jct);
        if NEW.contains(&mechanism) {
            let claim = |text: &str, ours| {
                Claim::beyond(format!("{text}, {mechanism} over gavel"), Quantity::Change, ours)
            };
            claims.push(claim("Estimated throughput of 20 tenants", estimated));
            claims.push(claim("Actual throughput of 20 tenants", actual));
            claims.push(claim("Mean completion time over three days", jct));
        }
        if key != BASE {
            let bars = vec![Bar::new(estimated), Bar::new(actual), Bar::new(jct)];
            groups.push(Group { name: mechanism.name().into(), bars });
        }
        let cells: Vec<Cell> = vec![
            mechanism.name().into(),
            twenty.figure(key, |f| f.estimated).median.into(),
            twenty.figure(key, |f| f.actual).median.into(),
            twenty.figure(key, |f| f.utilisation).median.into(),
            twenty.figure(key, |f| f.incentive).low.into(),
            days.figure(key, |f| f.jct).median.into(),
            days.figure(key, |f| f.p90).median.into(),
        ];
        rows.push(cells);
    }
    let why = "All mechanisms run through the same rounding and placement here, so only the shares differ. Efficiency \
               shows what fairness costs in throughput, and that throughput is not everything: whoever gains little \
               from fast GPUs waits for the others, which the completion times show. Nash stays next to cooperative \
               and is Pareto efficient as well; incentive has more in total because it allows envy.";
    let paper =
        "Not in the paper: nash and incentive, with max-min and efficiency for orientation.";
    Experiment::new(Id::M, paper, claims, why.into())
        .done(["The runs of (f) to (h), all with our rounding and placement, against Gavel."])
        .show(Exhibit::Bars {
            title: "Every mechanism against Gavel, on equal terms".into(),
            caption:
                "More throughput and less completion time are better. Whiskers span the draws."
                    .into(),
            axis: "change against gavel".into(),
            fraction: true,
            series: ["estimated throughput", "actual throughput", "mean completion time"]
                .map(String::from)
                .to_vec(),
            groups,
        })
        .show(Exhibit::Table {
            caption: "Medians over the draws; the sharing incentive is the least of any draw"
                .into(),
            columns: vec![
                Column::Text("mechanism"),
                Column::Number("estimated throughput"),
                Column::Number("actual throughput"),
                Column::Fraction("GPU time used"),
                Column::Number("worst tenant over equal split"),
                Column::Duration("mean completion time"),
                Column::Duration("9 of 10 within"),
            ],
            rows,
        })
}
