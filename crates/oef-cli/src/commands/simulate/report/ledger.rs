//! Promised and delivered: the deficit ledger.

use super::cast::Cast;
use super::over_time::marked;
use super::times::{means, stretch};
use oef_report::chart::{Axis, Bar, Bars, Chart as _, LineChart, Series};
use oef_report::html::Section;
use oef_sim::engine::RunResult;

/// Tenants with bars.
const BARS_MAX: usize = 16;

/// Shares and GPUs held, by tenant, and what is owed over time.
pub fn section(run: &RunResult, cast: &Cast) -> Section {
    let shown = cast.largest(BARS_MAX);
    let bars = Bars::new(
        "GPUs promised and held",
        "Pairs of bars per tenant: the GPUs of its share, and those that it held",
    )
    .axis(Axis::new("mean while it had jobs").unit("GPUs"))
    .series(["promised", "held"]);
    let bars = shown.iter().filter_map(|&t| run.tenants.get(t)).fold(bars, |bars, tenant| {
        let mean = |sum: f64| sum / tenant.rounds.max(1) as f64;
        let pair = [Bar::new(mean(tenant.share_gpus)), Bar::new(mean(tenant.held_gpus))];
        bars.group(tenant.name.clone(), pair)
    });
    let rest = run.tenants.len().saturating_sub(shown.len());
    let left_out = match rest {
        0 => String::new(),
        _ => format!(" The {} with the most GPU time; {rest} others are not shown.", shown.len()),
    };
    Section::new("Promised and delivered")
        .paragraph(format!(
            "Shares are fractions of GPUs, and jobs run on whole ones, in gangs. What a tenant is promised and does not \
             hold is written down as a deficit, in GPU-rounds, and decides who goes first. The largest deficit of any \
             workload at any time was {} GPU-rounds.",
            oef_report::format::number(run.deficit_max)
        ))
        .figures([(
            bars.draw(),
            format!("Held may exceed promised where others cannot use their shares.{left_out}"),
        )])
        .figure(
            &deficits(run, cast),
            "Above zero a tenant is owed GPUs, below it has had more than its share. Lines that return to zero mean that \
             promises are kept.",
        )
}

fn deficits(run: &RunResult, cast: &Cast) -> LineChart {
    let stretch = stretch(&[run]);
    let chart = LineChart::new("Deficits", "A line per tenant around zero")
        .y(Axis::new("owed").unit("GPU-rounds"))
        .reference(0.0, "promised = held");
    let chart = cast.in_order().into_iter().fold(chart, |chart, t| {
        let Some(owed) = run.series.deficits.get(t) else { return chart };
        let points = means(run, stretch, |i| owed.get(i).copied().map_or(0.0, f64::from));
        let series = Series::new(cast.names[t].clone(), points);
        chart.series(match cast.slots[t] {
            Some(slot) => series.colour(slot),
            None => series,
        })
    });
    marked(chart, run)
}
