//! Gangs: what they were promised, what was possible where they stood, what they got, and their restarts.

use super::super::run::Simulated;
use super::measures::Figure;
use oef_report::chart::{Axis, Bar, Bars, Chart as _};
use oef_report::html::Section;
use oef_report::table::{Column, Table};
use oef_sim::engine::RunResult;

/// The section; `None`: no job has more than one worker.
pub fn section(simulated: &Simulated<'_>) -> Option<Section> {
    let runs = &simulated.runs;
    let has_gangs = runs.iter().any(|run| run.standing.together + run.standing.spread > 0.0);
    has_gangs.then(|| {
        Section::new("Gangs: promised, possible, delivered")
            .table(figures(runs))
            .paragraph(
                "Promised: what the shares give, with every gang as fast as it can be on the hosts that there are. Possible: \
                 what the GPUs that jobs held would have given, had every gang stood on as few hosts as it needs, and \
                 without restarts. Delivered: what the jobs trained. The first gap is whole GPUs and whole gangs, the second \
                 is hosts and restarts. Spread: the part of the gangs' GPU time on more hosts than they need.",
            )
            .figures([
                (throughput(runs).draw(), "Promised, possible and delivered, while there were jobs."),
                (
                    restarts(runs).draw(),
                    "How often a job was stopped and started again, on average, by the size of its gang.",
                ),
            ])
    })
}

fn figures(runs: &[RunResult]) -> Table {
    let caption = "Gangs; the best of each column has a star, the worst a triangle";
    let columns: [Figure; 10] = [
        (Column::text("mechanism"), |run| run.mechanism.name().into()),
        (Column::number("promised"), |run| run.estimated.into()),
        (Column::number("possible").rising(), |run| run.possible.into()),
        (Column::number("delivered").rising(), |run| run.actual.into()),
        (Column::fraction("of the promise").rising(), |run| {
            (run.actual / run.estimated.max(f64::MIN_POSITIVE)).into()
        }),
        (Column::fraction("least of a tenant").rising(), |run| run.worst_delivered.into()),
        (Column::fraction("spread").falling(), |run| run.standing.spread_part().into()),
        (Column::number("restarts per GPU-day").falling(), |run| run.restarts_per_gpu_day.into()),
        (Column::fraction("lost to restarts").falling(), |run| {
            run.standing.restarting_part().into()
        }),
        (Column::number("most restarts of a job").falling(), |run| {
            f64::from(run.jobs.iter().map(|job| job.restarts).max().unwrap_or(0)).into()
        }),
    ];
    Table::of(caption, runs, columns)
}

fn throughput(runs: &[RunResult]) -> Bars {
    let bars = Bars::new("Throughput", "Bars per mechanism: promised, possible and delivered")
        .axis(Axis::new("mean throughput").unit("reference GPUs"))
        .series(["promised", "possible", "delivered"]);
    runs.iter().fold(bars, |bars, run| {
        let figures = [run.estimated, run.possible, run.actual];
        bars.group(run.mechanism.name(), figures.map(Bar::new))
    })
}

fn restarts(runs: &[RunResult]) -> Bars {
    let mut sizes: Vec<u32> =
        runs.iter().flat_map(|run| run.jobs.iter().map(|job| job.workers)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let bars = Bars::new(
        "Restarts by the size of the gang",
        "Bars per gang size: restarts of a job on average",
    )
    .axis(Axis::new("restarts of a job"))
    .series(runs.iter().map(|run| run.mechanism.name()));
    sizes.into_iter().fold(bars, |bars, size| {
        let mean = |run: &RunResult| {
            let of_size = run.jobs.iter().filter(|job| job.workers == size);
            let restarts: Vec<f64> = of_size.map(|job| f64::from(job.restarts)).collect();
            Bar::new(restarts.iter().sum::<f64>() / restarts.len().max(1) as f64)
        };
        let name = if size == 1 { "1 GPU".to_string() } else { format!("{size} GPUs") };
        bars.group(name, runs.iter().map(mean))
    })
}
