//! The report.

use super::args::ReproduceArgs;
use super::draw;
use super::run::RULES;
use crate::experiment::{Claim, Experiment, PAPER_MODELS, Verdict};
use oef_report::html::{Card, Prose, Report, Section, Tone};
use oef_report::table::{Column, Table};

/// The report as one HTML file.
pub fn render(experiments: &[Experiment], args: &ReproduceArgs, data: &[String]) -> String {
    let report = Report::new("The paper, reproduced")
        .subtitle("Every experiment of the paper's evaluation on its cluster, simulated: its figure, ours, and whether it holds")
        .section(overview(experiments));
    let report = cards(experiments).into_iter().fold(report, Report::card);
    let report = experiments.iter().map(section).fold(report, Report::section);
    report
        .section(world())
        .version(concat!("oef ", env!("CARGO_PKG_VERSION")))
        .parameter("seed", args.seed.to_string())
        .parameter("size", if args.quick { "quick" } else { "full" })
        .parameter("public data", if data.is_empty() { "none".into() } else { data.join(", ") })
        .parameter(
            "cluster",
            "8 x RTX 3070, 8 x RTX 3080, 8 x RTX 3090, four to a host, rounds of 5 minutes",
        )
        .to_html()
}

fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Holds => Tone::Good,
        Verdict::HoldsInPart => Tone::Warning,
        Verdict::DoesNotHold => Tone::Bad,
        Verdict::Beyond => Tone::Plain,
    }
}

fn cards(experiments: &[Experiment]) -> Vec<Card> {
    let sentences = [
        (Verdict::Holds, "Same direction, at least half of the size."),
        (Verdict::HoldsInPart, "Right direction, or right for some of the figures."),
        (Verdict::DoesNotHold, "None of the figures that count is there."),
        (Verdict::Beyond, "Not tested in the paper."),
    ];
    let card = |(verdict, sentence): (Verdict, &str)| {
        let letters: Vec<&str> =
            experiments.iter().filter(|e| e.verdict == verdict).map(|e| e.id.letter()).collect();
        let which =
            if letters.is_empty() { String::new() } else { format!(" ({})", letters.join(", ")) };
        let count = letters.len().to_string();
        Card::new(count, format!("{}{which}", verdict.name()), sentence).tone(tone(verdict))
    };
    sentences.map(card).into()
}

fn overview(experiments: &[Experiment]) -> Section {
    let mut table = Table::new("All claims of the paper")
        .column(Column::text(""))
        .column(Column::text("what"))
        .column(Column::text("the paper"))
        .column(Column::text("here: median (range)"))
        .column(Column::text("verdict"));
    for experiment in experiments.iter().filter(|e| e.verdict != Verdict::Beyond) {
        table.row([
            experiment.id.letter().into(),
            experiment.id.title().into(),
            "".into(),
            "".into(),
            unbroken(&marked(experiment.verdict)).into(),
        ]);
        for claim in experiment.claims.iter().filter(|c| c.counts) {
            let shown = unbroken(&claim.quantity.show_spread(&claim.ours));
            table.row([
                "".into(),
                format!("– {}", claim.text).into(),
                claim.said.clone().into(),
                shown.into(),
                unbroken(claim.verdict.name()).into(),
            ]);
        }
    }
    let rules = Section::new("How verdicts come about").list(RULES);
    Section::new("Overview").table(table).section(rules)
}

/// The verdict with a sign, so that it is found at a glance.
fn marked(verdict: Verdict) -> String {
    let sign = match verdict {
        Verdict::Holds => "✓ ",
        Verdict::HoldsInPart => "! ",
        Verdict::DoesNotHold => "✗ ",
        Verdict::Beyond => "",
    };
    format!("{sign}{}", verdict.name())
}

fn section(experiment: &Experiment) -> Section {
    let heading = format!("({}) {}", experiment.id, experiment.id.title());
    let paper = Prose::new().strong("The paper: ").text(&experiment.paper);
    let (counted, beside): (Vec<&Claim>, Vec<&Claim>) =
        experiment.claims.iter().partition(|c| c.counts);
    let section = Section::new(heading).paragraph(paper);
    let section = match experiment.verdict {
        Verdict::Beyond => section.paragraph(experiment.why.as_str()),
        verdict => section.verdict(tone(verdict), experiment.why.as_str()),
    };
    let section = section.table(claims("The figures", &counted));
    let section = if beside.is_empty() {
        section
    } else {
        section.table(claims("Beside them, for comparison", &beside))
    };
    let section = experiment.exhibits.iter().fold(section, draw::add);
    let done = Section::new("What was done").list(experiment.done.iter().map(String::as_str));
    section.details(done)
}

fn claims(caption: &str, claims: &[&Claim]) -> Table {
    let mut table = Table::new(caption)
        .column(Column::text("what"))
        .column(Column::text("the paper"))
        .column(Column::text("here: median (range)"))
        .column(Column::text("verdict"));
    for claim in claims {
        let verdict = if claim.verdict == Verdict::Beyond { "" } else { claim.verdict.name() };
        table.row([
            claim.text.clone().into(),
            claim.said.clone().into(),
            unbroken(&claim.quantity.show_spread(&claim.ours)).into(),
            unbroken(verdict).into(),
        ]);
    }
    table
}

/// Figures and verdicts stay on one line.
fn unbroken(text: &str) -> String {
    text.replace(' ', "\u{a0}")
}

/// What the simulated world assumes: whoever doubts a figure begins here.
fn world() -> Section {
    let mut models = Table::new("Speedups over the RTX 3070")
        .column(Column::text("model"))
        .column(Column::number("RTX 3080"))
        .column(Column::number("RTX 3090"))
        .column(Column::text("source of the last"));
    for (name, [_, middle, fast]) in PAPER_MODELS {
        let printed = matches!(name, "VGG" | "LSTM");
        let source = if printed { "printed in the paper" } else { "chosen" };
        models.row([name.into(), middle.into(), fast.into(), source.into()]);
    }
    Section::new("What the simulated world assumes")
        .paragraph("The paper ran on 24 real GPUs; here the real scheduler runs in a simulated world. Figures depend on what that world assumes:")
        .list([
            "Speedups: two figures are printed in the paper; the others are chosen, and each tenant's hyperparameters raise them to a power between 0.85 and 1.15 by chance. The tables in (f) and (g) show how the conclusions move with gains half, one and a half times and twice as large, and with measured tables.",
            "A gang over several hosts loses to the network: 13 % for two workers on two hosts, 23 % for four, 31 % for eight. A gang across gpu types runs at the pace of the slowest.",
            "A restart costs 14 seconds, as measured for PyTorch processes.",
            "The paper's rounding grants round(share + deviation) to each tenant on its own; where that is more than there is, the last ones go without, and what is left over stays idle until the next round.",
        ])
        .table(models)
}
