//! The commands that talk to a daemon.

pub mod cluster;
pub mod edit;
pub mod events;
pub mod fairness;
pub mod groups;
pub mod job;
pub mod jobs;
pub mod logs;
pub mod node;
pub mod notify;
pub mod open;
pub mod pages;
pub mod profile;
pub mod round;
pub mod select;
pub mod settings;
pub mod submit;
pub mod tenants;
pub mod tokens;
pub mod top;
pub mod usage;
pub mod wait;
pub mod watch;
pub mod why;
pub mod workloads;
