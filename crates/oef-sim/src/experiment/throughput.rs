//! (f), (g) Throughput of 20 tenants against Gavel and Gandiva-fair.

use super::claim::{Claim, Quantity, Rule, Spread};
use super::exhibit::{Bar, Cell, Column, Exhibit, Group};
use super::finding::{Experiment, Id};
use super::stage::Stack;
use super::twenty::{Condition, Figures, Key, TENANTS, Twenty};
use oef_core::Mechanism;

const BASELINES: [Mechanism; 2] = [Mechanism::Gavel, Mechanism::GandivaFair];
/// "Comparable": no more than so much less, and in part.
const COMPARABLE: Rule = Rule::AtLeast { bound: -0.05, part: -0.1 };

fn estimated(f: &Figures) -> f64 {
    f.estimated
}

fn actual(f: &Figures) -> f64 {
    f.actual
}

/// One mechanism against one baseline.
struct Versus {
    baseline: Mechanism,
    estimated: Spread,
    /// OEF with the paper's rounding and placement, the baseline with its rounding only.
    actual: Spread,
    /// Both with ours.
    alike: Spread,
}

fn versus(condition: &Condition, oef: Mechanism, baseline: Mechanism) -> Versus {
    let ours: (Key, Key) = ((oef, Stack::Ours), (baseline, Stack::Ours));
    let paper: (Key, Key) = ((oef, Stack::Paper), (baseline, Stack::Plain));
    Versus {
        baseline,
        estimated: condition.change(ours.0, ours.1, estimated),
        actual: condition.change(paper.0, paper.1, actual),
        alike: condition.change(ours.0, ours.1, actual),
    }
}

/// (f) for the noncooperative mechanism, (g) for the cooperative one.
pub(super) fn experiment(twenty: &Twenty, oef: Mechanism) -> Experiment {
    let main = &twenty.conditions[0];
    let against: Vec<Versus> = BASELINES.map(|b| versus(main, oef, b)).into();
    let is_f = oef == Mechanism::Noncooperative;
    let claims = if is_f { claims_f(oef, &against) } else { claims_g(oef, &against) };
    let (id, paper) = if is_f {
        (
            Id::F,
            "The noncooperative mechanism has about the throughput of Gavel and Gandiva-fair (estimated), and with placement up to 10 % more (actual).",
        )
    } else {
        (
            Id::G,
            "The cooperative mechanism has 20 % more throughput than the baselines (estimated), and with placement 32 % more (actual).",
        )
    };
    Experiment::new(id, paper, claims, why(main, oef, &against))
        .done([
            format!("{TENANTS} tenants, each with one of the paper's models by chance and its own hyperparameters; jobs of one to four GPUs, more than there are GPUs, for {} hours.", twenty.hours),
            "As in the paper: OEF with the paper's rounding and packed gangs; Gavel and Gandiva-fair with the same rounding and the first free GPUs, since the paper says that they lack placement. Both systems carry what they owe to the next round in their own publications, so they are given the paper's deviations.".into(),
            "On equal terms: all of them with our rounding and placement.".into(),
        ])
        .show(bars(oef, &against))
        .show(range(twenty, oef))
}

fn claims_f(oef: Mechanism, against: &[Versus]) -> Vec<Claim> {
    let mut claims: Vec<Claim> = Vec::new();
    for v in against {
        let text = format!("Estimated throughput of {oef} over {}", v.baseline);
        claims.push(Claim::new(
            text,
            "comparable",
            Some(0.0),
            Quantity::Change,
            COMPARABLE,
            v.estimated,
        ));
    }
    // "Up to": the better of the two comparisons.
    let best = against.iter().max_by(|a, b| a.actual.median.total_cmp(&b.actual.median));
    if let Some(v) = best {
        let text =
            format!("Actual throughput over the baseline that it beats by most, {}", v.baseline);
        claims.push(Claim::effect(text, 0.1, Quantity::Change, v.actual));
    }
    claims.extend(alike(oef, against, 0.1));
    claims
}

fn claims_g(oef: Mechanism, against: &[Versus]) -> Vec<Claim> {
    let mut claims = Vec::new();
    for v in against {
        let text = format!("Estimated throughput of {oef} over {}", v.baseline);
        claims.push(Claim::effect(text, 0.2, Quantity::Change, v.estimated));
    }
    for v in against {
        let text = format!("Actual throughput over {}, as in the paper", v.baseline);
        claims.push(Claim::effect(text, 0.32, Quantity::Change, v.actual));
    }
    claims.extend(alike(oef, against, 0.32));
    claims
}

fn alike(oef: Mechanism, against: &[Versus], paper: f64) -> impl Iterator<Item = Claim> {
    against.iter().map(move |v| {
        let text = format!("Actual throughput of {oef} over {} on equal terms", v.baseline);
        Claim::effect(text, paper, Quantity::Change, v.alike).beside()
    })
}

/// How much there is to win at all.
fn why(main: &Condition, oef: Mechanism, against: &[Versus]) -> String {
    let show = |s: &Spread| Quantity::Change.show(s.median);
    let room = |b| {
        let change = main.change((Mechanism::Efficiency, Stack::Ours), (b, Stack::Ours), estimated);
        show(&change)
    };
    let lead = match oef {
        Mechanism::Noncooperative => {
            "Equal throughput for all pays for itself with fast GPUs for tenants that gain little from them, so \
             the total is near that of the baselines. "
        }
        _ => "The most that any mechanism could add, fair or not, bounds what a fair one can. ",
    };
    let placed: Vec<String> = against
        .iter()
        .map(|v| {
            format!(
                "{} as in the paper, {} on equal terms against {}",
                show(&v.actual),
                show(&v.alike),
                v.baseline
            )
        })
        .collect();
    format!(
        "{lead}With these speedups even `efficiency`, which is not fair at all, has only {} over Gavel and {} over \
         Gandiva-fair (estimated). Actual throughput: {}. What the baselines lose as in the paper is placement and \
         rounding, not fairness: given the same, the difference all but goes.",
        room(Mechanism::Gavel),
        room(Mechanism::GandivaFair),
        placed.join("; ")
    )
}

fn bars(oef: Mechanism, against: &[Versus]) -> Exhibit {
    let (e, a) = if oef == Mechanism::Noncooperative { (0.0, 0.1) } else { (0.2, 0.32) };
    let group = |v: &Versus| Group {
        name: format!("over {}", v.baseline),
        bars: vec![
            Bar { ours: v.estimated, paper: Some(e) },
            Bar { ours: v.actual, paper: Some(a) },
            Bar::new(v.alike),
        ],
    };
    Exhibit::Bars {
        title: format!("Throughput gain of {oef}"),
        caption: "Medians; whiskers span the draws; diamonds are the paper's figures.".into(),
        axis: "gain".into(),
        fraction: true,
        series: ["estimated", "actual, as in the paper", "actual, on equal terms"]
            .map(String::from)
            .to_vec(),
        groups: against.iter().map(group).collect(),
    }
}

/// How the conclusion moves over other speedups.
fn range(twenty: &Twenty, oef: Mechanism) -> Exhibit {
    let row = |condition: &Condition| {
        let against = BASELINES.map(|b| versus(condition, oef, b));
        let room = (Mechanism::Efficiency, Stack::Ours);
        let room = condition.change(room, (Mechanism::Gavel, Stack::Ours), estimated);
        let mut cells: Vec<Cell> = vec![condition.name.clone().into()];
        cells.extend(against.iter().map(|v| Cell::Number(v.estimated.median)));
        cells.extend(against.iter().map(|v| Cell::Number(v.actual.median)));
        cells.extend(against.iter().map(|v| Cell::Number(v.alike.median)));
        cells.push(room.median.into());
        cells
    };
    Exhibit::Table {
        caption: format!("Gain of {oef} with other speedups, medians"),
        columns: vec![
            Column::Text("speedups"),
            Column::Fraction("estimated, Gavel"),
            Column::Fraction("estimated, Gandiva-fair"),
            Column::Fraction("as in the paper, Gavel"),
            Column::Fraction("as in the paper, Gandiva-fair"),
            Column::Fraction("equal terms, Gavel"),
            Column::Fraction("equal terms, Gandiva-fair"),
            Column::Fraction("room: efficiency over Gavel"),
        ],
        rows: twenty.conditions.iter().map(row).collect(),
    }
}
