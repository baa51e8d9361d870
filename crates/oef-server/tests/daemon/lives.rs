//! Jobs from their submission to their end.

use crate::common::{Cluster, shell};
use oef_api::types::JobState;

pub const TESTS: &[(&str, fn())] = &[("a_job_runs_and_is_done", a_job_runs_and_is_done)];

fn a_job_runs_and_is_done() {
    let cluster = Cluster::new("slow=2,fast=2");
    let out = cluster.path("out");
    let id = cluster.submit(shell("alice", &format!("echo $OEF_GPU_TYPE > {}", out.display())));
    cluster.wait(id, JobState::Finished);
    let text = std::fs::read_to_string(out).expect("written");
    assert!(["slow", "fast"].contains(&text.trim()), "{text}");
    let states: Vec<JobState> =
        cluster.look(id, |job| job.history.iter().map(|c| c.state).collect());
    let life = [JobState::Queued, JobState::Starting, JobState::Running, JobState::Finished];
    assert_eq!(states, life);
}
