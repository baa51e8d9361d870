//! Why a job is in its state, as data: what is kept and compared. The sentence is made where somebody reads it.

use super::RunEnding;
use super::lifecycle::shown;
use oef_api::types::{DependencyCondition, Exit, JobState};
use oef_sched::{JobId, Span, StartReason, StopReason};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What stands in a sentence before the job's own output: viewers are shown what comes before it.
pub(crate) const LAST_LINE: &str = "; its last line: ";

/// Why a job is in its state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Reason {
    /// It was submitted.
    Submitted {
        /// Its owner holds it.
        held: bool,
        /// Its tenant is suspended.
        suspended: bool,
    },
    /// Somebody holds it.
    Held {
        /// Who.
        by: String,
    },
    /// Somebody let it go.
    Released {
        /// Who.
        by: String,
    },
    /// Somebody changed it.
    Edited {
        /// What.
        fields: Vec<String>,
        /// Who.
        by: String,
    },
    /// Its start time has come.
    StartTimeCame,
    /// A job that it waited for has ended as it should.
    DependencyMet {
        /// That job.
        job: JobId,
        /// How it ended.
        ended: JobState,
    },
    /// A job that it waits for has ended otherwise: it will never start.
    DependencyUnmet {
        /// That job.
        job: JobId,
        /// How it should have ended.
        when: DependencyCondition,
        /// How it ended.
        ended: JobState,
    },
    /// The wait after a failure is over.
    TriedAgain,
    /// It was given GPUs.
    Started {
        /// The GPUs, in words.
        gpus: String,
        /// Why it was given them.
        why: StartReason,
    },
    /// Its executor prepares its start.
    Preparing {
        /// What it waits for.
        detail: String,
    },
    /// Its processes run.
    Runs {
        /// The GPUs, in words.
        gpus: String,
    },
    /// The scheduler stops it.
    Stopped {
        /// Why.
        why: StopReason,
    },
    /// The daemon stops, and its jobs with it.
    DaemonStops,
    /// Somebody cancelled it.
    Cancelled {
        /// Who.
        by: String,
    },
    /// It was stopped and waits again.
    Requeued {
        /// Why it was stopped.
        why: Option<Box<Reason>>,
        /// How its run ended.
        ending: RunEnding,
    },
    /// Its processes are gone; it waits again.
    Lost {
        /// What is known of it.
        detail: String,
        /// How long it waits before that; none: not at all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait_ms: Option<u64>,
    },
    /// It failed and is tried again.
    Retry {
        /// What went wrong.
        detail: String,
        /// How long it waits before that.
        wait_ms: u64,
        /// The number of this try...
        retry: u32,
        /// ... and how many there are.
        retries: u32,
    },
    /// It did all its work.
    Finished,
    /// It was measured.
    Measured {
        /// The median of its batches.
        batch_seconds: f64,
    },
    /// It ran for as long as it may.
    TimeLimit {
        /// How long that is.
        limit_s: f64,
    },
    /// It failed for good.
    Failed {
        /// What went wrong.
        detail: String,
        /// How often.
        failures: u32,
        /// How the worker ended that it began with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit: Option<Exit>,
        /// The last line of its output, for those who may see inside.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_line: Option<String>,
    },
    /// In the words of a version that wrote sentences down.
    #[serde(untagged)]
    Text(String),
}

impl Reason {
    /// The same without the job's own output, for those who may not see inside.
    pub fn without_output(&self) -> Reason {
        match self.clone() {
            Reason::Failed { detail, failures, exit, .. } => {
                Reason::Failed { detail, failures, exit, last_line: None }
            }
            Reason::Text(text) => match text.split_once(LAST_LINE) {
                Some((before, _)) => Reason::Text(before.into()),
                None => Reason::Text(text),
            },
            other => other,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Submitted { suspended: true, .. } => {
                f.write_str("submitted; its tenant is suspended")
            }
            Reason::Submitted { held: true, .. } => f.write_str("submitted, and held"),
            Reason::Submitted { .. } => f.write_str("submitted"),
            Reason::Held { by } => write!(f, "held by {by}"),
            Reason::Released { by } => write!(f, "released by {by}"),
            Reason::Edited { fields, by } if fields.is_empty() => {
                write!(f, "left as it was by {by}")
            }
            Reason::Edited { fields, by } => write!(f, "{} changed by {by}", fields.join(", ")),
            Reason::StartTimeCame => f.write_str("its start time has come"),
            Reason::DependencyMet { job, ended } => {
                write!(f, "job {job}, which it waited for, {}", ended_how(*ended))
            }
            Reason::DependencyUnmet { job, when, ended } => {
                let wanted = match when {
                    DependencyCondition::Finished => "finished",
                    DependencyCondition::Ended => "ended",
                    DependencyCondition::Failed => "failed",
                };
                let ended = ended_how(*ended);
                write!(f, "it was to start after job {job} {wanted}, and that job {ended}")
            }
            Reason::TriedAgain => f.write_str("waits for another try"),
            Reason::Started { gpus, why } => write!(f, "starts on {gpus}: {why}"),
            Reason::Preparing { detail } => f.write_str(detail),
            Reason::Runs { gpus } => write!(f, "runs on {gpus}"),
            Reason::Stopped { why } => write!(f, "{why}"),
            Reason::DaemonStops => f.write_str("the daemon stops; it goes on with the next start"),
            Reason::Cancelled { by } => write!(f, "cancelled by {by}"),
            Reason::Requeued { why, ending } => {
                let saved = match ending {
                    RunEnding::Checkpointed => "it saved its work",
                    RunEnding::Lost | RunEnding::Hindered => {
                        "its processes were gone before it saved its work"
                    }
                    _ => "it did not say that it saved its work",
                };
                match why {
                    Some(why) => write!(f, "was stopped: {why}; {saved}"),
                    None => write!(f, "was stopped: it was told to; {saved}"),
                }
            }
            Reason::Lost { detail, wait_ms: None } => write!(f, "waits again: {detail}"),
            Reason::Lost { detail, wait_ms: Some(wait) } => {
                write!(f, "{detail}; tried again in {}", shown(Span(*wait)))
            }
            Reason::Retry { detail, wait_ms, retry, retries } => {
                let wait = shown(Span(*wait_ms));
                write!(f, "failed: {detail}; tried again in {wait} (retry {retry} of {retries})")
            }
            Reason::Finished => f.write_str("all its work is done"),
            Reason::Measured { batch_seconds } => {
                write!(f, "measured: {batch_seconds:.4} s a batch")
            }
            Reason::TimeLimit { limit_s } => {
                write!(f, "reached its time limit of {}", shown(Span::from_seconds(*limit_s)))
            }
            Reason::Failed { detail, failures, last_line, .. } => {
                f.write_str(detail)?;
                if *failures > 1 {
                    write!(f, "; gave up after {failures} failures")?;
                }
                last_line.as_ref().map_or(Ok(()), |line| write!(f, "{LAST_LINE}{line}"))
            }
            Reason::Text(text) => f.write_str(text),
        }
    }
}

/// How a job ended, as the end of a sentence.
fn ended_how(state: JobState) -> &'static str {
    match state {
        JobState::TimedOut => "reached its time limit",
        JobState::Cancelled => "was cancelled",
        other => other.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_come_back_from_json() {
        let reasons = [
            Reason::StartTimeCame,
            Reason::Started { gpus: "1 g on n".into(), why: StartReason::Owed { deficit: 0.25 } },
            Reason::Requeued {
                why: Some(Box::new(Reason::Stopped {
                    why: StopReason::Displaced { by: JobId(7) },
                })),
                ending: RunEnding::Checkpointed,
            },
            Reason::Failed {
                detail: "worker 0 ended with exit code 3".into(),
                failures: 2,
                exit: Some(Exit { rank: 0, code: Some(3), signal: None }),
                last_line: Some("KeyError".into()),
            },
            Reason::Text("as it was written".into()),
        ];
        for reason in reasons {
            let text = serde_json::to_string(&reason).expect("JSON");
            assert_eq!(serde_json::from_str::<Reason>(&text).expect("the same"), reason, "{text}");
        }
    }

    #[test]
    fn sentences_of_older_versions_stay_as_they_are() {
        let old = "it broke; its last line: secret";
        let reason: Reason = serde_json::from_value(old.into()).expect("a sentence");
        assert_eq!(
            (reason.to_string(), reason.without_output().to_string()),
            (old.into(), "it broke".into())
        );
    }
}
