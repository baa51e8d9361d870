//! A job for tests.

use crate::device::DeviceId;
use crate::launch::{Checkpoints, Launch, Program, RunAs, StopSignal};
use oef_sched::{Generation, JobId, Span, Time};
use std::collections::{BTreeMap, BTreeSet};

/// A job with one worker.
pub(crate) fn launch(job: u64, command: &[&str]) -> Launch {
    Launch {
        job: JobId(job),
        generation: Generation(1),
        tenant: "vision".into(),
        workload: "vgg16".into(),
        name: format!("job {job}"),
        program: Program::Command(command.iter().map(|word| word.to_string()).collect()),
        run_as: RunAs::Daemon,
        env: BTreeMap::new(),
        workdir: None,
        checkpoints: Checkpoints::default(),
        devices: vec![DeviceId("a-0:0".into())],
        restart: 0,
        finished: BTreeSet::new(),
        stop_signal: StopSignal::Term,
        grace: Span(20_000),
        max_run: None,
        until: Time(0),
        log_limit_bytes: 1 << 20,
        warm: Vec::new(),
        probe: None,
    }
}
