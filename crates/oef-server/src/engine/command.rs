//! What callers want changed, and what they get for it.

use oef_api::types::{
    GroupPut, JobBatch, JobPatch, NodePatch, NotificationCreate, SettingsPatch, Submitted,
    TenantCreate, TenantPatch, TokenCreate, WorkloadPut,
};

/// One thing that a caller wants changed.
#[derive(Clone, Debug)]
pub(crate) enum Command {
    Submit {
        batch: JobBatch,
        key: Option<String>,
        create_tenants: bool,
    },
    Cancel {
        job: u64,
    },
    PatchJob {
        job: u64,
        patch: JobPatch,
    },
    Resubmit {
        job: u64,
    },
    CreateTenant(TenantCreate),
    PatchTenant {
        name: String,
        patch: TenantPatch,
    },
    RemoveTenant {
        name: String,
    },
    PutGroup {
        name: String,
        group: GroupPut,
    },
    RemoveGroup {
        name: String,
    },
    PutWorkload {
        tenant: String,
        name: String,
        workload: WorkloadPut,
    },
    CreateToken(TokenCreate),
    RevokeToken {
        id: u64,
    },
    PatchSettings(SettingsPatch),
    PatchNode {
        name: String,
        patch: NodePatch,
    },
    DropWindow {
        id: u64,
    },
    AddNotification(NotificationCreate),
    RemoveNotification {
        id: u64,
    },
    TestNotification {
        id: u64,
    },
    /// The notifier's own: what came of a try.
    Notified {
        id: u64,
        notice: String,
        delivered: bool,
        detail: String,
    },
}

/// What came of it; the rest is read from the world.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Done {
    /// It is done.
    Nothing,
    /// Jobs were taken.
    Submitted(Submitted),
    /// A token was made.
    Token { id: u64, secret: String },
    /// A notification was added.
    Notification { id: u64, secret: Option<String> },
    /// A notice will be sent.
    Tested { notice: String },
}
