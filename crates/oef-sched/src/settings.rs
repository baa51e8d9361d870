//! What an operator decides about the scheduler.

use crate::time::Span;
use oef_core::Mechanism;
use std::collections::BTreeMap;

/// How the scheduler works; may be changed between two steps.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
pub struct Settings {
    /// How shares are computed.
    pub mechanism: Mechanism,
    /// The reference gpu type by name; derived from the profiles where there is none.
    pub reference: Option<String>,
    /// The length of a round.
    pub round: Span,
    /// How shares become grants.
    pub rounding: RoundingRule,
    /// How grants become GPUs.
    pub placement: PlacementRule,
    /// What shares know of gangs.
    #[cfg_attr(feature = "serde", serde(default = "GangRule::of_old"))]
    pub gangs: GangRule,
    /// A job that was started runs at least so long, unless it was told that it runs on borrowed GPUs.
    pub min_run: Span,
    /// After so long a run, a waiting job of the same workload has its turn.
    pub turn: Span,
    /// What a restart costs: the checkpoint, and the start until the first new step.
    pub restart_cost: Span,
    /// The part of the GPU time that restarts may cost; 0: turns do not depend on it. A job that was started runs for its
    /// [turn](Settings::turn_of) at least.
    #[cfg_attr(feature = "serde", serde(default))]
    pub restart_part: f64,
    /// The part of a job's running time that restarts may waste...
    pub waste_budget: f64,
    /// ... beyond so many restarts that are free.
    pub free_restarts: u32,
    /// How long a better place is expected to last; a move must win back its restart within it.
    pub horizon: Span,
    /// Rounds for which a gang that could run spread over hosts waits for room on fewer.
    #[cfg_attr(feature = "serde", serde(default))]
    pub patience: u32,
    /// The speed that a gang is taken to lose on more hosts than it needs, when moves are weighed.
    pub spread_loss: f64,
    /// How strongly a running job holds its GPUs, in its own gangs of deficit: somebody must be owed
    /// that much more before it is preempted.
    pub stickiness: f64,
    /// The memory of GPUs by type, in MiB, where the name of the type does not tell it or tells it wrongly.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "BTreeMap::is_empty"))]
    pub gpu_memory: BTreeMap<String, u32>,
    /// Past usage counts, and what lies back by so long counts half; `None`: it does not count.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub usage_half_life: Option<Span>,
    /// What a weight is multiplied by at most because of past usage, and divided by at most; 1 at least.
    pub usage_bound: f64,
}

impl Default for Settings {
    fn default() -> Self {
        let round = Span::from_seconds(300.0);
        Settings {
            mechanism: Mechanism::DEFAULT,
            reference: None,
            round,
            rounding: RoundingRule::Deficit,
            placement: PlacementRule::Room,
            gangs: GangRule::Rows,
            min_run: round,
            turn: round.times(4),
            // Measured: 9-14 s to start a PyTorch process again, 0.1-1.9 s to write a checkpoint,
            // 0.1-0.7 s to read it.
            restart_cost: Span::from_seconds(14.0),
            restart_part: 0.03,
            waste_budget: 0.1,
            free_restarts: 3,
            horizon: Span::from_seconds(3600.0),
            patience: 3,
            spread_loss: 0.1,
            stickiness: 1.0,
            gpu_memory: BTreeMap::new(),
            usage_half_life: None,
            usage_bound: 2.0,
        }
    }
}

impl Settings {
    /// How long a job of so many workers runs at least, once it was started: in proportion to what a restart costs, so that
    /// restarts cost the set part of the GPU time at most, and the longer the larger its gang is, which is harder to bring
    /// together again: `cost / part * (1 + log2 g)`.
    pub fn turn_of(&self, workers: u32) -> Span {
        self.turn_at(self.restart_cost, workers)
    }

    /// The same for a job whose restarts cost this.
    pub(crate) fn turn_at(&self, cost: Span, workers: u32) -> Span {
        if self.restart_part <= 0.0 {
            return Span(0);
        }
        let seconds = cost.seconds() / self.restart_part;
        Span::from_seconds(seconds * (1.0 + f64::from(workers.max(1)).log2()))
    }

    /// How long a job runs before a waiting job of its own workload has its turn.
    pub(crate) fn own_turn(&self, turn: Span) -> Span {
        self.turn.max(turn.times(OWN_TURNS))
    }

    /// How strongly a running job with such a turn holds its GPUs, in its own gangs of deficit: somebody must be owed that
    /// much more before it is preempted.
    pub(crate) fn stickiness_for(&self, turn: Span) -> f64 {
        self.stickiness + HELD_TURNS * turn.rounds(self.round)
    }

    /// A restart cost that was measured, as far as it counts.
    pub(crate) fn counted_cost(&self, measured: Span) -> Span {
        let least = Span(self.restart_cost.0 / COST_APART);
        measured.clamp(least, self.restart_cost.times(COST_APART))
    }
}

/// A measured restart cost counts up to so many times the setting, and no less than the setting divided by it. How long a
/// job takes until its first step is in its tenant's hands, and a longer turn keeps others waiting: whoever starts slowly,
/// by need or on purpose, holds its GPUs for so many usual turns at most.
const COST_APART: u64 = 4;

/// Turns of deficit for which a running job holds its GPUs. With two, jobs of a generated trace with gangs of up to 64 GPUs
/// are restarted half as often as with none, and no tenant gets less.
const HELD_TURNS: f64 = 2.0;

/// Turns after which a waiting job of the same workload has its own. Whose job runs is the tenant's own affair, so that
/// restarts for it are worth less.
const OWN_TURNS: u64 = 8;

/// How shares become grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum RoundingRule {
    /// By deficits: never more than there is, nothing idle that somebody could use, every deficit bounded.
    Deficit,
    /// The paper's: `round(share + deviation)` for each tenant on its own. It may hand out more than there
    /// is (the last ones then go without) or less; kept for comparison.
    Paper,
}

/// What shares know of gangs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum GangRule {
    /// Jobs of a workload with different numbers of workers are rows of their own, each with its throughput as it can
    /// stand.
    Rows,
    /// Every job counts as if it had one worker; kept for comparison.
    Blind,
}

impl GangRule {
    /// Settings that were written down before there was a rule.
    #[cfg(feature = "serde")]
    fn of_old() -> Self {
        GangRule::Blind
    }
}

/// How grants become GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum PlacementRule {
    /// Big gangs first, on as few hosts as they can stand on; small jobs make room where that pays, and a gang waits for
    /// room for a bounded time.
    Room,
    /// Big gangs first, on one host where one fits; running jobs stay. Kept for comparison.
    Packed,
    /// The first free GPUs in the order of the nodes, whatever the host; running jobs stay. Kept for
    /// comparison with schedulers that do not look at hosts.
    FirstFree,
}

/// Whether a faster place wins back the restart within the horizon.
pub(crate) fn pays(settings: &Settings, speed: f64, now: f64) -> bool {
    let (cost, horizon) = (settings.restart_cost.seconds(), settings.horizon.seconds());
    speed * (horizon - cost).max(0.0) > now * horizon
}
