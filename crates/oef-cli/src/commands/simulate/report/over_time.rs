//! The runs beside each other: how long jobs take, and the cluster over time.

use super::super::run::Simulated;
use super::cast::Cast;
use oef_report::chart::{Axis, Cdf, Chart as _, LineChart, Series};
use oef_report::html::Section;
use oef_sim::engine::RunResult;

/// Points of a line over time, each the mean of a stretch: thousands of rounds would be a smear.
const POINTS: f64 = 150.0;

/// Distributions of completion and waiting times.
pub fn completion(simulated: &Simulated<'_>) -> Section {
    let runs = &simulated.runs;
    let jct =
        Cdf::new("Job completion time", "A rising curve per mechanism; further left is better")
            .x(Axis::time("from submission to the last step").log());
    let jct = runs.iter().fold(jct, |cdf, run| {
        let times = run.jobs.iter().filter_map(|job| Some(job.finish_s? - job.submit_s));
        cdf.samples(run.mechanism.name(), times.collect())
    });
    let wait = Cdf::new("Waiting time", "A rising curve per mechanism; further left is better")
        .x(Axis::time("from submission to the first start").log());
    let wait = runs.iter().fold(wait, |cdf, run| {
        let times = run.jobs.iter().filter_map(|job| Some(job.start_s? - job.submit_s));
        // Whoever starts at once would lie left of every logarithmic axis.
        cdf.samples(run.mechanism.name(), times.map(|t| t.max(1.0)).collect())
    });
    Section::new("How long jobs take")
        .paragraph(
            "Each curve says which part of the jobs was done (left) or had begun (right) within a time. The axes are \
             logarithmic: most jobs are short, and the few long ones count most for the mean.",
        )
        .figures([
            (jct.quantile(0.5).quantile(0.9).draw(), "Of the jobs that finished."),
            (wait.quantile(0.5).quantile(0.9).draw(), "Of the jobs that started; below a second counts as one."),
        ])
}

/// Throughput, queue and GPU time, a line per mechanism.
pub fn section(simulated: &Simulated<'_>) -> Section {
    let runs: Vec<&RunResult> = simulated.runs.iter().collect();
    let stretch = stretch(&runs, simulated.scenario.settings.round.seconds());
    let every = oef_report::format::clock(stretch);
    let chart = |title: &str, about: &str, axis: Axis, value: fn(&RunResult, usize) -> f64| {
        let chart = LineChart::new(title, about).y(axis);
        let chart = runs.iter().fold(chart, |chart, run| {
            let points = means(run, stretch, |i| value(run, i));
            chart.series(Series::new(run.mechanism.name(), points))
        });
        runs.first().map_or(chart.clone(), |run| marked(chart, run))
    };
    let waiting =
        |run: &RunResult, i: usize| run.series.waiting.get(i).map_or(0.0, |&n| f64::from(n));
    Section::new("The cluster over time")
        .paragraph(format!(
            "Means over {every}. The vertical line is the last submission: to its right the cluster empties, and a few \
             large gangs decide the picture."
        ))
        .figure(
            &chart(
                "Throughput of all jobs",
                "A line per mechanism",
                Axis::new("throughput").unit("reference GPUs"),
                |run, i| run.series.actual[i],
            ),
            "What all jobs trained together, as a multiple of one GPU of the reference type.",
        )
        .figure(
            &chart("Jobs waiting", "A line per mechanism", Axis::new("jobs waiting"), waiting),
            "Jobs that have no GPUs, at the begin of each round.",
        )
        .figure(
            &chart(
                "GPU time held",
                "A line per mechanism",
                Axis::fraction("part of the healthy GPUs"),
                |run, i| run.series.utilisation[i],
            ),
            "GPUs that somebody held. Idle GPUs mean that no waiting job fits them.",
        )
}

/// With a line for each tenant of a run, in its colour, and the last submission marked.
pub fn by_tenant(
    chart: LineChart,
    run: &RunResult,
    values: &[Vec<f32>],
    cast: &Cast,
    round: f64,
) -> LineChart {
    let stretch = stretch(&[run], round);
    let chart = cast.in_order().into_iter().fold(chart, |chart, t| {
        let Some(values) = values.get(t) else { return chart };
        let points = means(run, stretch, |i| values.get(i).copied().map_or(0.0, f64::from));
        let series = Series::new(cast.names[t].clone(), points);
        chart.series(match cast.slots[t] {
            Some(slot) => series.colour(slot),
            None => series,
        })
    });
    marked(chart, run)
}

/// With the last submission marked, where that is not the end.
pub fn marked(chart: LineChart, run: &RunResult) -> LineChart {
    let last = last_submission(run);
    if last > 0.0 && last < 0.98 * run.seconds {
        chart.marker(last, "last submission")
    } else {
        chart
    }
}

/// The length of a stretch that suits all runs, in whole rounds.
pub fn stretch(runs: &[&RunResult], round: f64) -> f64 {
    let end = runs.iter().map(|run| run.seconds).fold(0.0, f64::max);
    (end / POINTS / round.max(1e-3)).ceil().max(1.0) * round.max(1e-3)
}

/// The mean of a figure in each stretch of a run, as points in the middle of it. A round counts by the time that it
/// has in common with the stretch.
pub fn means(run: &RunResult, stretch: f64, value: impl Fn(usize) -> f64) -> Vec<(f64, f64)> {
    let at = &run.series.at_s;
    let mut points: Vec<(f64, f64, f64)> = Vec::new();
    for (i, &from) in at.iter().enumerate() {
        let to = at.get(i + 1).copied().unwrap_or(run.seconds).max(from);
        let value = value(i);
        let (first, last) = ((from / stretch).floor(), (to / stretch).floor());
        // A round that is as long as many stretches (nothing ran) fills them all.
        let mut slot = first;
        while slot <= last {
            let common = to.min((slot + 1.0) * stretch) - from.max(slot * stretch);
            if common > 0.0 {
                let middle = (slot + 0.5) * stretch;
                match points.last_mut().filter(|p| p.0 == middle) {
                    Some(point) => {
                        point.1 += value * common;
                        point.2 += common;
                    }
                    None => points.push((middle, value * common, common)),
                }
            }
            slot += 1.0;
        }
    }
    points.into_iter().map(|(x, sum, time)| (x, sum / time)).collect()
}

/// When the last job was submitted: what comes after is the tail.
pub fn last_submission(run: &RunResult) -> f64 {
    run.jobs.iter().map(|job| job.submit_s).fold(0.0, f64::max)
}
