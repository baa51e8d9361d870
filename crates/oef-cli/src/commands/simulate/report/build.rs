//! The report as a whole.

use super::super::run::Simulated;
use oef_report::html::Report;

/// Builds the report.
pub fn build(_simulated: &Simulated<'_>) -> Report {
    Report::new("Simulation")
}
