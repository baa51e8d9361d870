//! The busiest round: its envy matrix, and its certificate in words.

use crate::args::problem::Property;
use crate::output::certificate::judge;
use oef_core::{Outcome, Problem, TenantId, audit, envy_matrix};
use oef_report::chart::HeatMap;
use oef_report::html::{Prose, Section, Tone};
use oef_sim::engine::RunResult;
use oef_terminal::mark::Mark;

/// More rows and columns cannot be read.
const SHOWN_MAX: usize = 50;
/// An audit of more tenants takes longer than the report is worth.
const AUDITED_MAX: usize = 1_000;
/// Colours end here: somebody without throughput would envy without bounds.
const RATIO_MAX: f64 = 2.0;

/// The envy of the busiest round; none where nothing was shared.
pub fn section(run: &RunResult) -> Option<Section> {
    let (problem, outcome) = run.busiest.as_ref()?;
    let section = Section::new("Envy in the busiest round").paragraph(format!(
        "The round with the most tenants at once had {}. Each row says what a tenant would make of another's share \
         (scaled to its own weight), relative to its own: above 1 it would rather have the other's. Only what \
         a tenant's jobs can use counts.",
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
    let mut shown: Vec<TenantId> = problem.tenant_ids().take(SHOWN_MAX).collect();
    shown.sort_by(|a, b| problem.tenants()[a.0].name.cmp(&problem.tenants()[b.0].name));
    let all = envy_matrix(problem, &outcome.shares);
    let name = |t: &TenantId| problem.tenants()[t.0].name.clone();
    let row = |a: &TenantId| shown.iter().map(|b| all.ratio(*a, *b).min(RATIO_MAX)).collect();
    HeatMap::new("Who would prefer whose share", "A square of ratios around one")
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
        let (mark, text) = judge(problem, outcome, &certificate, property);
        let (tone, verdict) = match mark {
            Mark::Holds => (Tone::Good, "holds"),
            // Not every mechanism promises every property: nothing went wrong.
            Mark::Fails => (Tone::Warning, "does not hold"),
            Mark::Open => (Tone::Warning, "is not decided"),
        };
        let text = text.trim_end_matches("; --json has the better shares");
        section.note(tone, Prose::new().strong(noun(property)).text(format!(" {verdict}: {text}.")))
    })
}

fn noun(property: Property) -> &'static str {
    match property {
        Property::EnvyFree => "Envy-freeness",
        Property::SharingIncentive => "The sharing incentive",
        Property::ParetoEfficient => "Pareto efficiency",
    }
}
