//! What an operator decides, as far as the scheduler's own settings do not say it.

use super::{Rejection, World};
use oef_api::memory;
use oef_api::types::{EventTopic, SettingsPatch};
use oef_core::Mechanism;
use oef_sched::guard::Policy;
use oef_sched::{Scope, Settings, Span};
use serde::{Deserialize, Serialize};

/// A waiting job of the same workload has its turn after so many rounds.
const TURN_ROUNDS: u64 = 4;
/// A better place is expected to last so many rounds.
const HORIZON_ROUNDS: u64 = 12;
/// What a restart of a big job costs (see the scheduler's default)...
const RESTART_COST_MAX: Span = Span(14_000);
/// ... but no more than this part of a round: who chooses short rounds has jobs that start quickly.
const RESTART_COST_PART: u64 = 20;

/// Settings that the scheduler does not know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SettingsEntry {
    /// How long a job may take to stop.
    pub grace_ms: u64,
    /// The minimum run time as it was set; none: one round, whatever its length.
    pub min_run_ms: Option<u64>,
    /// What is done about profiles that are not what jobs show. A folder from before it could be said has none
    /// of it: the same records give the same world.
    #[serde(default = "unguarded")]
    pub guard: Policy,
    /// Ended jobs that are remembered.
    pub ended_jobs_max: usize,
    /// Events that are remembered.
    pub events_max: usize,
}

impl Default for SettingsEntry {
    fn default() -> Self {
        // A big model is written in some seconds; a network disk may take its time.
        let grace_ms = 60_000;
        SettingsEntry {
            grace_ms,
            min_run_ms: None,
            guard: Policy::default(),
            ended_jobs_max: 50_000,
            events_max: 10_000,
        }
    }
}

fn unguarded() -> Policy {
    Policy::Off
}

impl World {
    /// The settings of the scheduler and of the daemon as they would be after a change.
    pub fn patched(&self, patch: &SettingsPatch) -> Result<(Settings, SettingsEntry), Rejection> {
        if let Some(bad) = patch.check().into_iter().next() {
            return Err(Rejection::Bad(bad.message));
        }
        self.with_patch(patch)
    }

    /// The same where the patch was checked before.
    fn with_patch(&self, patch: &SettingsPatch) -> Result<(Settings, SettingsEntry), Rejection> {
        let (mut sched, mut own) = (self.sched.settings().clone(), self.settings.clone());
        if let Some(name) = &patch.mechanism {
            sched.mechanism = name.parse().map_err(|_| {
                let known: Vec<&str> = Mechanism::ALL.iter().map(|m| m.name()).collect();
                let known = known.join(", ");
                Rejection::Bad(format!("`{name}` is not a mechanism; there are {known}"))
            })?;
        }
        if let Some(reference) = &patch.reference {
            let known = self.sched.cluster().types();
            if !reference.is_empty() && !known.contains(reference) {
                let known = known.join(", ");
                let why = format!("`{reference}` is not a gpu type here; there are {known}");
                return Err(Rejection::Bad(why));
            }
            sched.reference = Some(reference.clone()).filter(|r| !r.is_empty());
        }
        let span = |seconds: Option<f64>| seconds.map(Span::from_seconds);
        sched.round = span(patch.round_s).unwrap_or(sched.round);
        own.min_run_ms = span(patch.min_run_s).map(|span| span.0).or(own.min_run_ms);
        own.grace_ms = span(patch.grace_s).map_or(own.grace_ms, |span| span.0);
        sched.stickiness = patch.stickiness.unwrap_or(sched.stickiness);
        sched.usage_bound = patch.usage_bound.unwrap_or(sched.usage_bound);
        if let Some(half_life) = span(patch.usage_half_life_s) {
            sched.usage_half_life = Some(half_life).filter(|half_life| half_life.0 > 0);
        }
        if let Some(text) = &patch.gpu_memory {
            sched.gpu_memory = memory::by_type(text).map_err(Rejection::Bad)?;
        }
        if let Some(name) = &patch.guard {
            own.guard = name.parse().map_err(|()| {
                let known = Policy::ALL.map(Policy::name).join(", ");
                Rejection::Bad(format!("guard is one of {known}, not `{name}`"))
            })?;
        }
        follow_round(&mut sched, own.min_run_ms);
        Ok((sched, own))
    }

    /// The memory of each gpu type of the cluster, against what a job needs, in words.
    pub fn memory_of_types(&self, least_gib: f64) -> String {
        let least = memory::mebibytes(least_gib);
        let words = self.sched.cluster().types().iter().map(|gpu| {
            match self.sched.settings().memory_of(gpu) {
                None => format!("{gpu} is not used (its memory is not known)"),
                Some(has) if has < least => {
                    format!("{gpu} has too little ({})", memory::shown(has))
                }
                Some(has) => format!("{gpu} has {}", memory::shown(has)),
            }
        });
        words.collect::<Vec<_>>().join(", ")
    }

    pub(super) fn change_settings(&mut self, patch: &SettingsPatch) -> Result<(), Rejection> {
        let (sched, own) = match self.meaning {
            1 => self.patched(patch)?,
            // It was checked when it was taken.
            _ => self.with_patch(patch)?,
        };
        self.settings_set(sched, own);
        Ok(())
    }

    pub(super) fn settings_set(&mut self, sched: Settings, own: SettingsEntry) {
        if sched.gpu_memory != self.sched.settings().gpu_memory {
            // Jobs may find that GPUs which are idle are large enough.
            self.due.plan(Some(Scope::Fill));
        }
        if sched != *self.sched.settings() {
            self.sched.set_settings(sched);
        }
        self.settings = own;
        self.note(EventTopic::Cluster, None, "settings were changed".into());
    }
}

/// What depends on the length of a round.
pub(super) fn follow_round(settings: &mut Settings, min_run_ms: Option<u64>) {
    let round = settings.round;
    settings.min_run = min_run_ms.map_or(round, Span);
    settings.turn = round.times(TURN_ROUNDS);
    settings.horizon = round.times(HORIZON_ROUNDS);
    settings.restart_cost = RESTART_COST_MAX.min(Span(round.0 / RESTART_COST_PART));
}
