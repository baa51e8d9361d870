//! Commands. Each returns when what it changes is durable, or with the problem and nothing changed.

use super::Daemon;
use crate::caller::Caller;
use crate::engine::{Command, Done, Message};
use crate::problem::{Kind, More};
use oef_api::types::{
    ApiError, Group, GroupPut, Job, JobBatch, JobPatch, NewToken, Node, NodePatch, Settings,
    SettingsPatch, Submitted, Tenant, TenantCreate, TenantPatch, TokenCreate, Workload,
    WorkloadPut,
};
use tokio::sync::oneshot;

impl Daemon {
    /// Takes jobs, all or none; an admin's new tenants are created. With a key that this token used before for the same jobs, those of then
    /// come back.
    pub async fn submit(
        &self,
        caller: &Caller,
        batch: JobBatch,
        key: Option<String>,
    ) -> Result<Submitted, ApiError> {
        self.submit_as(caller, batch, key, true).await
    }

    /// The same; tenants that are not there are created only where that is wanted.
    pub async fn submit_as(
        &self,
        caller: &Caller,
        batch: JobBatch,
        key: Option<String>,
        create_tenants: bool,
    ) -> Result<Submitted, ApiError> {
        match self.ask(caller, Command::Submit { batch, key, create_tenants }).await? {
            Done::Submitted(submitted) => Ok(submitted),
            _ => Err(mixed_up()),
        }
    }

    /// Ends a job; one that runs is stopped first.
    pub async fn cancel(&self, caller: &Caller, id: u64) -> Result<Job, ApiError> {
        self.ask(caller, Command::Cancel { job: id }).await?;
        self.job(caller, id)
    }

    /// Changes a job: holds it, releases it, or edits it.
    pub async fn patch_job(
        &self,
        caller: &Caller,
        id: u64,
        patch: JobPatch,
    ) -> Result<Job, ApiError> {
        self.ask(caller, Command::PatchJob { job: id, patch }).await?;
        self.job(caller, id)
    }

    /// Submits a job once more, as a new one.
    pub async fn resubmit(&self, caller: &Caller, id: u64) -> Result<Submitted, ApiError> {
        match self.ask(caller, Command::Resubmit { job: id }).await? {
            Done::Submitted(submitted) => Ok(submitted),
            _ => Err(mixed_up()),
        }
    }

    /// Creates a tenant.
    pub async fn create_tenant(
        &self,
        caller: &Caller,
        tenant: TenantCreate,
    ) -> Result<Tenant, ApiError> {
        let name = tenant.name.clone();
        self.ask(caller, Command::CreateTenant(tenant)).await?;
        self.tenant(caller, &name)
    }

    /// Changes a tenant.
    pub async fn patch_tenant(
        &self,
        caller: &Caller,
        name: &str,
        patch: TenantPatch,
    ) -> Result<Tenant, ApiError> {
        self.ask(caller, Command::PatchTenant { name: name.into(), patch }).await?;
        self.tenant(caller, name)
    }

    /// Removes a tenant: its jobs are cancelled, its tokens void, what ended is forgotten.
    pub async fn remove_tenant(&self, caller: &Caller, name: &str) -> Result<(), ApiError> {
        self.ask(caller, Command::RemoveTenant { name: name.into() }).await.map(drop)
    }

    /// Creates or changes a group.
    pub async fn put_group(
        &self,
        caller: &Caller,
        name: &str,
        group: GroupPut,
    ) -> Result<Group, ApiError> {
        self.ask(caller, Command::PutGroup { name: name.into(), group }).await?;
        self.group(caller, name)
    }

    /// Removes a group that has no members.
    pub async fn remove_group(&self, caller: &Caller, name: &str) -> Result<(), ApiError> {
        self.ask(caller, Command::RemoveGroup { name: name.into() }).await.map(drop)
    }

    /// Creates or changes a workload.
    pub async fn put_workload(
        &self,
        caller: &Caller,
        tenant: &str,
        name: &str,
        workload: WorkloadPut,
    ) -> Result<Workload, ApiError> {
        let command = Command::PutWorkload { tenant: tenant.into(), name: name.into(), workload };
        self.ask(caller, command).await?;
        self.workload(caller, tenant, name)
    }

    /// Creates a token; its secret is in the answer and nowhere else.
    pub async fn create_token(
        &self,
        caller: &Caller,
        token: TokenCreate,
    ) -> Result<NewToken, ApiError> {
        match self.ask(caller, Command::CreateToken(token)).await? {
            Done::Token { id, secret } => Ok(NewToken { token: self.token(caller, id)?, secret }),
            _ => Err(mixed_up()),
        }
    }

    /// Makes a token void.
    pub async fn revoke_token(&self, caller: &Caller, id: u64) -> Result<(), ApiError> {
        self.ask(caller, Command::RevokeToken { id }).await.map(drop)
    }

    /// Changes settings; they count from the next round on.
    pub async fn patch_settings(
        &self,
        caller: &Caller,
        patch: SettingsPatch,
    ) -> Result<Settings, ApiError> {
        self.ask(caller, Command::PatchSettings(patch)).await?;
        self.settings(caller)
    }

    /// Takes a node out, or brings it back.
    pub async fn patch_node(
        &self,
        caller: &Caller,
        name: &str,
        patch: NodePatch,
    ) -> Result<Node, ApiError> {
        self.ask(caller, Command::PatchNode { name: name.into(), patch }).await?;
        let node = self.cluster(caller)?.nodes.into_iter().find(|node| node.name == name);
        node.ok_or_else(|| Kind::NotFound.problem(format!("there is no node `{name}`")))
    }

    /// Drops a planned time window of a node.
    pub async fn drop_window(&self, caller: &Caller, id: u64) -> Result<(), ApiError> {
        self.ask(caller, Command::DropWindow { id }).await.map(drop)
    }

    pub(super) async fn ask(&self, caller: &Caller, command: Command) -> Result<Done, ApiError> {
        let (reply, answer) = oneshot::channel();
        let message =
            Message::Command { caller: caller.clone(), command: Box::new(command), reply };
        self.inner.inbox.send(message).map_err(|_| stopped())?;
        answer.await.unwrap_or_else(|_| Err(stopped()))
    }
}

fn stopped() -> ApiError {
    Kind::Unavailable.problem("the daemon has stopped").hint("start it again with `oef up`")
}

pub(super) fn mixed_up() -> ApiError {
    Kind::Internal.problem("unexpected reply from the engine")
}
