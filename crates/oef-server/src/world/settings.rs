//! What an operator decides, as far as the scheduler's own settings do not say it.

use super::{Rejection, World};
use oef_api::limits::{
    HALF_LIFE_MAX_S, HALF_LIFE_MIN_S, ROUND_MAX_S, ROUND_MIN_S, STICKINESS_MAX, USAGE_BOUND_MAX,
};
use oef_api::memory;
use oef_api::types::{EventTopic, SettingsPatch};
use oef_core::Mechanism;
use oef_sched::guard::Policy;
use oef_sched::{Scope, Settings, Span};
use serde::{Deserialize, Serialize};

/// More than any job needs to write a checkpoint, or should run undisturbed.
pub(crate) const SPAN_MAX: Span = Span(30 * 24 * 3600 * 1000);
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
    #[serde(default)]
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
        if let Some(seconds) = patch.round_s {
            let (min, max) = (Span::from_seconds(ROUND_MIN_S), Span::from_seconds(ROUND_MAX_S));
            sched.round = span("the length of a round", seconds, min, max)?;
        }
        if let Some(seconds) = patch.min_run_s {
            own.min_run_ms = Some(span("the minimum run time", seconds, Span(0), SPAN_MAX)?.0);
        }
        if let Some(seconds) = patch.grace_s {
            own.grace_ms = span("the grace time", seconds, Span(0), SPAN_MAX)?.0;
        }
        if let Some(stickiness) = patch.stickiness {
            if !(0.0..=STICKINESS_MAX).contains(&stickiness) {
                let why = format!("stickiness is a number from 0 to 100, not {stickiness}");
                return Err(Rejection::Bad(why));
            }
            sched.stickiness = stickiness;
        }
        if let Some(text) = &patch.gpu_memory {
            sched.gpu_memory = memory::by_type(text).map_err(Rejection::Bad)?;
        }
        if let Some(seconds) = patch.usage_half_life_s {
            sched.usage_half_life = match seconds == 0.0 {
                true => None,
                false => {
                    let (min, max) = (HALF_LIFE_MIN_S, HALF_LIFE_MAX_S);
                    let (min, max) = (Span::from_seconds(min), Span::from_seconds(max));
                    Some(span("the half-life of usage (0: off)", seconds, min, max)?)
                }
            };
        }
        if let Some(bound) = patch.usage_bound {
            if !(1.0..=USAGE_BOUND_MAX).contains(&bound) {
                let why = format!("the bound of usage is a number from 1 to 16, not {bound}");
                return Err(Rejection::Bad(why));
            }
            sched.usage_bound = bound;
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
        let (sched, own) = self.patched(patch)?;
        if sched.gpu_memory != self.sched.settings().gpu_memory {
            // Jobs may find that GPUs which are idle are large enough.
            self.due.plan(Some(Scope::Fill));
        }
        if sched != *self.sched.settings() {
            self.sched.set_settings(sched);
        }
        self.settings = own;
        self.note(EventTopic::Cluster, None, "settings were changed".into());
        Ok(())
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

fn span(what: &str, seconds: f64, min: Span, max: Span) -> Result<Span, Rejection> {
    let (low, high) = (min.seconds(), max.seconds());
    match (low..=high).contains(&seconds) {
        true => Ok(Span::from_seconds(seconds)),
        false => Err(Rejection::Bad(format!(
            "{what} is a number of seconds from {low} to {high}, not {seconds}"
        ))),
    }
}
