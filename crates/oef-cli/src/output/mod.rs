//! What several commands show: the certificate, jobs and logs for people, documents for machines.

pub mod audit_document;
pub mod certificate;
pub mod document;
pub mod jobs;
pub mod logs;
