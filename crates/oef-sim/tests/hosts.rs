//! A machine with several kinds of cards is several nodes, and no network lies between them.

use oef_core::Mechanism;
use oef_sched::Settings;
use oef_sim::engine::{Inputs, Scenario, simulate};
use oef_sim::input::{ClusterSpec, NodeSpec, ProfileTable, Source, Trace, TraceOptions};
use oef_sim::input::{read_profiles, read_trace};

/// How long a gang of two takes on two nodes of these hosts.
fn finish(hosts: [&str; 2]) -> f64 {
    let node = |name: &str, host: &str| NodeSpec {
        name: name.into(),
        host: host.into(),
        gpu_type: "a100".into(),
        gpus: 1,
    };
    let cluster = ClusterSpec { nodes: vec![node("n1", hosts[0]), node("n2", hosts[1])] };
    let profiles = "model,thr_a100\nm,1\n";
    let trace = "tenant,job_id,submit_s,gpus,duration_s,model\nt,j,0,2,1000,m\n";
    let profiles: ProfileTable =
        read_profiles(Source::new("p", profiles), None, false).unwrap().value;
    let options = TraceOptions::default();
    let trace: Trace = read_trace(Source::new("t", trace), None, &options).unwrap().value;
    let inputs = Inputs { cluster: &cluster, profiles: &profiles, trace: &trace };
    let settings = Settings { mechanism: Mechanism::MaxMin, ..Settings::default() };
    let run = simulate(&inputs, &Scenario::new(settings, 1), &mut |_| true).unwrap();
    run.jobs[0].finish_s.unwrap()
}

#[test]
fn a_gang_on_two_nodes_of_one_host_loses_nothing() {
    assert_eq!(finish(["h", "h"]), 1000.0);
    let apart = finish(["h1", "h2"]);
    assert!((apart - 1150.0).abs() < 0.01, "{apart}");
}
