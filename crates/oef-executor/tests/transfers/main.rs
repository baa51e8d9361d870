//! Checkpoints that are brought from other hosts, with real rsync: over a daemon, over ssh, and over lines
//! that break. Hosts are daemons on loopback, or network namespaces of the kernel.

#[path = "../common/mod.rs"]
mod common;
mod faults;
mod files;
mod hosts;
mod jobs;
mod links;
mod namespaces;
mod odd;
mod refusals;
