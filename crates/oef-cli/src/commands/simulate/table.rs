//! The comparison for people: a line per mechanism, the best of each column marked.

use super::run::Simulated;
use oef_report::format::{clock, duration, fixed, number, percent};
use oef_sim::engine::RunResult;
use oef_terminal::bars::bar;
use oef_terminal::names::short;
use oef_terminal::numbers::counted;
use oef_terminal::table::{Cell, Table};
use owo_colors::{OwoColorize as _, Style};

const BAR_WIDTH: usize = 8;
/// Relative differences below this are no difference.
const SAME: f64 = 1e-6;

/// Which end of a column is the good one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Best {
    Least,
    Most,
}

/// A column of figures.
struct Column {
    title: &'static str,
    value: fn(&RunResult) -> f64,
    show: fn(f64) -> String,
    best: Best,
}

const COLUMNS: [Column; 9] = [
    Column { title: "mean JCT", value: |r| r.jct.mean, show: duration, best: Best::Least },
    Column { title: "p50", value: |r| r.jct.p50, show: duration, best: Best::Least },
    Column { title: "p99", value: |r| r.jct.p99, show: duration, best: Best::Least },
    Column { title: "makespan", value: |r| r.makespan, show: duration, best: Best::Least },
    Column { title: "throughput", value: |r| r.actual, show: number, best: Best::Most },
    Column { title: "GPU time", value: |r| r.utilisation, show: percent, best: Best::Most },
    Column {
        title: "least",
        value: |r| r.worst_sharing_incentive,
        show: |x| format!("{}x", fixed(x, 3)),
        best: Best::Most,
    },
    Column {
        title: "stragglers",
        value: |r| r.straggler_workers as f64,
        show: number,
        best: Best::Least,
    },
    Column {
        title: "restarts",
        value: |r| (r.migrations + r.preemptions) as f64,
        show: number,
        best: Best::Least,
    },
];

/// The whole comparison.
pub fn render(simulated: &Simulated<'_>) -> String {
    let runs = &simulated.runs;
    let longest = runs.iter().map(|r| r.jct.mean).fold(0.0, f64::max);
    let some_unfinished = runs.iter().any(|r| r.unfinished > 0);
    let mut header = vec![Cell::text("mechanism").whole(), Cell::text("")];
    header.extend(COLUMNS.iter().map(|c| Cell::number(format!("{} ", c.title))));
    header.extend(some_unfinished.then(|| Cell::number("unfinished")));
    let mut table = Table::new(header);
    for run in runs {
        let mut cells = vec![
            Cell::text(run.mechanism.name()).style(Style::new().bold()),
            Cell::text(bar(run.jct.mean, longest, BAR_WIDTH)).style(Style::new().blue()),
        ];
        cells.extend(COLUMNS.iter().map(|column| cell(column, run, runs)));
        cells.extend(some_unfinished.then(|| Cell::number(run.unfinished.to_string())));
        table.row(cells);
    }
    let mut out = heading(simulated);
    out.push_str(&table.fitted());
    out.push_str(&legend(simulated));
    out
}

fn cell(column: &Column, run: &RunResult, runs: &[RunResult]) -> Cell {
    let value = (column.value)(run);
    let text = (column.show)(value);
    if is_best(column, value, runs) {
        Cell::number(format!("{text}★")).style(Style::new().green().bold())
    } else {
        Cell::number(format!("{text} "))
    }
}

/// Whether nobody is better; where all are the same, nobody is marked.
fn is_best(column: &Column, value: f64, runs: &[RunResult]) -> bool {
    let values = || runs.iter().map(column.value);
    let (least, most) = (values().fold(f64::MAX, f64::min), values().fold(f64::MIN, f64::max));
    let near = |other: f64| (value - other).abs() <= SAME * other.abs();
    if most - least <= SAME * most.abs() {
        return false;
    }
    match column.best {
        Best::Least => near(least),
        Best::Most => near(most),
    }
}

fn heading(simulated: &Simulated<'_>) -> String {
    let gathered = &simulated.gathered;
    let cluster = &gathered.cluster;
    let types: Vec<String> =
        cluster.types().iter().map(|t| format!("{} {}", cluster.count(t), short(t))).collect();
    let load = gathered.load.map_or(String::new(), |load| format!(", load {}", number(load)));
    format!(
        "{} of {} on {}; rounds of {}{load}, seed {}\n\n",
        counted(gathered.trace.jobs.len(), "job").bold(),
        counted(gathered.trace.tenants().len(), "tenant").bold(),
        types.join(", "),
        clock(simulated.scenario.settings.round.seconds()),
        simulated.scenario.seed,
    )
}

fn legend(simulated: &Simulated<'_>) -> String {
    let reference = simulated
        .runs
        .iter()
        .find_map(|run| run.busiest.as_ref())
        .map(|(problem, _)| short(&problem.types()[problem.reference().0].name));
    let unit = reference.map_or(String::new(), |name| format!(", in GPUs of type {name}"));
    let next = match &simulated.args.report {
        Some(path) => format!("next: open {} in a browser\n", path.display()),
        None => {
            "next: --report out.html shows who ran where and when, --csv DIR gives every figure\n"
                .into()
        }
    };
    format!(
        "\nJCT: time from submission to the last step (mean with its bar, median, 99 of 100); throughput: what all \
         jobs\ntrained on average while there were jobs{unit}; GPU time: the part that somebody held; least: of all\n\
         tenants the least throughput over that of an equal split; stragglers: workers in gangs across gpu types,\n\
         summed over rounds; restarts: jobs stopped for others or moved; ★: the best\n{next}"
    )
}
