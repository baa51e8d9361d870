//! The runs beside each other: how long jobs take, and the cluster over time.

use super::super::run::Simulated;
use super::times::{last_submission, means, stretch};
use oef_report::chart::{Axis, Cdf, Chart as _, LineChart, Series};
use oef_report::html::Section;
use oef_sim::engine::RunResult;

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

/// With the last submission marked, where that is not the end.
pub fn marked(chart: LineChart, run: &RunResult) -> LineChart {
    let last = last_submission(run);
    if last > 0.0 && last < 0.98 * run.seconds {
        chart.marker(last, "last submission")
    } else {
        chart
    }
}
