//! (f), (g) Throughput of 20 tenants against Gavel and Gandiva-fair.

use super::claim::{Claim, Quantity, Rule, Spread};
use super::exhibit::{Bar, Cell, Column, Exhibit, Group};
use super::finding::{Experiment, Id};
use super::stage::Stack;
use super::terms::{BASELINES, Condition, Figures, Key, Shown, Terms, pair};
use super::twenty::{TENANTS, Twenty};
use oef_core::Mechanism;

/// "Comparable": no more than so much less, and in part.
const COMPARABLE: Rule = Rule::AtLeast { bound: -0.05, part: -0.1 };

fn estimated(f: &Figures) -> f64 {
    f.estimated
}

fn actual(f: &Figures) -> f64 {
    f.actual
}

/// Estimated and actual throughput do not need the same run: shares are the same on all terms.
fn gain(at: &Condition, oef: Mechanism, baseline: Mechanism) -> Spread {
    at.change(Terms::Equal.keys(oef, baseline), estimated)
}

fn actual_gain(at: &Condition, terms: Terms, oef: Mechanism, baseline: Mechanism) -> Spread {
    at.change(terms.keys(oef, baseline), actual)
}

/// (f) for the noncooperative mechanism, (g) for the cooperative one.
pub(super) fn experiment(twenty: &Twenty, oef: Mechanism) -> Experiment {
    let main = twenty.main();
    let is_f = oef == Mechanism::Noncooperative;
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
    let claims = if is_f { claims_f(main, oef) } else { claims_g(main, oef, &twenty.capped_gavel) };
    let load = format!(
        "{TENANTS} tenants, each with one of the paper's models by chance and its own hyperparameters; jobs of one to \
         four GPUs, more than there are GPUs, for {} hours.",
        twenty.hours
    );
    Experiment::new(id, paper, claims, why(main, oef))
        .done([load])
        .done(Terms::explained())
        .show(bars(main, oef))
        .show(runs(main, oef))
        .show(range(twenty, oef))
}

fn claims_f(main: &Condition, oef: Mechanism) -> Vec<Claim> {
    let mut claims: Vec<Claim> = Vec::new();
    for baseline in BASELINES {
        let text = format!("Estimated throughput of {oef} over {baseline}");
        let ours = gain(main, oef, baseline);
        claims.push(Claim::new(text, "comparable", Some(0.0), Quantity::Change, COMPARABLE, ours));
    }
    // "Up to": the better of the two comparisons.
    let best = |terms: Terms| {
        let gains = BASELINES.map(|b| (b, actual_gain(main, terms, oef, b)));
        let [a, b] = gains;
        if b.1.median > a.1.median { b } else { a }
    };
    for terms in Terms::ALL {
        let (baseline, ours) = best(terms);
        let text = format!("Actual, over the one it beats by most ({baseline}): {}", terms.name());
        let claim = Claim::effect(text, 0.1, Quantity::Change, ours);
        claims.push(if terms == Terms::AsInPaper { claim } else { claim.beside() });
    }
    claims
}

fn claims_g(main: &Condition, oef: Mechanism, capped_gavel: &[f64]) -> Vec<Claim> {
    let mut claims = Vec::new();
    for baseline in BASELINES {
        let text = format!("Estimated throughput of {oef} over {baseline}");
        claims.push(Claim::effect(text, 0.2, Quantity::Change, gain(main, oef, baseline)));
    }
    for terms in Terms::ALL {
        for baseline in BASELINES {
            let text = format!("Actual, over {baseline}: {}", terms.name());
            let ours = actual_gain(main, terms, oef, baseline);
            let claim = Claim::effect(text, 0.32, Quantity::Change, ours);
            claims.push(if terms == Terms::AsInPaper { claim } else { claim.beside() });
        }
    }
    let text = "Estimated, over gavel with no more than 1.2 GPUs for any tenant";
    let capped = main.draws.iter().zip(capped_gavel).filter_map(|(draw, gavel)| {
        let ours = draw.get(&(oef, Stack::Ours))?.estimated;
        (*gavel > 0.0).then(|| ours / gavel - 1.0)
    });
    claims.push(Claim::effect(text, 0.2, Quantity::Change, Spread::of(capped)).beside());
    claims
}

/// How much there is to win at all, and what the roundings do.
fn why(main: &Condition, oef: Mechanism) -> String {
    let show = |s: Spread| Quantity::Change.show(s.median);
    let room = BASELINES.map(|b| {
        show(main.change(((Mechanism::Efficiency, Stack::Ours), (b, Stack::Ours)), estimated))
    });
    let used = |key: Key| Quantity::Fraction.show(main.figure(key, |f| f.utilisation).median);
    let lead = match oef {
        Mechanism::Noncooperative => {
            "Equal throughput costs little against the baselines with these speedups, and more the further speedups \
             lie apart (see the table)."
        }
        _ => {
            "There is little to win: freedom from envy keeps the shares near those of the baselines."
        }
    };
    format!(
        "{lead} Even efficiency, which is not fair at all, has {} over Gavel and {} over Gandiva-fair (estimated): \
         that bounds every mechanism. On equal terms the mechanisms differ by {} and {}. Placement for OEF only makes \
         {} and {} of it. The paper's rounding, taken literally, hides that: tenants with equal shares round up and \
         down together, so in some rounds more is granted than there is and in others GPUs stay idle ({} of the GPU \
         time used by {oef}, {} by gavel, against {} with our rounding).",
        room[0],
        room[1],
        show(actual_gain(main, Terms::Equal, oef, BASELINES[0])),
        show(actual_gain(main, Terms::Equal, oef, BASELINES[1])),
        show(actual_gain(main, Terms::Placement, oef, BASELINES[0])),
        show(actual_gain(main, Terms::Placement, oef, BASELINES[1])),
        used((oef, Stack::Paper)),
        used((Mechanism::Gavel, Stack::Plain)),
        used((oef, Stack::Ours)),
    )
}

fn bars(main: &Condition, oef: Mechanism) -> Exhibit {
    let (e, a) = if oef == Mechanism::Noncooperative { (0.0, 0.1) } else { (0.2, 0.32) };
    let group = |baseline: Mechanism| {
        let mut bars = vec![Bar { ours: gain(main, oef, baseline), paper: Some(e) }];
        bars.extend(Terms::ALL.map(|terms| Bar {
            ours: actual_gain(main, terms, oef, baseline),
            paper: (terms == Terms::AsInPaper).then_some(a),
        }));
        Group { name: format!("over {baseline}"), bars }
    };
    let mut series = vec!["estimated".to_string()];
    series.extend(Terms::ALL.map(|t| t.name().to_string()));
    Exhibit::Bars {
        title: format!("Throughput gain of {oef}"),
        caption: "Estimated, and actual on four terms. Medians; whiskers span the draws; diamonds are the paper's figures.".into(),
        axis: "gain".into(),
        fraction: true,
        series,
        groups: BASELINES.map(group).into(),
    }
}

fn runs(main: &Condition, oef: Mechanism) -> Exhibit {
    use Shown::Median;
    main.table(
        "The runs, medians over the draws",
        |key| key.0 == oef || BASELINES.contains(&key.0),
        [
            (Column::Number("estimated throughput"), Median(estimated)),
            (Column::Number("actual throughput"), Median(actual)),
            (Column::Fraction("GPU time used"), Median(|f| f.utilisation)),
            (
                Column::Number("GPUs granted that are not there, per round"),
                Median(|f| f.overcommitted),
            ),
        ],
    )
}

/// How the conclusion moves over other speedups.
fn range(twenty: &Twenty, oef: Mechanism) -> Exhibit {
    let row = |at: &Condition| {
        let mut cells: Vec<Cell> = vec![at.name.clone().into()];
        cells.push(pair(BASELINES.map(|b| gain(at, oef, b))));
        for terms in [Terms::AsInPaper, Terms::Placement, Terms::Equal] {
            cells.push(pair(BASELINES.map(|b| actual_gain(at, terms, oef, b))));
        }
        let room = |b| ((Mechanism::Efficiency, Stack::Ours), (b, Stack::Ours));
        cells.push(pair(BASELINES.map(|b| at.change(room(b), estimated))));
        cells
    };
    Exhibit::Table {
        caption: format!(
            "Gain of {oef} with other speedups: over gavel / over gandiva-fair, medians"
        ),
        columns: vec![
            Column::Text("speedups"),
            Column::Text("estimated"),
            Column::Text("as in the paper"),
            Column::Text("our rounding"),
            Column::Text("equal terms"),
            Column::Text("efficiency, estimated"),
        ],
        rows: twenty.conditions.iter().map(row).collect(),
    }
}
