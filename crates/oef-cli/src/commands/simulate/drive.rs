//! A run per mechanism, side by side where there are cores, with a sign of life and a way out.

use oef_core::Mechanism;
use oef_sched::Settings;
use oef_sim::engine::{Inputs, Progress, RunResult, Scenario, SimulationError, simulate};
use oef_terminal::progress::CountBar;
use oef_terminal::{Complaint, Exit, Failure, Printer};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Rounds of one run at most: a century in rounds of five minutes. More is a mistaken unit.
const ROUNDS_MAX: u64 = 10_000_000;

/// Somebody pressed Ctrl-C.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// Only runs can be ended in order; everything else ends at once.
static RUNNING: AtomicBool = AtomicBool::new(false);

/// What is to be run.
#[derive(Debug)]
pub struct Drive<'a> {
    /// The cluster, the speeds and the jobs.
    pub inputs: Inputs<'a>,
    /// How, but for the mechanism.
    pub scenario: &'a Scenario,
    /// One run each.
    pub mechanisms: &'a [Mechanism],
    /// Where progress is shown.
    pub printer: &'a Printer,
}

/// Runs all mechanisms and returns their results in order. Runs know nothing of each other, so that the number of
/// threads changes nothing.
pub fn drive(what: &Drive<'_>) -> Result<Vec<RunResult>, Failure> {
    listen();
    RUNNING.store(true, Ordering::SeqCst);
    let count = what.mechanisms.len();
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(count);
    let bar =
        CountBar::new(what.printer, (count * what.inputs.trace.jobs.len()) as u64, "simulating");
    let ended: Vec<AtomicUsize> = what.mechanisms.iter().map(|_| AtomicUsize::new(0)).collect();
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Result<RunResult, Failure>>>> =
        what.mechanisms.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&mechanism) = what.mechanisms.get(index) else { break };
                    let result = one(what, mechanism, |progress| {
                        ended[index].store(progress.ended, Ordering::Relaxed);
                        bar.set(ended.iter().map(|e| e.load(Ordering::Relaxed) as u64).sum());
                    });
                    if let Ok(mut place) = results[index].lock() {
                        *place = Some(result);
                    }
                }
            });
        }
    });
    RUNNING.store(false, Ordering::SeqCst);
    drop(bar);
    let taken = results.into_iter().map(|place| place.into_inner().ok().flatten());
    taken.map(|result| result.unwrap_or_else(|| Err(stopped()))).collect()
}

fn one(
    what: &Drive<'_>,
    mechanism: Mechanism,
    tell: impl Fn(Progress),
) -> Result<RunResult, Failure> {
    let settings = Settings { mechanism, ..what.scenario.settings.clone() };
    let scenario = Scenario { settings, ..what.scenario.clone() };
    let mut rounds = 0;
    let mut watch = |progress: Progress| {
        tell(progress);
        rounds = progress.round;
        !INTERRUPTED.load(Ordering::Relaxed) && rounds <= ROUNDS_MAX
    };
    let result = simulate(&what.inputs, &scenario, &mut watch);
    result.map_err(|error| match error {
        SimulationError::Input(error) => error.into(),
        SimulationError::Stopped if rounds > ROUNDS_MAX => {
            let complaint = Complaint::new(format!("{mechanism}: more than {ROUNDS_MAX} rounds"));
            Failure::limit(complaint.hint("take longer rounds (--round) or end earlier (--until)"))
        }
        SimulationError::Stopped => stopped(),
        // Not the user's fault, and nothing that is shown would be right.
        error @ SimulationError::Refused(_) => {
            let complaint = Complaint::new(format!("{mechanism}: {error}"));
            Failure::limit(
                complaint.hint("this is a bug of OEF: please report the command and its files"),
            )
        }
    })
}

fn stopped() -> Failure {
    let complaints = vec![Complaint::new("stopped; nothing was written")];
    Failure::Said { exit: Exit::Interrupted, complaints }
}

/// The first Ctrl-C ends the runs, a second one the process.
fn listen() {
    // Without a handler Ctrl-C ends the process at once, which is well enough.
    let _ = ctrlc::set_handler(|| {
        let again = INTERRUPTED.swap(true, Ordering::SeqCst);
        if again || !RUNNING.load(Ordering::SeqCst) {
            std::process::exit(Exit::Interrupted as i32);
        }
    });
}
