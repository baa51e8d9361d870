//! Why a job waits, runs or ended, and why a tenant has what it has.

use super::certificate::solver_answer;
use super::cluster;
use super::day::last_day;
use super::gangs;
use super::guard;
use super::text::{amounts, gpus, timestamp};
use super::visible;
use super::{reason, restarts};
use crate::caller::Caller;
use crate::world::{JobEntry, Reason, TenantEntry, World};
use oef_api::memory::{mebibytes, shown};
use oef_api::types::{
    ApiError, Blocked, JobState, Provenance, ReasonData, SolverStatus, TenantWhy, Why,
};
use oef_core::{TenantId, TypeId, equal_split};
use oef_report::format::{figure, span};
use oef_sched::{JobId, Obstacle, RoundId, Time, WaitReason};

/// Nodes that are named where all of a type are out.
const NODES_SHOWN: usize = 5;

/// Why a job does what it does, and when it can expect to start.
pub fn why(world: &World, caller: &Caller, id: u64) -> Result<Why, ApiError> {
    let entry = visible::job(world, caller, id)?;
    let inside = caller.may_see_inside(entry.tenant());
    let reason = if inside { entry.reason.clone() } else { entry.reason.without_output() };
    let mut details = Vec::new();
    let mut why = Why {
        id,
        state: entry.state,
        sentence: reason.to_string(),
        kind: entry.state.name().into(),
        reason_data: Some(reason::of_state(world, &reason)),
        expected_round: None,
        expected_start: None,
        details: Vec::new(),
    };
    let obstacle = world.sched.obstacle_of(JobId(id));
    if obstacle == Some(Obstacle::BackingOff) {
        why.kind = Blocked::BackingOff.name().into();
        why.expected_start = entry.retry_at.map(timestamp);
    } else if entry.origin.is_some() {
        details.push("Slurm decides when and where it runs; this daemon observes".into());
    } else if let Some(forecast) = oef_sched::why(&world.sched, JobId(id)) {
        match &forecast.waits {
            Some(waits) => {
                let data = reason::of_wait(world, waits);
                why.kind = data.kind.clone();
                why.reason_data = Some(data);
                // What a job that was only submitted waits for says all; so does that it is held.
                if !matches!(reason, Reason::Submitted { .. })
                    && !matches!(waits, WaitReason::Blocked(Obstacle::Held))
                {
                    details.push(format!("last change: {reason}"));
                }
                details.extend(oef_sched::why_not_displacing(&world.sched, JobId(id)));
                why.sentence = waiting(entry, waits, &forecast.sentence);
                if let WaitReason::NoneUp { gpu } = waits {
                    details.extend(nodes_out(world, *gpu));
                }
                details.extend(windows(world, JobId(id)));
            }
            // The scheduler counts a job as running when it was told to start.
            None if entry.state == JobState::Starting => {}
            None => {
                why.sentence = forecast.sentence;
                why.reason_data = runs(world, JobId(id)).map(|(_, data)| data).or(why.reason_data);
            }
        }
        if let Some(Obstacle::NotBefore { at }) = obstacle {
            why.expected_start = Some(timestamp(at));
        }
        why.expected_round = forecast.expected.map(|round| round.0);
        let expected = forecast.expected.map(|round| timestamp(start_of(world, round)));
        why.expected_start = expected.or(why.expected_start);
    }
    if !entry.state.is_final() {
        details.extend(estimate(world, entry));
        details.extend(memory(world, entry));
        if entry.spec.probe.is_none() {
            details.extend(gangs::sentence(world, entry.workload, *entry.spec.workers));
            details.extend(restarts::sentence(world, JobId(id)));
            details.extend(restarts::never_saved(entry));
        }
        details.extend(guard::sentences(world, entry.workload));
        details.extend(world.tenants.get(entry.tenant()).map(|t| has(world, entry.tenant(), t)));
    }
    details.extend(last_run(entry, inside));
    why.details = details;
    Ok(why)
}

/// What a job waits for at the moment, in a sentence and as data; `None`: there is nothing to add to its reason.
pub(super) fn waits(world: &World, id: JobId, entry: &JobEntry) -> Option<(String, ReasonData)> {
    let forecast = oef_sched::why(&world.sched, id).filter(|_| entry.origin.is_none())?;
    let waits = forecast.waits.filter(|w| *w != WaitReason::Blocked(Obstacle::BackingOff))?;
    Some((waiting(entry, &waits, &forecast.sentence), reason::of_wait(world, &waits)))
}

/// Why a job has the GPUs that it runs on.
pub(super) fn runs(world: &World, id: JobId) -> Option<(String, ReasonData)> {
    let why = world.sched.job(id)?.started_because()?;
    Some((why.to_string(), reason::of_start(world, why)))
}

/// The scheduler's sentence, with what only the daemon knows.
fn waiting(entry: &JobEntry, waits: &WaitReason, sentence: &str) -> String {
    match (waits, entry.spec.not_before) {
        (WaitReason::Blocked(Obstacle::NotBefore { .. }), Some(start)) => {
            format!("starts at {} or later", start.strftime("%Y-%m-%d %H:%M:%S UTC"))
        }
        (WaitReason::Blocked(Obstacle::Held), _) => {
            format!("{sentence} ({})", entry.reason)
        }
        _ => sentence.into(),
    }
}

/// The nodes of a type that cannot be used, each with the reason.
fn nodes_out(world: &World, gpu: TypeId) -> Vec<String> {
    let nodes = world.sched.cluster().nodes().iter().filter(|node| node.gpu_type() == gpu);
    let line = |node: &oef_sched::Node| match cluster::reason(world, node.name()) {
        Some(reason) => format!("node {} is out: {reason}", node.name()),
        None => format!("node {} is down", node.name()),
    };
    let mut lines: Vec<String> = nodes.clone().take(NODES_SHOWN).map(line).collect();
    let more = nodes.count().saturating_sub(NODES_SHOWN);
    lines.extend((more > 0).then(|| format!("and {more} more of these nodes")));
    lines
}

/// The nodes that a waiting job is kept from because they are reserved before it would end.
fn windows(world: &World, id: JobId) -> Vec<String> {
    let runs = match world.sched.length_left(id) {
        Some(left) => format!("it may run for {left}"),
        None => "how long it runs is not known (`--max-run` says it)".into(),
    };
    let nodes = world.sched.windows_ahead_of(id).into_iter().take(NODES_SHOWN);
    let line = |(node, window): (&str, oef_sched::NodeWindow)| {
        let from = timestamp(window.from).strftime("%Y-%m-%d %H:%M:%S UTC");
        let within = window.from.since(world.sched.now());
        format!(
            "node {node} is reserved from {from}: a job that starts there now has {within}, and {runs}"
        )
    };
    nodes.map(line).collect()
}

/// When a round begins, as far as one can tell: rounds follow one another without a pause.
pub(super) fn start_of(world: &World, round: RoundId) -> Time {
    let ahead = round.0.saturating_sub(world.sched.round().0);
    world.sched.plan().began + world.sched.settings().round.times(ahead)
}

fn estimate(world: &World, entry: &JobEntry) -> Option<String> {
    if let Some(probe) = &entry.spec.probe {
        return Some(format!(
            "it is a profile run: it ends when {} batches or more are measured, and counts to its tenant",
            probe.batches
        ));
    }
    let workload = world.workloads.get(&entry.workload)?;
    let is_guess = workload.profile.provenance == Provenance::Estimated;
    is_guess.then(|| {
        format!(
            "the profile of workload {} is an estimate: {}",
            workload.name, workload.profile.source
        )
    })
}

/// Which gpu types have the memory that a job needs.
fn memory(world: &World, entry: &JobEntry) -> Option<String> {
    let least = entry.spec.gpu_memory_gib?;
    let types = world.memory_of_types(least);
    Some(format!("it needs GPUs with {} of memory: {types}", shown(mebibytes(least))))
}

/// A tenant's share, what it holds, and the balance of its workloads with jobs.
fn has(world: &World, name: &str, tenant: &TenantEntry) -> String {
    let types = world.sched.cluster().types();
    let own = || world.workloads_of(tenant);
    let sum = |figure: &dyn Fn(&oef_sched::Workload, usize) -> f64| -> Vec<f64> {
        (0..types.len()).map(|j| own().map(|w| figure(w, j)).sum()).collect()
    };
    let share = amounts(types.iter().zip(sum(&|w, j| w.share_on(j))));
    let balance: f64 = sum(&|w, j| w.balance_on(j)).iter().sum();
    let holds: Vec<u32> = (0..types.len()).map(|j| own().map(|w| w.used_on(j)).sum()).collect();
    let holds = gpus(types.iter().zip(holds));
    let waits = world.index.count(Some(name), &[JobState::Queued]) > 0;
    let balance = oef_sched::balance_in_words(balance, waits);
    let balance = balance.map_or(String::new(), |balance| format!("; {balance}"));
    format!("its tenant {name}: share {share}; holds {holds} now{balance}")
}

/// How the last run ended.
fn last_run(entry: &JobEntry, inside: bool) -> Option<String> {
    let run = entry.runs.iter().rev().find(|run| run.ended.is_some())?;
    let detail = run.detail.as_deref()?;
    // Beyond the first line it is the job's own output.
    let detail = if inside { detail } else { detail.lines().next().unwrap_or_default() };
    Some(format!("its last run ended: {detail}"))
}

/// Why a tenant has what it has.
pub fn tenant_why(world: &World, caller: &Caller, name: &str) -> Result<TenantWhy, ApiError> {
    let tenant = visible::tenant(world, caller, name)?;
    let mut details = Vec::new();
    let sentence = match oef_sched::why_tenant(&world.sched, tenant.key) {
        Some(forecast) => {
            details.extend(forecast.promises);
            format!("{name} {}", forecast.sentence)
        }
        None => format!("{name} has never had a job"),
    };
    details.extend(worth(world, tenant));
    details.extend(past(world, tenant));
    details.extend(prices(world));
    details.extend(delivered(world, tenant));
    details.extend(last_day(world).remove(name).map(|day| day.sentence));
    for (name, &workload) in &tenant.workloads {
        let gangs = gangs::live_sizes(world, workload).into_iter();
        let gangs = gangs.filter_map(|workers| gangs::sentence(world, workload, workers));
        details.extend(gangs.map(|sentence| format!("{name}: {sentence}")));
        details.extend(guard::sentences(world, workload));
    }
    details.extend(age(world));
    Ok(TenantWhy { tenant: name.into(), sentence, details })
}

/// What is to be known of the shares that count: that they are those of an earlier round, or not proven to be the best.
fn age(world: &World) -> Option<String> {
    let entitlement = world.sched.entitlement();
    if let Some(trouble) = entitlement.trouble() {
        return Some(trouble.into());
    }
    let (_, outcome) = entitlement.answer()?;
    let answer = solver_answer(outcome);
    let is_proven = answer.status == SolverStatus::Optimal;
    (!is_proven).then(|| format!("the shares are {}", answer.sentence))
}

/// What its share is worth against an equal split.
fn worth(world: &World, tenant: &TenantEntry) -> Option<String> {
    let entitlement = world.sched.entitlement();
    let (problem, outcome) = entitlement.answer()?;
    let place = TenantId(entitlement.tenants().iter().position(|&key| key == tenant.key)?);
    let (own, equal) = (outcome.shares.throughput(problem, place), equal_split(problem, place));
    let counts = problem.tenants()[place.0].weight / problem.total_weight();
    Some(format!(
        "its share trains at {}, an equal split (what its jobs can use of it) at {}, in GPUs of {}; it has {:.0} % of the active weight",
        figure(own),
        figure(equal),
        problem.types()[problem.reference().0].name,
        100.0 * counts
    ))
}

/// What it used lately, and what that does to its weight.
fn past(world: &World, tenant: &TenantEntry) -> Option<String> {
    let past = world.sched.past_usage(tenant.key)?;
    let half_life = world.sched.settings().usage_half_life?;
    Some(format!(
        "past usage (half-life {}): it used {:.0} % of its equal split among all tenants, so its weight is multiplied by {} beside its siblings",
        span(half_life.seconds()),
        100.0 * past.usage,
        figure(past.factor)
    ))
}

/// What a GPU of each type counts in the shares; a type without a GPU that is up has no price.
fn prices(world: &World) -> Option<String> {
    let (problem, outcome) = world.sched.entitlement().answer()?;
    let prices = problem.types().iter().zip(&outcome.prices).filter(|(gpu, _)| gpu.capacity > 0.0);
    let prices: Vec<String> =
        prices.map(|(gpu, price)| format!("{} of {}", figure(*price), gpu.name)).collect();
    (!prices.is_empty()).then(|| format!("price of a GPU, in throughput: {}", prices.join(", ")))
}

/// What it was promised and what it got so far.
fn delivered(world: &World, tenant: &TenantEntry) -> Option<String> {
    let (promised, delivered) = tenant.account.at(world.sched.now());
    (promised > 0.0).then(|| {
        format!("it got {:.0} % of its share since its first job", 100.0 * delivered / promised)
    })
}
