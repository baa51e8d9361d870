//! What every executor does alike. One that is new gets a [`bed::Bed`] of its own here, and passes.

#[path = "../common/mod.rs"]
mod common;
#[path = "../slurm_lab/mod.rs"]
mod slurm_lab;

mod bed;
mod daemon;
mod local_bed;
mod sim_bed;
mod slurm_bed;
mod suite;

/// Every case for one kind of bed.
macro_rules! conforms {
    ($name:ident, $bed:expr, $($case:ident),* $(,)?) => {
        mod $name {
            $(#[test]
            fn $case() {
                crate::suite::$case(crate::daemon::Daemon::new(Box::new($bed)));
            })*
        }
    };
}

/// The list of cases, once for each kind of bed.
macro_rules! all_conform {
    ($($name:ident: $bed:expr),* $(,)?) => {
        $(conforms!(
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
        );)*
    };
}

all_conform! {
    local: crate::local_bed::LocalBed::new(),
    sim: crate::sim_bed::SimBed::new(),
    slurm: crate::slurm_bed::SlurmBed::new(),
}

// Of executors whose nodes can change: those of `local` are found once, when it is opened.
conforms!(
    sim_nodes,
    crate::sim_bed::SimBed::new(),
    nodes_go_and_come_back,
    others_use_a_part_of_a_node,
);

conforms!(
    slurm_nodes,
    crate::slurm_bed::SlurmBed::new(),
    nodes_go_and_come_back,
    others_use_a_part_of_a_node,
    workers_of_a_gang_meet_at_the_node_of_the_first,
);
