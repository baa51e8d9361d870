//! `oef submit`: a job, or a sweep of jobs.

mod build;
mod job_file;
mod run;
mod sweep;

pub use build::{Here, after, jobs as build};
pub use job_file::{EXAMPLE, read as read_job_file};
pub use run::{fill_tenant, here, new_key, own_tenant, run};
