//! From fair shares to jobs on GPUs.
//!
//! The scheduler is one pure function, [`step`]: a [`State`] and an [`Event`] in, [`Action`]s out. It has
//! no clock, does no I/O and never asks which world it is in; a simulator and a daemon drive the same
//! code, and replaying the same events gives the same state.
//!
//! A round goes through four stages, one module each:
//!
//! 1. `shares`: who is entitled to which GPUs (by `oef-core`), given what everybody can use;
//! 2. `select`: which jobs run on which gpu types this round, by the deficits of the `ledger`;
//! 3. `place`: on which GPUs of which nodes;
//! 4. `plan`: the difference to what runs now, as actions with reasons.
#![forbid(unsafe_code)]

mod action;
mod answer;
mod class;
mod cluster;
mod commands;
mod entitlement;
mod estimate;
mod event;
mod fallback;
pub mod guard;
mod hosts;
mod ids;
mod job;
mod ledger;
mod lifecycle;
mod place;
mod plan;
mod probe;
mod profile;
mod question;
mod reason;
mod rounds;
mod select;
mod settings;
mod shares;
mod state;
mod step;
mod tenant;
#[cfg(test)]
mod testing;
mod time;
mod weights;
mod why;
mod why_tenant;

pub use action::{Action, Refusal};
pub use answer::Answer;
pub use cluster::{Cluster, Health, Node, NodeSpec};
pub use entitlement::Entitlement;
pub use estimate::{Estimate, estimate};
pub use event::{Event, EventKind};
pub use ids::{Generation, GpuId, GroupKey, JobId, NodeId, RoundId, TenantKey, WorkloadKey};
pub use job::{Job, JobSpec, JobState, Lease};
pub use ledger::bound as deficit_bound;
pub use plan::{Grant, Placement, Plan};
pub use profile::{Profile, Provenance};
pub use question::Question;
pub use reason::{StartReason, StopReason, WaitReason};
pub use settings::{PlacementRule, RoundingRule, Settings};
pub use shares::refresh_shares;
pub use state::State;
pub use step::step;
pub use tenant::{Group, Tenant, Workload};
pub use time::{Span, Time};
pub use why::{Forecast, why};
pub use why_tenant::{TenantForecast, why_tenant};
