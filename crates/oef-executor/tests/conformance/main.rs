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
#[macro_use]
mod suite;

conforms_to_all!(local: crate::local_bed::LocalBed::new());
conforms_to_all!(sim: crate::sim_bed::SimBed::new());
conforms_to_all!(slurm: crate::slurm_bed::SlurmBed::new());

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
