//! The busiest round: its envy matrix, and its certificate in words.

use crate::args::Property;
use crate::output::certificate::{Mark, judge, title};
use oef_core::{Outcome, Problem, TenantId, audit, envy_matrix};
use oef_report::chart::HeatMap;
use oef_report::html::{Section, Tone};
use oef_sim::engine::RunResult;

/// More rows and columns cannot be read.
const SHOWN_MAX: usize = 50;
/// An audit of more tenants takes longer than the report is worth.
const AUDITED_MAX: usize = 1_000;
/// Colours end here: somebody without throughput would envy without bounds.
const RATIO_MAX: f64 = 3.0;

/// The envy of the busiest round; none where nothing was shared.
pub fn section(run: &RunResult) -> Option<Section> {
    let (problem, outcome) = run.busiest.as_ref()?;
    let section = Section::new("Envy in the busiest round").paragraph(format!(
        "The round with the most tenants at once had {}. Each row says what a tenant would make of another's share \
         (scaled to its own weight), relative to its own: above 1 it would rather have the other's.",
        problem.tenants().len()
    ));
    let section = certificate(section, problem, outcome);
    Some(section.figure(
        &matrix(problem, outcome),
        format!(
            "Envy is orange; beyond {RATIO_MAX} the colour does not change. The diagonal is 1."
        ),
    ))
}

fn matrix(problem: &Problem, outcome: &Outcome) -> HeatMap {
    let shown: Vec<TenantId> = problem.tenant_ids().take(SHOWN_MAX).collect();
    let all = envy_matrix(problem, &outcome.shares);
    let name = |t: &TenantId| problem.tenants()[t.0].name.clone();
    let row = |a: &TenantId| shown.iter().map(|b| all.ratio(*a, *b).min(RATIO_MAX)).collect();
    HeatMap::new("Who would rather have whose share", "A square of ratios around one")
        .rows(shown.iter().map(name), "tenant")
        .columns(shown.iter().map(name), "with the share of")
        .values(shown.iter().map(row).collect())
        .diverging(1.0)
}

fn certificate(section: Section, problem: &Problem, outcome: &Outcome) -> Section {
    if problem.tenants().len() > AUDITED_MAX {
        return section.paragraph("So many tenants are not audited here; `oef share` does it.");
    }
    let certificate = audit(problem, outcome);
    let properties = [Property::EnvyFree, Property::SharingIncentive, Property::ParetoEfficient];
    properties.into_iter().fold(section, |section, property| {
        let (mark, text) = judge(problem, &outcome.shares, &certificate, property);
        let tone = match mark {
            Mark::Holds => Tone::Good,
            Mark::Fails => Tone::Bad,
            Mark::Open => Tone::Warning,
        };
        section.note(tone, format!("{}: {text}.", title(property)))
    })
}
