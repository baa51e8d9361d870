//! `oef share`: who gets which GPUs, with the certificate.

mod run;
pub mod table;

pub use run::run;
