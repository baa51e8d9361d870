//! Where an executor is tried: what is outside of it, and survives it.

use oef_executor::{DeviceId, Executor, Launch, Program};
use oef_sched::{Generation, JobId};
use std::collections::BTreeMap;

/// Something with two nodes of two GPUs each.
pub trait Bed {
    /// An executor; the one before is gone, as after `kill -9`.
    fn open(&mut self) -> Box<dyn Executor>;

    /// The GPUs, by node.
    fn nodes(&self) -> Vec<(String, Vec<DeviceId>)>;

    /// A program that does this.
    fn program(&self, does: Does) -> Program;

    /// Lets the start of a job hang, before its workers run.
    fn hang(&self, launch: &mut Launch);

    /// How often the workers of a job were started.
    fn runs(&self, job: JobId) -> u32;

    /// Whether anything of a job runs.
    fn is_running(&self, job: JobId) -> bool;

    /// Kills what stands beside a running job.
    fn kill(&self, job: JobId, generation: Generation);

    /// What the workers of a job saw, by rank, where nodes are machines of their own.
    fn seen(&self, job: JobId) -> BTreeMap<u32, Seen> {
        panic!("nodes have no addresses here: job {job}");
    }

    /// The address of a node, where it is a machine of its own.
    fn address(&self, node: &str) -> String {
        panic!("nodes have no addresses here: {node}");
    }

    /// Lets something happen to nodes, where they can change.
    fn disturb(&self, fault: &NodeFault) {
        panic!("nodes do not change here: {fault:?}");
    }
}

/// Where a worker runs, and where it is told to meet the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    pub node: String,
    pub master_addr: String,
}

/// What a job does.
#[derive(Clone, Copy, Debug)]
pub enum Does {
    /// Ends at once, with 0.
    Finish,
    /// Ends at once, with another code.
    Fail(i32),
    /// Runs until it is told to stop, and says that it saved its work.
    Run,
}

/// What happens to a node.
#[derive(Clone, Debug)]
pub enum NodeFault {
    /// It goes, with all that runs there.
    Leaves(String),
    /// It is there again.
    Joins(String),
    /// Others use these GPUs of it.
    Used(String, Vec<DeviceId>),
    /// It takes no more jobs.
    Drained(String),
}
