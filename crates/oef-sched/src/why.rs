//! Why a job waits, and when it can expect its turn.

use crate::class::Class;
use crate::cluster::Health;
use crate::gate::Obstacle;
use crate::ids::{JobId, NodeId, RoundId, Slot, TenantKey};
use crate::job::{Job, JobState, Phase};
use crate::promise::Rooms;
use crate::reason::{StartReason, WaitReason, saved_up_for, sentence};
use crate::state::State;
use crate::time::Span;
use oef_core::TypeId;

/// Five weeks of five-minute rounds. What is farther away is not a round that anybody can plan with.
pub(crate) const FORECAST_ROUNDS_MAX: f64 = 10_000.0;

/// When a waiting job can expect its turn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// In this round.
    In(RoundId),
    /// In more than `FORECAST_ROUNDS_MAX` rounds.
    FarAway,
    /// It does not only wait for its turn.
    Unknown,
}

impl Turn {
    fn after(state: &State, rounds: f64) -> Turn {
        match rounds <= FORECAST_ROUNDS_MAX {
            true => Turn::In(RoundId(state.round().0.saturating_add(rounds as u64))),
            false => Turn::FarAway,
        }
    }

    fn not_before(self, other: Turn) -> Turn {
        match (self, other) {
            (Turn::Unknown, _) | (_, Turn::Unknown) => Turn::Unknown,
            (Turn::In(own), Turn::In(other)) => Turn::In(own.max(other)),
            _ => Turn::FarAway,
        }
    }

    fn round(self) -> Option<RoundId> {
        match self {
            Turn::In(round) => Some(round),
            Turn::FarAway | Turn::Unknown => None,
        }
    }
}

/// What is known about a job's next steps.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Forecast {
    /// What it is doing.
    pub state: JobState,
    /// Why it waits; `None`: it does not.
    pub waits: Option<WaitReason>,
    /// The round in which it can expect to start, as things are; `None`: it does not wait, cannot start, or its turn is
    /// more than `FORECAST_ROUNDS_MAX` rounds away.
    pub expected: Option<RoundId>,
    /// All of that in a sentence.
    pub sentence: String,
}

/// Says what a job waits for, or why it runs.
pub fn why(state: &State, job: JobId) -> Option<Forecast> {
    let slot = state.slot_of(job)?;
    let job = state.at(slot);
    let types = state.cluster().types();
    Some(match &job.phase {
        Phase::Queued => {
            let (reason, turn) = waiting(state, slot);
            let sentence = sentence(&reason, turn, types);
            Forecast { state: job.state(), waits: Some(reason), expected: turn.round(), sentence }
        }
        Phase::Held => {
            let reason = WaitReason::Blocked(state.obstacle(slot).unwrap_or(Obstacle::Held));
            let sentence = sentence(&reason, Turn::Unknown, types);
            Forecast { state: job.state(), waits: Some(reason), expected: None, sentence }
        }
        Phase::Assigned { why, .. } => Forecast {
            state: job.state(),
            waits: None,
            expected: Some(state.round()),
            sentence: format!("starts as soon as its GPUs are free: {why}"),
        },
        Phase::Running { why, .. } => {
            Forecast { state: job.state(), waits: None, expected: None, sentence: why.to_string() }
        }
        Phase::Stopping { why, .. } => {
            Forecast { state: job.state(), waits: None, expected: None, sentence: why.to_string() }
        }
    })
}

/// Says which running jobs a waiting job could displace. That is of interest where it has a higher priority than running jobs of its tenant,
/// or was submitted to start at once.
pub fn why_not_displacing(state: &State, job: JobId) -> Option<String> {
    let slot = state.slot_of(job)?;
    let spec = &state.at(slot).spec;
    let lower = |other: &Slot| state.at(*other).spec.priority < spec.priority;
    let lower: Vec<Slot> = state.placed_of(spec.tenant).filter(lower).collect();
    let can_stop = lower.iter().filter(|&&slot| state.may_move(slot)).count();
    let count = lower.len();
    let (jobs, theirs) = match count {
        1 => ("job", "the GPUs of that job"),
        _ => ("jobs", "the GPUs of those jobs"),
    };
    if state.at(slot).phase != Phase::Queued || (count == 0 && !spec.now) {
        return None;
    }
    Some(match (count, can_stop) {
        (0, _) => {
            "it was submitted to start at once, but no running job of its tenant has a lower priority"
                .into()
        }
        (_, 0) => format!(
            "its tenant has {count} running {jobs} with a lower priority, but none can be stopped now: each was promised a longer run or has used up its restarts"
        ),
        _ if spec.now && !state.may_displace_now(spec.tenant) => format!(
            "its tenant has {count} running {jobs} with a lower priority; another job was started at once in this round, so it takes {theirs} when the next round begins, if they suit it"
        ),
        _ => format!(
            "its tenant has {count} running {jobs} with a lower priority: when the next round begins, it takes {theirs} if they suit it"
        ),
    })
}

/// Whether limits by gpu type keep a job from all of its types, with the largest of those limits.
fn at_type_limit(
    state: &State,
    tenant: TenantKey,
    workers: u32,
    types: &[usize],
    one_type: bool,
) -> Option<WaitReason> {
    let mut rooms = Rooms::limits(state).filter(|rooms| rooms.concerns(tenant))?;
    rooms.charge_owned(state);
    let room = |j: usize| rooms.least(tenant, j);
    let spread = types.iter().map(|&j| room(j)).fold(0, u32::saturating_add);
    if types.iter().any(|&j| room(j) >= workers) || (!one_type && spread >= workers) {
        return None;
    }
    let limits = types.iter().filter_map(|&j| {
        let (limit, group) = state.limit_on(tenant, &state.cluster().types()[j])?;
        Some((limit, TypeId(j), group))
    });
    let (limit, gpu, group) =
        limits.max_by_key(|(limit, gpu, _)| (*limit, std::cmp::Reverse(gpu.0)))?;
    Some(WaitReason::AtTypeLimit { gpu, limit, workers, group: group.map(Into::into) })
}

/// Why a job cannot start however long it waits, as things are.
fn cannot_start(state: &State, job: &Job, types: &[usize]) -> Option<WaitReason> {
    let capacity = state.cluster().capacity();
    let (tenant, workers) = (job.spec.tenant, job.spec.workers);
    if types.is_empty() {
        let down = (0..capacity.len()).find(|&j| state.may_use(job, j));
        return Some(match (down, job.spec.memory) {
            (Some(j), _) => WaitReason::NoneUp { gpu: TypeId(j) },
            (None, Some(memory)) => WaitReason::TooLittleMemory { memory },
            (None, None) => WaitReason::CannotRun,
        });
    }
    let most: u32 = types.iter().map(|&j| capacity[j]).sum();
    if most < workers {
        return Some(WaitReason::TooLarge { workers, most });
    }
    if let Some(limit) = state.tenants()[tenant.0].limit.filter(|_| workers > state.room(tenant)) {
        return Some(WaitReason::AtLimit { limit, used: state.owned_by(tenant), workers });
    }
    let left_out = || {
        let reason = state.entitlement().why_left_out(job.row())?;
        Some(WaitReason::LeftOut { reason: reason.into() })
    };
    at_type_limit(state, tenant, workers, types, job.spec.one_type)
        .or_else(|| kept_from_nodes(state, job, types))
        .or_else(left_out)
}

fn waiting(state: &State, slot: Slot) -> (WaitReason, Turn) {
    let job = state.at(slot);
    let (workload, workers) = (&state.workloads()[job.row().0], job.spec.workers);
    let capacity = state.cluster().capacity();
    let usable = |j: &usize| capacity[*j] > 0 && state.may_use(job, *j);
    let types: Vec<usize> = (0..capacity.len()).filter(usable).collect();
    if let Some(reason) = cannot_start(state, job, &types) {
        return (reason, Turn::Unknown);
    }
    if let Some((rounds, wait)) = &job.room {
        let left = state.settings().patience.saturating_sub(*rounds).max(1);
        let reason =
            WaitReason::Room { gpu: wait.gpu, hosts: wait.hosts, workers, gain: wait.gain };
        return (reason, Turn::after(state, f64::from(left)));
    }
    let share: f64 = types.iter().map(|&j| workload.share_on(j)).sum();
    let owed: f64 = types.iter().map(|&j| workload.deficit_on(j)).sum();
    if share <= 0.0 && owed <= 0.0 {
        let known = state.entitlement().workloads().contains(&job.row());
        return match known {
            true => (WaitReason::NoShare, Turn::Unknown),
            false => (WaitReason::NextRound, Turn::after(state, 1.0)),
        };
    }
    if let Some(urgent) = taken_by_urgent(state, slot, owed + share) {
        return (WaitReason::Urgent { job: urgent }, Turn::Unknown);
    }
    let own = state.waiting_key(slot);
    let runs = |class: &&Class| class.most(&workload.profile, capacity) >= class.workers;
    let lines = || workload.classes.iter().filter(runs);
    let ahead = |class: &Class| class.waiting.range(..own).count();
    let gangs = lines().map(|class| ahead(class) as f64 * f64::from(class.workers)).sum();
    let turn = expect(state, gangs, workers, owed, share);
    let next = lines().filter_map(|class| class.waiting.first()).min();
    if let Some(&(_, _, next, _)) = next.filter(|&&next| next < own) {
        let ahead = lines().map(ahead).sum();
        // Not before the first of them, which may wait for other things than its turn.
        let first = state.slot_of(next).map_or(Turn::Unknown, |slot| waiting(state, slot).1);
        return (WaitReason::Behind { next, ahead }, turn.not_before(first));
    }
    let most = |figure: &dyn Fn(usize) -> f64| {
        let by_figure = |a: &usize, b: &usize| figure(*a).total_cmp(&figure(*b)).then(b.cmp(a));
        types.iter().copied().max_by(by_figure).unwrap_or(0)
    };
    let gpu = TypeId(most(&|j| workload.deficit_on(j) + workload.share_on(j)));
    if workload.deficit_on(gpu.0) + workload.share_on(gpu.0) >= f64::from(workers) {
        let within = protected_for(state, gpu.0, workers);
        let open = Turn::after(state, within.rounds(state.settings().round).ceil().max(1.0));
        return (WaitReason::Protected { gpu, workers, within }, turn.not_before(open));
    }
    // What is told are the sums that the expected round comes from, and of the types the one of which it has most.
    let gpu = if share > 0.0 { TypeId(most(&|j| workload.share_on(j))) } else { gpu };
    (WaitReason::Saving { gpu, deficit: owed, share, workers }, turn)
}

/// Whether there are free GPUs for a job, or would be, but for nodes that are to be out before it ends.
fn kept_from_nodes(state: &State, job: &Job, types: &[usize]) -> Option<WaitReason> {
    let closed = state.closed_to(job);
    let node = |id: &NodeId| &state.cluster().nodes()[id.0];
    let usable =
        |id: &&NodeId| node(id).health() == Health::Up && types.contains(&node(id).gpu_type().0);
    let closed: Vec<NodeId> = closed.iter().filter(usable).copied().collect();
    let last = closed.iter().max_by_key(|id| node(id).window().map(|window| window.from))?;
    let (mut free, mut all) = (0, 0);
    for &j in types {
        free += state.cluster().free()[j];
        all += state.cluster().capacity()[j];
    }
    let closed_free: u32 = closed.iter().map(|&id| state.cluster().free_on(id)).sum();
    let closed_all: u32 = closed.iter().map(|id| node(id).gpus() as u32).sum();
    let workers = job.spec.workers;
    let kept = (free >= workers && free - closed_free < workers) || all - closed_all < workers;
    let from = node(last).window().filter(|_| kept)?.from;
    let within = from.since(state.now());
    let length = state.length_left(job.spec.id);
    Some(WaitReason::Window { node: node(last).name().into(), from, within, length })
}

/// An urgent job of the same tenant that runs on the GPUs that a waiting job of a lower priority would have; `None`: what the
/// urgent ones leave is enough for it.
fn taken_by_urgent(state: &State, slot: Slot, entitled: f64) -> Option<JobId> {
    let spec = &state.at(slot).spec;
    let is_urgent = |other: &Slot| {
        let other = state.at(*other);
        let by_priority = other.started_because() == Some(StartReason::Urgent);
        by_priority && other.spec.priority > spec.priority
    };
    let urgent: Vec<Slot> = state.placed_of(spec.tenant).filter(is_urgent).collect();
    let taken: u32 = urgent.iter().map(|&slot| state.at(slot).spec.workers).sum();
    let is_enough = entitled - f64::from(taken) >= f64::from(spec.workers);
    urgent.first().filter(|_| !is_enough).map(|&slot| state.at(slot).spec.id)
}

/// How long it is until so many GPUs of a type have jobs that may be stopped, or none.
fn protected_for(state: &State, gpu: usize, workers: u32) -> Span {
    let placed = state.active_workloads().iter().flat_map(|w| &state.workloads()[w.0].placed);
    let of_type = |slot: Slot| {
        let gpus = state.target(slot).map_or(&[][..], |lease| &lease.gpus);
        gpus.iter()
            .filter(|&&g| state.cluster().type_of(g).0 == gpu && state.cluster().counts(g))
            .count()
    };
    let mut there: Vec<(Span, u32)> = placed
        .map(|&slot| (state.protected_for(slot), of_type(slot) as u32))
        .filter(|(_, gpus)| *gpus > 0)
        .collect();
    there.sort_unstable();
    let mut open = state.cluster().free()[gpu];
    let is_enough = |&&(_, gpus): &&(Span, u32)| {
        open += gpus;
        open >= workers
    };
    there.iter().find(is_enough).or(there.last()).map_or(Span(0), |(left, _)| *left)
}

/// The round in which the workload's credit reaches the gangs ahead and half of this one. An old credit without a share counts
/// at once.
fn expect(state: &State, ahead: f64, workers: u32, owed: f64, share: f64) -> Turn {
    let rounds = match share > 0.0 {
        true => ((ahead + saved_up_for(workers) - owed) / share).ceil().max(1.0),
        false => 1.0,
    };
    Turn::after(state, rounds)
}
