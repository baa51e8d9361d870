//! Measuring one case.

use super::args::BenchSimArgs;
use super::cases::{Case, Work};
use super::gangs;
use super::instances::{self, Instance};
use super::planning;
use super::stopwatch::{Elapsed, Stopwatch};
use crate::bench::memory;
use oef_core::Mechanism;
use oef_sched::{Settings, Span};
use oef_sim::engine::{Inputs, RunResult, Scenario, SimulationError, simulate};
use oef_terminal::{Complaint, Failure};

/// What was measured.
#[derive(Clone, Debug)]
pub struct CaseFigures {
    /// All parts together, on the processor.
    pub seconds: f64,
    /// The same on the wall.
    pub wall: f64,
    /// Rounds that were simulated.
    pub rounds: u64,
    /// The peak of the memory in bytes.
    pub peak: Option<u64>,
    /// Where the instance came from.
    pub origin: &'static str,
    /// What it is made of.
    pub parts: Vec<Part>,
}

/// One run, or one step of a round.
#[derive(Clone, Debug)]
pub struct Part {
    /// The mechanism, or what was done.
    pub name: &'static str,
    /// How long it took.
    pub seconds: f64,
    /// In how many rounds.
    pub rounds: u64,
    /// What else there is to say.
    pub note: String,
    /// Whether it is what is asked of it; `None`: nothing is.
    pub holds: Option<bool>,
}

const COMPARED: [Mechanism; 5] = [
    Mechanism::Noncooperative,
    Mechanism::Cooperative,
    Mechanism::Gavel,
    Mechanism::GandivaFair,
    Mechanism::MaxMin,
];

/// Gavel's rounds.
const SIX_MINUTES: f64 = 360.0;

/// Measures one case, on one core.
pub fn measure(case: &Case, args: &BenchSimArgs) -> Result<CaseFigures, Failure> {
    memory::forget_peak();
    if case.work == Work::Planning {
        return Ok(planning::measure(args.seed, args.repeat));
    }
    if case.work == Work::Gangs {
        return gangs::measure(args);
    }
    let instance = instances::instance(case.work, args.data.as_deref(), args.seed)?;
    let (mechanisms, settings) = match case.work {
        Work::ThreeDays => (&COMPARED[..], Settings::default()),
        Work::SingleJobs => (&COMPARED[..1], six_minute_rounds()),
        Work::Large | Work::Planning | Work::Gangs => (&COMPARED[..1], Settings::default()),
    };
    let repeat = if case.quick { args.repeat } else { 1 };
    runs(&instance, mechanisms, &settings, (args.seed, repeat))
}

fn six_minute_rounds() -> Settings {
    let round = Span::from_seconds(SIX_MINUTES);
    Settings { round, min_run: round, turn: round.times(4), ..Settings::default() }
}

fn runs(
    instance: &Instance,
    mechanisms: &[Mechanism],
    settings: &Settings,
    (seed, repeat): (u64, u32),
) -> Result<CaseFigures, Failure> {
    let (cluster, trace) = (&instance.inputs.cluster, &instance.inputs.trace);
    let inputs = Inputs { cluster, profiles: &instance.inputs.profiles, trace };
    let mut parts = Vec::new();
    let mut wall = 0.0;
    for &mechanism in mechanisms {
        let scenario = Scenario::new(Settings { mechanism, ..settings.clone() }, seed);
        let (run, first) = timed(&inputs, &scenario)?;
        let mut times = vec![first];
        for _ in 1..repeat {
            times.push(timed(&inputs, &scenario)?.1);
        }
        let seconds = median(times.iter().map(|t| t.cpu));
        wall += median(times.iter().map(|t| t.wall));
        let unfinished = if run.unfinished > 0 {
            format!(", {} never ran", run.unfinished)
        } else {
            String::new()
        };
        let note = format!(
            "{} jobs finished{unfinished}, shares computed {} times, {:.0} % of the GPU time held",
            run.finished,
            run.solves,
            100.0 * run.utilisation
        );
        parts.push(Part { name: mechanism.name(), seconds, rounds: run.rounds, note, holds: None });
    }
    Ok(CaseFigures {
        seconds: parts.iter().map(|p| p.seconds).sum(),
        wall,
        rounds: parts.iter().map(|p| p.rounds).sum(),
        peak: memory::peak(),
        origin: instance.origin,
        parts,
    })
}

/// One run, and how long it took.
pub(super) fn timed(
    inputs: &Inputs<'_>,
    scenario: &Scenario,
) -> Result<(RunResult, Elapsed), Failure> {
    let watch = Stopwatch::start();
    let result = simulate(inputs, scenario, &mut |_| true);
    let elapsed = watch.elapsed();
    let run = result.map_err(|error| match error {
        SimulationError::Input(error) => Failure::from(error),
        error => Complaint::new(format!("{}: {error}", scenario.settings.mechanism)).into(),
    })?;
    Ok((run, elapsed))
}

/// The median of some times.
fn median(times: impl Iterator<Item = f64>) -> f64 {
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(0.0)
}
