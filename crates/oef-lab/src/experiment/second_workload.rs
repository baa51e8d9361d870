//! (d) Tenant 1 begins a second kind of job at the 40th minute.

use super::claim::{Claim, Quantity, Rule, Spread};
use super::exhibit::{Exhibit, Line};
use super::finding::{Experiment, ExperimentError, Id};
use super::four::{END_S, Four, MIDDLE_S, line};
use super::models::SpeedupTable;
use super::setup::Setup;
use super::stage::{Stack, Stage, mean_between};
use super::tenants::{Party, backlog};
use oef_core::Mechanism;
use oef_sim::engine::RunResult;

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
    let key = (Mechanism::Noncooperative, stack);
    let result = four.run(key, END_S, Vec::new(), Vec::new())?;
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
    let (mut paper_stack, mut ours, mut shown) = (Vec::new(), Vec::new(), None);
    for draw in 0..setup.size.draws() {
        let Some((four, second)) = load(&table, setup.seed + draw) else { continue };
        let (found, result) = halves(&four, &second, Stack::Paper)?;
        paper_stack.push(found);
        shown.get_or_insert_with(|| lines(&four, &second, &result));
        ours.push(halves(&four, &second, Stack::Ours)?.0);
    }
    let mut all = claims(&paper_stack, "");
    all.extend(claims(&ours, ", our rounding").into_iter().map(Claim::beside));
    let why = "A tenant's weight is divided over its workloads, so each counts as half a tenant, and equal throughput \
               per weight does the rest. Three GPUs' worth of share is little for gangs of up to four, hence the \
               range over forty minutes; with our rounding, which lets running jobs keep their GPUs, it is wider.";
    let paper = "Tenant 1 has the others' throughput; when it adds a second kind of job at the 40th minute, the \
                 two kinds get almost equal throughput, each half of another tenant's.";
    Ok(Experiment::new(Id::D, paper, all, why.into())
        .done([
            "The four tenants of (a), nobody leaves; tenant 1 submits jobs of a model that nobody else trains from the 40th minute on.",
            "Mechanism noncooperative, the paper's rounding, gangs packed on hosts.",
        ])
        .show(Exhibit::Lines {
            title: "Throughput by workload, the paper's rounding".into(),
            caption: "One draw. From the 40th minute on tenant 1 has two lines.".into(),
            x: None,
            y: "normalised throughput".into(),
            log: (false, false),
            lines: shown.unwrap_or_default(),
            markers: vec![(MIDDLE_S, "second workload".into())],
        }))
}

fn claims(found: &[Halves], how: &str) -> Vec<Claim> {
    let claim = |text: &str, to: f64, said: &str, pick: &dyn Fn(&Halves) -> f64| {
        let rule = Rule::Near { to, within: 0.1 * to, part: 0.25 * to };
        let ours = Spread::of(found.iter().map(pick));
        Claim::new(format!("{text}{how}"), said, Some(to), Quantity::Ratio, rule, ours)
    };
    let (first, second) = ("The first workload", "The second workload");
    vec![
        claim("Tenant 1 over the others, before", 1.0, "almost the same", &|h| {
            h.before / h.before_others
        }),
        claim("One workload of tenant 1 over the other", 1.0, "almost equal", &|h| {
            h.second / h.first
        }),
        claim(&format!("{first} over another tenant"), 0.5, "half", &|h| h.first / h.others),
        claim(&format!("{second} over another tenant"), 0.5, "half", &|h| h.second / h.others),
    ]
}

fn lines(four: &Four, second: &Party, result: &RunResult) -> Vec<Line> {
    let of = |party: &Party| {
        let name = format!("{} ({})", party.name, party.model);
        line(name, result, workload_values(result, &party.workload()))
    };
    let mut added = of(second);
    added.points.retain(|(at, _)| *at >= MIDDLE_S);
    let mut lines = vec![of(&four.parties[0]), added];
    lines.extend(four.parties[1..].iter().map(of));
    lines
}
