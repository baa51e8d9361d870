//! The verdicts on a terminal.

use crate::experiment::{Claim, Experiment, Verdict};
use oef_terminal::numbers::counted;
use oef_terminal::table::{Cell, Table};
use owo_colors::Style;

/// One row per figure, below a line with the verdict of its experiment.
pub fn render(experiments: &[Experiment]) -> String {
    let header = ["", "what", "the paper", "here: median (range)", "verdict"];
    let mut table = Table::headed(header);
    for experiment in experiments {
        let bold = Style::new().bold();
        table.row(vec![
            Cell::text(experiment.id.letter()).style(bold),
            Cell::text(experiment.id.title()).style(bold),
            Cell::text(""),
            Cell::text(""),
            Cell::text(experiment.verdict.name()).style(style(experiment.verdict).bold()),
        ]);
        for claim in experiment.claims.iter().filter(|c| c.counts) {
            table.row(row(claim));
        }
    }
    let beside = experiments.iter().flat_map(|e| &e.claims).filter(|c| !c.counts).count();
    if beside > 0 {
        table
            .remark(format!("{} for comparison: --report, --json", counted(beside, "more figure")));
    }
    table.render()
}

fn row(claim: &Claim) -> Vec<Cell> {
    let beyond = claim.verdict == Verdict::Beyond;
    let name = if beyond { "" } else { claim.verdict.name() };
    vec![
        Cell::text(""),
        Cell::text(&claim.text),
        Cell::text(if beyond { "" } else { &claim.said }),
        Cell::text(claim.quantity.show_spread(&claim.ours)),
        Cell::text(name).style(style(claim.verdict)),
    ]
}

fn style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Holds => Style::new().green(),
        Verdict::HoldsInPart => Style::new().yellow(),
        Verdict::DoesNotHold => Style::new().red(),
        Verdict::Beyond => Style::new().cyan(),
    }
}
