//! From fair shares to jobs on GPUs.
//!
//! The scheduler is two functions. [`plan()`] decides: a pure function of a [`State`], its shares included, that changes
//! nothing and returns a [`Plan`]. [`apply`] keeps the books: a [`State`] and an [`Event`] in, [`Action`]s out; a plan
//! is an event like any other. So whoever writes the events down can read them again, years later and with another
//! `plan`, and has the same state: nothing is decided twice.
//!
//! Neither has a clock, does I/O or asks which world it is in. A daemon journals every event and plan; a simulator,
//! which journals nothing, calls [`step`], which does both.
//!
//! Planning goes through three stages:
//!
//! 1. `shares`: who is entitled to which GPUs (by `oef-core`), given what everybody can use; an event, too;
//! 2. `planning/select`: which jobs run on which gpu types, by the deficits of the `ledger`;
//! 3. `planning/place`: on which GPUs of which nodes.
#![forbid(unsafe_code)]

mod action;
mod answer;
mod class;
mod cluster;
mod entitlement;
mod estimate;
mod event;
mod fallback;
mod gang;
mod gate;
pub mod guard;
mod hosts;
mod ids;
mod job;
mod memory;
mod order;
mod past;
mod plan;
mod planning;
mod probe;
mod profile;
mod promise;
mod question;
mod reason;
mod settings;
mod shares;
mod state;
mod tenant;
#[cfg(test)]
mod testing;
mod time;
mod weights;
mod why;
mod why_tenant;
mod window;

pub use action::{Action, Applied, Refusal};
pub use answer::Answer;
pub use cluster::{Cluster, Health, Node, NodeSpec};
pub use entitlement::Entitlement;
pub use estimate::{Estimate, estimate};
pub use event::{Event, EventKind};
pub use gang::{GangFigures, SCALING_PER_DOUBLING, SPREAD_LOSS_PER_DOUBLING, Stands};
pub use gate::{Gate, Obstacle, SweepLimit};
pub use ids::{Generation, GpuId, GroupKey, JobId, NodeId, RoundId, TenantKey, WorkloadKey};
pub use job::{Job, JobChange, JobSpec, JobState, Lease};
pub use memory::usual_memory;
pub use order::Order;
pub use past::PastUsage;
pub use plan::{
    Grant, Origin, Placement, Plan, PlannedRound, PlannedStart, PlannedStop, PlannedWait, Scope,
};
pub use planning::plan;
pub use profile::{Profile, Provenance};
pub use promise::Promises;
pub use question::Question;
pub use reason::{StartReason, StopReason, WaitReason, balance_in_words};
pub use settings::{GangRule, PlacementRule, RoundingRule, Settings};
pub use state::ledger::{bound as deficit_bound, bound_ever as deficit_bound_ever};
pub use state::restarts::RestartBudget;
pub use state::{State, apply, refresh_shares, step, step_without_displacing};
pub use tenant::{Group, Tenant, Workload};
pub use time::{Span, Time};
pub use why::{Forecast, why, why_not_displacing};
pub use why_tenant::{TenantForecast, why_tenant};
pub use window::NodeWindow;
