//! A profile run while it goes: it is ended as soon as it is measured, or cannot be.

use super::conclusion::Told;
use super::measure::Measure;
use crate::ending::{Ending, FailReason, length};
use crate::event::Progress;
use crate::records::RunSpec;
use crate::timing::Timing;
use oef_sched::Span;
use std::time::Duration;

/// A program that has measured itself ends by itself; one that hangs on its way out is ended after this.
const ENDS_ITSELF: Duration = Duration::from_secs(10);

/// A median of the program and one of the runner, who sees lines some milliseconds late, differ by less than this.
const TIMED_TOLERANCE: f64 = 1.2;
/// The same for a mean, which has pauses in it.
const MEAN_TOLERANCE: f64 = 1.5;
/// A mean is of so many steps at least, and over so long.
const STEPS_MIN: f64 = 4.0;
const TIME_MIN: Duration = Duration::from_millis(50);

/// What is known of a profile run so far.
#[derive(Debug)]
pub(super) struct ProbeRun {
    measure: Measure,
    limit: Span,
    /// What the program measured itself, and when that was seen.
    own: Option<(Duration, Timing)>,
    /// The steps that the runner saw, for programs that are too fast for more.
    seen: Seen,
    skipped_lines: u64,
}

impl ProbeRun {
    /// Nothing, where the job is no profile run.
    pub(super) fn of(launch: &RunSpec) -> Option<ProbeRun> {
        let probe = launch.probe?;
        let measure = Measure::new(probe);
        Some(ProbeRun {
            measure,
            limit: probe.limit,
            own: None,
            seen: Seen::after(probe.warmup),
            skipped_lines: 0,
        })
    }

    /// The last word of the program, so long after its start.
    pub(super) fn see(&mut self, at: Duration, progress: Option<&Progress>) {
        let Some(progress) = progress else { return };
        self.skipped_lines = progress.skipped_lines;
        match progress.measured {
            Some(own) => self.own = self.own.or(Some((at, own))),
            None => {
                self.measure.line(at, progress.steps);
                self.seen.line(at, progress.steps);
            }
        }
    }

    /// Whether it is time to end it.
    pub(super) fn told(&self, at: Duration) -> Option<Told> {
        let is_over = match self.own {
            Some((seen, _)) => at.saturating_sub(seen) >= ENDS_ITSELF,
            None => self.measure.is_done() || at >= Duration::from_millis(self.limit.0),
        };
        is_over.then_some(Told::Probed)
    }

    /// What was measured, and how it ended in the light of that.
    pub(super) fn finish(self, ending: Ending, told: Option<&Told>) -> (Ending, Option<Timing>) {
        if ending != Ending::Finished {
            return (ending, None);
        }
        let (lines, limit, skipped) = (self.measure.lines(), self.limit, self.skipped_lines);
        let (own, seen) = (self.own.map(|(_, own)| own), self.seen);
        let is_own = own.is_some();
        let measured = agree(own, self.measure.result(), &seen);
        if is_own && measured.is_none() {
            let detail = "what it measured itself is not what was seen of its steps".to_string();
            return (Ending::failed(FailReason::NotMeasured { detail }), None);
        }
        let ending = match (measured, told) {
            (Some(_), _) => Ending::Finished,
            (None, Some(Told::Probed)) => {
                not_measured(&format!("after {}", length(limit)), lines, skipped)
            }
            (None, None) => not_measured("when it had ended", lines, skipped),
            (None, Some(told)) => {
                Ending::Stopped { detail: format!("{}; it was not measured yet", told.why()) }
            }
        };
        (ending, measured)
    }
}

/// The steps that were seen between two instants.
#[derive(Clone, Copy, Debug)]
struct Seen {
    warmup: f64,
    begin: Option<(Duration, f64)>,
    /// Where the warm-up was over.
    from: Option<(Duration, f64)>,
    last: Option<(Duration, f64)>,
}

impl Seen {
    fn after(warmup: u32) -> Seen {
        Seen { warmup: f64::from(warmup), begin: None, from: None, last: None }
    }

    fn line(&mut self, at: Duration, step: f64) {
        let is_back = self.last.is_some_and(|(_, last)| step < last);
        if is_back || !step.is_finite() || at == Duration::MAX {
            return;
        }
        let (_, first) = *self.begin.get_or_insert((at, step));
        if step - first >= self.warmup {
            self.from.get_or_insert((at, step));
        }
        self.last = Some((at, step));
    }

    /// Seconds for each step that was seen, where these are enough to tell.
    fn batch_seconds(&self) -> Option<f64> {
        let ((since, first), (until, last)) = (self.from?, self.last?);
        let took = until.saturating_sub(since);
        (last - first >= STEPS_MIN && took >= TIME_MIN).then(|| took.as_secs_f64() / (last - first))
    }
}

/// What counts: a program's own figure only where the runner has timed the same. A job's word is that of an
/// interested party.
fn agree(own: Option<Timing>, timed: Option<Timing>, seen: &Seen) -> Option<Timing> {
    let Some(own) = own else { return timed };
    if let Some(timed) = timed {
        let is_near = near(own.batch_seconds, timed.batch_seconds, TIMED_TOLERANCE);
        return Some(if is_near { own } else { timed });
    }
    let mean = seen.batch_seconds()?;
    near(own.batch_seconds, mean, MEAN_TOLERANCE).then_some(own)
}

fn near(own: f64, timed: f64, tolerance: f64) -> bool {
    (1.0 / tolerance..=tolerance).contains(&(own / timed))
}

fn not_measured(when: &str, lines: u64, skipped: u64) -> Ending {
    let lines = match (lines, skipped) {
        (0, 0) => "its progress file told of no step".to_string(),
        (0, skipped) => format!("none of the {skipped} lines of its progress file can be read"),
        (lines, 0) => format!("its progress file told of {lines} steps"),
        (lines, skipped) => format!(
            "its progress file told of {lines} steps, and {skipped} more lines cannot be read"
        ),
    };
    Ending::failed(FailReason::NotMeasured { detail: format!("{when}, {lines}") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::Probe;

    fn run() -> ProbeRun {
        let probe = Probe { batches: 5, warmup: 1, least: Span(0), limit: Span(60_000) };
        let (measure, limit, seen) = (Measure::new(probe), probe.limit, Seen::after(probe.warmup));
        ProbeRun { measure, limit, own: None, seen, skipped_lines: 0 }
    }

    fn seconds(s: f64) -> Duration {
        Duration::from_secs_f64(s)
    }

    fn tell(run: &mut ProbeRun, at: f64, steps: f64, measured: Option<Timing>) {
        let record = Progress { steps, measured, ..Progress::default() };
        run.see(seconds(at), Some(&record));
    }

    const OWN: Timing =
        Timing { batch_seconds: 0.1, spread: 0.0, batches: 20, lots: 1, wait: Some(0.0) };

    /// One whose steps the runner has seen: a tenth of a second each.
    fn timed() -> ProbeRun {
        let mut run = run();
        for n in 0..8u8 {
            tell(&mut run, f64::from(n) * 0.1, f64::from(n), None);
        }
        run
    }

    #[test]
    fn a_figure_that_the_runner_did_not_time_counts_nothing() {
        // One word and no step: whatever it says, nobody saw it.
        let mut liar = run();
        tell(&mut liar, 5.0, 40.0, Some(OWN));
        let (ending, measured) = liar.finish(Ending::Finished, None);
        assert!(measured.is_none() && ending.to_string().contains("measured itself"), "{ending}");
        // Steps that were seen, and another figure: what was seen counts.
        let mut liar = timed();
        tell(&mut liar, 1.0, 8.0, Some(Timing { batch_seconds: 0.01, ..OWN }));
        let (ending, measured) = liar.finish(Ending::Finished, None);
        let seconds = measured.map_or(0.0, |found| found.batch_seconds);
        assert!(ending == Ending::Finished && (seconds - 0.1).abs() < 0.02, "{seconds}");
        // Too fast to be timed one by one: the mean has to fit.
        for (own, counts) in [(0.01, true), (0.002, false), (0.05, false)] {
            let mut fast = run();
            for n in 0..30u8 {
                tell(&mut fast, f64::from(n) * 0.01, f64::from(n), None);
            }
            tell(&mut fast, 0.3, 31.0, Some(Timing { batch_seconds: own, ..OWN }));
            let (_, measured) = fast.finish(Ending::Finished, None);
            assert_eq!(measured.is_some(), counts, "{own}");
        }
    }

    #[test]
    fn it_is_ended_once_it_is_measured() {
        let mut run = run();
        for n in 0..7u8 {
            assert_eq!(run.told(seconds(f64::from(n))), None, "{n}");
            tell(&mut run, f64::from(n), f64::from(n), None);
        }
        assert_eq!(run.told(seconds(6.0)), Some(Told::Probed));
        let (ending, measured) = run.finish(Ending::Finished, Some(&Told::Probed));
        assert_eq!((ending, measured.map(|m| m.batches)), (Ending::Finished, Some(5)));
    }

    #[test]
    fn a_program_that_measures_itself_goes_first_and_is_given_time_to_end() {
        let mut run = timed();
        tell(&mut run, 1.0, 40.0, Some(OWN));
        assert_eq!((run.told(seconds(2.0)), run.told(seconds(12.0))), (None, Some(Told::Probed)));
        assert_eq!(run.finish(Ending::Finished, None), (Ending::Finished, Some(OWN)));
    }

    #[test]
    fn one_that_says_nothing_fails_with_what_to_do() {
        let mut silent = run();
        assert_eq!(silent.told(seconds(59.9)), None);
        assert_eq!(silent.told(seconds(60.0)), Some(Told::Probed));
        silent.skipped_lines = 3;
        let (ending, measured) = silent.finish(Ending::Finished, Some(&Told::Probed));
        let text = ending.to_string();
        assert!(text.contains("after 1m") && text.contains("3 lines"), "{text}");
        assert!(text.contains("steps") && measured.is_none(), "{text}");
        let (ending, _) = run().finish(Ending::Finished, None);
        assert!(ending.to_string().contains("when it had ended"), "{ending}");
    }

    #[test]
    fn one_that_was_stopped_by_others_is_no_failure() {
        let order = Told::Order("others are owed more".into());
        let (ending, measured) = run().finish(Ending::Finished, Some(&order));
        assert!(matches!(ending, Ending::Stopped { .. }) && measured.is_none(), "{ending}");
        let (ending, _) = run().finish(Ending::Checkpointed, Some(&order));
        assert_eq!(ending, Ending::Checkpointed);
        let mut done = timed();
        tell(&mut done, 1.0, 40.0, Some(OWN));
        assert_eq!(done.finish(Ending::Finished, Some(&order)), (Ending::Finished, Some(OWN)));
    }
}
