//! A job for tests.

use crate::device::DeviceId;
use crate::launch::{Launch, Program};
use oef_sched::JobId;

/// A job with one worker.
pub(crate) fn launch(job: u64, command: &[&str]) -> Launch {
    let program = Program::Command(command.iter().map(|word| word.to_string()).collect());
    let plain = Launch::first(JobId(job), program, vec![DeviceId("a-0:0".into())]);
    Launch { tenant: "vision".into(), workload: "vgg16".into(), ..plain }
}
