//! (d) Tenant 1 begins a second kind of job at the 40th minute.

use super::claim::{Claim, Quantity, Rule, Spread};
use super::exhibit::{Exhibit, Line};
use super::finding::{Experiment, ExperimentError, Id};
use super::four::{END_S, Four, MIDDLE_S};
use super::models::SpeedupTable;
use super::setup::Setup;
use super::stage::{Stack, Stage, mean_between};
use super::tenants::{Party, backlog};
use crate::engine::RunResult;
use oef_core::Mechanism;

/// Four tenants, and what tenant 1 adds.
fn load(table: &SpeedupTable, seed: u64) -> Option<(Four, Party)> {
    let mut four = Four::new(table, seed);
    let first = four.parties.first()?.clone();
    let taken = |name: &str| four.parties.iter().any(|p| p.model == name);
    let model = table.models.iter().find(|m| !taken(&m.name))?;
    let second =
        Party { name: first.name, model: model.name.clone(), speedup: model.speedup.clone() };
    let jobs = backlog(&second, MIDDLE_S, 24.0, (END_S - MIDDLE_S) / 3_600.0, seed);
    four.trace.jobs.extend(jobs);
    four.stage = Stage::new(&table.types, four.parties.iter().chain([&second]));
    Some((four, second))
}

/// Mean throughputs after the 40th minute: the two workloads of tenant 1, and the others' mean.
struct Halves {
    first: f64,
    second: f64,
    others: f64,
    before: f64,
    before_others: f64,
}

fn workload_values<'a>(result: &'a RunResult, name: &str) -> &'a [f32] {
    let index = result.workloads.iter().position(|w| w.name == name);
    index.and_then(|w| result.series.workloads.get(w)).map_or(&[], Vec::as_slice)
}

fn halves(
    four: &Four,
    second: &Party,
    stack: Stack,
) -> Result<(Halves, RunResult), ExperimentError> {
    let result = four.run(Mechanism::Noncooperative, stack, Vec::new(), Vec::new())?;
    let at = &result.series.at_s;
    let of = |party: &Party| {
        mean_between(at, workload_values(&result, &party.workload()), MIDDLE_S, END_S)
    };
    let after = four.means(&result, MIDDLE_S, END_S);
    let before = four.means(&result, 0.0, MIDDLE_S);
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len().max(1) as f64;
    let halves = Halves {
        first: of(&four.parties[0]),
        second: of(second),
        others: mean(&after[1..]),
        before: before[0],
        before_others: mean(&before[1..]),
    };
    Ok((halves, result))
}

pub(super) fn run(setup: &Setup) -> Result<Experiment, ExperimentError> {
    let table = SpeedupTable::paper();
    let mut found = Vec::new();
    let mut shown = None;
    for draw in 0..setup.size.draws() {
        let Some((four, second)) = load(&table, setup.seed + draw) else { continue };
        let (halves, result) = halves(&four, &second, Stack::Ours)?;
        found.push(halves);
        shown.get_or_insert_with(|| lines(&four, &second, &result));
    }
    let over = |pick: &dyn Fn(&Halves) -> f64| Spread::of(found.iter().map(pick));
    let near = |to: f64| Rule::Near { to, within: 0.1 * to, part: 0.25 * to };
    let claim = |text: &str, to: f64, said: &str, ours| {
        Claim::new(text, said, Some(to), Quantity::Ratio, near(to), ours)
    };
    let claims = vec![
        claim(
            "Tenant 1 over the others, before",
            1.0,
            "almost the same",
            over(&|h| h.before / h.before_others),
        ),
        claim(
            "One workload of tenant 1 over the other",
            1.0,
            "almost equal",
            over(&|h| h.second / h.first),
        ),
        claim("The first workload over another tenant", 0.5, "half", over(&|h| h.first / h.others)),
        claim(
            "The second workload over another tenant",
            0.5,
            "half",
            over(&|h| h.second / h.others),
        ),
    ];
    let why = "A tenant's weight is divided over its workloads, so each counts as half a tenant and equal \
               throughput per weight does the rest. A job that runs when the second workload arrives keeps \
               its GPUs to the end of its minimum run time, and three GPUs' worth of share is little for gangs \
               of up to four, hence the range.";
    let paper = "Tenant 1 has the others' throughput; when it adds a second kind of job at the 40th minute, the \
                 two kinds get almost equal throughput, each half of another tenant's.";
    Ok(Experiment::new(Id::D, paper, claims, why.into())
        .done([
            "The four tenants of (a), nobody leaves; tenant 1 submits jobs of a model that nobody else trains from the 40th minute on.",
            "Mechanism noncooperative, our rounding and placement.",
        ])
        .show(Exhibit::Lines {
            title: "Throughput by workload".into(),
            caption: "One draw. From the 40th minute on tenant 1 has two lines.".into(),
            x: None,
            y: "normalised throughput".into(),
            log: (false, false),
            lines: shown.unwrap_or_default(),
            markers: vec![(MIDDLE_S, "second workload".into())],
        }))
}

fn lines(four: &Four, second: &Party, result: &RunResult) -> Vec<Line> {
    let line = |party: &Party| {
        let values = workload_values(result, &party.workload());
        let points = result.series.at_s.iter().zip(values).map(|(at, v)| (*at, f64::from(*v)));
        let is_second = party.model == second.model;
        let points = points.filter(|(at, _)| !is_second || *at >= MIDDLE_S);
        Line { name: format!("{} ({})", party.name, party.model), points: points.collect() }
    };
    let mut lines = vec![line(&four.parties[0]), line(second)];
    lines.extend(four.parties[1..].iter().map(line));
    lines
}
