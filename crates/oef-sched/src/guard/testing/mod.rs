//! The guard among honest tenants, liars and bad luck.

mod gangs;
mod honest;
mod lab;
mod liars;
mod phases;
