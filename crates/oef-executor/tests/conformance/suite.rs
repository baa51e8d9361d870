//! The cases, and how a bed is put through them. `oef-lab` puts the simulated cluster of `oef torture` through them, too.

use super::bed::{Does, NodeFault, Seen};
use super::daemon::{Daemon, next};
use oef_executor::{
    Cursor, Ending, Event, LeaseEvent, LogQuery, NodeEvent, Order, Program, RunAs, Stream,
};
use oef_sched::{Generation, JobId, Time};
use std::thread::sleep;
use std::time::Duration;

/// These cases for one kind of bed.
macro_rules! conforms {
    ($name:ident, $bed:expr, $($case:ident),* $(,)?) => {
        mod $name {
            $(#[test]
            fn $case() {
                super::suite::$case(super::daemon::Daemon::new(Box::new($bed)));
            })*
        }
    };
}

/// What every executor does, for one kind of bed.
macro_rules! conforms_to_all {
    ($name:ident: $bed:expr) => {
        conforms!(
            $name,
            $bed,
            nodes_are_told_before_anything_else,
            a_job_starts_and_finishes,
            a_failure_has_its_code,
            a_gang_ends_with_the_code_of_each_worker,
            a_job_saves_its_work_when_it_is_stopped_and_goes_on_elsewhere,
            orders_may_come_twice,
            a_stop_that_comes_before_its_start_keeps_it_from_beginning,
            an_older_lease_than_one_seen_is_void,
            a_newer_lease_takes_the_place_of_a_running_one,
            events_are_told_again_until_they_are_acknowledged,
            what_can_never_be_started_is_told_at_once,
            what_stands_beside_a_job_may_be_killed,
            what_stands_beside_a_job_may_be_killed_at_every_step,
            an_executor_may_be_killed_at_every_step_of_a_start,
            an_executor_may_be_killed_at_every_step_of_a_stop,
            an_order_that_was_lost_is_made_up_for,
            what_nobody_holds_is_killed,
            a_job_whose_start_hangs_holds_nobody_up,
            a_forgotten_job_has_no_output,
            numbers_of_jobs_are_not_given_twice,
        );
    };
}

/// From before anything was done to after everything is.
const STEPS_MS: [u64; 10] = [0, 1, 2, 4, 8, 16, 32, 64, 128, 256];

pub fn nodes_are_told_before_anything_else(mut daemon: Daemon) {
    daemon.until("list", |daemon| daemon.heard.contains(&Event::NodesListed).then_some(()));
    let told: Vec<_> = daemon
        .node_events()
        .into_iter()
        .map(|event| match event {
            NodeEvent::Joined { node, devices, .. } => (node, devices),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(told, daemon.bed.nodes());
}

pub fn a_job_starts_and_finishes(mut daemon: Daemon) {
    let job = daemon.job(1, Does::Finish);
    daemon.start(&job);
    let (ending, exits) = daemon.ended(&job);
    assert_eq!(ending, Ending::Finished);
    assert_eq!((exits.len(), exits[0].code, exits[0].signal), (1, Some(0), None));
    let told = daemon.told(&job);
    let start = told.iter().position(|event| matches!(event, LeaseEvent::Started { .. }));
    let end = told.iter().position(|event| matches!(event, LeaseEvent::Ended { .. }));
    assert!(start.is_some() && start < end, "{told:?}");
    assert_eq!(daemon.bed.runs(job.job), 1);
}

pub fn a_failure_has_its_code(mut daemon: Daemon) {
    let job = daemon.job(1, Does::Fail(3));
    daemon.start(&job);
    let (ending, exits) = daemon.ended(&job);
    assert!(matches!(ending, Ending::Failed { code: Some(3), .. }), "{ending:?}");
    assert_eq!(exits[0].code, Some(3));
}

pub fn a_gang_ends_with_the_code_of_each_worker(mut daemon: Daemon) {
    let devices = daemon.bed.nodes().into_iter().flat_map(|(_, devices)| devices).collect();
    let job = daemon.job_on(1, Does::Finish, devices);
    daemon.start(&job);
    let (ending, exits) = daemon.ended(&job);
    assert_eq!(ending, Ending::Finished);
    let mut ranks: Vec<u32> = exits.iter().map(|exit| exit.rank).collect();
    ranks.sort_unstable();
    assert_eq!(ranks, [0, 1, 2, 3]);
    assert!(exits.iter().all(|exit| exit.is_finished()));
    assert_eq!(daemon.bed.runs(job.job), 1);
}

/// The first worker is not on the first node.
pub fn workers_of_a_gang_meet_at_the_node_of_the_first(mut daemon: Daemon) {
    let nodes = daemon.bed.nodes();
    let [(other, of_other), (first, of_first)] = &nodes[..] else { panic!("two nodes") };
    assert_ne!(daemon.bed.address(first), daemon.bed.address(other), "they can be told apart");
    let devices = [&of_first[..1], &of_other[..], &of_first[1..]].concat();
    let job = daemon.job_on(1, Does::Finish, devices);
    assert_eq!(daemon.run(&job), Ending::Finished);
    let master_addr = daemon.bed.address(first);
    let at = |node: &String| Seen { node: node.clone(), master_addr: master_addr.clone() };
    let expected = [first, other, other, first].map(at);
    assert_eq!(daemon.bed.seen(job.job).into_values().collect::<Vec<_>>(), expected);
}

pub fn a_job_saves_its_work_when_it_is_stopped_and_goes_on_elsewhere(mut daemon: Daemon) {
    let job = daemon.job(1, Does::Run);
    daemon.start(&job);
    daemon.runs(&job);
    daemon.stop(&job);
    let (ending, exits) = daemon.ended(&job);
    assert_eq!(ending, Ending::Checkpointed);
    assert!(exits.iter().all(|exit| exit.after_stop && exit.code == Some(75)), "{exits:?}");
    let mut again = next(&job);
    again.devices = daemon.bed.nodes()[1].1[..1].to_vec();
    again.program = daemon.bed.program(Does::Finish);
    let checkpoints = daemon.told(&job).into_iter().find_map(|event| match event {
        LeaseEvent::Started { checkpoints, .. } => Some(checkpoints),
        _ => None,
    });
    again.checkpoints.last = checkpoints.expect("a start");
    assert!(again.checkpoints.last.is_some(), "it is told where they are");
    assert_eq!(daemon.run(&again), Ending::Finished);
    assert_eq!(daemon.bed.runs(job.job), 2);
}

pub fn orders_may_come_twice(mut daemon: Daemon) {
    let job = daemon.job(1, Does::Run);
    let (id, generation) = (job.job, job.generation);
    let keep = |until| Order::Keep { job: id, generation, until: Time(until) };
    for _ in 0..3 {
        daemon.start(&job);
        daemon.executor().order(keep(9));
    }
    daemon.runs(&job);
    daemon.start(&job);
    for until in [7, 9, 9] {
        daemon.executor().order(keep(until));
        daemon.stop(&job);
    }
    assert_eq!(daemon.ending(&job), Ending::Checkpointed);
    let ends = |event: &LeaseEvent| matches!(event, LeaseEvent::Ended { .. });
    assert_eq!(daemon.told(&job).into_iter().filter(ends).count(), 1);
    daemon.executor().order(Order::Acknowledge(daemon.cursor));
    // One that comes after the end tells it again, and runs nothing.
    daemon.heard.clear();
    daemon.order_start(&job);
    assert_eq!(daemon.ending(&job), Ending::Checkpointed);
    daemon.order_stop(&job);
    daemon.executor().order(keep(10));
    assert_eq!(daemon.bed.runs(id), 1);
}

pub fn a_stop_that_comes_before_its_start_keeps_it_from_beginning(mut daemon: Daemon) {
    let job = daemon.job(1, Does::Finish);
    daemon.stop(&job);
    let Ending::Stopped { detail } = daemon.ending(&job) else { panic!("it had not begun") };
    assert!(detail.contains("it had not begun"), "{detail}");
    daemon.heard.clear();
    assert!(matches!(daemon.run(&job), Ending::Stopped { .. }));
    // Right after it, too.
    let job = daemon.job(2, Does::Run);
    daemon.start(&job);
    daemon.stop(&job);
    let ending = daemon.ending(&job);
    assert!(matches!(ending, Ending::Stopped { .. } | Ending::Checkpointed), "{ending:?}");
    assert!(!daemon.bed.is_running(job.job));
    assert_eq!(daemon.bed.runs(JobId(1)), 0);
}

pub fn an_older_lease_than_one_seen_is_void(mut daemon: Daemon) {
    let old = daemon.job(1, Does::Finish);
    let mut new = old.clone();
    new.generation = Generation(3);
    assert_eq!(daemon.run(&new), Ending::Finished);
    let ending = daemon.run(&old);
    assert!(matches!(ending, Ending::Refused { .. }), "{ending:?}");
    assert_eq!(daemon.bed.runs(old.job), 1);
    // After a restart as well.
    daemon.journal(&old);
    daemon.restart();
    let ending = daemon.ending(&old);
    assert!(matches!(ending, Ending::Refused { .. }), "{ending:?}");
    assert_eq!(daemon.bed.runs(old.job), 1);
}

pub fn a_newer_lease_takes_the_place_of_a_running_one(mut daemon: Daemon) {
    let first = daemon.job(1, Does::Run);
    daemon.start(&first);
    daemon.runs(&first);
    let mut second = next(&first);
    second.program = daemon.bed.program(Does::Finish);
    daemon.start(&second);
    assert_eq!(daemon.ending(&first), Ending::Checkpointed);
    assert_eq!(daemon.ending(&second), Ending::Finished);
    let place = |of: Generation, wanted: fn(&LeaseEvent) -> bool| {
        daemon.heard.iter().position(|event| match event {
            Event::Lease { generation, event, .. } => *generation == of && wanted(event),
            _ => false,
        })
    };
    let ended = place(first.generation, |event| matches!(event, LeaseEvent::Ended { .. }));
    let started = place(second.generation, |event| matches!(event, LeaseEvent::Started { .. }));
    assert!(ended < started, "the GPU was given twice");
}

pub fn events_are_told_again_until_they_are_acknowledged(mut daemon: Daemon) {
    let job = daemon.job(1, Does::Finish);
    daemon.start(&job);
    daemon.until("ending", |daemon| {
        let ends = |event: &LeaseEvent| matches!(event, LeaseEvent::Ended { .. });
        daemon.told(&job).iter().any(ends).then_some(())
    });
    // A delivery was lost, or the daemon could not journal it.
    let again = daemon.executor().events(Cursor(0), Duration::ZERO);
    let of_job = |events: &[(Cursor, Event)]| {
        let of = |event: &Event| matches!(event, Event::Lease { job: JobId(1), .. });
        events.iter().filter(|(_, event)| of(event)).cloned().collect::<Vec<_>>()
    };
    assert_eq!(of_job(&again), of_job(&daemon.executor().events(Cursor(0), Duration::ZERO)));
    assert_eq!(of_job(&again).last().map(|(cursor, _)| *cursor), Some(daemon.cursor));
    // Not acknowledged: another executor tells it as well.
    daemon.restart();
    assert_eq!(daemon.ending(&job), Ending::Finished);
    daemon.executor().order(Order::Acknowledge(daemon.cursor));
    assert!(of_job(&daemon.executor().events(Cursor(0), Duration::ZERO)).is_empty());
    assert_eq!(daemon.bed.runs(job.job), 1);
}

pub fn what_can_never_be_started_is_told_at_once(mut daemon: Daemon) {
    let mut empty = daemon.job(1, Does::Finish);
    empty.program = Program::Command(Vec::new());
    let mut other_user = daemon.job(2, Does::Finish);
    other_user.run_as = RunAs::User("nobody-of-that-name".into());
    for job in [empty, other_user] {
        let ending = daemon.run(&job);
        assert!(matches!(ending, Ending::Impossible { .. }), "{ending:?}");
    }
    // A GPU that is not here may be here tomorrow.
    let mut gone = daemon.job(3, Does::Finish);
    gone.devices = vec![oef_executor::DeviceId("nowhere".into())];
    assert!(matches!(daemon.run(&gone), Ending::Refused { .. }));
}

pub fn what_stands_beside_a_job_may_be_killed(mut daemon: Daemon) {
    let mut job = daemon.job(1, Does::Run);
    for round in 1..=3 {
        daemon.start(&job);
        daemon.runs_again(&job, round);
        daemon.bed.kill(job.job, job.generation);
        let ending = daemon.ending(&job);
        assert!(matches!(ending, Ending::Vanished { .. }), "{ending:?}");
        assert!(!daemon.bed.is_running(job.job), "its GPU is free");
        assert_eq!(daemon.bed.runs(job.job), round);
        job = next(&job);
    }
    job.program = daemon.bed.program(Does::Finish);
    assert_eq!(daemon.run(&job), Ending::Finished);
}

pub fn what_stands_beside_a_job_may_be_killed_at_every_step(mut daemon: Daemon) {
    for (id, wait) in (1..).zip(STEPS_MS) {
        let job = daemon.job(id, Does::Run);
        daemon.start(&job);
        sleep(Duration::from_millis(wait));
        // It may not be there yet, and then it is stopped like any other.
        daemon.bed.kill(job.job, job.generation);
        if id % 2 == 0 {
            daemon.restart();
        }
        daemon.stop(&job);
        daemon.ending(&job);
        assert!(!daemon.bed.is_running(job.job), "after {wait} ms");
        assert!(daemon.bed.runs(job.job) <= 1, "after {wait} ms");
        // What it left keeps no later start from running.
        let mut again = next(&job);
        again.program = daemon.bed.program(Does::Finish);
        assert_eq!(daemon.run(&again), Ending::Finished, "after {wait} ms");
    }
}

pub fn an_executor_may_be_killed_at_every_step_of_a_start(mut daemon: Daemon) {
    for (id, wait) in (1..).zip(STEPS_MS) {
        let job = daemon.job(id, Does::Run);
        daemon.start(&job);
        sleep(Duration::from_millis(wait));
        daemon.restart();
        daemon.runs(&job);
        daemon.stop(&job);
        assert_eq!(daemon.ending(&job), Ending::Checkpointed);
        assert_eq!(daemon.bed.runs(job.job), 1, "after {wait} ms");
    }
}

pub fn an_executor_may_be_killed_at_every_step_of_a_stop(mut daemon: Daemon) {
    for (id, wait) in (1..).zip(STEPS_MS) {
        let job = daemon.job(id, Does::Run);
        daemon.start(&job);
        daemon.runs(&job);
        daemon.stop(&job);
        sleep(Duration::from_millis(wait));
        daemon.restart();
        assert_eq!(daemon.ending(&job), Ending::Checkpointed, "after {wait} ms");
        assert_eq!(daemon.bed.runs(job.job), 1, "after {wait} ms");
    }
}

pub fn an_order_that_was_lost_is_made_up_for(mut daemon: Daemon) {
    // Journalled, and the daemon was killed before it could order it.
    let job = daemon.job(1, Does::Run);
    daemon.journal(&job);
    daemon.restart();
    daemon.runs(&job);
    daemon.journal_stop(&job);
    daemon.restart();
    assert_eq!(daemon.ending(&job), Ending::Checkpointed);
    let never = daemon.job(2, Does::Finish);
    daemon.journal(&never);
    daemon.journal_stop(&never);
    daemon.restart();
    assert!(matches!(daemon.ending(&never), Ending::Stopped { .. }));
    assert_eq!((daemon.bed.runs(JobId(1)), daemon.bed.runs(JobId(2))), (1, 0));
}

pub fn what_nobody_holds_is_killed(mut daemon: Daemon) {
    let job = daemon.job(1, Does::Run);
    daemon.start(&job);
    daemon.runs(&job);
    daemon.held.clear();
    daemon.restart();
    assert!(!daemon.bed.is_running(job.job));
    // Its GPU is free for another.
    let other = daemon.job(2, Does::Finish);
    assert_eq!(daemon.run(&other), Ending::Finished);
}

pub fn a_job_whose_start_hangs_holds_nobody_up(mut daemon: Daemon) {
    let devices: Vec<_> = daemon.bed.nodes().into_iter().flat_map(|(_, gpus)| gpus).collect();
    let mut hanging = Vec::new();
    for id in 1..=2 {
        let mut job = daemon.job_on(id, Does::Finish, vec![devices[id as usize].clone()]);
        job.tenant = format!("tenant-{id}");
        daemon.bed.hang(&mut job);
        daemon.start(&job);
        hanging.push(job);
    }
    let other = daemon.job(10, Does::Run);
    daemon.start(&other);
    daemon.runs(&other);
    daemon.stop(&other);
    assert_eq!(daemon.ending(&other), Ending::Checkpointed);
    let begun = |event: &LeaseEvent| !matches!(event, LeaseEvent::Preparing(_));
    for job in &hanging {
        let err = daemon.executor().logs(job.job, LogQuery::start(Stream::Err));
        let told = daemon.told(job);
        assert!(!told.iter().any(begun), "it does not hang: {told:?}, {err:?}");
    }
    for job in &hanging {
        daemon.stop(job);
        assert!(matches!(daemon.ending(job), Ending::Stopped { .. }));
    }
}

pub fn a_forgotten_job_has_no_output(mut daemon: Daemon) {
    let job = daemon.job(1, Does::Run);
    daemon.start(&job);
    daemon.runs(&job);
    let output =
        |daemon: &Daemon| daemon.executor().logs(JobId(1), LogQuery::start(Stream::Out)).is_ok();
    // Not before it has ended.
    daemon.executor().order(Order::Forget(job.job));
    daemon.executor().order(Order::Forget(JobId(77)));
    assert!(output(&daemon));
    daemon.stop(&job);
    assert_eq!(daemon.ending(&job), Ending::Checkpointed);
    daemon.until("end of its output", |daemon| (!output(daemon)).then_some(()));
}

pub fn numbers_of_jobs_are_not_given_twice(mut daemon: Daemon) {
    let job = daemon.job(7, Does::Finish);
    assert_eq!(daemon.run(&job), Ending::Finished);
    // An older backup was put in place.
    daemon.jobs = [JobId(3)].into();
    assert_eq!(daemon.restart(), JobId(8));
}

fn name_of(event: &NodeEvent) -> &str {
    match event {
        NodeEvent::Joined { node, .. }
        | NodeEvent::Changed { node, .. }
        | NodeEvent::Drained { node, .. }
        | NodeEvent::Left { node, .. } => node,
    }
}

pub fn nodes_go_and_come_back(mut daemon: Daemon) {
    let (node, devices) = daemon.bed.nodes()[1].clone();
    let job = daemon.job_on(1, Does::Run, devices[..1].to_vec());
    daemon.start(&job);
    daemon.runs(&job);
    daemon.bed.disturb(&NodeFault::Leaves(node.clone()));
    let ending = daemon.ending(&job);
    assert!(matches!(ending, Ending::Vanished { .. }), "{ending:?}");
    let is_left =
        |event: &NodeEvent| matches!(event, NodeEvent::Left { node: of, .. } if *of == node);
    daemon.until("word of it", |daemon| daemon.node_events().iter().any(is_left).then_some(()));
    assert!(matches!(daemon.run(&next(&job)), Ending::Refused { .. }));
    // An executor that comes later does not list it.
    daemon.restart();
    daemon.until("list", |daemon| daemon.heard.contains(&Event::NodesListed).then_some(()));
    // It may name it with the reason for which it cannot be used.
    let is_joined = |daemon: &Daemon| {
        let mut about_it = daemon.node_events().into_iter().filter(|event| name_of(event) == node);
        matches!(about_it.next_back(), Some(NodeEvent::Joined { .. }))
    };
    assert!(!is_joined(&daemon));
    daemon.bed.disturb(&NodeFault::Joins(node.clone()));
    daemon.until("its return", |daemon| is_joined(daemon).then_some(()));
    let mut again = next(&next(&job));
    again.program = daemon.bed.program(Does::Finish);
    assert_eq!(daemon.run(&again), Ending::Finished);
}

pub fn others_use_a_part_of_a_node(mut daemon: Daemon) {
    let (node, devices) = daemon.bed.nodes()[0].clone();
    let fault = NodeFault::Used(node.clone(), devices[..1].to_vec());
    daemon.bed.disturb(&fault);
    // Which one it is may be the cluster's to say.
    let (usable, used) = daemon.until("word of it", |daemon| {
        daemon.node_events().into_iter().find_map(|event| match event {
            NodeEvent::Changed { usable, used_by_others, .. } if used_by_others.len() == 1 => {
                Some((usable, used_by_others))
            }
            _ => None,
        })
    });
    let mut both = [usable.clone(), used.clone()].concat();
    both.sort();
    assert_eq!(both, devices);
    let free = daemon.job_on(1, Does::Finish, usable);
    assert_eq!(daemon.run(&free), Ending::Finished);
    let used = daemon.job_on(2, Does::Finish, used);
    assert!(matches!(daemon.run(&used), Ending::Refused { .. }));
    daemon.bed.disturb(&NodeFault::Drained(node));
    let is_drained = |event: &NodeEvent| matches!(event, NodeEvent::Drained { reason, .. } if reason.contains("a fan is broken"));
    daemon.until("the drain", |daemon| daemon.node_events().iter().any(is_drained).then_some(()));
}
