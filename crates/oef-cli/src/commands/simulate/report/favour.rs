//! Who was favoured: every tenant under every mechanism.

use super::super::run::Simulated;
use super::cast::Cast;
use oef_report::chart::HeatMap;
use oef_report::html::Section;
use oef_sim::engine::{RunResult, TenantRecord};
use oef_terminal::numbers::counted;

/// Tenants that are shown.
const SHOWN_MAX: usize = 30;
/// Colours end here: a tenant that was there for a few lucky rounds must not bleach the others.
const RATIO_MAX: f64 = 2.0;

/// Throughput over that of an equal split.
pub fn ratio(tenant: &TenantRecord) -> Option<f64> {
    (tenant.equal_split > 0.0).then(|| tenant.delivered / tenant.equal_split)
}

/// The heat map of tenants by mechanism.
pub fn section(simulated: &Simulated<'_>, cast: &Cast) -> Section {
    let shown = cast.largest(SHOWN_MAX);
    let cell = |run: &RunResult, t: usize| {
        run.tenants.get(t).and_then(ratio).map_or(f64::NAN, |x| x.min(RATIO_MAX))
    };
    let rows = shown.iter().map(|&t| simulated.runs.iter().map(|run| cell(run, t)).collect());
    let map = HeatMap::new(
        "Throughput over equal split",
        "A row per tenant and a column per mechanism; blue is less than an equal split, orange more",
    )
    .rows(shown.iter().map(|&t| cast.names[t].clone()), "tenant")
    .columns(simulated.runs.iter().map(|run| run.mechanism.name()), "mechanism")
    .values(rows.collect())
    .diverging(1.0);
    let rest = cast.names.len().saturating_sub(shown.len());
    let left_out = match rest {
        0 => String::new(),
        _ => {
            format!(
                " The {} with the most GPU time are shown; not shown: {}.",
                shown.len(),
                counted(rest, "other")
            )
        }
    };
    Section::new("Who was favoured")
        .paragraph(
            "What each tenant trained while it had jobs, divided by what an equal part of every gpu type would have \
             given it. Below 1 (blue) it would have been better off alone with its part of the cluster; an equal split of \
             whole GPUs and gangs is itself not always possible.",
        )
        .figure(&map, format!("1 is an equal split; beyond {RATIO_MAX} the colour does not change.{left_out}"))
}
