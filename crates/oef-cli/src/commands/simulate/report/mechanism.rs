//! One mechanism: who trained how much, where, and what was promised.

use super::super::guard;
use super::super::run::Simulated;
use super::cast::Cast;
use super::favour::ratio;
use super::over_time::{by_tenant, last_submission, marked, means, stretch};
use super::{envy, ledger};
use oef_report::chart::{Axis, LineChart, Row, Series, Timeline};
use oef_report::html::Section;
use oef_report::table::{Column, Table};
use oef_sim::engine::{JobRecord, Quantiles, RunResult};

/// Rows of the table of tenants; the CSV files have them all.
const TENANTS_MAX: usize = 200;

/// Everything about one run.
pub fn section(simulated: &Simulated<'_>, run: &RunResult, cast: &Cast) -> Section {
    let round = simulated.scenario.settings.round.seconds();
    let section = Section::new(run.mechanism.name())
        .paragraph(sentence(run))
        .section(
            Section::new("Who trained how much, and where")
                .figure(
                    &throughput(run, cast, round),
                    "Throughput of each tenant over time, on top of each other.",
                )
                .figure(&map(simulated, run, cast), "A GPU without colour is idle."),
        )
        .section(Section::new("Queue and GPUs").figure(
            &queue(run, round),
            "Jobs that run and jobs that wait, at the begin of each round.",
        ))
        .section(ledger::section(run, cast, round));
    let more = envy::section(run).into_iter().chain(guard::section(simulated, run));
    more.fold(section, Section::section)
        .section(Section::new("Every tenant").table(tenants(run, cast)))
}

fn sentence(run: &RunResult) -> String {
    use oef_report::format::{duration, number, percent};
    format!(
        "Rounds: {}; computations of shares: {}; jobs that finished: {}, half of them within {} and 99 of 100 within {}. {} of \
         the GPU time was held. Jobs that were moved: {}; stopped for others: {}.",
        number(run.rounds as f64),
        number(run.solves as f64),
        number(run.finished as f64),
        duration(run.jct.p50),
        duration(run.jct.p99),
        percent(run.utilisation),
        number(run.migrations as f64),
        number(run.preemptions as f64),
    )
}

fn throughput(run: &RunResult, cast: &Cast, round: f64) -> LineChart {
    let chart =
        LineChart::new("Throughput by tenant", "Areas on top of each other, a colour per tenant")
            .y(Axis::new("throughput").unit("reference GPUs"))
            .stacked();
    by_tenant(chart, run, &run.series.tenants, cast, round)
}

fn map(simulated: &Simulated<'_>, run: &RunResult, cast: &Cast) -> Timeline {
    let order = cast.in_order();
    let mut place = vec![0; order.len()];
    order.iter().enumerate().for_each(|(i, &t)| place[t] = i);
    let mut segments = run.segments.iter().peekable();
    let mut rows = Vec::new();
    for (n, node) in simulated.gathered.cluster.nodes.iter().enumerate() {
        for gpu in 0..node.gpus {
            let mut row = Row::new(node.gpu_type.clone(), node.name.clone(), format!("gpu {gpu}"));
            // Segments are sorted by node and GPU, like the rows.
            while let Some(s) = segments.next_if(|s| (s.node, s.gpu) <= (n, gpu)) {
                if (s.node, s.gpu) == (n, gpu) {
                    row.add(s.from_s, s.to_s, place.get(s.tenant).copied().unwrap_or(usize::MAX));
                }
            }
            rows.push(row);
        }
    }
    let map = Timeline::new("Who ran where", "GPUs by time, coloured by tenant")
        .categories(order.iter().map(|&t| cast.names[t].clone()))
        .colours(order.iter().map(|&t| cast.slots[t]))
        .rows(rows)
        .until(run.seconds);
    let last = last_submission(run);
    if last > 0.0 && last < 0.98 * run.seconds { map.marker(last, "last submission") } else { map }
}

fn queue(run: &RunResult, round: f64) -> LineChart {
    let stretch = stretch(&[run], round);
    let line = |name: &str, list: &[u32]| {
        let value = |i: usize| list.get(i).map_or(0.0, |&n| f64::from(n));
        Series::new(name, means(run, stretch, value))
    };
    let chart = LineChart::new("Jobs running and waiting", "Two lines of counts over time")
        .y(Axis::new("jobs"))
        .series(line("running", &run.series.running))
        .series(line("waiting", &run.series.waiting));
    marked(chart, run)
}

fn tenants(run: &RunResult, cast: &Cast) -> Table {
    let mut table = Table::new("Means while the tenant had jobs, by name")
        .column(Column::text("tenant"))
        .column(Column::number("jobs"))
        .column(Column::duration("mean JCT"))
        .column(Column::duration("mean wait"))
        .column(Column::number("throughput"))
        .column(Column::number("promised"))
        .column(Column::number("of equal split").unit("x").mark_worst().highest_is_best())
        .column(Column::number("share").unit("GPUs"))
        .column(Column::number("held").unit("GPUs"));
    let mut jobs: Vec<Vec<&JobRecord>> = vec![Vec::new(); run.tenants.len()];
    for job in &run.jobs {
        if let Some(own) = jobs.get_mut(job.tenant) {
            own.push(job);
        }
    }
    for t in cast.largest(TENANTS_MAX) {
        let Some(tenant) = run.tenants.get(t) else { continue };
        let own = &jobs[t];
        let times = |f: fn(&JobRecord) -> Option<f64>| {
            let sample: Vec<f64> = own.iter().filter_map(|job| f(job)).collect();
            (!sample.is_empty()).then(|| Quantiles::of(&sample).mean)
        };
        let mean = |sum: f64| (tenant.rounds > 0).then(|| sum / tenant.rounds as f64);
        table.row([
            tenant.name.as_str().into(),
            own.len().into(),
            times(|job| Some(job.finish_s? - job.submit_s)).into(),
            times(|job| Some(job.start_s? - job.submit_s)).into(),
            mean(tenant.delivered).into(),
            mean(tenant.promised).into(),
            ratio(tenant).into(),
            mean(tenant.share_gpus).into(),
            mean(tenant.held_gpus).into(),
        ]);
    }
    table
}
