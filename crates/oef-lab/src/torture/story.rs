//! What happens in one seed: steps that make sense in any order, so that a story can be made shorter.

use super::dice::Dice;
use oef_core::Mechanism;
use std::fmt;

/// One thing that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Time passes.
    Wait { ms: u64 },
    /// A tenant submits a job.
    Submit { tenant: u8, workers: u8, kind: Kind, ms: u64 },
    /// The same submission comes again, as it does when its answer was lost.
    SubmitAgain { nth: u8 },
    /// Somebody cancels a job.
    Cancel { nth: u8 },
    /// A job is held, or released.
    Hold { nth: u8, on: bool },
    /// A waiting job gets another priority.
    Edit { nth: u8, priority: u8 },
    /// A job is submitted again as it was.
    Resubmit { nth: u8 },
    /// A tenant submits a job that waits for another.
    Depend { tenant: u8, nth: u8, ms: u64 },
    /// A tenant submits a job that takes the GPUs of its others at once.
    Urgent { tenant: u8, workers: u8, ms: u64 },
    /// An operator puts a tenant into a group, or takes it out.
    Group { tenant: u8, group: u8, weight: u8 },
    /// An operator promises a tenant so many GPUs of each type, or allows it no more than so many.
    Bound { tenant: u8, gpus: u8, is_limit: bool },
    /// An operator plans to take a node out.
    Plan { node: u8, from_s: u16, length_s: u16 },
    /// An operator changes a weight.
    Weigh { tenant: u8, weight: u8 },
    /// An operator suspends a tenant, or lets it go on.
    Suspend { tenant: u8, on: bool },
    /// An operator removes a tenant with all its jobs.
    Remove { tenant: u8 },
    /// A tenant declares a profile.
    Declare { tenant: u8, fast: u8 },
    /// An operator takes a node out, or back in.
    Drain { node: u8, on: bool },
    /// A node dies with all that runs there, or comes back.
    Node { node: u8, up: bool },
    /// Others use a GPU of a node, or no longer.
    Foreign { node: u8, on: bool },
    /// The cluster lets a node take no more jobs, or takes it back in; those that run there go on.
    Closed { node: u8, on: bool },
    /// What stands beside a job is killed.
    Kill { nth: u8 },
    /// The daemon is killed.
    Crash,
    /// The machine dies in the next transaction, before or after it is durable.
    Power { after: bool },
    /// The daemon stops cleanly, with a snapshot, and starts again.
    Restart,
    /// The daemon is killed, a bit of a record flips, and it is started again.
    Rot { nth: u8 },
    /// The daemon is killed, an older copy of its journal is put in place, also of its end in the second place, and it is
    /// started again.
    Older { records: u8, end: bool },
    /// The state folder is moved away under the daemon, or put back.
    Moved { on: bool },
    /// The disk is full, or has room again.
    Full { on: bool },
    /// The network is slow and mixes things up, or works.
    Slow { on: bool },
    /// An acknowledgement is lost: events come again.
    Repeat,
    /// Somebody sets the wall clock, so many minutes from the truth.
    Clock { minutes: i16 },
    /// Another length of rounds.
    Rounds { seconds: u16 },
    /// Shares by another mechanism.
    Shares { by: Mechanism },
}

/// How a job behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It works, and saves when it is told to stop.
    Works,
    /// It ignores the signal and is killed after its grace time.
    Stubborn,
    /// It fails after its time.
    Fails,
    /// Its processes are gone, the first two times.
    Vanishes,
    /// It tells nonsense of its progress.
    Lies,
    /// Its start never gets anywhere.
    Hangs,
}

impl Kind {
    pub const ALL: [Kind; 6] =
        [Kind::Works, Kind::Stubborn, Kind::Fails, Kind::Vanishes, Kind::Lies, Kind::Hangs];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Works => "works",
            Kind::Stubborn => "stubborn",
            Kind::Fails => "fails",
            Kind::Vanishes => "vanishes",
            Kind::Lies => "lies",
            Kind::Hangs => "hangs",
        }
    }

    pub fn named(name: &str) -> Kind {
        Kind::ALL.into_iter().find(|kind| kind.name() == name).unwrap_or(Kind::Works)
    }
}

/// The steps of a seed, over so many simulated milliseconds.
pub(super) fn story(seed: u64, length_ms: u64) -> Vec<Step> {
    let mut dice = Dice::new(seed);
    let mut steps = Vec::new();
    let mut passed = 0;
    // Some seeds are calm, some are wild.
    let trouble = 1 + dice.below(6);
    while passed < length_ms {
        let ms = match dice.below(3) {
            0 => 200 + dice.below(3_000),
            1 => 5_000 + dice.below(60_000),
            _ => 60_000 + dice.below(600_000),
        };
        let ms = ms.min(length_ms - passed).max(1);
        passed += ms;
        steps.push(Step::Wait { ms });
        for _ in 0..=dice.below(3) {
            steps.push(peaceful(&mut dice));
        }
        if dice.below(8) < trouble {
            steps.push(trouble_of(&mut dice));
        }
    }
    steps
}

fn peaceful(dice: &mut Dice) -> Step {
    let byte = |dice: &mut Dice| dice.below(256) as u8;
    match dice.below(27) {
        26 => Step::Shares { by: Mechanism::ALL[dice.below(8) as usize] },
        14..=17 => changes_of_jobs(dice),
        18 => {
            Step::Group { tenant: byte(dice), group: byte(dice), weight: 1 + dice.below(4) as u8 }
        }
        19 => {
            Step::Bound { tenant: byte(dice), gpus: dice.below(5) as u8, is_limit: dice.once_in(2) }
        }
        20 => Step::Plan {
            node: byte(dice),
            from_s: 30 + dice.below(1_200) as u16,
            length_s: 60 + dice.below(900) as u16,
        },
        0..=7 | 21..=24 => Step::Submit {
            tenant: byte(dice),
            workers: 1 + dice.below(4) as u8,
            kind: Kind::ALL[[0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5][dice.below(15) as usize]],
            ms: if dice.once_in(3) {
                500 + dice.below(15_000)
            } else {
                1_000 + dice.below(900_000)
            },
        },
        8 => Step::SubmitAgain { nth: byte(dice) },
        9 => Step::Cancel { nth: byte(dice) },
        10 => Step::Weigh { tenant: byte(dice), weight: 1 + dice.below(5) as u8 },
        11 => Step::Suspend { tenant: byte(dice), on: dice.once_in(3) },
        12 => Step::Declare { tenant: byte(dice), fast: 1 + dice.below(8) as u8 },
        _ => match dice.once_in(4) {
            true => Step::Remove { tenant: byte(dice) },
            false => Step::Rounds { seconds: [30, 60, 300][dice.below(3) as usize] },
        },
    }
}

fn changes_of_jobs(dice: &mut Dice) -> Step {
    let byte = |dice: &mut Dice| dice.below(256) as u8;
    let (tenant, nth) = (byte(dice), byte(dice));
    let ms = 1_000 + dice.below(300_000);
    match dice.below(6) {
        0 => Step::Hold { nth, on: true },
        1 => Step::Hold { nth, on: false },
        2 => Step::Edit { nth, priority: dice.below(4) as u8 },
        3 => Step::Resubmit { nth },
        4 => Step::Depend { tenant, nth, ms },
        _ => Step::Urgent { tenant, workers: 1 + dice.below(3) as u8, ms },
    }
}

fn trouble_of(dice: &mut Dice) -> Step {
    let byte = |dice: &mut Dice| dice.below(256) as u8;
    match dice.below(23) {
        22 => Step::Closed { node: byte(dice), on: dice.once_in(2) },
        18 => Step::Rot { nth: byte(dice) },
        19 => Step::Older { records: 1 + dice.below(12) as u8, end: dice.once_in(2) },
        20..=21 => Step::Moved { on: dice.once_in(2) },
        0..=2 => Step::Crash,
        3..=4 => Step::Power { after: dice.once_in(2) },
        5 => Step::Restart,
        6 => Step::Full { on: dice.once_in(2) },
        7..=8 => Step::Node { node: byte(dice), up: dice.once_in(2) },
        9 => Step::Drain { node: byte(dice), on: dice.once_in(2) },
        10 => Step::Foreign { node: byte(dice), on: dice.once_in(2) },
        11..=12 => Step::Kill { nth: byte(dice) },
        13..=14 => Step::Slow { on: dice.once_in(2) },
        15 => Step::Repeat,
        16 => Step::Clock { minutes: (dice.below(240) as i16) - 120 },
        _ => Step::Clock { minutes: 0 },
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Step::Wait { ms } => write!(f, "{} s pass", ms as f64 / 1000.0),
            Step::Submit { tenant, workers, kind, ms } => write!(
                f,
                "tenant {} submits a job of {workers} that {} for {} s",
                tenant % 4,
                kind.name(),
                ms / 1000
            ),
            Step::SubmitAgain { nth } => write!(f, "submission {nth} comes again"),
            Step::Cancel { nth } => {
                write!(f, "somebody cancels job {nth} (of those that there are)")
            }
            Step::Hold { nth, on: true } => {
                write!(f, "job {nth} is held (of those that there are)")
            }
            Step::Hold { nth, .. } => write!(f, "job {nth} is released (of those that there are)"),
            Step::Edit { nth, priority } => {
                write!(f, "job {nth} gets priority {priority} (of those that there are)")
            }
            Step::Resubmit { nth } => {
                write!(f, "job {nth} is submitted again (of all that there were)")
            }
            Step::Depend { tenant, nth, ms } => write!(
                f,
                "tenant {} submits a job of {} s that waits for job {nth} (of those that there are)",
                tenant % 4,
                ms / 1000
            ),
            Step::Urgent { tenant, workers, ms } => write!(
                f,
                "tenant {} submits an urgent job of {workers} for {} s",
                tenant % 4,
                ms / 1000
            ),
            Step::Group { tenant, group, .. } if group % 3 == 0 => {
                write!(f, "tenant {} leaves its group", tenant % 4)
            }
            Step::Group { tenant, group, weight } => write!(
                f,
                "tenant {} joins group {}, which has weight {weight}",
                tenant % 4,
                group % 3
            ),
            Step::Bound { tenant, gpus, is_limit } => write!(
                f,
                "tenant {} {} {gpus} GPUs of each type",
                tenant % 4,
                if is_limit { "may have no more than" } else { "is promised" }
            ),
            Step::Plan { node, from_s, length_s } => {
                write!(f, "node {} is to be taken out in {from_s} s, for {length_s} s", node % 3)
            }
            Step::Weigh { tenant, weight } => {
                write!(f, "tenant {} has weight {weight}", tenant % 4)
            }
            Step::Suspend { tenant, on: true } => write!(f, "tenant {} is suspended", tenant % 4),
            Step::Suspend { tenant, .. } => write!(f, "tenant {} goes on", tenant % 4),
            Step::Remove { tenant } => write!(f, "tenant {} is removed", tenant % 4),
            Step::Declare { tenant, fast } => {
                write!(f, "tenant {} says that fast is {fast} times slow", tenant % 4)
            }
            Step::Drain { node, on: true } => write!(f, "node {} is drained", node % 3),
            Step::Drain { node, .. } => write!(f, "node {} is taken back in", node % 3),
            Step::Node { node, up: true } => write!(f, "node {} comes back", node % 3),
            Step::Node { node, .. } => write!(f, "node {} dies", node % 3),
            Step::Foreign { node, on: true } => write!(f, "others use a GPU of node {}", node % 3),
            Step::Foreign { node, .. } => write!(f, "nobody else uses node {}", node % 3),
            Step::Closed { node, on: true } => {
                write!(f, "the cluster takes no more jobs on node {}", node % 3)
            }
            Step::Closed { node, .. } => {
                write!(f, "the cluster takes jobs on node {} again", node % 3)
            }
            Step::Kill { nth } => write!(f, "runner {nth} is killed (of those that run)"),
            Step::Crash => f.write_str("the daemon is killed and started again"),
            Step::Power { after: true } => {
                f.write_str("the machine dies after its next transaction")
            }
            Step::Power { .. } => f.write_str("the machine dies in its next transaction"),
            Step::Restart => f.write_str("the daemon stops cleanly and starts again"),
            Step::Rot { nth } => {
                write!(f, "the daemon is killed, a bit of record {nth} flips, and it is started")
            }
            Step::Older { records, end } => write!(
                f,
                "the daemon is killed, a copy without the last {records} records{} is put in place, and it is started",
                if end { ", nor its end in the second place," } else { "" }
            ),
            Step::Moved { on: true } => f.write_str("the state folder is moved away"),
            Step::Moved { .. } => f.write_str("the state folder is put back"),
            Step::Full { on: true } => f.write_str("the disk is full"),
            Step::Full { .. } => f.write_str("the disk has room"),
            Step::Slow { on: true } => f.write_str("the network is slow and mixes things up"),
            Step::Slow { .. } => f.write_str("the network works"),
            Step::Repeat => f.write_str("an acknowledgement is lost"),
            Step::Clock { minutes } => {
                write!(f, "the wall clock is set {minutes} min from the truth")
            }
            Step::Rounds { seconds } => write!(f, "rounds last {seconds} s"),
            Step::Shares { by } => write!(f, "shares are computed by {}", by.name()),
        }
    }
}
