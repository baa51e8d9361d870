//! Questions. They look at the world for a moment and never wait for a computation of shares, but for the
//! one that asks for one.

use super::{Daemon, Gauges, GpuGauges, ReadingGauges, Subscription, TenantGauges};
use crate::caller::Caller;
use crate::engine::Latest;
use crate::invariants::{self, Broken, Invariant};
use crate::problem::{Kind, More};
use crate::view;
use crate::world::{JobEntry, World};
use oef_api::types::{
    ApiError, Cluster, Fairness, Group, Groups, Info, Job, JobState, Jobs, JobsQuery, LogChunk,
    LogQuery, LogStream, PageQuery, Round, RoundProblem, Rounds, Settings, Tenant, TenantWhy,
    Tenants, Token, Tokens, Usage, UsageQuery, WhatIf, WhatIfAnswer, Why, Workload, Workloads,
};
use oef_executor::{ExecutorError, LogFrom, Stream};
use oef_sched::{Generation, Health, JobId};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A page of a log where nothing is said.
const LOG_BYTES: u32 = 64 * 1024;
/// A what-if on a thousand tenants is cut short after so long, with the best that was found.
const WHATIF_LIMIT: Duration = Duration::from_secs(30);

/// Questions that the view of the same name answers.
macro_rules! answered_by_views {
    ($($(#[$doc:meta])* $name:ident($($asked:ident: $type:ty),*) -> $answer:ty;)*) => {
        impl Daemon {
            $(
                $(#[$doc])*
                pub fn $name(&self, caller: &Caller, $($asked: $type),*) -> Result<$answer, ApiError> {
                    self.with_world(|world| view::$name(world, caller, $($asked),*))
                }
            )*
        }
    };
}

answered_by_views! {
    /// Jobs, the newest first, in pages.
    jobs(query: &JobsQuery) -> Jobs;
    /// A job, whole.
    job(id: u64) -> Job;
    /// Why a job waits, runs or ended.
    why(id: u64) -> Why;
    /// Tenants by name.
    tenants(page: &PageQuery) -> Tenants;
    /// A tenant.
    tenant(name: &str) -> Tenant;
    /// Why a tenant has what it has.
    tenant_why(name: &str) -> TenantWhy;
    /// Groups by name.
    groups(page: &PageQuery) -> Groups;
    /// A group.
    group(name: &str) -> Group;
    /// Workloads by tenant and name.
    workloads(tenant: Option<&str>, page: &PageQuery) -> Workloads;
    /// A workload.
    workload(tenant: &str, name: &str) -> Workload;
    /// Tokens, without their secrets.
    tokens(page: &PageQuery) -> Tokens;
    /// The settings.
    settings() -> Settings;
    /// Who used how much of what.
    usage(query: &UsageQuery) -> Usage;
}

impl Daemon {
    /// Who asks, and how the daemon is.
    pub fn info(&self, caller: &Caller) -> Result<Info, ApiError> {
        Ok(Info {
            name: "oef".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            role: caller.role,
            tenant: caller.tenant.clone(),
            round: self.with_world(|world| world.sched.round().0),
            up_s: self.inner.since.elapsed().as_secs_f64(),
        })
    }

    /// A part of a job's output. Reads files: not for a thread that must not wait.
    pub fn logs(&self, caller: &Caller, id: u64, query: &LogQuery) -> Result<LogChunk, ApiError> {
        let runs = self.with_world(|world| {
            let job = world.jobs.get(&JobId(id)).filter(|job| caller.may_see(job.tenant()));
            match job.map(|job| caller.may_see_inside(job.tenant())) {
                None => Err(Kind::NotFound.problem(format!("there is no job {id}"))),
                Some(false) => {
                    let why = format!("{} may not read the output of jobs", caller.named());
                    Err(Kind::Forbidden.problem(why))
                }
                Some(true) => Ok(job.map(|job| run_numbers(job)).unwrap_or_default()),
            }
        })?;
        // The oldest runs are forgotten before their output is.
        let is_known =
            |run: &u64| runs.contains(run) || runs.first().is_some_and(|first| run < first);
        if let Some(run) = query.generation.filter(|run| !is_known(run)) {
            return Err(no_such_run(id, run, &runs));
        }
        let from = match (query.offset, query.tail) {
            (Some(_), Some(_)) => {
                let why = "a log is read from an offset or from its end, not both";
                return Err(Kind::BadRequest.problem(why).field("tail"));
            }
            (offset, None) => LogFrom::Offset(offset.unwrap_or(0)),
            (None, Some(lines)) => LogFrom::LastLines(lines),
        };
        let asked = oef_executor::LogQuery {
            generation: query.generation.map(Generation),
            rank: query.rank,
            stream: match query.stream {
                LogStream::Out => Stream::Out,
                LogStream::Err => Stream::Err,
                LogStream::All => Stream::All,
            },
            from,
            limit_bytes: query.limit.unwrap_or(LOG_BYTES),
        };
        let chunk = self.inner.executor.logs(JobId(id), asked).map_err(|e| log_problem(id, &e))?;
        Ok(LogChunk {
            generation: chunk.generation.0,
            text: chunk.text,
            next_offset: chunk.next,
            complete: chunk.is_end,
        })
    }

    /// The tenant whose jobs run as this Unix user, if there is one.
    pub(crate) fn tenant_of_user(&self, user: &str) -> Option<String> {
        self.with_world(|world| {
            let mut tenants = world.tenants.iter();
            let is_own = |user_of: &Option<String>| user_of.as_deref() == Some(user);
            tenants.find(|(_, entry)| is_own(&entry.user)).map(|(name, _)| name.to_string())
        })
    }

    /// The Unix user that a tenant's jobs run as, if it has one of its own.
    pub(crate) fn user_of_tenant(&self, tenant: &str) -> Option<String> {
        self.with_world(|world| world.tenants.get(tenant)?.user.clone())
    }

    /// The machines, and who is on them.
    pub fn cluster(&self, caller: &Caller) -> Result<Cluster, ApiError> {
        let latest = self.inner.shared.latest().clone();
        self.with_world(|world| view::cluster(world, caller, &latest))
    }

    /// A token, without its secret.
    pub fn token(&self, caller: &Caller, id: u64) -> Result<Token, ApiError> {
        let before = id.checked_sub(1).map(|before| before.to_string());
        let first = PageQuery { limit: Some(1), after: before };
        let tokens = self.tokens(caller, &first)?.tokens;
        let token = tokens.into_iter().find(|token| token.id == id);
        token.ok_or_else(|| Kind::NotFound.problem(format!("there is no token {id}")))
    }

    /// Rounds, the newest first. Reads the disk.
    pub fn rounds(&self, caller: &Caller, page: &PageQuery) -> Result<Rounds, ApiError> {
        let _ = caller;
        view::rounds(&self.inner.archive, page)
    }

    /// A round with its certificate; none: the current one. Reads the disk.
    pub fn round(&self, caller: &Caller, round: Option<u64>) -> Result<Round, ApiError> {
        view::stored_round(&self.inner.archive, round).map(|round| view::round_for(round, caller))
    }

    /// The problem that the shares of a round answer. Reads the disk.
    pub fn round_problem(&self, caller: &Caller, round: u64) -> Result<RoundProblem, ApiError> {
        view::round_problem(&self.inner.archive, caller, round)
    }

    /// Who was promised what, and who got it.
    pub fn fairness(&self, caller: &Caller) -> Result<Fairness, ApiError> {
        let draft = self.with_world(|world| view::FairnessDraft::take(world, caller))?;
        Ok(draft.finish())
    }

    /// What would happen if. Computes shares on the calling thread, as long as somebody waits for them: it may take long.
    pub fn whatif(
        &self,
        caller: &Caller,
        asked: &WhatIf,
        is_gone: &dyn Fn() -> bool,
    ) -> Result<WhatIfAnswer, ApiError> {
        let draft = self.with_world(|world| view::WhatIfDraft::take(world, caller, asked))?;
        let began = Instant::now();
        let stop = || is_gone() || began.elapsed() > WHATIF_LIMIT;
        draft.finish(&oef_core::Options { stop: Some(&stop), ..Default::default() })
    }

    /// Events after a number, then each as it happens; none: only what happens from now on.
    pub fn subscribe(&self, caller: &Caller, after: Option<u64>) -> Result<Subscription, ApiError> {
        Ok(Subscription::begin(&self.inner.shared, caller, after))
    }

    /// How things stand, for whoever draws curves.
    pub fn gauges(&self) -> Gauges {
        let measured = self.inner.shared.last_certificate();
        let seq = self.inner.shared.seq.load(Ordering::Relaxed);
        let readings = readings(&self.inner.shared.latest());
        self.with_world(|world| Gauges {
            jobs: JobState::ALL
                .into_iter()
                .map(|state| (state, u64::from(world.index.count(None, &[state]))))
                .collect(),
            tenants: tenant_gauges(world),
            gpus: gpu_gauges(world),
            readings,
            round: world.sched.round().0,
            sharing_incentive: measured.sharing_incentive,
            worst_envy: measured.worst_envy,
            left_out: world.sched.entitlement().left_out().len() as u64,
            shares_failed: world.sched.entitlement().trouble().is_some(),
            solver_gap: solver_gap(world),
            journal_seq: seq,
            broken: broken_invariants(world),
        })
    }
}

fn readings(latest: &Latest) -> Vec<ReadingGauges> {
    let gpus = latest.gpus().map(|((node, index), gpu)| ReadingGauges {
        node: node.clone(),
        index: *index,
        utilisation: gpu.utilisation,
        memory_used: gpu.memory_used,
        memory_total: gpu.memory_total,
        idle_s: gpu.idle_for.map(|idle| idle.as_secs_f64()),
    });
    gpus.collect()
}

/// What must hold and does not: told to the operator in the log, too.
fn broken_invariants(world: &World) -> Vec<Invariant> {
    let broken = invariants::of_running(world).into_iter().map(|Broken { invariant, what }| {
        tracing::error!(%invariant, what, "internal error: please report it");
        invariant
    });
    broken.collect()
}

fn solver_gap(world: &World) -> f64 {
    let answer = world.sched.entitlement().answer();
    answer.map_or(0.0, |(_, outcome)| outcome.solver.gap.clamp(0.0, 1.0))
}

fn tenant_gauges(world: &World) -> Vec<TenantGauges> {
    let types = world.sched.cluster().types();
    let factors = world.sched.past_factors().unwrap_or_default();
    let tenants = world.tenants.iter().map(|(name, entry)| {
        let count = |states: &[JobState]| u64::from(world.index.count(Some(name), states));
        let own: Vec<_> = world.workloads_of(entry).collect();
        let (mut share, mut holds) = (BTreeMap::new(), BTreeMap::new());
        for (j, gpu) in types.iter().enumerate() {
            // The sum of nothing is -0, which nobody wants to read.
            share.insert(gpu.clone(), own.iter().map(|w| w.share_on(j)).sum::<f64>() + 0.0);
            holds.insert(gpu.clone(), own.iter().map(|w| w.used_on(j)).sum());
        }
        TenantGauges {
            tenant: name.clone(),
            queued: count(&[JobState::Queued]),
            running: count(&JobState::PLACED),
            share,
            holds,
            deficit: (0..types.len())
                .flat_map(|j| own.iter().map(move |w| w.balance_on(j)))
                .sum::<f64>()
                + 0.0,
            past_factor: factors.get(entry.key.0).copied().unwrap_or(1.0),
        }
    });
    tenants.collect()
}

fn gpu_gauges(world: &World) -> Vec<GpuGauges> {
    let cluster = world.sched.cluster();
    let types = cluster.types().iter().enumerate().map(|(j, gpu)| {
        let down = cluster
            .nodes()
            .iter()
            .filter(|node| node.gpu_type().0 == j && node.health() == Health::Down)
            .map(|node| node.gpus());
        let (capacity, idle) = (cluster.capacity()[j], cluster.idle()[j]);
        GpuGauges {
            gpu_type: gpu.clone(),
            idle,
            used: capacity.saturating_sub(idle),
            down: u32::try_from(down.sum::<usize>()).unwrap_or(u32::MAX),
        }
    });
    types.collect()
}

/// The numbers of a job's runs that are remembered.
fn run_numbers(job: &JobEntry) -> Vec<u64> {
    job.runs.iter().map(|run| run.generation.0).collect()
}

/// Somebody asked for a run that is not there.
fn no_such_run(id: u64, run: u64, runs: &[u64]) -> ApiError {
    let problem = Kind::NotFound.problem(format!("job {id} has no run {run}"));
    match runs {
        [] => problem.hint(format!("it has not run yet; `oef why {id}` says why")),
        [one] => problem.hint(format!("its only run is {one}")),
        [first, .., last] => {
            problem.hint(format!("it has runs {first} to {last}: see `oef job {id}`"))
        }
    }
}

fn log_problem(id: u64, error: &ExecutorError) -> ApiError {
    match error {
        ExecutorError::NoOutput(_) => Kind::NotFound
            .problem(format!("job {id} has no output"))
            .hint(format!("it has not started, or its output was removed: see `oef why {id}`")),
        ExecutorError::NoSuchWorker { .. } => Kind::NotFound.problem(error.to_string()),
        ExecutorError::Replaced { .. } => {
            let hint = "jobs that run as the daemon's own user can change its records; a tenant's own user cannot \
                        (`oef tenant create T --user NAME`)";
            let why = format!("the output of job {id} cannot be read: {error}");
            Kind::Conflict.problem(why).hint(hint)
        }
        other => Kind::Internal.problem(other.to_string()),
    }
}
