//! Seeds, one after the other, and what they found.

use super::args::TortureArgs;
use super::plants::Plant;
use super::shrink::shrink;
use super::stage::Stage;
use super::story::{Step, story};
use oef_server::invariants::Broken;
use oef_terminal::document::Document;
use oef_terminal::{Complaint, Exit, Failure, Printer};
use serde::Serialize;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// A seed that broke something.
#[derive(Clone, Debug, Serialize)]
pub struct BrokenSeed {
    /// The seed.
    pub seed: u64,
    /// What it broke.
    pub invariant: String,
    /// How.
    pub what: String,
    /// The shortest story in which it does.
    pub story: Vec<String>,
    /// What plays the whole seed again.
    pub replay: String,
}

#[derive(Serialize)]
struct Torture {
    version: u32,
    commit_version: &'static str,
    first_seed: u64,
    seeds: u64,
    hours: f64,
    cluster_hours: f64,
    seconds: f64,
    plant: Option<&'static str>,
    found: Option<BrokenSeed>,
}

/// `oef torture`
pub fn run(args: &TortureArgs, printer: &Printer) -> Result<Exit, Failure> {
    if args.list_plants {
        let named =
            |plant: Plant| Document::part().with("name", plant.name()).with("what", plant.what());
        let document = || Document::part().list("plants", Plant::all().map(named));
        let line = |plant: Plant| format!("{:<26} {}\n", plant.name(), plant.what());
        return printer.show(args.json, document, || Plant::all().map(line).collect());
    }
    let plant = match &args.plant {
        None => None,
        Some(name) => Some(Plant::named(name).ok_or_else(|| {
            let complaint = Complaint::new(format!("there is no plant `{name}`"));
            Failure::from(complaint.hint("`oef torture --list-plants` lists them"))
        })?),
    };
    let began = Instant::now();
    let (mut cluster_hours, mut found, mut played) = (0.0, None, 0);
    let count = if args.minutes.is_some() { u64::MAX } else { args.seeds };
    let is_over = || args.minutes.is_some_and(|m| began.elapsed().as_secs_f64() >= 60.0 * m);
    for seed in args.seed..args.seed.saturating_add(count) {
        if is_over() {
            break;
        }
        let (hours, broken) = try_seed(seed, args.hours, plant);
        cluster_hours += hours;
        played += 1;
        if broken.is_some() {
            found = broken;
            break;
        }
    }
    let document = Torture {
        version: 1,
        commit_version: env!("CARGO_PKG_VERSION"),
        first_seed: args.seed,
        seeds: played,
        hours: args.hours,
        cluster_hours,
        seconds: began.elapsed().as_secs_f64(),
        plant: plant.map(Plant::name),
        found,
    };
    let exit = if document.found.is_some() { Exit::DoesNotHold } else { Exit::Done };
    let text = in_words(&document);
    printer.show(args.json, || document, || text)?;
    Ok(exit)
}

/// Plays one seed; the simulated hours, and what broke, with the shortest story.
pub fn try_seed(seed: u64, hours: f64, plant: Option<Plant>) -> (f64, Option<BrokenSeed>) {
    let steps = story(seed, (hours * 3_600_000.0) as u64);
    let mut stage = Stage::new(seed, plant);
    let played = catch_unwind(AssertUnwindSafe(|| stage.play(&steps)));
    let replay = match plant {
        None => format!("oef torture --seed {seed} --hours {hours}"),
        Some(plant) => {
            format!("oef torture --seed {seed} --hours {hours} --plant {}", plant.name())
        }
    };
    let passed = stage.hours();
    let broken = match played {
        Ok(Ok(())) => return (passed, None),
        Ok(Err(broken)) => broken,
        Err(_) => {
            // A panic is told as it is: playing it again and again would only print it again and again.
            let (invariant, what) = ("no-panic".to_string(), "the core panicked".to_string());
            let story = told(&steps);
            return (passed, Some(BrokenSeed { seed, invariant, what, story, replay }));
        }
    };
    let (steps, Broken { invariant, what }) = shrink(seed, plant, steps, broken);
    let invariant = invariant.to_string();
    (passed, Some(BrokenSeed { seed, invariant, what, story: told(&steps), replay }))
}

fn told(steps: &[Step]) -> Vec<String> {
    steps.iter().map(Step::to_string).collect()
}

fn in_words(document: &Torture) -> String {
    let Torture { seeds, cluster_hours, seconds, found, .. } = document;
    let mut text = format!(
        "{seeds} seed{} of {} h: {cluster_hours:.0} simulated cluster-hours in {seconds:.1} s ({:.0} per minute)",
        if *seeds == 1 { "" } else { "s" },
        document.hours,
        cluster_hours / (seconds / 60.0).max(1e-9),
    );
    let Some(found) = found else {
        text.push_str("; nothing broke\n");
        return text;
    };
    // Writing to a text does not fail.
    let _ = write!(text, "\nseed {} breaks `{}`: {}\n", found.seed, found.invariant, found.what);
    for (number, line) in (1..).zip(&found.story) {
        let _ = writeln!(text, "  {number:>3}. {line}");
    }
    let _ = writeln!(text, "replay: {}", found.replay);
    text
}
