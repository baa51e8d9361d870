//! A profile run while it goes: it is ended as soon as it is measured, or cannot be.

use super::measure::Measure;
use super::verdict::Told;
use crate::ending::{Ending, FailReason, length};
use crate::event::Progress;
use crate::measured::Measured;
use crate::records::RunSpec;
use oef_sched::Span;
use std::time::Duration;

/// A program that has measured itself ends by itself; one that hangs on its way out is ended after this.
const ENDS_ITSELF: Duration = Duration::from_secs(10);

/// What is known of a profile run so far.
#[derive(Debug)]
pub(super) struct ProbeRun {
    measure: Measure,
    limit: Span,
    /// What the program measured itself, and when that was seen.
    own: Option<(Duration, Measured)>,
    skipped_lines: u64,
}

impl ProbeRun {
    /// Nothing, where the job is no profile run.
    pub(super) fn of(launch: &RunSpec) -> Option<ProbeRun> {
        let probe = launch.probe?;
        let measure = Measure::new(probe);
        Some(ProbeRun { measure, limit: probe.limit, own: None, skipped_lines: 0 })
    }

    /// The last word of the program, so long after its start.
    pub(super) fn see(&mut self, at: Duration, progress: Option<&Progress>) {
        let Some(progress) = progress else { return };
        self.skipped_lines = progress.skipped_lines;
        match progress.measured {
            Some(own) => self.own = self.own.or(Some((at, own))),
            None => self.measure.line(at, progress.steps),
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
    pub(super) fn finish(self, ending: Ending, told: Option<&Told>) -> (Ending, Option<Measured>) {
        if ending != Ending::Finished {
            return (ending, None);
        }
        let (lines, limit, skipped) = (self.measure.lines(), self.limit, self.skipped_lines);
        let measured = self.own.map(|(_, own)| own).or_else(|| self.measure.result());
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

fn not_measured(when: &str, lines: u64, skipped: u64) -> Ending {
    let lines = match (lines, skipped) {
        (0, 0) => "its progress file is empty".to_string(),
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
        ProbeRun { measure: Measure::new(probe), limit: probe.limit, own: None, skipped_lines: 0 }
    }

    fn seconds(s: f64) -> Duration {
        Duration::from_secs_f64(s)
    }

    fn tell(run: &mut ProbeRun, at: f64, steps: f64, measured: Option<Measured>) {
        let record = Progress { steps, measured, ..Progress::default() };
        run.see(seconds(at), Some(&record));
    }

    const OWN: Measured =
        Measured { batch_seconds: 0.1, spread: 0.0, batches: 20, lots: 1, wait: Some(0.0) };

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
        let mut run = run();
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
        assert!(text.contains("after 1 min") && text.contains("3 lines"), "{text}");
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
        let mut done = run();
        tell(&mut done, 1.0, 40.0, Some(OWN));
        assert_eq!(done.finish(Ending::Finished, Some(&order)), (Ending::Finished, Some(OWN)));
    }
}
