//! Questions. They look at the world for a moment and never wait for a computation of shares, but for the
//! one that asks for one.

use super::{Daemon, Gauges, Subscription};
use crate::caller::Caller;
use crate::problem::Kind;
use oef_api::types::*;

/// Which page of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// So many entries at most; 100 where nothing is said.
    pub limit: Option<u32>,
    /// Those after this mark, which is the `next` of the page before.
    pub after: Option<String>,
}

impl Daemon {
    /// Who asks, and how the daemon is.
    pub fn info(&self, caller: &Caller) -> Result<Info, Problem> {
        let _ = (caller,);
        Err(Kind::Unavailable.problem("not yet"))
    }

    /// Jobs, the newest first, in pages.
    pub fn jobs(&self, caller: &Caller, query: &JobsQuery) -> Result<Jobs, Problem> {
        let _ = (caller, query);
        Err(Kind::Unavailable.problem("not yet"))
    }

    /// A job, whole.
    pub fn job(&self, caller: &Caller, id: u64) -> Result<Job, Problem> {
        let _ = (caller, id);
        Err(Kind::Unavailable.problem("not yet"))
    }

    /// Why a job waits, runs or ended.
    pub fn why(&self, caller: &Caller, id: u64) -> Result<Why, Problem> {
        let _ = (caller, id);
        Err(Kind::Unavailable.problem("not yet"))
    }

    /// A part of a job's output. Reads files: not for a thread that must not wait.
    pub fn logs(&self, caller: &Caller, id: u64, query: &LogQuery) -> Result<LogChunk, Problem> {
        let _ = (caller, id, query);
        Err(Kind::Unavailable.problem("not yet"))
    }

    /// Tenants by name.
    pub fn tenants(&self, caller: &Caller, page: &Page) -> Result<Tenants, Problem> {
        let _ = (caller, page);
        Err(Kind::Unavailable.problem("not yet"))
    }

    /// A tenant.
    pub fn tenant(&self, caller: &Caller, name: &str) -> Result<Tenant, Problem> {
        let _ = (caller, name);
        Err(Kind::Unavailable.problem("not yet"))
    }

    /// Why a tenant has what it has.
    pub fn tenant_why(&self, caller: &Caller, name: &str) -> Result<TenantWhy, Problem> {
        let _ = (caller, name);
        Err(Kind::Unavailable.problem("not yet"))
    }

    /// Groups by name.
    pub fn groups(&self, caller: &Caller, page: &Page) -> Result<Groups, Problem> {
        let _ = (caller, page);
        Err(Kind::Unavailable.problem("not yet"))
    }

    /// A group.
    pub fn group(&self, caller: &Caller, name: &str) -> Result<Group, Problem> {
        let groups = self.groups(caller, &Page::default())?.groups;
        let group = groups.into_iter().find(|group| group.name == name);
        group.ok_or_else(|| Kind::NotFound.problem(format!("there is no group `{name}`")))
    }

    /// A token, without its secret.
    pub fn token(&self, caller: &Caller, id: u64) -> Result<Token, Problem> {
        let tokens = self.tokens(caller, &Page::default())?.tokens;
        let token = tokens.into_iter().find(|token| token.id == id);
        token.ok_or_else(|| Kind::NotFound.problem(format!("there is no token {id}")))
    }

    /// Workloads by tenant and name.
    pub fn workloads(
        &self,
        caller: &Caller,
        tenant: Option<&str>,
        page: &Page,
    ) -> Result<Workloads, Problem> {
        let _ = (caller, tenant, page);
        Err(Kind::Unavailable.problem("not yet"))
    }

    /// A workload.
    pub fn workload(&self, caller: &Caller, tenant: &str, name: &str) -> Result<Workload, Problem> {
        let _ = (caller, tenant, name);
        Err(Kind::Unavailable.problem("not yet"))
    }

    /// The machines, and who is on them.
    pub fn cluster(&self, caller: &Caller) -> Result<Cluster, Problem> {
        let _ = (caller,);
        Err(Kind::Unavailable.problem("not yet"))
    }

    /// Tokens, without their secrets.
    pub fn tokens(&self, caller: &Caller, page: &Page) -> Result<Tokens, Problem> {
        let _ = (caller, page);
        Err(Kind::Unavailable.problem("not yet"))
    }

    /// The settings.
    pub fn settings(&self, caller: &Caller) -> Result<Settings, Problem> {
        let _ = (caller,);
        Err(Kind::Unavailable.problem("not yet"))
    }

    /// Rounds, the newest first. Reads the disk.
    pub fn rounds(&self, caller: &Caller, page: &Page) -> Result<Rounds, Problem> {
        let _ = (caller, page);
        Err(Kind::Unavailable.problem("not yet"))
    }

    /// A round with its certificate; none: the current one. Reads the disk.
    pub fn round(&self, caller: &Caller, round: Option<u64>) -> Result<Round, Problem> {
        let _ = (caller, round);
        Err(Kind::Unavailable.problem("not yet"))
    }

    /// Who was promised what, and who got it.
    pub fn fairness(&self, caller: &Caller) -> Result<Fairness, Problem> {
        let _ = (caller,);
        Err(Kind::Unavailable.problem("not yet"))
    }

    /// What would happen if. Computes shares on the calling thread: it may take long.
    pub fn whatif(&self, caller: &Caller, change: &WhatIf) -> Result<WhatIfAnswer, Problem> {
        let _ = (caller, change);
        Err(Kind::Unavailable.problem("not yet"))
    }

    /// Events after a number, then each as it happens; none: only what happens from now on.
    pub fn subscribe(&self, caller: &Caller, after: Option<u64>) -> Result<Subscription, Problem> {
        let _ = (caller, after);
        Err(Kind::Unavailable.problem("not yet"))
    }

    /// How things stand, for whoever draws curves.
    pub fn gauges(&self) -> Gauges {
        Gauges::default()
    }
}
