//! What happens to the scheduler.

use crate::answer::Answer;
use crate::cluster::NodeSpec;
use crate::ids::{Generation, GroupKey, JobId, TenantKey, WorkloadKey};
use crate::job::{JobChange, JobSpec};
use crate::order::Order;
use crate::plan::Plan;
use crate::profile::Profile;
use crate::promise::Promises;
use crate::settings::Settings;
use crate::time::{Span, Time};
use crate::window::NodeWindow;

/// Something that happened, and when. Times never go back.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Event {
    /// The instant, read from the driver's clock once.
    pub at: Time,
    /// What happened.
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum EventKind {
    /// A job was submitted.
    Submitted(JobSpec),
    /// Its owner no longer wants it.
    Cancelled {
        /// The job.
        job: JobId,
    },
    /// A running job told how far it is.
    Progress {
        /// The job.
        job: JobId,
        /// Of the lease under which it runs.
        generation: Generation,
        /// Steps since its first start.
        steps: f64,
    },
    /// A job did all its work.
    Finished {
        /// The job.
        job: JobId,
        /// Of the lease under which it ran.
        generation: Generation,
    },
    /// A job ended with an error; whether it is tried again is the driver's decision.
    Failed {
        /// The job.
        job: JobId,
        /// Of the lease under which it ran.
        generation: Generation,
        /// It stays, held, until it is released or cancelled; otherwise it leaves.
        retry: bool,
    },
    /// A job's processes are gone though nobody stopped them; its GPUs are free, and it waits again.
    Lost {
        /// The job.
        job: JobId,
        /// Of the lease under which it ran.
        generation: Generation,
    },
    /// A live job was changed by its owner, or by what it waited for. One that may not run any more is stopped.
    Changed {
        /// The job.
        job: JobId,
        /// What is new.
        change: JobChange,
    },
    /// A job that failed is tried again; it waits from now on.
    Release {
        /// The job.
        job: JobId,
    },
    /// A job that was told to stop has stopped, and its GPUs are free.
    Preempted {
        /// The job.
        job: JobId,
        /// Of the lease that ended.
        generation: Generation,
    },
    /// A node joined the cluster or came back.
    NodeUp(NodeSpec),
    /// A node went away; what ran there is lost.
    NodeDown {
        /// Its name.
        node: String,
    },
    /// A node takes no more jobs; those that run there may end first.
    NodeClosing {
        /// Its name.
        node: String,
    },
    /// A node is to be out from some time on, or not any more.
    NodePlannedOut {
        /// Its name.
        node: String,
        /// From when on.
        window: Option<NodeWindow>,
    },
    /// A tenant's weight changed.
    Weight {
        /// The tenant.
        tenant: TenantKey,
        /// Its new weight.
        weight: f64,
    },
    /// A tenant may have so many GPUs at once, or any number.
    Limit {
        /// The tenant.
        tenant: TenantKey,
        /// The limit.
        gpus: Option<u32>,
    },
    /// A tenant has these guarantees and limits by gpu type, and no others.
    TenantPromises {
        /// The tenant.
        tenant: TenantKey,
        /// All of them.
        promises: Promises,
    },
    /// A group has these guarantees and limits by gpu type, and no others.
    GroupPromises {
        /// The group.
        group: GroupKey,
        /// All of them.
        promises: Promises,
    },
    /// A tenant's waiting jobs start in another order.
    Order {
        /// The tenant.
        tenant: TenantKey,
        /// The order.
        order: Order,
    },
    /// A workload's part in its tenant's weight changed.
    WorkloadWeight {
        /// The workload.
        workload: WorkloadKey,
        /// Its new weight beside the tenant's other workloads.
        weight: f64,
    },
    /// A group's weight changed.
    GroupWeight {
        /// The group.
        group: GroupKey,
        /// Its new weight.
        weight: f64,
    },
    /// A group stands in another group from now on, or in none.
    GroupParent {
        /// The group.
        group: GroupKey,
        /// Where it stands.
        parent: Option<GroupKey>,
    },
    /// A tenant stands in a group from now on, or in none.
    TenantGroup {
        /// The tenant.
        tenant: TenantKey,
        /// Where it stands.
        group: Option<GroupKey>,
    },
    /// All jobs of a tenant are held, those to come as well; or no longer.
    Suspend {
        /// The tenant.
        tenant: TenantKey,
        /// Whether it is suspended from now on.
        suspended: bool,
    },
    /// A workload's profile became known, or better known.
    Profiled {
        /// The workload.
        workload: WorkloadKey,
        /// How fast it runs.
        profile: Profile,
    },
    /// It was measured what a restart of a workload's jobs costs; none: nothing is known.
    RestartCost {
        /// The workload.
        workload: WorkloadKey,
        /// The time that is lost.
        cost: Option<Span>,
    },
    /// The shares were computed aside: the answer to a [`Question`](crate::Question) of this state, maybe
    /// one that it has moved on from since.
    Shares(Box<Answer>),
    /// A round begins with the shares that there are; a plan for it follows. Who came since the shares were computed
    /// has none yet, and runs on what is idle.
    Tick,
    /// It was decided who runs where.
    Planned(Box<Plan>),
    /// The settings changed.
    Settings(Box<Settings>),
    /// A tenant came.
    TenantAdded {
        /// Its name, which no tenant has yet.
        name: String,
        /// Its weight.
        weight: f64,
    },
    /// A group of tenants came.
    GroupAdded {
        /// Its name, which no group has yet.
        name: String,
        /// Its weight.
        weight: f64,
        /// The group that it stands in.
        parent: Option<GroupKey>,
    },
    /// A tenant has a new kind of job.
    WorkloadAdded {
        /// The tenant.
        tenant: TenantKey,
        /// Its name, which no workload of the tenant has yet.
        name: String,
        /// Its part in the tenant's weight.
        weight: f64,
        /// How fast it runs.
        profile: Profile,
    },
}
