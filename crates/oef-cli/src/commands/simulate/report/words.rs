//! What the figures mean, what was assumed, and how to make the report again.

use super::super::run::Simulated;
use crate::args::simulate::{PlacementName, RoundingName};
use oef_report::format::{clock, number, percent};
use oef_report::html::{Prose, Section};
use oef_sched::guard::Policy;
use oef_sched::{SCALING_PER_DOUBLING, SPREAD_LOSS_PER_DOUBLING};

/// The words of the report, one sentence each.
pub fn meaning(simulated: &Simulated<'_>) -> Section {
    let reference = reference(simulated).unwrap_or_else(|| "the reference type".into());
    let entry = |word: &str, text: String| Prose::new().strong(word).text(format!(": {text}"));
    Section::new("What the figures mean").list([
        entry(
            "Throughput",
            format!("how fast jobs train, counted in GPUs of type {reference}: a job that trains twice as fast as on one {reference} counts 2."),
        ),
        entry("JCT", "job completion time: from the submission of a job to its last step, waiting and restarts included.".into()),
        entry(
            "Promised, delivered",
            "what the shares of a mechanism are worth if GPUs could be divided at will, and what the jobs really trained.".into(),
        ),
        entry(
            "Equal split",
            "what a tenant would train with its own part (by weight) of every gpu type, as far as its jobs can use it. The \
             least favoured tenant is the one with the least throughput over its equal split among those that had jobs for \
             at least twelve rounds."
                .into(),
        ),
        entry(
            "Deficit",
            "GPU-rounds that a workload was promised and has not held yet (below zero: held beyond its share); a GPU-round is one GPU for one round. The largest counts in either direction.".into(),
        ),
        entry(
            "Straggler workers",
            "workers of gangs that stand on different gpu types, where all wait for the slowest; summed over rounds.".into(),
        ),
        entry("Moved, preempted", "jobs that were stopped to continue elsewhere, and jobs that were stopped for others.".into()),
        entry("GPU time held", "the part of the healthy GPUs' time in which a job held them, while there were jobs.".into()),
    ])
}

/// Tenants whose past usage is told.
const PASTS_SHOWN: usize = 12;

/// The model of the world, notes about the inputs, and the command.
pub fn making(simulated: &Simulated<'_>) -> Section {
    let scenario = &simulated.scenario;
    let mut world = vec![
        "The scheduler is the real one: the simulator only answers for the world, in virtual time."
            .to_string(),
        format!(
            "A gang on one host runs as the profiles say for its size; without a row for it, every doubling of its workers \
             keeps {} of the speed per GPU. Over several hosts it loses what the profiles say, or else up to a factor \
             1 + {SPREAD_LOSS_PER_DOUBLING} log2(workers) · 2(hosts - 1)/hosts.",
            percent(SCALING_PER_DOUBLING)
        ),
        "A gang across gpu types runs at the pace of the slowest.".into(),
        format!(
            "Stopping a job and starting it again costs {} in which it holds its GPUs and trains nothing.",
            clock(scenario.settings.restart_cost.seconds())
        ),
    ];
    if let Some(half_life) = scenario.settings.usage_half_life {
        let mut words = format!(
            "Past usage counts, with a half-life of {}: weights are multiplied by {} at most, and divided by as much at most.",
            clock(half_life.seconds()),
            number(scenario.settings.usage_bound)
        );
        for run in &simulated.runs {
            let pasts = run.tenants.iter().filter_map(|t| t.past.map(|past| (&t.name, past)));
            let words_of = pasts.take(PASTS_SHOWN).map(|(name, past)| {
                format!("{name} {} (weight times {})", percent(past.usage), number(past.factor))
            });
            let words_of: Vec<String> = words_of.collect();
            words += &format!(
                " At the end under {}, of its equal split each tenant had used: {}.",
                run.mechanism.name(),
                words_of.join(", ")
            );
        }
        world.push(words);
    }
    if scenario.profile_error > 0.0 {
        world.push(format!(
            "The scheduler gets speeds that are off by up to {} in either direction.",
            percent(scenario.profile_error)
        ));
    }
    for lie in &scenario.lies {
        let types = simulated.gathered.profiles.types.iter().zip(&lie.factors);
        let told: Vec<String> = types
            .filter(|(_, factor)| **factor != 1.0)
            .map(|(name, factor)| format!("{} times its speed on {name}", number(*factor)))
            .collect();
        world.push(format!("{} lies: it reports {}.", lie.tenant, told.join(" and ")));
    }
    match scenario.guard {
        Policy::Off => {}
        Policy::Report => world.push(
            "The guard compares what jobs show with their profiles and says what does not fit.".into(),
        ),
        Policy::Replace => world.push(
            "The guard compares what jobs show with their profiles; where these do not fit, what was seen counts."
                .into(),
        ),
    }
    if let Some(failures) = scenario.failures {
        world.push(format!(
            "Nodes fail about every {} each and are back after about {}; what ran there continues elsewhere.",
            clock(failures.between_s),
            clock(failures.repair_s)
        ));
    }
    let section = Section::new("How this was made").list(world);
    let notes = &simulated.gathered.notes;
    let section = match notes.is_empty() {
        true => section,
        false => section.paragraph("About the inputs:").list(notes.iter().cloned()),
    };
    section
        .paragraph("The same command and files give the same report, byte for byte:")
        .preformatted(command())
}

/// The command line as one would type it.
fn command() -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=.,:/@+%".contains(c);
    let quoted = |argument: String| {
        let is_plain = !argument.is_empty() && argument.chars().all(plain);
        if is_plain { argument } else { format!("'{}'", argument.replace('\'', r"'\''")) }
    };
    let arguments = std::env::args_os().skip(1).map(|a| quoted(a.to_string_lossy().into_owned()));
    let mut line = String::from("oef");
    for argument in arguments {
        line.push_str(if argument.starts_with("--") { " \\\n    " } else { " " });
        line.push_str(&argument);
    }
    line
}

/// What somebody needs to make the report again.
pub fn parameters(simulated: &Simulated<'_>) -> Vec<(String, String)> {
    let (args, scenario) = (simulated.args, &simulated.scenario);
    let settings = &scenario.settings;
    let rounding = match args.scheduler.rounding {
        RoundingName::Deficit => "by deficits",
        RoundingName::Paper => "the paper's",
    };
    let placement = match args.scheduler.placement {
        PlacementName::Room => "room for gangs",
        PlacementName::Packed => "packed",
        PlacementName::FirstFree => "first free",
    };
    let mechanisms: Vec<&str> = simulated.runs.iter().map(|run| run.mechanism.name()).collect();
    let mut list = vec![
        ("seed", scenario.seed.to_string()),
        ("round", clock(settings.round.seconds())),
        ("mechanisms", mechanisms.join(", ")),
        ("rounding", rounding.into()),
        ("placement", placement.into()),
        ("restart cost", clock(settings.restart_cost.seconds())),
        ("least run", clock(settings.min_run.seconds())),
    ];
    list.extend(reference(simulated).map(|name| ("reference type", name)));
    list.extend(simulated.gathered.load.map(|load| ("load", number(load))));
    list.extend(scenario.until_s.map(|end| ("until", clock(end))));
    let origins = simulated.gathered.origins.iter().map(|(what, from)| (*what, from.clone()));
    list.into_iter().chain(origins).map(|(name, value)| (name.to_string(), value)).collect()
}

fn reference(simulated: &Simulated<'_>) -> Option<String> {
    let (problem, _) = simulated.runs.iter().find_map(|run| run.busiest.as_ref())?;
    Some(problem.types()[problem.reference().0].name.clone())
}
