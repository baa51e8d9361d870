//! (h) Job completion times over three days.

use super::claim::{Claim, Quantity, Spread};
use super::exhibit::{Bar, Cell, Column, Exhibit, Group};
use super::finding::{Experiment, Id};
use super::stage::Stack;
use super::terms::{Condition, Figures, Key, OEF, Shown, Terms, pair};
use super::three_days::{LOAD, ThreeDays};
use oef_core::Mechanism;

/// The baselines with the paper's reductions.
const AGAINST: [(Mechanism, f64); 2] = [(Mechanism::GandivaFair, -0.17), (Mechanism::Gavel, -0.19)];
/// Runs whose distribution is drawn: those that the paper compares, and ours.
const DRAWN: [Key; 5] = [
    (Mechanism::Noncooperative, Stack::Paper),
    (Mechanism::Cooperative, Stack::Paper),
    (Mechanism::GandivaFair, Stack::Plain),
    (Mechanism::Gavel, Stack::Plain),
    (Mechanism::Cooperative, Stack::Ours),
];

fn jct(figures: &Figures) -> f64 {
    figures.jct
}

fn change(at: &Condition, terms: Terms, oef: Mechanism, baseline: Mechanism) -> Spread {
    at.change(terms.keys(oef, baseline), jct)
}

pub(super) fn experiment(days: &ThreeDays) -> Experiment {
    let main = days.main();
    let mut claims = Vec::new();
    for terms in Terms::ALL {
        for oef in OEF {
            for (baseline, paper) in AGAINST {
                let text = format!("{oef} against {baseline}: {}", terms.name());
                let ours = change(main, terms, oef, baseline);
                let claim = Claim::effect(text, paper, Quantity::Change, ours);
                claims.push(if terms == Terms::AsInPaper { claim } else { claim.beside() });
            }
        }
    }
    let paper = "50 tenants with 20 jobs each over three days: OEF's completion times are 17 % below \
                 Gandiva-fair's and 19 % below Gavel's.";
    let load = format!(
        "{} jobs over {} days, {}; each tenant trains one model by chance; durations scaled to load {LOAD} (work over \
         what 24 GPUs of the fastest type could do in the time).",
        days.jobs, days.days, days.source
    );
    let both =
        "The paper does not say which of its two mechanisms it ran; both are shown and both count.";
    Experiment::new(Id::H, paper, claims, why(main))
        .done([load, both.into()])
        .done(Terms::explained())
        .show(bars(main))
        .show(cdf(days))
        .show(runs(main))
        .show(range(days))
}

fn why(main: &Condition) -> String {
    let show = |s: Spread| Quantity::Change.show(s.median);
    let gavel = Mechanism::Gavel;
    let rounding = main.change(((gavel, Stack::Unplaced), (gavel, Stack::Plain)), jct);
    let placement = main.change(((gavel, Stack::Ours), (gavel, Stack::Unplaced)), jct);
    let used = |key: Key| Quantity::Fraction.show(main.figure(key, |f| f.utilisation).median);
    format!(
        "What decides is the rounding, not the mechanism. On equal terms cooperative differs from Gavel by {}, \
         noncooperative by {}. Gavel itself gains {} from our rounding and {} more from placement: the paper's rule \
         leaves GPUs idle until the next round and jobs of minutes wait for it ({} of the GPU time used against {}). \
         Most jobs need one GPU, so placement can save little.",
        show(change(main, Terms::Equal, Mechanism::Cooperative, gavel)),
        show(change(main, Terms::Equal, Mechanism::Noncooperative, gavel)),
        show(rounding),
        show(placement),
        used((gavel, Stack::Plain)),
        used((gavel, Stack::Ours)),
    )
}

fn bars(main: &Condition) -> Exhibit {
    let group = |(oef, (baseline, paper)): (Mechanism, (Mechanism, f64))| {
        let bars = Terms::ALL.map(|terms| Bar {
            ours: change(main, terms, oef, baseline),
            paper: (terms == Terms::AsInPaper).then_some(paper),
        });
        Group { name: format!("{oef}: {baseline}"), bars: bars.into() }
    };
    let pairs = OEF.into_iter().flat_map(|oef| AGAINST.map(|b| (oef, b)));
    Exhibit::Bars {
        title: "Change of the mean job completion time".into(),
        caption: "Negative is better. Whiskers span the draws; diamonds are the paper's figures."
            .into(),
        axis: "change".into(),
        fraction: true,
        series: Terms::ALL.map(|t| t.name().to_string()).into(),
        groups: pairs.map(group).collect(),
    }
}

/// Short enough for a legend.
fn short_name((mechanism, stack): Key) -> String {
    format!("{mechanism}{}", if stack == Stack::Ours { " (ours)" } else { "" })
}

fn cdf(days: &ThreeDays) -> Exhibit {
    let samples = days.samples.iter().filter(|(key, _)| DRAWN.contains(key));
    Exhibit::Cdf {
        title: "Job completion times".into(),
        caption: "One draw, as in the paper, and once with our rounding and placement. Further left is better.".into(),
        x: "job completion time".into(),
        samples: samples.map(|(key, times)| (short_name(*key), times.clone())).collect(),
    }
}

fn runs(main: &Condition) -> Exhibit {
    use Shown::{Greatest, Median};
    main.table(
        "Completion times of all runs at this load, medians over the draws",
        |_| true,
        [
            (Column::Duration("mean"), Median(jct)),
            (Column::Duration("median"), Median(|f| f.median)),
            (Column::Duration("9 of 10 within"), Median(|f| f.p90)),
            (Column::Duration("mean wait"), Median(|f| f.wait)),
            (Column::Fraction("GPU time used"), Median(|f| f.utilisation)),
            (Column::Number("stops"), Median(|f| f.restarts)),
            (Column::Number("unfinished"), Greatest(|f| f.unfinished)),
        ],
    )
}

fn range(days: &ThreeDays) -> Exhibit {
    let row = |at: &Condition| {
        let mut cells: Vec<Cell> = vec![at.name.clone().into()];
        for terms in [Terms::AsInPaper, Terms::Equal] {
            for oef in OEF {
                cells.push(pair(AGAINST.map(|(b, _)| change(at, terms, oef, b))));
            }
        }
        cells
    };
    Exhibit::Table {
        caption: "Mean completion time at other loads and speedups, against gandiva-fair / gavel, medians".into(),
        columns: vec![
            Column::Text("load or speedups"),
            Column::Text("noncoop., as in the paper"),
            Column::Text("coop., as in the paper"),
            Column::Text("noncoop., equal terms"),
            Column::Text("coop., equal terms"),
        ],
        rows: days.conditions.iter().map(row).collect(),
    }
}
