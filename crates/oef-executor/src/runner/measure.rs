//! How long a batch of a profile run takes, by the lines of its progress file: for programs that do not measure
//! themselves. Pure: instants come in, as time since the start by a monotonic clock.

use crate::launch::Probe;
use crate::timing::Timing;
use std::time::Duration;

/// A lot whose middle half lies nearer together than this is good enough.
const SPREAD_WANTED: f64 = 0.05;

/// Lots in all: a job whose batches differ by nature would go on for ever.
const LOTS_MAX: u32 = 3;

/// Fewer batches say nothing.
const BATCHES_MIN: usize = 5;

/// Lines are noticed some milliseconds late, so that shorter times between two are joined.
const TIME_MIN: Duration = Duration::from_millis(100);

/// Collects the times between lines.
#[derive(Debug)]
pub(super) struct Measure {
    probe: Probe,
    /// The step with which it began; the warm-up counts from here.
    first: Option<f64>,
    /// The step that was told last.
    last: Option<f64>,
    /// Where the next time begins.
    from: Option<(Duration, f64)>,
    /// Seconds a batch of the current lot.
    lot: Vec<f64>,
    /// How long that lot took so far.
    lot_time: Duration,
    best: Option<Timing>,
    lots: u32,
    lines: u64,
}

impl Measure {
    pub(super) fn new(probe: Probe) -> Measure {
        Measure {
            probe,
            first: None,
            last: None,
            from: None,
            lot: Vec::new(),
            lot_time: Duration::ZERO,
            best: None,
            lots: 0,
            lines: 0,
        }
    }

    /// The last line that was read. What makes no sense is passed over; so is one that was seen before, since its
    /// time is that of its first sight.
    pub(super) fn line(&mut self, at: Duration, step: f64) {
        if !step.is_finite() || step < 0.0 || self.is_done() || self.last == Some(step) {
            return;
        }
        let last = self.last.replace(step);
        self.lines += 1;
        let (Some(first), Some((since, before))) = (self.first, self.from) else {
            (self.first, self.from) = (Some(step), Some((at, step)));
            return;
        };
        if last.is_some_and(|last| step < last) {
            // It counts anew: neither the time across the jump nor what comes next is a steady batch.
            (self.first, self.from) = (Some(step), Some((at, step)));
            return;
        }
        let took = at.saturating_sub(since);
        if took < TIME_MIN {
            return;
        }
        self.from = Some((at, step));
        // The time in which the warm-up ends is still a part of it.
        if before - first >= f64::from(self.probe.warmup) {
            self.lot.push(took.as_secs_f64() / (step - before));
            self.lot_time += took;
            let least = Duration::from_millis(self.probe.least.0);
            if self.lot.len() >= self.probe.batches as usize && self.lot_time >= least {
                self.close_lot();
            }
        }
    }

    fn close_lot(&mut self) {
        let lot = std::mem::take(&mut self.lot);
        self.lot_time = Duration::ZERO;
        self.lots += 1;
        let found = figures(lot).map(|(batch_seconds, spread, batches)| Timing {
            batch_seconds,
            spread,
            batches,
            lots: self.lots,
            wait: None,
        });
        let better = |found: &Timing| self.best.is_none_or(|best| found.spread < best.spread);
        if let Some(found) = found.filter(Timing::is_sound).filter(better) {
            self.best = Some(found);
        }
        if let Some(best) = &mut self.best {
            best.lots = self.lots;
        }
    }

    /// Whether there is nothing more to wait for.
    pub(super) fn is_done(&self) -> bool {
        self.lots >= LOTS_MAX || self.best.is_some_and(|best| best.spread <= SPREAD_WANTED)
    }

    /// How many lines made sense so far.
    pub(super) fn lines(&self) -> u64 {
        self.lines
    }

    /// The result, with an unfinished lot where there is nothing better.
    pub(super) fn result(mut self) -> Option<Timing> {
        if self.best.is_none() && self.lot.len() >= BATCHES_MIN {
            self.close_lot();
        }
        self.best
    }
}

/// Median, spread (interquartile range over median) and number of some times.
fn figures(mut times: Vec<f64>) -> Option<(f64, f64, u32)> {
    times.sort_by(f64::total_cmp);
    let last = times.len().checked_sub(1)?;
    let at = |part: f64| {
        let place = part * last as f64;
        let (below, above) = (times[place.floor() as usize], times[place.ceil() as usize]);
        below + (above - below) * place.fract()
    };
    let median = at(0.5);
    Some((median, (at(0.75) - at(0.25)) / median, times.len() as u32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use oef_sched::Span;
    use proptest::prelude::*;

    fn measure(batches: u32, warmup: u32, lines: &[(f64, f64)]) -> (bool, Option<Timing>) {
        measure_for(0, batches, warmup, lines)
    }

    fn measure_for(
        least: u64,
        batches: u32,
        warmup: u32,
        lines: &[(f64, f64)],
    ) -> (bool, Option<Timing>) {
        let (least, limit) = (Span(least), Span(1000));
        let mut measure = Measure::new(Probe { batches, warmup, least, limit });
        for (at, step) in lines {
            measure.line(Duration::from_secs_f64(*at), *step);
        }
        (measure.is_done(), measure.result())
    }

    /// Lines at these distances, one step each.
    fn every(times: &[f64]) -> Vec<(f64, f64)> {
        let mut now = 0.0;
        let line = |(step, time): (usize, &f64)| {
            now += time;
            (now, step as f64)
        };
        times.iter().enumerate().map(line).collect()
    }

    fn near(found: Option<Timing>, expected: f64) -> bool {
        found.is_some_and(|found| (found.batch_seconds / expected - 1.0).abs() < 1e-6)
    }

    #[test]
    fn the_warm_up_does_not_count() {
        let times = [&[9.0, 7.0, 5.0, 3.0][..], &[0.5; 10]].concat();
        let (done, found) = measure(10, 3, &every(&times));
        assert!(done && near(found, 0.5), "{found:?}");
        assert_eq!(found.map(|m| (m.batches, m.lots, m.spread < 1e-9)), Some((10, 1, true)));
        let (done, _) = measure(10, 4, &every(&times));
        assert!(!done, "one batch is missing");
    }

    #[test]
    fn short_batches_are_measured_for_longer() {
        // Fast at first, while the neighbours start, and then as it will be.
        let times = [&[0.0][..], &[0.125; 4], &[0.25; 40]].concat();
        let (done, found) = measure_for(5000, 10, 0, &every(&times));
        assert!(done && near(found, 0.25), "{found:?}");
        assert_eq!(found.map(|m| (m.batches, m.lots)), Some((22, 1)));
        let (done, found) = measure_for(5000, 10, 0, &every(&times[..20]));
        assert!(!done && near(found, 0.25), "what there is at the end does: {found:?}");
        let (done, found) = measure_for(5000, 10, 0, &every(&[0.75; 11]));
        assert!(done && near(found, 0.75), "long ones are as many as asked for: {found:?}");
    }

    #[test]
    fn lots_that_lie_apart_are_repeated_and_the_best_counts() {
        let wild: Vec<f64> = (0..10).map(|i| if i % 2 == 0 { 0.2 } else { 0.8 }).collect();
        let (done, found) = measure(10, 0, &every(&[&[0.0][..], &wild, &[0.5; 10]].concat()));
        assert!(done && near(found, 0.5), "{found:?}");
        assert_eq!(found.map(|m| m.lots), Some(2));
        let (done, found) = measure(10, 0, &every(&[&[0.0][..], &wild, &wild, &wild].concat()));
        assert!(done && near(found, 0.5), "{found:?}");
        assert_eq!(found.map(|m| (m.lots, m.spread > 1.0)), Some((3, true)));
    }

    #[test]
    fn what_makes_no_sense_changes_nothing() {
        let mut lines = every(&[0.5; 12]);
        for (place, odd) in [(3, f64::NAN), (4, f64::INFINITY), (5, -1.0)] {
            lines.insert(place, (lines[place].0, odd));
        }
        // The same step told twice, much later.
        lines.insert(9, (lines[8].0 + 0.2, lines[8].1));
        let (_, found) = measure(10, 0, &lines);
        assert!(near(found, 0.5), "{found:?}");
        assert!(measure(10, 0, &[]).1.is_none());
        assert!(measure(10, 0, &[(1.0, 1.0), (2.0, 2.0)]).1.is_none(), "one time says nothing");
    }

    #[test]
    fn steps_that_begin_anew_and_jumps_give_no_wrong_figure() {
        // A restart of the count in the middle: its own warm-up again, and no time across the jump.
        let mut lines = every(&[0.5; 9]);
        let end = lines.last().map_or(0.0, |l| l.0);
        lines.extend(every(&[0.5; 12]).iter().map(|(at, step)| (end + 30.0 + at, *step)));
        let (_, found) = measure(12, 2, &lines);
        assert!(near(found, 0.5), "{found:?}");
        // One step back within a time that is too short to count.
        let mut lines = every(&[0.06; 60]);
        lines.insert(31, (lines[30].0 + 0.03, 29.0));
        let (_, found) = measure(20, 0, &lines);
        assert!(near(found, 0.06), "{found:?}");
        // One leap by a million steps is one batch of many.
        let mut lines = every(&[0.5; 30]);
        lines.iter_mut().skip(10).for_each(|line| line.1 += 1e6);
        let (_, found) = measure(20, 0, &lines);
        assert!(near(found, 0.5), "{found:?}");
        // A program that writes a line for every hundred steps.
        let lines: Vec<_> = every(&[5.0; 12]).iter().map(|(at, n)| (*at, n * 100.0)).collect();
        assert!(near(measure(10, 5, &lines).1, 0.05));
    }

    #[test]
    fn a_line_that_is_looked_at_again_and_again_counts_when_it_came() {
        // Steps of 42 ms, looked at every 5 ms: two are too short a time, and three are 126 ms.
        let looks = (0..800).map(|n| f64::from(n) * 0.005);
        let lines: Vec<_> = looks.map(|at| (at, (at / 0.042).floor())).collect();
        let (done, found) = measure(20, 5, &lines);
        let found = found.expect("a figure");
        assert!(done && (found.batch_seconds / 0.042 - 1.0).abs() < 0.03, "{found:?}");
        assert_eq!(found.lots, 1, "{found:?}");
    }

    #[test]
    fn an_unfinished_lot_counts_where_there_is_nothing_else() {
        let (done, found) = measure(20, 2, &every(&[0.5; 9]));
        assert!(!done && near(found, 0.5), "{found:?}");
        assert_eq!(found.map(|m| m.batches), Some(6));
    }

    proptest! {
        /// Whatever comes, the median lies within the times that were there, and lines in bursts (a program that
        /// does not flush) are no faster than it ran.
        #[test]
        fn bursts_are_no_faster(step in 0.001..2.0f64, burst in 1usize..50) {
            let lines: Vec<_> = (1..400)
                .map(|n: usize| (n.div_ceil(burst) as f64 * burst as f64 * step, n as f64))
                .collect();
            if let (_, Some(found)) = measure(10, 5, &lines) {
                prop_assert!(found.batch_seconds > step * 0.8, "{found:?} {step}");
                prop_assert!(found.batch_seconds < step * 1.3 + 0.1, "{found:?} {step}");
            }
        }

        #[test]
        fn no_lines_make_a_figure_that_is_none(lines in prop::collection::vec((any::<u32>(), any::<f64>()), 0..80)) {
            let (least, limit) = (Span(0), Span(1000));
            let mut measure = Measure::new(Probe { batches: 5, warmup: 1, least, limit });
            for (at, step) in lines {
                measure.line(Duration::from_millis(u64::from(at)), step);
            }
            prop_assert!(measure.result().is_none_or(|found| found.is_sound()));
        }
    }
}
