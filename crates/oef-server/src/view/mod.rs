//! The world as callers see it: pure functions from a [`World`](crate::world::World) to the types on the wire.
//!
//! Every function checks the caller itself. Jobs, placements, workloads and what is set for a tenant are
//! shown to those who may see that tenant; to everybody else they do not exist. Shares, grants, prices and
//! certificates are shown to all: whether they are fair can only be checked with everybody's. The problem of a round,
//! with everybody's profiles, is shown to those who may see all tenants.
//!
//! What takes long comes in two steps: a *draft* takes what it needs from the world, which is quick, and is
//! finished when the world is free again.

mod certificate;
mod cluster;
mod day;
mod fairness;
mod gangs;
mod guard;
mod jobs;
mod live;
mod notifications;
mod reason;
mod restarts;
mod round;
mod tenants;
#[cfg(test)]
pub(crate) mod testing;
mod text;
mod tokens;
mod usage;
mod visible;
mod whatif;
mod whatif_changes;
mod why;
mod workloads;

pub use certificate::certificate;
pub use cluster::settings;
pub(crate) use cluster::{cluster, types as cluster_types};
pub use fairness::FairnessDraft;
pub use jobs::{job, jobs};
pub use live::{EnvyDraft, ScenarioDraft, overview, promises, series, timeline};
pub use notifications::{notification, notifications};
pub use round::{
    RoundDocument, RoundDraft, RoundFacts, recent_rounds, round_for, round_problem, rounds,
    stored_round,
};
pub use tenants::{group, groups, tenant, tenants};
pub use tokens::tokens;
pub use usage::usage;
pub use visible::without_output;
pub use whatif::WhatIfDraft;
pub use why::{tenant_why, why};
pub use workloads::{workload, workloads};
