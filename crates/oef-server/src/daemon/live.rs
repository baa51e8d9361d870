//! Questions of a live page, and who is behind its session.

use super::Daemon;
use crate::caller::{Caller, runs_as_daemon};
use crate::engine::wall;
use crate::view;
use crate::world::{TokenEntry, World};
use oef_api::types::{
    ApiError, EnvyMatrix, EnvyQuery, JobState, Overview, RecentQuery, RecentRounds, Role, Scenario,
    ScenarioAnswer, Series, SeriesQuery, Timeline, TimelineQuery,
};
use std::time::{Duration, Instant};

/// Whoever moves a slider does not wait longer.
const SCENARIO_LIMIT: Duration = Duration::from_secs(10);

/// What a job tells of itself at one instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    pub job: u64,
    pub steps: f64,
    pub throughput: Option<f64>,
    pub loss: Option<f64>,
}

impl Daemon {
    /// The cluster at a glance.
    pub fn overview(&self, caller: &Caller) -> Result<Overview, ApiError> {
        Ok(self.with_world(|world| view::overview(world, caller, wall().0)))
    }

    /// Who ran where.
    pub fn timeline(&self, caller: &Caller, asked: &TimelineQuery) -> Result<Timeline, ApiError> {
        Ok(self.with_world(|world| view::timeline(world, caller, asked, wall().0)))
    }

    /// The last rounds as ticks. Reads the disk.
    pub fn recent_rounds(&self, asked: &RecentQuery) -> Result<RecentRounds, ApiError> {
        view::recent_rounds(&self.inner.archive, asked)
    }

    /// Promised and delivered, round by round.
    pub fn series(&self, caller: &Caller, asked: &SeriesQuery) -> Result<Series, ApiError> {
        self.with_world(|world| view::series(world, caller, asked))
    }

    /// Whom tenants would envy.
    pub fn envy(&self, caller: &Caller, asked: &EnvyQuery) -> Result<EnvyMatrix, ApiError> {
        let draft = self.with_world(|world| view::EnvyDraft::take(world, caller, asked))?;
        Ok(draft.finish())
    }

    /// Everybody before and after some changes. Computes shares on the calling thread, as long as somebody waits for them.
    pub fn scenario(
        &self,
        caller: &Caller,
        asked: &Scenario,
        is_gone: &dyn Fn() -> bool,
    ) -> Result<ScenarioAnswer, ApiError> {
        let draft = self.with_world(|world| view::ScenarioDraft::take(world, caller, asked))?;
        let began = Instant::now();
        let stop = || is_gone() || began.elapsed() > SCENARIO_LIMIT;
        draft.finish(&oef_core::Options { stop: Some(&stop), ..Default::default() })
    }

    /// Who holds a token now; none: it is void. 0 is the daemon's own owner.
    pub(crate) fn holder(&self, token: u64) -> Option<Caller> {
        if token == 0 {
            return self.inner.owner.as_ref().map(|_| Caller::owner());
        }
        self.with_world(|world| {
            let entry = world.tokens.get(&token)?;
            let is_over = entry.expires_ms.is_some_and(|expires| wall().0 >= expires);
            let is_void = is_over || !self.is_trusted(world, entry);
            let (role, tenant) = (entry.role, entry.tenant.clone());
            let caller = Caller { role, tenant, token, user: None };
            (!is_void).then_some(caller)
        })
    }

    /// Whether a token separates its holder from the daemon. It may have been made when all tenants were trusted.
    fn is_trusted(&self, world: &World, token: &TokenEntry) -> bool {
        let tenant = token.tenant.as_deref().filter(|_| token.role == Role::Tenant);
        let user_of = |name| world.tenants.get(name).and_then(|entry| entry.user.as_deref());
        self.inner.trust_tenants || tenant.is_none_or(|name| !runs_as_daemon(user_of(name)))
    }

    /// Says at the start which tokens are void although they look valid.
    pub(super) fn warn_of_void_tokens(&self) {
        let tokens: Vec<String> = self.with_world(|world| {
            let void = world.tokens.iter().filter(|(_, token)| !self.is_trusted(world, token));
            void.map(|(id, _)| id.to_string()).collect()
        });
        if !tokens.is_empty() {
            let tokens = tokens.join(", ");
            tracing::warn!(
                tokens,
                "these are void: the jobs of their tenants run as the daemon's own user, and `trust_tenants` is not set"
            );
        }
    }

    /// What the jobs that run tell of themselves now.
    pub(crate) fn samples(&self) -> Vec<Sample> {
        self.with_world(|world| {
            let running = world.index.newest(None, &[JobState::Running], None);
            let jobs = running.filter_map(|id| Some((id, world.jobs.get(&id)?)));
            let told = jobs.map(|(id, job)| Sample {
                job: id.0,
                steps: job.telemetry.steps,
                throughput: job.telemetry.throughput,
                loss: job.telemetry.loss,
            });
            told.collect()
        })
    }
}
