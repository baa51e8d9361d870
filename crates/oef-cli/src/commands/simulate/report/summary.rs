//! The big numbers at the top.

use super::super::run::Simulated;
use super::measures::{MEASURES, Measure};
use oef_report::format::{clock, duration, fixed, number, percent};
use oef_report::html::{Card, Tone};
use oef_sim::engine::RunResult;

/// Indices into the measures.
const JCT: usize = 0;
const THROUGHPUT: usize = 3;

pub fn cards(simulated: &Simulated<'_>) -> Vec<Card> {
    let runs = &simulated.runs;
    let Some(first) = runs.first() else { return Vec::new() };
    let mut cards = vec![
        compared(runs, &MEASURES[JCT], "mean job completion time", |run| {
            format!(
                "Half of the jobs within {}, 99 of 100 within {}.",
                duration(run.jct.p50),
                duration(run.jct.p99)
            )
        }),
        compared(runs, &MEASURES[THROUGHPUT], "mean throughput", |run| {
            format!("In GPUs of the reference type; the shares promised {}.", number(run.estimated))
        }),
        favour(runs),
    ];
    cards.push(jobs(runs, first));
    cards
}

fn jobs(runs: &[RunResult], first: &RunResult) -> Card {
    let finished = runs.iter().map(|run| run.finished).min().unwrap_or(0);
    let all = first.finished + first.unfinished;
    let last = runs.iter().map(|run| run.seconds).fold(0.0, f64::max);
    let held = runs.iter().map(|run| run.utilisation);
    let (least, most) = (held.clone().fold(1.0, f64::min), held.fold(0.0, f64::max));
    let whole = |part: f64| fixed(100.0 * part, 0);
    let held = if whole(least) == whole(most) {
        format!("{} %", whole(most))
    } else {
        format!("{} to {} %", whole(least), whole(most))
    };
    let sentence =
        format!("Within {} of simulated time; {held} of the GPU time was held.", clock(last));
    let (value, tone) = if finished == all {
        (format!("all {}", number(all as f64)), Tone::Good)
    } else {
        (format!("{} of {}", number(finished as f64), number(all as f64)), Tone::Warning)
    };
    Card::new(value, "jobs finished", sentence).tone(tone)
}

/// The best of all and how far the worst is from it; or what there is to say about one run.
fn compared(
    runs: &[RunResult],
    measure: &Measure,
    label: &str,
    alone: fn(&RunResult) -> String,
) -> Card {
    if let Some((best, worst)) = measure.ends(runs) {
        let (a, b) = ((measure.value)(best), (measure.value)(worst));
        let difference = percent((b / a - 1.0).abs());
        let word = if b > a { "more" } else { "less" };
        let sentence = format!(
            "Under {}, the best; {} has {difference} {word}.",
            best.mechanism, worst.mechanism
        );
        return Card::new((measure.show)(a), label, sentence).tone(Tone::Good);
    }
    match runs {
        [first, _, ..] => Card::new(
            (measure.show)((measure.value)(first)),
            label,
            "The same under all mechanisms.",
        ),
        [one] => Card::new((measure.show)((measure.value)(one)), label, alone(one)),
        [] => Card::new("–", label, ""),
    }
}

fn favour(runs: &[RunResult]) -> Card {
    let by = |a: &&RunResult, b: &&RunResult| {
        a.worst_sharing_incentive.total_cmp(&b.worst_sharing_incentive)
    };
    let Some(best) = runs.iter().max_by(by) else { return Card::new("–", "", "") };
    let value = best.worst_sharing_incentive;
    let tone = if value >= 1.0 - 1e-6 { Tone::Good } else { Tone::Warning };
    let promised = fixed(best.worst_promised_incentive, 2);
    let sentence = format!(
        "Under {}, for the tenant that fares worst; its shares promised {promised} x.",
        best.mechanism
    );
    Card::new(format!("{} x", fixed(value, 2)), "of an equal split, at least", sentence).tone(tone)
}
