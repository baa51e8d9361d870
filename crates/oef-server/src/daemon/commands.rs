//! Commands. Each returns when what it changes is durable, or with the problem and nothing changed.

use super::Daemon;
use crate::caller::Caller;
use crate::problem::Kind;
use oef_api::types::*;

impl Daemon {
    /// Takes jobs, all or none. With a key that this token used before for the same, the jobs of then come back.
    pub async fn submit(
        &self,
        caller: &Caller,
        batch: JobBatch,
        key: Option<String>,
    ) -> Result<Submitted, Problem> {
        let _ = (caller, batch, key);
        Err(Kind::Unavailable.problem("not yet"))
    }

    /// Ends a job; one that runs is stopped first.
    pub async fn cancel(&self, caller: &Caller, id: u64) -> Result<Job, Problem> {
        let _ = (caller, id);
        Err(Kind::Unavailable.problem("not yet"))
    }

    /// Creates a tenant.
    pub async fn create_tenant(
        &self,
        caller: &Caller,
        tenant: TenantCreate,
    ) -> Result<Tenant, Problem> {
        let _ = (caller, tenant);
        Err(Kind::Unavailable.problem("not yet"))
    }

    /// Changes a tenant.
    pub async fn patch_tenant(
        &self,
        caller: &Caller,
        name: &str,
        patch: TenantPatch,
    ) -> Result<Tenant, Problem> {
        let _ = (caller, name, patch);
        Err(Kind::Unavailable.problem("not yet"))
    }

    /// Removes a tenant: its jobs are cancelled, its tokens void, what ended is forgotten.
    pub async fn remove_tenant(&self, caller: &Caller, name: &str) -> Result<(), Problem> {
        let _ = (caller, name);
        Err(Kind::Unavailable.problem("not yet"))
    }

    /// Creates or changes a group.
    pub async fn put_group(
        &self,
        caller: &Caller,
        name: &str,
        group: GroupPut,
    ) -> Result<Group, Problem> {
        let _ = (caller, name, group);
        Err(Kind::Unavailable.problem("not yet"))
    }

    /// Removes a group that has no members.
    pub async fn remove_group(&self, caller: &Caller, name: &str) -> Result<(), Problem> {
        let _ = (caller, name);
        Err(Kind::Unavailable.problem("not yet"))
    }

    /// Creates or changes a workload.
    pub async fn put_workload(
        &self,
        caller: &Caller,
        tenant: &str,
        name: &str,
        workload: WorkloadPut,
    ) -> Result<Workload, Problem> {
        let _ = (caller, tenant, name, workload);
        Err(Kind::Unavailable.problem("not yet"))
    }

    /// Creates a token; its secret is in the answer and nowhere else.
    pub async fn create_token(
        &self,
        caller: &Caller,
        token: TokenCreate,
    ) -> Result<NewToken, Problem> {
        let _ = (caller, token);
        Err(Kind::Unavailable.problem("not yet"))
    }

    /// Makes a token void.
    pub async fn revoke_token(&self, caller: &Caller, id: u64) -> Result<(), Problem> {
        let _ = (caller, id);
        Err(Kind::Unavailable.problem("not yet"))
    }

    /// Changes settings; they count from the next round on.
    pub async fn patch_settings(
        &self,
        caller: &Caller,
        patch: SettingsPatch,
    ) -> Result<Settings, Problem> {
        let _ = (caller, patch);
        Err(Kind::Unavailable.problem("not yet"))
    }

    /// Takes a node out, or brings it back.
    pub async fn patch_node(
        &self,
        caller: &Caller,
        name: &str,
        patch: NodePatch,
    ) -> Result<Node, Problem> {
        let _ = (caller, name, patch);
        Err(Kind::Unavailable.problem("not yet"))
    }
}
