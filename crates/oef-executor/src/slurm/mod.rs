//! Jobs on a cluster that Slurm runs.
//!
//! OEF decides who runs where; Slurm starts it. Every lease is one fresh Slurm job, pinned to its nodes, and the
//! runner inside it is the one that runs jobs on a single machine. The state folder lies where all nodes see it.
//!
//! ```text
//! ask       jobs and nodes, in either form
//! command   runs Slurm's programs, with a limit for each
//! parse     what squeue and sinfo print
//! json      the same where they print JSON
//! hosts     lists of nodes: n[1-3,7]
//! cluster   from what sinfo says to nodes, GPUs and reasons
//! settings  partition, account, user, options, by rule
//! submit    from a start to the arguments of sbatch and a script
//! site      what the executor asks of the cluster
//! poll      the one call to Slurm in every interval
//! observe   a cluster that is only looked at: its nodes and everybody's jobs
//! ```

mod ask;
mod cluster;
mod command;
mod doctor;
mod hosts;
mod json;
mod limits;
mod observe;
mod open;
mod others;
mod parse;
mod poll;
mod settings;
mod site;
mod spec;
mod submit;
mod survey;
mod users;

pub use cluster::{GpuNode, NodeState};
pub use command::{Form, Slurm, SlurmError};
pub use doctor::{Check, CheckStatus, examine};
pub use hosts::{expand, join};
pub use limits::{
    AccountLimits, account_limits, account_weights, demands, set_limits, set_weight, tres_of,
};
pub use observe::{ObserverConfig, SlurmObserver};
pub use open::SlurmExecutor;
pub use parse::{JobRow, JobState, NodeRow};
pub use settings::{Rules, SlurmConfig, Submit};
pub(crate) use spec::SlurmSpec;
pub use survey::gpu_nodes;
pub use users::{UserId, uid_of, user_name};
