//! The guard among honest tenants, liars and bad luck.

mod honest;
mod lab;
mod liars;
mod phases;
