//! The simulated cluster does what every executor does.

#[expect(dead_code, reason = "some of it is for nodes that are machines of their own")]
#[path = "../../../../oef-executor/tests/conformance/bed.rs"]
mod bed;
#[path = "../../../../oef-executor/tests/conformance/daemon.rs"]
mod daemon;
#[expect(dead_code, reason = "a case is for nodes that are machines of their own")]
#[macro_use]
#[path = "../../../../oef-executor/tests/conformance/suite.rs"]
mod suite;

use super::*;
use bed::{Bed, Does, NodeFault};

/// Simulated time passes while the daemon waits for events.
const PASSES_MS: u64 = 50;
const NODES: [(&str, &str, u32); 2] = [("a-0", "rtx3090", 2), ("b-0", "rtx3090", 2)];

struct SimulatedBed {
    time: SimTime,
    cluster: Cluster,
}

impl SimulatedBed {
    fn new() -> SimulatedBed {
        let time = SimTime::default();
        let cluster = Cluster::of(&NODES, &time, 1, None);
        SimulatedBed { time, cluster }
    }

    fn index(&self, node: &str) -> u8 {
        u8::from(node == NODES[1].0)
    }
}

struct Timed(Line, SimTime);

impl Executor for Timed {
    fn order(&self, order: Order) {
        self.0.order(order);
    }

    fn events(&self, after: Cursor, wait: Duration) -> Vec<(Cursor, Event)> {
        self.1.advance(PASSES_MS);
        self.0.events(after, wait)
    }

    fn resume(&self, known: Known) -> Result<JobId, ExecutorError> {
        self.0.resume(known)
    }

    fn logs(&self, job: JobId, query: LogQuery) -> Result<LogChunk, ExecutorError> {
        self.0.logs(job, query)
    }
}

impl Bed for SimulatedBed {
    fn open(&mut self) -> Box<dyn Executor> {
        Box::new(Timed(self.cluster.connect(), self.time.clone()))
    }

    fn nodes(&self) -> Vec<(String, Vec<DeviceId>)> {
        let state = self.cluster.state();
        state.nodes.iter().map(|node| (node.name.to_string(), node.devices())).collect()
    }

    fn program(&self, does: Does) -> Program {
        let words = match does {
            Does::Finish => "job works 1".to_string(),
            Does::Fail(code) => format!("job fails 1 {code}"),
            Does::Run => "job works 1000000000000".to_string(),
        };
        Program::Command(words.split(' ').map(str::to_string).collect())
    }

    fn hang(&self, launch: &mut Launch) {
        launch.program = Program::Command(["job", "hangs"].map(str::to_string).to_vec());
    }

    fn runs(&self, job: JobId) -> u32 {
        self.cluster.state().begun.get(&job).map_or(0, |(starts, _)| *starts)
    }

    fn is_running(&self, job: JobId) -> bool {
        self.cluster.is_running(job)
    }

    fn kill(&self, job: JobId, generation: Generation) {
        let mut state = self.cluster.state();
        if state.running().any(|(key, _)| *key == (job, generation)) {
            state.end((job, generation), Ending::Vanished { detail: "killed".into() }, None);
        }
    }

    fn disturb(&self, fault: &NodeFault) {
        match fault {
            NodeFault::Leaves(node) => self.cluster.set_up(self.index(node), false),
            NodeFault::Joins(node) => self.cluster.set_up(self.index(node), true),
            NodeFault::Used(node, _) => self.cluster.set_foreign(self.index(node), true),
            NodeFault::Drained(node) => self.cluster.set_closed(self.index(node), true),
        }
    }
}

conforms_to_all!(simulated: super::SimulatedBed::new());

conforms!(
    simulated_nodes,
    super::SimulatedBed::new(),
    nodes_go_and_come_back,
    others_use_a_part_of_a_node,
);
