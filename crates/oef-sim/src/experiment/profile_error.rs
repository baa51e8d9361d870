//! (k) How far throughput deviates when profiles are wrong.

use super::claim::{Claim, Quantity, Rule, Spread};
use super::exhibit::{Cell, Column, Exhibit, Line};
use super::finding::{Experiment, ExperimentError, Id};
use super::models::SpeedupTable;
use super::setup::Setup;
use super::stage::{Stack, Stage, problem, shares};
use super::tenants::{Party, backlogs, drawn};
use super::twenty::TENANTS;
use crate::world::report;
use oef_core::{Mechanism, Shares, WorkloadId};

/// Errors: told throughputs are off by up to this part, uniformly, each on its own.
const ERRORS: [f64; 5] = [0.0, 0.05, 0.1, 0.15, 0.2];
const MECHANISMS: [Mechanism; 2] = [Mechanism::Noncooperative, Mechanism::Cooperative];
/// The paper's deviation at an error of 20 %, and twice as much.
const PAPER: f64 = 0.03;

/// What one draw gives under one mechanism and error.
struct Deviation {
    /// Of the throughput that the told profiles promise from what the shares are worth by the truth.
    promised: f64,
    /// What the shares lose against those that the truth would bring.
    lost: f64,
    /// Of the simulated throughput from the promise, beyond what rounding and placement cost without errors.
    simulated: f64,
}

/// Throughput of shares by given speedups.
fn worth(shares: &Shares, parties: &[Party]) -> f64 {
    let row = |(l, party): (usize, &Party)| -> f64 {
        let gpus = shares.of_workload(WorkloadId(l));
        gpus.iter().zip(&party.speedup).map(|(x, w)| x * w).sum()
    };
    parties.iter().enumerate().map(row).sum()
}

fn told(parties: &[Party], error: f64, seed: u64) -> Vec<Party> {
    let tell = |party: &Party| {
        let name = format!("{}/{}", party.name, party.workload());
        let speeds = report(&party.speedup, error, None, seed, &name);
        let speedup = speeds.iter().map(|s| s / speeds[0]).collect();
        Party { speedup, ..party.clone() }
    };
    parties.iter().map(tell).collect()
}

fn actual(
    setup: &Setup,
    parties: &[Party],
    types: &[String],
    mechanism: Mechanism,
    error: f64,
    seed: u64,
) -> Result<f64, ExperimentError> {
    let stage = Stage::new(types, parties);
    let hours = setup.size.hours() / 2.0;
    let trace = backlogs(parties, 8.0, hours, seed);
    let mut scenario = stage.scenario(mechanism, Stack::Ours, seed);
    (scenario.until_s, scenario.profile_error) = (Some(hours * 3_600.0), error);
    Ok(stage.run(&trace, &scenario)?.actual)
}

fn draw(setup: &Setup, mechanism: Mechanism, seed: u64) -> Result<Vec<Deviation>, ExperimentError> {
    let table = SpeedupTable::paper();
    let parties = drawn(&table, TENANTS, seed);
    let best = shares(&problem(&table.types, &parties)?, mechanism)?.shares;
    let best = worth(&best, &parties);
    let plain = actual(setup, &parties, &table.types, mechanism, 0.0, seed)? / best;
    let mut deviations = Vec::new();
    for error in ERRORS {
        let told = told(&parties, error, seed);
        let outcome = shares(&problem(&table.types, &told)?, mechanism)?.shares;
        let (promised, true_worth) = (worth(&outcome, &told), worth(&outcome, &parties));
        let reached = actual(setup, &parties, &table.types, mechanism, error, seed)?;
        deviations.push(Deviation {
            promised: (true_worth / promised - 1.0).abs(),
            lost: 1.0 - true_worth / best,
            simulated: (reached / promised / plain - 1.0).abs(),
        });
    }
    Ok(deviations)
}

pub(super) fn run(setup: &Setup) -> Result<Experiment, ExperimentError> {
    let (mut claims, mut lines, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    for mechanism in MECHANISMS {
        let draws: Vec<Vec<Deviation>> = (0..setup.size.twenty_draws())
            .map(|d| draw(setup, mechanism, setup.seed + d))
            .collect::<Result<_, _>>()?;
        let at = |e: usize, pick: &dyn Fn(&Deviation) -> f64| {
            Spread::of(draws.iter().map(|d| pick(&d[e])))
        };
        let rule = Rule::AtMost { bound: 1.5 * PAPER, part: 3.0 * PAPER };
        let last = ERRORS.len() - 1;
        let claim = |text: String, ours| {
            Claim::new(text, "about 3 %", Some(PAPER), Quantity::Fraction, rule, ours)
        };
        claims.push(claim(
            format!("Deviation from the promise at an error of 20 %, {mechanism}, estimated"),
            at(last, &|d| d.promised),
        ));
        claims.push(claim(format!("The same, simulated, {mechanism}"), at(last, &|d| d.simulated)));
        claims.push(
            Claim::beyond(
                format!("Throughput lost to the error, {mechanism}"),
                Quantity::Fraction,
                at(last, &|d| d.lost),
            )
            .beside(),
        );
        let line = |name: &str, pick: &dyn Fn(&Deviation) -> f64| Line {
            name: format!("{mechanism}, {name}"),
            points: ERRORS
                .iter()
                .enumerate()
                .map(|(e, error)| (100.0 * error, 100.0 * at(e, pick).median))
                .collect(),
        };
        lines.push(line("estimated", &|d| d.promised));
        lines.push(line("simulated", &|d| d.simulated));
        for (e, error) in ERRORS.iter().enumerate() {
            let cells: Vec<Cell> = vec![
                mechanism.name().into(),
                (*error).into(),
                at(e, &|d| d.promised).median.into(),
                at(e, &|d| d.simulated).median.into(),
                at(e, &|d| d.lost).median.into(),
            ];
            rows.push(cells);
        }
    }
    lines.push(Line { name: "the paper says".into(), points: vec![(20.0, 100.0 * PAPER)] });
    let why = "Errors of many tenants cancel in the total. What does not cancel is that whoever's fast types are \
               overstated is given more of them, so promises are a little too high; the shares themselves lose \
               less than the promise deviates.";
    let paper = "With profiles wrong by up to 20 %, throughput deviates by about 3 % from what the profiles promise.";
    Ok(Experiment::new(Id::K, paper, claims, why.into())
        .done([
            "The 20 tenants of (f); each told throughput is off by up to the error, uniformly, independently for every type, the reference type included.",
            "Estimated: the told profiles' total against the same shares by the truth. Simulated: the throughput of the run against the promise, relative to the same without errors.",
        ])
        .show(Exhibit::Lines {
            title: "Deviation of the throughput from the promise".into(),
            caption: "Medians over the draws.".into(),
            x: Some("error of the profiles in %".into()),
            y: "deviation in %".into(),
            log: (false, false),
            lines,
            markers: Vec::new(),
        })
        .show(Exhibit::Table {
            caption: "Deviations, medians over the draws".into(),
            columns: vec![
                Column::Text("mechanism"),
                Column::Fraction("error of the profiles"),
                Column::Fraction("estimated"),
                Column::Fraction("simulated"),
                Column::Fraction("throughput lost"),
            ],
            rows,
        }))
}
