//! Figures of rounds as means over equal stretches of time: thousands of rounds would be a smear.

use oef_sim::engine::RunResult;

/// Points of a line over time.
const POINTS: f64 = 150.0;

/// The length of a stretch that suits all runs, in whole rounds.
pub fn stretch(runs: &[&RunResult], round: f64) -> f64 {
    let end = runs.iter().map(|run| run.seconds).fold(0.0, f64::max);
    (end / POINTS / round.max(1e-3)).ceil().max(1.0) * round.max(1e-3)
}

/// The mean of a figure in each stretch of a run, as points in the middle of it. A round counts by the time that it
/// has in common with the stretch.
pub fn means(run: &RunResult, stretch: f64, value: impl Fn(usize) -> f64) -> Vec<(f64, f64)> {
    let at = &run.series.at_s;
    let mut points: Vec<(f64, f64, f64)> = Vec::new();
    for (i, &from) in at.iter().enumerate() {
        let to = at.get(i + 1).copied().unwrap_or(run.seconds).max(from);
        let value = value(i);
        let (first, last) = ((from / stretch).floor(), (to / stretch).floor());
        // A round that is as long as many stretches (nothing ran) fills them all.
        let mut slot = first;
        while slot <= last {
            let common = to.min((slot + 1.0) * stretch) - from.max(slot * stretch);
            if common > 0.0 {
                let middle = (slot + 0.5) * stretch;
                match points.last_mut().filter(|p| p.0 == middle) {
                    Some(point) => {
                        point.1 += value * common;
                        point.2 += common;
                    }
                    None => points.push((middle, value * common, common)),
                }
            }
            slot += 1.0;
        }
    }
    points.into_iter().map(|(x, sum, time)| (x, sum / time)).collect()
}

/// When the last job was submitted: what comes after is the tail.
pub fn last_submission(run: &RunResult) -> f64 {
    run.jobs.iter().map(|job| job.submit_s).fold(0.0, f64::max)
}
