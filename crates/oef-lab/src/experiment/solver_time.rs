//! (j) How long the shares take, against the number of tenants. Somebody with a clock measures.

use super::claim::{Claim, Quantity, Rule, Spread};
use super::exhibit::{Cell, Column, Exhibit, Line};
use super::finding::{Experiment, Id};
use oef_core::Mechanism;

/// One measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SolveTime {
    /// Which mechanism.
    pub mechanism: Mechanism,
    /// For how many tenants, all different, on ten gpu types.
    pub tenants: usize,
    /// How long it took, in seconds.
    pub seconds: f64,
}

/// "Negligible": a hundredth of the five minutes of a round, and in part a tenth.
const NEGLIGIBLE: Rule = Rule::AtMost { bound: 3.0, part: 30.0 };
/// Tenants for which a time is judged, at most; the paper's figure ends at some hundreds.
const JUDGED: usize = 300;

/// The experiment from its measurements.
pub fn solver_time(times: &[SolveTime]) -> Experiment {
    let at = |mechanism: Mechanism| {
        let of = times.iter().filter(|t| t.mechanism == mechanism && t.tenants <= JUDGED);
        of.max_by_key(|t| t.tenants)
    };
    let mut claims = Vec::new();
    for mechanism in [Mechanism::Cooperative, Mechanism::Noncooperative] {
        if let Some(time) = at(mechanism) {
            let text = format!("Time for the shares of {} tenants, {mechanism}", time.tenants);
            let ours = Spread::of([time.seconds]);
            claims.push(Claim::new(
                text,
                "negligible beside rounds of minutes",
                None,
                Quantity::Seconds,
                NEGLIGIBLE,
                ours,
            ));
        }
    }
    if let (Some(coop), Some(nonc)) = (at(Mechanism::Cooperative), at(Mechanism::Noncooperative)) {
        let ratio = Spread::of([coop.seconds / nonc.seconds.max(1e-9)]);
        let rule = Rule::AtLeast { bound: 1.0, part: 0.8 };
        claims.push(Claim::new(
            "Cooperative over noncooperative, same tenants",
            "cooperative takes longer",
            None,
            Quantity::Ratio,
            rule,
            ratio,
        ));
    }
    let line = |mechanism: Mechanism| Line {
        name: mechanism.name().into(),
        points: (times.iter().filter(|t| t.mechanism == mechanism))
            .map(|t| (t.tenants as f64, t.seconds))
            .collect(),
    };
    let mut mechanisms: Vec<Mechanism> = times.iter().map(|t| t.mechanism).collect();
    mechanisms.sort();
    mechanisms.dedup();
    let rows = times.iter().map(|t| -> Vec<Cell> {
        vec![t.mechanism.name().into(), (t.tenants as f64).into(), t.seconds.into()]
    });
    let why = "The cooperative program has a row for every pair of tenants, but few of them bind: rows are added as \
               they are needed, and the rest is one small system per tenant. The paper's prototype (cvxpy and \
               ECOS on the full program) takes minutes at 200 tenants; see the benchmarks.";
    let paper = "At ten gpu types the cooperative mechanism takes longer than the noncooperative one; both are \
                 negligible beside rounds of several minutes.";
    Experiment::new(Id::J, paper, claims, why.into())
        .done(["Tenants with all-different profiles on ten gpu types, median of three solves from scratch on this machine. Only these figures differ from run to run."])
        .show(Exhibit::Lines {
            title: "Time for the shares".into(),
            caption: "Both axes are logarithmic.".into(),
            x: Some("tenants".into()),
            y: "time to solve".into(),
            log: (true, true),
            lines: mechanisms.into_iter().map(line).collect(),
            markers: Vec::new(),
        })
        .show(Exhibit::Table {
            caption: "Times for the shares".into(),
            columns: vec![Column::Text("mechanism"), Column::Number("tenants"), Column::Duration("time")],
            rows: rows.collect(),
        })
}
