//! Everything that is shown: tables, bars, numbers and names for people, documents for machines.

pub mod audit_document;
pub mod bars;
pub mod certificate;
pub mod document;
pub mod file;
pub mod jobs;
pub mod logs;
pub mod names;
pub mod numbers;
pub mod table;
pub mod times;
pub mod width;
