//! From how the workers ended to how the job ended. Pure, so that every case is a line of a table.

use crate::ending::{Ending, FailReason, length, signal_name};
use oef_sched::{Generation, Span};

/// "Temporary failure; try again": the exit code by which a job says that it saved its work.
pub(super) const SAVED: i32 = 75;

/// How one process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    Code(i32),
    Signal(i32),
}

/// How one worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WorkerEnd {
    pub(super) rank: u32,
    pub(super) exit: Exit,
    /// After the gang was told to stop.
    pub(super) after_stop: bool,
}

/// Why a gang was told to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// By order.
    Order(String),
    /// It has run for as long as it may.
    MaxRun(Span),
    /// A profile run is measured, or has had its time.
    Probed,
    /// Somebody sent the runner a signal.
    Terminated,
    /// A newer lease of the job appeared.
    Superseded(Generation),
    /// The folder of the start was removed.
    Abandoned,
}

impl Told {
    pub(super) fn why(&self) -> String {
        match self {
            Told::Order(why) => why.clone(),
            Told::MaxRun(limit) => {
                format!("it reached its time limit ({} were left for this run)", length(*limit))
            }
            Told::Probed => "its profile run is over".to_string(),
            Told::Terminated => "its runner was told to end by a signal".to_string(),
            Told::Superseded(newer) => format!("lease {newer} of the same job took its place"),
            Told::Abandoned => "its folder was removed".to_string(),
        }
    }
}

/// What a whole gang did.
#[derive(Debug)]
pub(super) struct Gone<'a> {
    /// Every worker, in the order in which they ended.
    pub(super) ends: &'a [WorkerEnd],
    pub(super) told: Option<&'a Told>,
    /// It did not end within the grace time.
    pub(super) was_killed: bool,
    pub(super) grace: Span,
}

/// How the job ended. A failure has no lines of output yet.
pub(super) fn judge(gone: &Gone) -> Ending {
    let first_bad = gone.ends.iter().find(|end| end.exit != Exit::Code(0));
    let Some(first_bad) = first_bad else { return Ending::Finished };
    if !first_bad.after_stop {
        return match first_bad.exit {
            Exit::Code(SAVED) => Ending::Checkpointed,
            Exit::Code(code) => failed(first_bad.rank, FailReason::Exit, Some(code), None),
            Exit::Signal(signal) => failed(first_bad.rank, FailReason::Signal, None, Some(signal)),
        };
    }
    let saved = gone.ends.iter().any(|end| end.exit == Exit::Code(SAVED));
    match gone.told {
        // However it ends: nobody asked for more than the measurement.
        Some(Told::Probed) => Ending::Finished,
        Some(Told::MaxRun(limit)) => Ending::TimedOut { limit: *limit, checkpointed: saved },
        _ if saved => Ending::Checkpointed,
        told => Ending::Stopped { detail: detail(gone, first_bad, told) },
    }
}

fn failed(rank: u32, reason: FailReason, code: Option<i32>, signal: Option<i32>) -> Ending {
    Ending::Failed { reason, rank: Some(rank), code, signal, last_lines: String::new() }
}

fn detail(gone: &Gone, first: &WorkerEnd, told: Option<&Told>) -> String {
    let how = match first.exit {
        _ if gone.was_killed => {
            format!("it did not end within its {} of grace and was killed", length(gone.grace))
        }
        Exit::Code(code) => format!("worker {} ended with exit code {code}", first.rank),
        Exit::Signal(signal) => format!("worker {} ended by {}", first.rank, signal_name(signal)),
    };
    match told {
        Some(told) => format!("{}; {how}", told.why()),
        None => how,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(list: &[(Exit, bool)]) -> Vec<WorkerEnd> {
        let numbered = list.iter().zip(0..);
        numbered
            .map(|((exit, after_stop), rank)| WorkerEnd {
                rank,
                exit: *exit,
                after_stop: *after_stop,
            })
            .collect()
    }

    #[test]
    fn how_gangs_end() {
        use Exit::{Code, Signal};
        let order = Told::Order("others are owed more".into());
        let max = Told::MaxRun(Span(60_000));
        let stopped =
            |how: &str| Ending::Stopped { detail: format!("others are owed more; {how}") };
        let check = |list: &[(Exit, bool)], told: Option<&Told>, was_killed, expected: Ending| {
            let ends = ends(list);
            let gone = Gone { ends: &ends, told, was_killed, grace: Span(5000) };
            assert_eq!(judge(&gone), expected, "{list:?}");
        };
        let timed_out = |checkpointed| Ending::TimedOut { limit: Span(60_000), checkpointed };
        check(&[(Code(0), false), (Code(0), false)], None, false, Ending::Finished);
        check(&[(Code(0), false), (Code(75), false)], None, false, Ending::Checkpointed);
        let exit = failed(0, FailReason::Exit, Some(3), None);
        check(&[(Code(3), false), (Code(75), true)], None, false, exit.clone());
        let signal = failed(1, FailReason::Signal, None, Some(11));
        check(&[(Code(0), false), (Signal(11), false)], None, false, signal);
        // It failed before it could be told.
        check(&[(Code(3), false), (Signal(15), true)], Some(&order), false, exit);
        check(&[(Code(0), true), (Code(0), true)], Some(&order), false, Ending::Finished);
        check(&[(Signal(15), true), (Code(75), true)], Some(&order), false, Ending::Checkpointed);
        check(&[(Signal(15), true)], Some(&order), false, stopped("worker 0 ended by SIGTERM"));
        check(&[(Code(2), true)], Some(&order), false, stopped("worker 0 ended with exit code 2"));
        let killed = stopped("it did not end within its 5s of grace and was killed");
        check(&[(Signal(9), true)], Some(&order), true, killed);
        check(&[(Signal(9), true)], Some(&max), true, timed_out(false));
        check(&[(Code(75), true)], Some(&max), false, timed_out(true));
        for exit in [Code(75), Code(2), Signal(15), Signal(9)] {
            check(&[(exit, true)], Some(&Told::Probed), true, Ending::Finished);
        }
        let exit = failed(0, FailReason::Exit, Some(3), None);
        check(&[(Code(3), false)], Some(&Told::Probed), false, exit);
    }
}
