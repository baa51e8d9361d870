//! The big numbers at the top.

use super::super::run::Simulated;
use super::measures::{MEASURES, Measure};
use oef_report::format::{clock, duration, fixed, number, percent, signed_percent};
use oef_report::html::{Card, Tone};
use oef_sim::engine::RunResult;

/// Indices into the measures.
const JCT: usize = 0;
const THROUGHPUT: usize = 3;

/// The cards.
pub fn cards(simulated: &Simulated<'_>) -> Vec<Card> {
    let runs = &simulated.runs;
    let Some(first) = runs.first() else { return Vec::new() };
    let mut cards = vec![
        compared(runs, &MEASURES[JCT], duration, "mean job completion time"),
        compared(runs, &MEASURES[THROUGHPUT], number, "mean throughput"),
        favour(runs),
    ];
    let held = runs.iter().map(|run| run.utilisation);
    let (least, most) = (held.clone().fold(1.0, f64::min), held.fold(0.0, f64::max));
    let range = if most - least < 5e-4 {
        percent(most)
    } else {
        format!("{}–{}", fixed(100.0 * least, 0), percent((100.0 * most).round() / 100.0))
    };
    cards.push(Card::new(
        range,
        "of the GPU time held",
        "While there were jobs, over the healthy GPUs.",
    ));
    let finished = runs.iter().map(|run| run.finished).min().unwrap_or(0);
    let all = first.finished + first.unfinished;
    let last = runs.iter().map(|run| run.seconds).fold(0.0, f64::max);
    let sentence = format!("Within {} of simulated time.", clock(last));
    let tone = if finished == all { Tone::Good } else { Tone::Warning };
    let jobs = if finished == all {
        format!("all {}", number(all as f64))
    } else {
        format!("{} of {}", number(finished as f64), number(all as f64))
    };
    cards.push(Card::new(jobs, "jobs finished", sentence).tone(tone));
    cards
}

fn compared(runs: &[RunResult], measure: &Measure, show: fn(f64) -> String, label: &str) -> Card {
    match measure.ends(runs) {
        Some((best, worst)) => {
            let (a, b) = ((measure.value)(best), (measure.value)(worst));
            let sentence = format!(
                "{}, the best; {} has {}.",
                best.mechanism,
                worst.mechanism,
                signed_percent(b / a - 1.0)
            );
            Card::new(show(a), label, sentence).tone(Tone::Good)
        }
        None => {
            let value = runs.first().map_or(0.0, measure.value);
            let sentence = if runs.len() > 1 { "The same under all mechanisms." } else { "" };
            Card::new(show(value), label, sentence)
        }
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
