//! The document of a round: shares, grants, placements, and the certificate.

use super::certificate::{certificate, holding, solver_answer};
use super::live::promises;
use super::text::{amounts_by_type, timestamp};
use super::visible;
use crate::caller::Caller;
use crate::problem::{Kind, More as _};
use crate::store::{Archive, StoreError, StoredRound};
use crate::world::World;
use oef_api::types::PageQuery;
use oef_api::types::{
    ApiError, Grant, JobState, LeftOut, Placement, ProblemGpu, ProblemTenant, ProblemWorkload,
    RecentQuery, RecentRounds, Role, Round, RoundProblem, RoundSummary, RoundTick, Rounds,
    ShareEntry, SharesAge,
};
use oef_core::{
    Outcome, Problem, ProblemSpec, TenantSpec, WorkloadId, WorkloadSpec, workload_equal_split,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// What only the engine knows about a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundFacts {
    /// How long planning took, without the shares.
    pub plan: Duration,
}

/// A round as it is kept: first in a line, for lists, then whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundDocument {
    /// In a line.
    pub summary: RoundSummary,
    /// Whole.
    pub round: Round,
    /// What its shares answer; none: there was nothing to share, or it was kept by an older version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<RoundProblem>,
}

/// What a round's document needs of the world.
#[derive(Clone, Debug)]
pub struct RoundDraft {
    document: RoundDocument,
    answer: Option<(Problem, Outcome)>,
}

impl RoundDraft {
    /// Takes it, right after the round was planned.
    pub fn take(world: &World, facts: RoundFacts) -> RoundDraft {
        let sched = &world.sched;
        let answer = sched.entitlement().answer();
        let round = Round {
            round: sched.round().0,
            began: timestamp(sched.plan().began),
            length_s: sched.settings().round.seconds(),
            mechanism: sched.settings().mechanism.name().into(),
            usage_half_life_s: sched.settings().usage_half_life.map(|h| h.seconds()),
            reference: world.reference(),
            total: answer.map_or(0.0, |(problem, outcome)| outcome.shares.total(problem)),
            prices: answer.map_or_else(BTreeMap::new, |(problem, outcome)| {
                let types = problem.types().iter().map(|t| t.name.clone());
                types.zip(outcome.prices.iter().copied()).collect()
            }),
            shares: shares(world),
            grants: grants(world),
            placements: placements(world),
            shares_age: SharesAge {
                kept: world.round.kept,
                of_round: world.round.shares_of,
                solve_s: world.round.solve_ms as f64 / 1000.0,
                trouble: sched.entitlement().trouble().map(String::from),
                left_out: left_out(world),
            },
            solver: answer.map(|(_, outcome)| solver_answer(outcome)),
            audit: None,
            plan_s: facts.plan.as_secs_f64(),
            wasted_gpu_s: world.totals.wasted_ms as f64 / 1000.0,
        };
        let problem = answer.map(|(problem, _)| written(problem));
        let document = RoundDocument { summary: summary(world, &round), round, problem };
        let answer = answer.map(|(problem, outcome)| (problem.clone(), outcome.clone()));
        RoundDraft { document, answer }
    }

    /// Its number.
    pub fn number(&self) -> u64 {
        self.document.round.round
    }

    /// Adds the certificate. With many tenants this takes long.
    pub fn finish(self) -> RoundDocument {
        let RoundDraft { mut document, answer } = self;
        document.round.audit = answer.map(|(problem, outcome)| certificate(&problem, &outcome));
        document.summary.holds = document.round.audit.as_ref().map(holding).unwrap_or_default();
        document
    }
}

fn summary(world: &World, round: &Round) -> RoundSummary {
    let cluster = world.sched.cluster();
    RoundSummary {
        round: round.round,
        began: round.began,
        mechanism: round.mechanism.clone(),
        gpus_used: round.grants.iter().map(|grant| grant.gpus).sum(),
        gpus: cluster.total(),
        running: world.index.count(None, &JobState::PLACED),
        queued: world.index.count(None, &[JobState::Queued]),
        total: round.total,
        holds: Vec::new(),
    }
}

/// Workloads that are left out of the shares, with the reasons.
fn left_out(world: &World) -> Vec<LeftOut> {
    let named = world.sched.entitlement().left_out().iter().filter_map(|(key, reason)| {
        let workload = world.sched.workloads().get(key.0)?;
        let tenant = world.tenant_names.get(&workload.tenant)?.clone();
        Some(LeftOut { tenant, workload: workload.name.clone(), reason: reason.clone() })
    });
    named.collect()
}

/// A problem as a problem file has it.
fn written(problem: &Problem) -> RoundProblem {
    let spec = ProblemSpec::from(problem);
    let workload = |w: WorkloadSpec| ProblemWorkload {
        name: w.name,
        weight: w.weight,
        demand: w.demand,
        throughput: w.throughput.into_iter().filter(|(_, on)| *on > 0.0).collect(),
        single: w.single.into_iter().filter(|(_, on)| *on > 0.0).collect(),
    };
    let tenant = |t: TenantSpec| ProblemTenant {
        name: t.name,
        weight: t.weight,
        demand: t.demand,
        guarantee: t.guarantee.into_iter().collect(),
        limit: t.limit.into_iter().collect(),
        workload: t.workloads.into_iter().map(workload).collect(),
    };
    let gpus = spec.gpus.into_iter();
    RoundProblem {
        reference: spec.reference.unwrap_or_default(),
        gpu: gpus.map(|g| ProblemGpu { gpu_type: g.name, count: g.count }).collect(),
        tenant: spec.tenants.into_iter().map(tenant).collect(),
    }
}

/// Who is entitled to what, in the order of the problem.
fn shares(world: &World) -> Vec<ShareEntry> {
    let entitlement = world.sched.entitlement();
    let Some((problem, outcome)) = entitlement.answer() else { return Vec::new() };
    let types: Vec<String> = problem.types().iter().map(|t| t.name.clone()).collect();
    let entry = |l: usize| {
        let (id, workload) = (WorkloadId(l), &problem.workloads()[l]);
        let key = entitlement.workloads().get(l);
        let known = key.and_then(|key| world.sched.workloads().get(key.0));
        let share = outcome.shares.of_workload(id);
        ShareEntry {
            tenant: problem.tenants()[workload.tenant.0].name.clone(),
            workload: workload.name.clone(),
            weight: workload.weight,
            share: amounts_by_type(&types, |j| share[j]),
            throughput: outcome.shares.workload_throughput(problem, id),
            equal_split: workload_equal_split(problem, id),
            deficit: amounts_by_type(&types, |j| known.map_or(0.0, |w| w.deficit_on(j))),
        }
    };
    (0..problem.workloads().len()).map(entry).collect()
}

/// Who got what in whole GPUs.
fn grants(world: &World) -> Vec<Grant> {
    let types = world.sched.cluster().types();
    let named = world.sched.grants().into_iter().filter_map(|grant| {
        // Profile runs count under a name of their own, which only the scheduler knows.
        let workload = world.sched.workloads().get(grant.workload.0)?;
        let tenant = world.tenant_names.get(&workload.tenant)?;
        Some(Grant {
            tenant: world.tenants.contains_key(tenant).then(|| tenant.clone())?,
            workload: workload.name.clone(),
            gpu_type: types.get(grant.gpu.0)?.clone(),
            gpus: grant.gpus,
        })
    });
    named.collect()
}

/// Which job is where, or will be as soon as its GPUs are free.
fn placements(world: &World) -> Vec<Placement> {
    let placed = world.sched.placements().into_iter();
    let shown = placed.map(|placement| Placement {
        job: placement.job.0,
        tenant: world.jobs.get(&placement.job).map(|j| j.tenant().into()).unwrap_or_default(),
        gpus: placement.gpus.iter().map(|&gpu| world.gpu_ref(gpu)).collect(),
        reason: placement.why.to_string(),
    });
    shown.collect()
}

/// A round as a caller may see it: without the jobs of others, and without what they call their workloads.
pub fn round_for(mut round: Round, caller: &Caller) -> Round {
    round.placements.retain(|placement| caller.may_see(&placement.tenant));
    round.shares_age.left_out.retain(|left| caller.may_see(&left.tenant));
    let shares = round.shares.iter_mut().map(|entry| (&entry.tenant, &mut entry.workload));
    let grants = round.grants.iter_mut().map(|entry| (&entry.tenant, &mut entry.workload));
    let mut known: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (tenant, workload) in shares.chain(grants).filter(|(tenant, _)| !caller.may_see(tenant)) {
        // The same workload has the same number in shares and grants.
        let number = known.entry((tenant.clone(), workload.clone())).or_insert_with(|| {
            let count = counts.entry(tenant.clone()).or_default();
            *count += 1;
            *count
        });
        *workload = format!("workload {number}");
    }
    round
}

/// The document of a round that was kept; none: the last one.
pub fn stored_round(archive: &Archive, round: Option<u64>) -> Result<Round, ApiError> {
    stored(archive, round).map(|document| document.round)
}

/// The problem that the shares of a round answer. It has everybody's profiles, so that only those may see it who may
/// see all tenants.
pub fn round_problem(
    archive: &Archive,
    caller: &Caller,
    round: u64,
) -> Result<RoundProblem, ApiError> {
    if caller.role == Role::Tenant {
        let why = format!(
            "{} may not see the problem of a round: it has the profiles of all tenants",
            caller.named()
        );
        return Err(Kind::Forbidden
            .problem(why)
            .hint("`oef round` has everybody's shares and the certificate"));
    }
    stored(archive, Some(round))?.problem.ok_or_else(|| {
        Kind::NotFound
            .problem(format!("the problem of round {round} is not kept: there was nothing to share, or the round is older than this version"))
    })
}

fn stored(archive: &Archive, round: Option<u64>) -> Result<RoundDocument, ApiError> {
    let found = match round {
        Some(number) => archive.round(number),
        None => archive.last_round(),
    };
    let stored = found.map_err(|error| unreadable(&error))?.ok_or_else(|| match round {
        Some(number) => Kind::NotFound
            .problem(format!("round {number} is not kept: it is too long ago, or has not begun"))
            .hint("`oef round` shows the current one"),
        None => Kind::NotFound
            .problem("no round has begun yet")
            .hint("the first begins within the length of a round"),
    })?;
    read(&stored)
}

/// Rounds in a line each, the newest first.
pub fn rounds(archive: &Archive, page: &PageQuery) -> Result<Rounds, ApiError> {
    #[derive(Deserialize)]
    struct Line {
        summary: RoundSummary,
    }
    let limit = visible::limit(page.limit)?;
    let before = visible::number_mark(page.after.as_deref())?;
    // One more than is shown tells whether there is another page.
    let stored = archive.rounds(before, limit + 1).map_err(|error| unreadable(&error))?;
    let more = stored.len() > limit;
    let lines = stored.iter().take(limit).map(|stored| Ok(read::<Line>(stored)?.summary));
    let rounds: Vec<RoundSummary> = lines.collect::<Result<_, ApiError>>()?;
    let next = rounds.last().filter(|_| more).map(|last| last.round.to_string());
    Ok(Rounds { rounds, next })
}

/// The last rounds after one, the oldest first, each as a tick: whether all that its mechanism promises held.
pub fn recent_rounds(archive: &Archive, asked: &RecentQuery) -> Result<RecentRounds, ApiError> {
    /// A day of five-minute rounds.
    const ROUNDS: u32 = 288;
    let limit = asked.limit.unwrap_or(ROUNDS) as usize;
    let stored = archive.round_heads(asked.after, limit).map_err(|error| unreadable(&error))?;
    // The summary comes first, and nothing behind it is looked at: a round may be megabytes.
    let summary = |stored: &StoredRound| {
        let rest = stored.body.strip_prefix("{\"summary\":")?;
        serde_json::Deserializer::from_str(rest).into_iter::<RoundSummary>().next()?.ok()
    };
    let ticks = stored.iter().rev().filter_map(summary).map(|summary| {
        let promises: Vec<String> = summary.mechanism.parse().map(promises).unwrap_or_default();
        let is_broken = |name: &&String| !summary.holds.contains(*name);
        let broken: Vec<String> = promises.iter().filter(is_broken).cloned().collect();
        RoundTick {
            round: summary.round,
            began_ms: u64::try_from(summary.began.as_millisecond()).unwrap_or(0),
            mechanism: summary.mechanism,
            promises,
            // Shares that were not audited were none.
            broken: (!summary.holds.is_empty()).then_some(broken),
            holds: summary.holds,
            gpus_used: summary.gpus_used,
            gpus: summary.gpus,
            running: summary.running,
            queued: summary.queued,
            total: summary.total,
        }
    });
    Ok(RecentRounds { rounds: ticks.collect() })
}

fn read<T: serde::de::DeserializeOwned>(stored: &StoredRound) -> Result<T, ApiError> {
    serde_json::from_str(&stored.body).map_err(|error| {
        Kind::Internal
            .problem(format!("the document of round {} cannot be read: {error}", stored.round))
            .hint("`oef journal check` says what else is damaged")
    })
}

fn unreadable(error: &StoreError) -> ApiError {
    Kind::Unavailable.problem(format!("the rounds cannot be read: {error}"))
}
