//! A cluster in memory.

use crate::bed::{Bed, Does, NodeFault};
use crate::common::command_of;
use oef_executor::sim::{SimCluster, SimExecutor};
use oef_executor::{DeviceId, Executor, Launch, Program};
use oef_sched::{Generation, JobId};

pub struct SimBed(SimCluster);

impl SimBed {
    pub fn new() -> SimBed {
        SimBed(SimCluster::new(&[("a-0", "rtx3090", 2), ("b-0", "rtx3090", 2)]))
    }
}

impl Bed for SimBed {
    fn open(&mut self) -> Box<dyn Executor> {
        Box::new(SimExecutor::open(&self.0))
    }

    fn nodes(&self) -> Vec<(String, Vec<DeviceId>)> {
        let ids = |host: &str| (0..2).map(|index| DeviceId(format!("{host}/{index}"))).collect();
        ["a-0", "b-0"].map(|host| (host.to_string(), ids(host))).to_vec()
    }

    fn program(&self, does: Does) -> Program {
        match does {
            Does::Finish => command_of(&["finish"]),
            Does::Fail(code) => command_of(&["fail".to_string(), code.to_string()]),
            Does::Run => command_of(&["run"]),
        }
    }

    fn hang(&self, launch: &mut Launch) {
        launch.program = command_of(&["hang"]);
    }

    fn runs(&self, job: JobId) -> u32 {
        self.0.runs(job)
    }

    fn is_running(&self, job: JobId) -> bool {
        self.0.is_running(job)
    }

    fn kill(&self, job: JobId, generation: Generation) {
        self.0.kill(job, generation);
    }

    fn disturb(&self, fault: &NodeFault) {
        match fault {
            NodeFault::Leaves(node) => self.0.leave(node),
            NodeFault::Joins(node) => self.0.join(node),
            NodeFault::Used(node, devices) => self.0.use_by_others(node, devices),
            NodeFault::Drained(node) => self.0.drain(node, "a fan is broken"),
        }
    }
}
