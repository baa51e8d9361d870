//! Why a job runs, stops or waits, as data; the sentences are made from it.

use crate::gate::Obstacle;
use crate::ids::JobId;
use crate::time::{Span, Time};
use crate::why::{FORECAST_ROUNDS_MAX, Turn};
use oef_core::TypeId;
use std::fmt;

/// Below this part of a GPU, or of a GPU-round, two figures are the same to people.
pub(crate) const SAME: f64 = 0.005;

/// Why a job was given its GPUs.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum StartReason {
    /// Its workload was owed GPUs of the type.
    Owed {
        /// GPU-rounds owed of the type, with this round's share.
        deficit: f64,
    },
    /// The GPUs would have been idle.
    Extra,
    /// The GPUs are kept for a bigger gang that is owed them: it may be stopped at any round.
    Borrowed,
    /// The gang fits on no single type: it runs at the pace of the slowest.
    AcrossTypes,
    /// Idle GPUs of a better type or on one host pay for the restart.
    Better,
    /// Jobs of its tenant with a lower priority gave it their GPUs, on whose account it runs: it may be stopped at any round.
    Urgent,
    /// Its tenant is guaranteed these GPUs.
    Guaranteed,
    /// The cluster's own scheduler started it there, and nobody here was asked.
    Observed,
}

impl StartReason {
    /// Whether the job may be stopped before its minimum run time.
    pub(crate) fn is_borrowed(self) -> bool {
        matches!(self, StartReason::Borrowed | StartReason::Urgent)
    }
}

impl fmt::Display for StartReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartReason::Owed { deficit } if *deficit > SAME => {
                write!(f, "its workload was due {deficit:.2} GPU-rounds")
            }
            StartReason::Owed { deficit } if *deficit < -SAME => write!(
                f,
                "no waiting job had a better claim to its GPUs (with this round's share, its workload's balance is {deficit:.2} GPU-rounds)"
            ),
            StartReason::Owed { .. } => f.write_str("its workload's share covers its GPUs"),
            StartReason::Extra => f.write_str("the GPUs would have been idle"),
            StartReason::Borrowed => f.write_str("it borrows GPUs that a bigger job waits for"),
            StartReason::AcrossTypes => f.write_str("no single gpu type had room for the gang"),
            StartReason::Better => f.write_str("a better place pays for the restart"),
            StartReason::Urgent => f.write_str(
                "it has a higher priority than other jobs of its tenant, whose GPUs it was given",
            ),
            StartReason::Guaranteed => f.write_str("its tenant is guaranteed these GPUs"),
            StartReason::Observed => f.write_str("the cluster's own scheduler started it"),
        }
    }
}

/// Why a job was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum StopReason {
    /// Others are owed its GPUs.
    Outranked,
    /// It gave its GPUs to another job of its tenant, which has a higher priority.
    Displaced {
        /// That job.
        by: JobId,
    },
    /// Its GPUs go to a tenant that is guaranteed them.
    TakenBack,
    /// It makes room for a gang on its host.
    MadeRoom,
    /// It moves: its workload is owed GPUs elsewhere, or a better place pays for the restart.
    Moved,
    /// A node that it ran on is gone.
    NodeDown,
    /// Its owner cancelled it.
    Cancelled,
    /// Its owner holds it.
    Held,
    /// Its tenant is suspended.
    Suspended,
    /// Its tenant has more GPUs than it may have.
    OverLimit,
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StopReason::Outranked => "preempted: the GPUs go to a workload with a better claim",
            StopReason::Displaced { by } => {
                return write!(
                    f,
                    "gave its GPUs to job {by} of the same tenant, which has a higher priority"
                );
            }
            StopReason::TakenBack => "preempted: the GPUs go to a tenant that is guaranteed them",
            StopReason::MadeRoom => "moved to make room on its host for a larger job",
            StopReason::Moved => "moved to other GPUs",
            StopReason::NodeDown => "a node it ran on is down",
            StopReason::Cancelled => "cancelled",
            StopReason::Held => "held",
            StopReason::Suspended => "its tenant is suspended",
            StopReason::OverLimit => "its tenant is over its GPU limit",
        })
    }
}

/// Why a job waits.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum WaitReason {
    /// It may not start at all for now.
    Blocked(Obstacle),
    /// No type that it may use has so many GPUs, and they cannot be put together.
    TooLarge {
        /// Workers of the gang.
        workers: u32,
        /// The most GPUs it could ever have.
        most: u32,
    },
    /// Its workload runs on no gpu type of the cluster.
    CannotRun,
    /// No type that it may use is known to have enough memory.
    #[cfg_attr(feature = "serde", serde(rename = "gpu_memory"))]
    TooLittleMemory {
        /// What it needs, in MiB.
        #[cfg_attr(feature = "serde", serde(rename = "memory_mib"))]
        memory: u32,
    },
    /// Of the types that it may use no GPU is up.
    NoneUp {
        /// The first of them.
        gpu: TypeId,
    },
    /// The nodes that have room for it are to be out before it ends.
    Window {
        /// The one that is out last.
        node: String,
        /// When that is.
        #[cfg_attr(feature = "serde", serde(rename = "from_ms"))]
        from: Time,
        /// How long the job may run on it: until then.
        #[cfg_attr(feature = "serde", serde(rename = "within_ms"))]
        within: Span,
        /// How long it would run; `None`: nobody knows.
        #[cfg_attr(feature = "serde", serde(rename = "length_ms"))]
        length: Option<Span>,
    },
    /// Its tenant may not have so many GPUs of a type more, on any type that it can use.
    AtTypeLimit {
        /// The type with the largest limit.
        gpu: TypeId,
        /// GPUs of it that the tenant, or the group, may have at once.
        limit: u32,
        /// Workers of the gang.
        workers: u32,
        /// The group whose limit it is; `None`: the tenant's own.
        group: Option<String>,
    },
    /// Its tenant may not have so many GPUs more.
    AtLimit {
        /// GPUs that the tenant may have at once.
        limit: u32,
        /// GPUs that its jobs have.
        used: u32,
        /// Workers of the gang.
        workers: u32,
    },
    /// Jobs of the same workload go first.
    Behind {
        /// The job that is next.
        next: JobId,
        /// How many are ahead.
        ahead: usize,
    },
    /// Its workload has no share yet: it comes with the next round.
    NextRound,
    /// Its workload is entitled to nothing of the types that it may use: it runs when some are idle.
    NoShare,
    /// Its workload has no share because it cannot be part of the problem: it runs when GPUs are idle.
    LeftOut {
        /// Why it cannot.
        reason: String,
    },
    /// It is owed GPUs, and waits for room on fewer hosts: it is that much faster there.
    Room {
        /// The type.
        gpu: TypeId,
        /// The hosts that it waits for, and those that it could have had.
        hosts: (u32, u32),
        /// GPUs that it needs on each of the hosts that it waits for.
        workers: u32,
        /// How many times as fast it is with room.
        gain: f64,
    },
    /// Its workload saves up for the gang. It can expect to start when `deficit` has grown to half of `workers`, by `share` in
    /// each round.
    Saving {
        /// The type of which it has most in each round.
        gpu: TypeId,
        /// The balance in GPU-rounds, over all types that it may use.
        deficit: f64,
        /// GPUs it is entitled to in each round, of all these types.
        share: f64,
        /// Workers of the gang.
        workers: u32,
    },
    /// An urgent job of its tenant runs on the GPUs that it would have.
    Urgent {
        /// That job.
        job: JobId,
    },
    /// It is owed GPUs, and those who hold them may not yet be stopped, or are owed nearly as much.
    Protected {
        /// The type.
        gpu: TypeId,
        /// Workers of the gang.
        #[cfg_attr(feature = "serde", serde(default))]
        workers: u32,
        /// How long it is until jobs on enough of them may be stopped.
        #[cfg_attr(feature = "serde", serde(rename = "within_ms"))]
        within: Span,
    },
}

/// A reason, and when to expect the turn.
pub(crate) fn sentence(reason: &WaitReason, turn: Turn, types: &[String]) -> String {
    let name = |gpu: &TypeId| types.get(gpu.0).map_or("?", String::as_str);
    let why = match reason {
        WaitReason::TooLarge { workers, most } => {
            return format!("needs {} at once; it can have {most} at most", gpus(*workers));
        }
        WaitReason::NoShare => {
            return "its workload has no share of GPUs that it may use: it runs when some are idle"
                .into();
        }
        WaitReason::LeftOut { reason } => {
            return format!(
                "its workload has no share: {reason}; it runs on GPUs that nobody else can use"
            );
        }
        WaitReason::Blocked(obstacle) => return obstacle.to_string(),
        WaitReason::AtTypeLimit { gpu, limit, workers, group } => {
            return beyond_type_limit(name(gpu), *limit, *workers, group.as_deref());
        }
        WaitReason::AtLimit { limit, workers, .. } if workers > limit => {
            return format!("needs {} at once; its tenant may have {limit}", gpus(*workers));
        }
        WaitReason::AtLimit { limit, used, workers } => {
            let needs = gpus(*workers);
            return format!("needs {needs}; its tenant has {used} of the {limit} it may have");
        }
        WaitReason::TooLittleMemory { memory } => {
            let gib = (f64::from(*memory) / 102.4).round() / 10.0;
            return format!(
                "needs GPUs with {gib} GiB of memory; no gpu type that it may use is known to have that"
            );
        }
        WaitReason::Window { node, within, length, .. } => {
            return kept_from(node, *within, *length);
        }
        WaitReason::CannotRun => return "runs on no gpu type of this cluster".into(),
        WaitReason::NoneUp { gpu } => {
            return format!("no GPU of type {} is up: it waits for one", name(gpu));
        }
        WaitReason::Behind { next, ahead: 1 } => {
            format!("job {next} of its workload goes first")
        }
        WaitReason::Behind { next, ahead } => {
            format!("{ahead} jobs of its workload go first, job {next} next")
        }
        WaitReason::Urgent { job } => {
            return format!(
                "job {job} of its tenant has a higher priority and runs on its GPUs: it waits until that job ends"
            );
        }
        WaitReason::NextRound => "its workload has its first share in the next round".into(),
        WaitReason::Room { gpu, hosts: (room, without), workers, gain } => {
            let place = match room {
                1 => format!("one host with {workers} {}", name(gpu)),
                _ => format!("{room} hosts with {workers} {} together", name(gpu)),
            };
            format!("waits for {place}: {gain:.1} times as fast as over {without} hosts")
        }
        WaitReason::Saving { deficit, share, workers, .. } => saving(*deficit, *share, *workers),
        WaitReason::Protected { gpu, workers, within } => {
            let due = format!("its workload is due {} of {}", gpus(*workers), name(gpu));
            let they = match within {
                Span(0) => "keep theirs until it is owed clearly more than they are".into(),
                // A moment is not nothing.
                _ => format!("are protected for {} more", Span(within.0.max(1000))),
            };
            format!("{due}; the jobs there {they}")
        }
    };
    match turn {
        Turn::In(round) => format!("{why}; expected in round {round}"),
        Turn::FarAway => format!("{why}; its turn is more than {FORECAST_ROUNDS_MAX} rounds away"),
        Turn::Unknown => why,
    }
}

fn beyond_type_limit(gpu: &str, limit: u32, workers: u32, group: Option<&str>) -> String {
    let whose = group.map_or("its tenant".into(), |group| format!("its group {group}"));
    let needs = gpus(workers);
    match workers > limit {
        true => format!("needs {needs} at once; {whose} may have {limit} of {gpu}"),
        false => format!(
            "needs {needs}; {whose} may have {limit} of {gpu} at once, and its other jobs leave too few"
        ),
    }
}

fn kept_from(node: &str, within: Span, length: Option<Span>) -> String {
    let runs = match length {
        Some(length) => format!("it may run for {length}"),
        None => "how long it runs is not known".into(),
    };
    format!(
        "node {node} is reserved and out in {within}, and {runs}: it waits for other GPUs, or for the node to be back"
    )
}

fn saving(deficit: f64, share: f64, workers: u32) -> String {
    let balance = plain(deficit);
    if share <= 0.0 {
        return format!(
            "its workload has no share of GPUs that it may use in this round, and a balance of {balance:+.2} GPU-rounds"
        );
    }
    let does = if deficit <= -SAME { "waits" } else { "saves up" };
    format!(
        "its workload {does} for {}: balance {balance:+.2} GPU-rounds, {} in each round, its turn comes near {:+.2}",
        gpus(workers),
        growth(share),
        saved_up_for(workers)
    )
}

/// A number of GPUs in words.
pub(crate) fn gpus(count: u32) -> String {
    match count {
        0 => "no GPUs".into(),
        1 => "1 GPU".into(),
        _ => format!("{count} GPUs"),
    }
}

/// The balance at which a gang can expect its turn: on average it starts when half of it is saved up, and the other half is
/// paid back while it runs.
pub(crate) fn saved_up_for(workers: u32) -> f64 {
    f64::from(workers) / 2.0
}

/// By how much a balance grows, with as many digits as it takes to count rounds with it.
fn growth(share: f64) -> String {
    let digits = if share >= 0.1 { 2.0 } else { (2.0 - share.log10().floor()).min(12.0) };
    format!("{share:+.*}", digits as usize)
}

/// A balance in words; `None`: there is nothing to say of it. It says whose turn is next, and not what was delivered: turns that
/// nobody waits for lapse, and are not saved up.
pub fn balance_in_words(rounds: f64, waits: bool) -> Option<String> {
    match rounds {
        b if b > SAME && waits => Some(format!("balance {b:+.2} GPU-rounds of turns due")),
        b if b < -SAME => Some(format!(
            "balance {b:+.2} GPU-rounds: it used more than its turns (unused turns lapse)"
        )),
        _ => None,
    }
}

/// What is shown as 0 has no sign.
fn plain(figure: f64) -> f64 {
    if figure.abs() < SAME { 0.0 } else { figure }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::RoundId;

    #[test]
    fn who_used_more_than_its_turns_does_not_save_up() {
        let waits = |deficit: f64| {
            let reason = WaitReason::Saving { gpu: TypeId(0), deficit, share: 0.5, workers: 2 };
            sentence(&reason, Turn::In(RoundId(7)), &["k80".into()])
        };
        let behind = "its workload saves up for 2 GPUs: balance +1.25 GPU-rounds, +0.50 in each round, its turn comes near +1.00; expected in round 7";
        let ahead = "its workload waits for 2 GPUs: balance -1.25 GPU-rounds, +0.50 in each round, its turn comes near +1.00; expected in round 7";
        assert_eq!([waits(1.25), waits(-1.25)], [behind, ahead]);
    }

    #[test]
    fn who_is_protected_for_a_moment_is_not_said_to_be_for_none() {
        let said = |within: u64| {
            let within = Span(within);
            let reason = WaitReason::Protected { gpu: TypeId(0), workers: 1, within };
            sentence(&reason, Turn::Unknown, &["k80".into()])
        };
        assert!(said(300).ends_with("are protected for 1s more"), "{}", said(300));
    }

    #[test]
    fn a_small_share_is_shown_with_the_digits_that_count() {
        assert_eq!([5.007, 0.5, 0.0123].map(growth), ["+5.01", "+0.50", "+0.0123"]);
    }
}
