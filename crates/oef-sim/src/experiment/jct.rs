//! (h) Job completion times over three days.

use super::claim::{Claim, Quantity, Spread};
use super::exhibit::{Bar, Cell, Column, Exhibit, Group};
use super::finding::{Experiment, Id};
use super::stage::Stack;
use super::three_days::{DayCondition, DayFigures, LOAD, ThreeDays};
use super::twenty::{AS_IN_PAPER, Key};
use oef_core::Mechanism;

const OEF: [Mechanism; 2] = [Mechanism::Noncooperative, Mechanism::Cooperative];
/// The baselines with the paper's reductions.
const AGAINST: [(Mechanism, f64); 2] = [(Mechanism::GandivaFair, -0.17), (Mechanism::Gavel, -0.19)];

fn jct(figures: &DayFigures) -> f64 {
    figures.jct
}

fn as_in_paper(at: &DayCondition, oef: Mechanism, baseline: Mechanism) -> Spread {
    at.change((oef, Stack::Paper), (baseline, Stack::Plain), jct)
}

fn alike(at: &DayCondition, oef: Mechanism, baseline: Mechanism) -> Spread {
    at.change((oef, Stack::Ours), (baseline, Stack::Ours), jct)
}

fn whole(at: &DayCondition, oef: Mechanism, baseline: Mechanism) -> Spread {
    at.change((oef, Stack::Ours), (baseline, Stack::Plain), jct)
}

pub(super) fn experiment(days: &ThreeDays) -> Experiment {
    let main = &days.conditions[0];
    let claim = |kind: &str, oef, (baseline, paper): (Mechanism, f64), ours| {
        let text = format!("Mean completion time, {oef} against {baseline}, {kind}");
        Claim::effect(text, paper, Quantity::Change, ours)
    };
    let mut claims = Vec::new();
    for oef in OEF {
        claims
            .extend(AGAINST.map(|b| claim("as in the paper", oef, b, as_in_paper(main, oef, b.0))));
    }
    for oef in OEF {
        claims.extend(
            AGAINST.map(|b| claim("on equal terms", oef, b, alike(main, oef, b.0)).beside()),
        );
    }
    for oef in OEF {
        let kind = "our whole scheduler against the paper's baseline";
        claims.extend(AGAINST.map(|b| claim(kind, oef, b, whole(main, oef, b.0)).beside()));
    }
    let paper = "50 tenants with 20 jobs each over three days: OEF's completion times are 17 % below \
                 Gandiva-fair's and 19 % below Gavel's.";
    Experiment::new(Id::H, paper, claims, why(main))
        .done([
            format!("{} jobs over {} days, {}; each tenant trains one model by chance; durations scaled to load {LOAD} (work over what 24 GPUs of the fastest type could do in the time).", days.jobs, days.days, days.source),
            "The paper does not say which of its two mechanisms it ran; both are shown and both count.".into(),
            "As in the paper: OEF with the paper's rounding and packed gangs, the baselines with the same rounding and the first free GPUs. On equal terms: all with our rounding and placement.".into(),
        ])
        .show(bars(main))
        .show(cdf(days))
        .show(runs(main))
        .show(loads(days))
}

fn why(main: &DayCondition) -> String {
    let show = |s: Spread| Quantity::Change.show(s.median);
    let gavel = Mechanism::Gavel;
    let ours = main.change((gavel, Stack::Ours), (gavel, Stack::Plain), jct);
    format!(
        "Most jobs of this load need one GPU, so placement can save little; what decides is who waits how long. \
         Cooperative against Gavel is {} as in the paper and {} on equal terms. The rounding weighs more than the \
         mechanism: Gavel itself with our rounding and placement is at {} of Gavel with the paper's, because a GPU \
         never waits for the end of a round and small shares are saved up without leaving anything idle.",
        show(as_in_paper(main, Mechanism::Cooperative, gavel)),
        show(alike(main, Mechanism::Cooperative, gavel)),
        show(ours)
    )
}

fn bars(main: &DayCondition) -> Exhibit {
    let group = |(oef, (baseline, paper)): (Mechanism, (Mechanism, f64))| Group {
        name: format!("{oef} against {baseline}"),
        bars: vec![
            Bar { ours: as_in_paper(main, oef, baseline), paper: Some(paper) },
            Bar::new(alike(main, oef, baseline)),
            Bar::new(whole(main, oef, baseline)),
        ],
    };
    let pairs = OEF.into_iter().flat_map(|oef| AGAINST.map(|b| (oef, b)));
    Exhibit::Bars {
        title: "Change of the mean job completion time".into(),
        caption: "Negative is better. Whiskers span the draws; diamonds are the paper's figures."
            .into(),
        axis: "change".into(),
        fraction: true,
        series: [
            "as in the paper",
            "on equal terms",
            "our whole scheduler against the paper's baseline",
        ]
        .map(String::from)
        .to_vec(),
        groups: pairs.map(group).collect(),
    }
}

/// The name of a run in charts and tables.
pub(super) fn run_name((mechanism, stack): Key) -> String {
    match stack {
        Stack::Paper | Stack::Plain => format!("{mechanism}, as in the paper"),
        Stack::Ours => format!("{mechanism}, our rounding and placement"),
    }
}

fn cdf(days: &ThreeDays) -> Exhibit {
    let shown =
        |key: &Key| AS_IN_PAPER.contains(key) || *key == (Mechanism::Cooperative, Stack::Ours);
    let samples = days.samples.iter().filter(|(key, _)| shown(key));
    Exhibit::Cdf {
        title: "Job completion times".into(),
        caption: "One draw. Further left is better.".into(),
        x: "job completion time".into(),
        samples: samples.map(|(key, times)| (run_name(*key), times.clone())).collect(),
    }
}

fn runs(main: &DayCondition) -> Exhibit {
    let Some(first) = main.draws.first() else {
        return Exhibit::Table { caption: String::new(), columns: Vec::new(), rows: Vec::new() };
    };
    let row = |key: &Key| -> Vec<Cell> {
        let median =
            |figure: fn(&DayFigures) -> f64| Cell::Number(main.figure(*key, figure).median);
        vec![
            run_name(*key).into(),
            median(|f| f.jct),
            median(|f| f.median),
            median(|f| f.p90),
            median(|f| f.wait),
            median(|f| f.utilisation),
            median(|f| f.restarts),
            median(|f| f.unfinished),
        ]
    };
    let mut keys: Vec<&Key> = first.keys().collect();
    keys.sort_by_key(|key| (key.1, key.0));
    Exhibit::Table {
        caption: "All runs at this load, medians over the draws".into(),
        columns: vec![
            Column::Text("run"),
            Column::Duration("mean completion time"),
            Column::Duration("median"),
            Column::Duration("9 of 10 within"),
            Column::Duration("mean wait for the first start"),
            Column::Fraction("GPU time used"),
            Column::Number("stops"),
            Column::Number("unfinished jobs"),
        ],
        rows: keys.into_iter().map(row).collect(),
    }
}

fn loads(days: &ThreeDays) -> Exhibit {
    let row = |at: &DayCondition| {
        let mut cells: Vec<Cell> = vec![at.name.clone().into()];
        for oef in OEF {
            cells.extend(AGAINST.map(|(b, _)| Cell::Number(as_in_paper(at, oef, b).median)));
        }
        for oef in OEF {
            cells.extend(AGAINST.map(|(b, _)| Cell::Number(alike(at, oef, b).median)));
        }
        cells
    };
    Exhibit::Table {
        caption: "Change of the mean completion time at other loads, medians".into(),
        columns: vec![
            Column::Text("load"),
            Column::Fraction("noncooperative, Gandiva-fair"),
            Column::Fraction("noncooperative, Gavel"),
            Column::Fraction("cooperative, Gandiva-fair"),
            Column::Fraction("cooperative, Gavel"),
            Column::Fraction("equal terms: nonc., Gandiva-fair"),
            Column::Fraction("equal terms: nonc., Gavel"),
            Column::Fraction("equal terms: coop., Gandiva-fair"),
            Column::Fraction("equal terms: coop., Gavel"),
        ],
        rows: days.conditions.iter().map(row).collect(),
    }
}
