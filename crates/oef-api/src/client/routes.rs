//! One method per route of version 1.

use super::connection::Client;
use super::error::{ClientError, Reach};
use super::path::{query, segment};
use crate::types::{
    Cluster, Fairness, Group, GroupPut, Groups, Info, Job, JobBatch, JobPatch, Jobs, JobsQuery,
    LogChunk, LogQuery, LoginCode, NewNotification, NewToken, Node, NodePatch, Notification,
    NotificationCreate, Notifications, PageQuery, Round, RoundProblem, Rounds, Settings,
    SettingsPatch, SubmitQuery, Submitted, Tenant, TenantCreate, TenantPatch, TenantWhy, Tenants,
    TokenCreate, Tokens, Usage, UsageQuery, WhatIf, WhatIfAnswer, Why, Workload, WorkloadPut,
    Workloads, WorkloadsQuery,
};
use serde::Serialize;
use std::thread;
use std::time::Duration;
use ureq::http::Method;

/// A submission whose answer was lost is sent again, with its key, so often at most.
const SUBMIT_TRIES_MAX: u32 = 4;
/// And after so long, twice as long every time.
const SUBMIT_PAUSE: Duration = Duration::from_millis(250);

/// An empty body where one is needed.
#[derive(Serialize)]
struct Nothing {}

impl Client {
    /// The daemon in a few words, and who we are to it.
    pub fn info(&self) -> Result<Info, ClientError> {
        self.get("/info")
    }

    /// A code that logs one browser in as us, once.
    pub fn login_code(&self) -> Result<LoginCode, ClientError> {
        self.send_json(Method::POST, "/login-codes", &Nothing {}, &[])
    }

    /// A page of jobs, the newest first.
    pub fn jobs(&self, which: &JobsQuery) -> Result<Jobs, ClientError> {
        self.get(&format!("/jobs{}", query(which)))
    }

    /// A job with its history and runs.
    pub fn job(&self, id: u64) -> Result<Job, ClientError> {
        self.get(&format!("/jobs/{id}"))
    }

    /// Submits jobs, all or none. They are durable when this returns. With a key it may be sent again: where
    /// the answer is lost, this does so itself.
    pub fn submit(
        &self,
        batch: &JobBatch,
        key: Option<&str>,
        how: SubmitQuery,
    ) -> Result<Submitted, ClientError> {
        let how = query(&how);
        let headers: Vec<(&str, &str)> =
            key.map(|key| ("idempotency-key", key)).into_iter().collect();
        let send = || match (batch.jobs.as_slice(), &batch.name, batch.at_once) {
            ([job], None, None) => {
                self.send_json(Method::POST, &format!("/jobs{how}"), job, &headers)
            }
            _ => self.send_json(Method::POST, &format!("/jobs/batch{how}"), batch, &headers),
        };
        let mut pause = SUBMIT_PAUSE;
        for _ in 1..SUBMIT_TRIES_MAX {
            match send() {
                Err(ClientError::Unreachable { reach: Reach::Unknown, .. }) if key.is_some() => {
                    thread::sleep(pause);
                    pause *= 2;
                }
                done => return done,
            }
        }
        send()
    }

    /// Cancels a job.
    pub fn cancel(&self, id: u64) -> Result<Job, ClientError> {
        self.send_json(Method::POST, &format!("/jobs/{id}/cancel"), &Nothing {}, &[])
    }

    /// Changes a job: holds it, releases it, or edits it.
    pub fn patch_job(&self, id: u64, patch: &JobPatch) -> Result<Job, ClientError> {
        self.send_json(Method::PATCH, &format!("/jobs/{id}"), patch, &[])
    }

    /// Submits a job as it was submitted before, as a new one.
    pub fn resubmit(&self, id: u64) -> Result<Submitted, ClientError> {
        self.send_json(Method::POST, &format!("/jobs/{id}/resubmit"), &Nothing {}, &[])
    }

    /// Why a job waits, runs or ended.
    pub fn why(&self, id: u64) -> Result<Why, ClientError> {
        self.get(&format!("/jobs/{id}/why"))
    }

    /// A part of a job's log.
    pub fn logs(&self, id: u64, part: &LogQuery) -> Result<LogChunk, ClientError> {
        self.get(&format!("/jobs/{id}/logs{}", query(part)))
    }

    /// A page of tenants.
    pub fn tenants(&self, after: Option<&str>) -> Result<Tenants, ClientError> {
        self.get(&format!("/tenants{}", page(after)))
    }

    /// A tenant.
    pub fn tenant(&self, name: &str) -> Result<Tenant, ClientError> {
        self.get(&format!("/tenants/{}", segment(name)))
    }

    /// Why a tenant has what it has.
    pub fn tenant_why(&self, name: &str) -> Result<TenantWhy, ClientError> {
        self.get(&format!("/tenants/{}/why", segment(name)))
    }

    /// Creates a tenant.
    pub fn create_tenant(&self, tenant: &TenantCreate) -> Result<Tenant, ClientError> {
        self.send_json(Method::POST, "/tenants", tenant, &[])
    }

    /// Changes a tenant.
    pub fn patch_tenant(&self, name: &str, patch: &TenantPatch) -> Result<Tenant, ClientError> {
        self.send_json(Method::PATCH, &format!("/tenants/{}", segment(name)), patch, &[])
    }

    /// Removes a tenant and cancels its jobs.
    pub fn remove_tenant(&self, name: &str) -> Result<(), ClientError> {
        self.send_empty(Method::DELETE, &format!("/tenants/{}", segment(name)))
    }

    /// A page of groups.
    pub fn groups(&self, after: Option<&str>) -> Result<Groups, ClientError> {
        self.get(&format!("/groups{}", page(after)))
    }

    /// Creates or changes a group.
    pub fn put_group(&self, name: &str, group: &GroupPut) -> Result<Group, ClientError> {
        self.send_json(Method::PUT, &format!("/groups/{}", segment(name)), group, &[])
    }

    /// Removes a group without members.
    pub fn remove_group(&self, name: &str) -> Result<(), ClientError> {
        self.send_empty(Method::DELETE, &format!("/groups/{}", segment(name)))
    }

    /// A page of workloads, of one tenant or of all.
    pub fn workloads(
        &self,
        tenant: Option<&str>,
        after: Option<&str>,
    ) -> Result<Workloads, ClientError> {
        let (tenant, after) = (tenant.map(String::from), after.map(String::from));
        self.get(&format!("/workloads{}", query(&WorkloadsQuery { tenant, limit: None, after })))
    }

    /// A workload with its profile's history.
    pub fn workload(&self, tenant: &str, name: &str) -> Result<Workload, ClientError> {
        self.get(&format!("/workloads/{}/{}", segment(tenant), segment(name)))
    }

    /// Creates or changes a workload.
    pub fn put_workload(
        &self,
        tenant: &str,
        name: &str,
        workload: &WorkloadPut,
    ) -> Result<Workload, ClientError> {
        let path = format!("/workloads/{}/{}", segment(tenant), segment(name));
        self.send_json(Method::PUT, &path, workload, &[])
    }

    /// The machines, and who is on them.
    pub fn cluster(&self) -> Result<Cluster, ClientError> {
        self.get("/cluster")
    }

    /// Takes a node out, or brings it back.
    pub fn patch_node(&self, name: &str, patch: &NodePatch) -> Result<Node, ClientError> {
        self.send_json(Method::PATCH, &format!("/cluster/nodes/{}", segment(name)), patch, &[])
    }

    /// Drops a planned time window of a node.
    pub fn drop_window(&self, id: u64) -> Result<(), ClientError> {
        self.send_empty(Method::DELETE, &format!("/cluster/windows/{id}"))
    }

    /// Who used how much of what.
    pub fn usage(&self, asked: &UsageQuery) -> Result<Usage, ClientError> {
        self.get(&format!("/usage{}", query(asked)))
    }

    /// A page of rounds, the newest first.
    pub fn rounds(&self, limit: Option<u32>, after: Option<&str>) -> Result<Rounds, ClientError> {
        let after = after.map(String::from);
        self.get(&format!("/rounds{}", query(&PageQuery { limit, after })))
    }

    /// A round with its certificate; none: the current one.
    pub fn round(&self, round: Option<u64>) -> Result<Round, ClientError> {
        match round {
            Some(round) => self.get(&format!("/rounds/{round}")),
            None => self.get("/rounds/current"),
        }
    }

    /// The problem that the shares of a round answer, as a problem file has it.
    pub fn round_problem(&self, round: u64) -> Result<RoundProblem, ClientError> {
        self.get(&format!("/rounds/{round}/problem"))
    }

    /// Who was promised what, and who got it.
    pub fn fairness(&self) -> Result<Fairness, ClientError> {
        self.get("/fairness")
    }

    /// What changes would do to everybody.
    pub fn whatif(&self, changes: &WhatIf) -> Result<WhatIfAnswer, ClientError> {
        self.send_json(Method::POST, "/whatif", changes, &[])
    }

    /// The settings.
    pub fn settings(&self) -> Result<Settings, ClientError> {
        self.get("/settings")
    }

    /// Changes settings.
    pub fn patch_settings(&self, patch: &SettingsPatch) -> Result<Settings, ClientError> {
        self.send_json(Method::PATCH, "/settings", patch, &[])
    }

    /// A page of tokens, without their secrets.
    pub fn tokens(&self, after: Option<&str>) -> Result<Tokens, ClientError> {
        self.get(&format!("/tokens{}", page(after)))
    }

    /// Creates a token; its secret is in the answer, this once.
    pub fn create_token(&self, token: &TokenCreate) -> Result<NewToken, ClientError> {
        self.send_json(Method::POST, "/tokens", token, &[])
    }

    /// A page of notifications, without their secrets.
    pub fn notifications(&self, after: Option<&str>) -> Result<Notifications, ClientError> {
        self.get(&format!("/notifications{}", page(after)))
    }

    /// Adds a notification; the secret of a webhook is in the answer, this once.
    pub fn add_notification(
        &self,
        notification: &NotificationCreate,
    ) -> Result<NewNotification, ClientError> {
        self.send_json(Method::POST, "/notifications", notification, &[])
    }

    /// Removes a notification.
    pub fn remove_notification(&self, id: u64) -> Result<(), ClientError> {
        self.send_empty(Method::DELETE, &format!("/notifications/{id}"))
    }

    /// Sends a test notice, and waits for what comes of it.
    pub fn test_notification(&self, id: u64) -> Result<Notification, ClientError> {
        self.send_json(Method::POST, &format!("/notifications/{id}/test"), &Nothing {}, &[])
    }

    /// Makes a token void.
    pub fn revoke_token(&self, id: u64) -> Result<(), ClientError> {
        self.send_empty(Method::DELETE, &format!("/tokens/{id}"))
    }
}

fn page(after: Option<&str>) -> String {
    query(&PageQuery { limit: None, after: after.map(String::from) })
}
