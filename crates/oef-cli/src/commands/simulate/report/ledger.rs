//! Promised and delivered: the deficit ledger.

use super::cast::Cast;
use super::over_time::by_tenant;
use oef_report::chart::{Axis, Bar, Bars, Chart as _, LineChart};
use oef_report::html::Section;
use oef_sim::engine::{RunResult, TenantRecord};
use oef_terminal::numbers::counted;

/// Tenants with bars.
const BARS_MAX: usize = 16;

/// Shares and GPUs held, by tenant, and what is owed over time.
pub fn section(run: &RunResult, cast: &Cast, round: f64) -> Section {
    let shown = cast.largest(BARS_MAX);
    let tenants: Vec<&TenantRecord> = shown.iter().filter_map(|&t| run.tenants.get(t)).collect();
    let bars = Bars::new(
        "GPUs promised and held",
        "Pairs of bars per tenant: the GPUs of its share, and those that it held",
    )
    .axis(Axis::new("mean while it had jobs").unit("GPUs"))
    .series(["promised", "held"]);
    let bars = tenants
        .iter()
        .fold(bars, |bars, t| bars.group(t.name.clone(), means_of(t, [t.share_gpus, t.held_gpus])));
    let rates = Bars::new(
        "Throughput promised and delivered",
        "Bars per tenant with a mark at its equal split",
    )
    .axis(Axis::new("mean while it had jobs").unit("reference GPUs"))
    .series(["promised", "delivered"])
    .mark_name("equal split");
    let rates = tenants.iter().fold(rates, |rates, t| {
        let [promised, delivered] = means_of(t, [t.promised, t.delivered]);
        let [equal] = means_of(t, [t.equal_split]);
        rates.group(t.name.clone(), [Bar::new(promised), Bar::new(delivered).mark(equal)])
    });
    let rest = run.tenants.len().saturating_sub(shown.len());
    let left_out = match rest {
        0 => String::new(),
        _ => format!(
            " The {} with the most GPU time; not shown: {}.",
            shown.len(),
            counted(rest, "other")
        ),
    };
    Section::new("Promised and delivered")
        .paragraph(format!(
            "Shares are fractions of GPUs, and jobs run on whole ones, in gangs. What a workload is promised and does not \
             hold is written down as its deficit, in GPU-rounds, and decides who goes first. No deficit was further from \
             zero than {} GPU-rounds at any time.",
            oef_report::format::number(run.deficit_max)
        ))
        .figures([
            (
                bars.draw(),
                format!("Held may exceed promised where others cannot use their shares.{left_out}"),
            ),
            (
                rates.draw(),
                "Less is delivered where gangs are spread over hosts or types, or stood on slower GPUs than promised."
                    .to_string(),
            ),
        ])
        .figure(
            &deficits(run, cast, round),
            "Summed over a tenant's workloads. Above zero turns are due; below zero more was used than its turns, and \
             others go first. Turns that nobody waits for lapse. An account cannot leave its limits, about two of the workload's largest gangs.",
        )
}

fn deficits(run: &RunResult, cast: &Cast, round: f64) -> LineChart {
    let chart = LineChart::new("Deficits", "A line per tenant around zero")
        .y(Axis::new("turns due").unit("GPU-rounds"))
        .reference(0.0, "");
    by_tenant(chart, run, &run.series.deficits, cast, round)
}

/// Sums over the rounds of a tenant as means.
fn means_of<const N: usize>(tenant: &TenantRecord, sums: [f64; N]) -> [f64; N] {
    sums.map(|sum| sum / tenant.rounds.max(1) as f64)
}
